"""What does `lasttick bench gateway` call when it calls a served gateway? The programs that a user serves, on loopback.

The platform, a stand-in for the agent that holds every turn, so that runs stay active, and the fake third party: each
is `lasttick serve` in a process of its own. Runs are opened by chat messages. Source: GW-06, GW-09.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import httpx

from lasttick.targets.children import POLL_S, Child
from lasttick.targets.gateway import measured

ADMIN_TOKEN = "the-admin-token-of-a-benchmark"
LOOKUP_PATH = f"/{measured.TOOL}/{measured.ACTION}"
Address: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Parts:
    """Host and port of the platform and of the third party; `runs`: each organisation's active run."""

    gateway: Address
    third_party: Address
    runs: dict[str, str]


@asynccontextmanager
async def parts(folder: Path, org_ids: Sequence[str], orders: Sequence[str]) -> AsyncIterator[Parts]:
    """The served parts, which end with the block; the third party has the orders. Raises ChildFailed."""
    begun = [_serve(folder, "third-party"), _serve(folder, "agent", "--held")]
    try:
        third_party, agent = [await _url(child) for child in begun]
        upstream = ["--agent-url", agent, "--third-party-url", third_party, "--identity-dir", str(folder / "gateway")]
        begun.append(_serve(folder, "gateway", *upstream))
        gateway = await _url(begun[-1])
        async with httpx.AsyncClient(trust_env=False) as http:
            for order_id in orders:
                (await http.put(f"{third_party}/data/orders/{order_id}", json={})).raise_for_status()
            runs = {org_id: await _run(http, gateway, org_id) for org_id in org_ids}
        yield Parts(_address(gateway), _address(third_party), runs)
    finally:
        for child in begun:
            if child.running:
                await asyncio.to_thread(child.stop)


def direct_call(org_id: str, run_id: str, input: dict[str, Any]) -> bytes:
    """The request that the platform sends the third party for a tool call."""
    body = measured.dumped(input)
    head = (
        f"POST {LOOKUP_PATH} HTTP/1.1\r\nhost: third-party\r\nx-correlation-id: {run_id}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def order_of(run_id: str, input: dict[str, Any]) -> Any:
    """What the third party answers."""
    return {"order": {"order_id": input["order_id"]}}


def result_of(run_id: str, input: dict[str, Any]) -> Any:
    """What the platform makes of that."""
    return {"ok": True, "result": order_of(run_id, input)}


def _serve(folder: Path, name: str, *arguments: str) -> Child:
    environ = {
        "AGENT_SERVICE_SECRET": measured.SECRET,
        "PLATFORM_ADMIN_TOKEN": ADMIN_TOKEN,
        "DATABASE_URL": "",  # the file in the folder, whatever this shell has set
    }
    return Child([name, "--port", "0", *arguments], folder / f"{name}.log", environ)


async def _url(child: Child) -> str:
    while (ready := child.poll_ready()) is None:
        await asyncio.sleep(POLL_S)
    return str(ready["url"])


def _address(url: str) -> Address:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


async def _run(http: httpx.AsyncClient, gateway: str, org_id: str) -> str:
    """The id of a run with the tool, active from now on."""
    token = f"chat-{org_id}"
    admin = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    document = {**measured.ORG, "chat_tokens": [token]}
    (await http.put(f"{gateway}/v1/admin/orgs/{org_id}", json=document, headers=admin)).raise_for_status()
    headers = {"authorization": f"Bearer {token}", "prefer": "respond-async"}
    message = {"text": org_id, "skill": "orders"}
    answer = await http.post(f"{gateway}/v1/conversations/1/messages", json=message, headers=headers)
    return str(json.loads(answer.raise_for_status().content)["run_id"])
