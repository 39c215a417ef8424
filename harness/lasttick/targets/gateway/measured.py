"""What does the gateway's benchmark measure? The platform with runs to call in, a bare floor, and both behind a server.

Joined here, because only `targets` may reach into the reference.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.platform import EXECUTE_PATH, Platform
from lasttick.reference.gateway.secret import AgentSecret
from lasttick.targets.server import BACKLOG, listen_on_loopback

SECRET = "the-agent-secret-of-a-benchmark"
TOOL, ACTION = "order_lookup", "lookup"
POLL_S = 0.005
ORG: dict[str, Any] = {
    "chat_tokens": [],
    "bindings": [{"slug": TOOL, "state": "published"}],
    "skills": {"orders": [TOOL]},
    "flags": {"tool_dispatch_enabled": True},
}


@dataclass(frozen=True, slots=True)
class Measured:
    """A platform that runs: its ASGI application, and the active run of each organisation, by the org's id."""

    app: Any
    runs: dict[str, str]


@asynccontextmanager
async def platform(folder: Path, org_ids: list[str], *, ledger: bool) -> AsyncIterator[Measured]:
    """A platform with its database in `folder`, and one run of each organisation. Raises ConfigError."""
    config = GatewayConfig(
        folder, agent_secret=AgentSecret.configured(SECRET), third_party_url="http://third-party", ledger=ledger
    )
    one = Platform(config, clock=SystemClock(), entropy=SystemEntropy(), transport=Echo())
    async with one.running():
        metadata = {
            "inboundMessageRole": "user",
            "channel": "chat",
            "runtimeManifest": {"allowedTools": [f"{TOOL}:{ACTION}"]},
        }
        runs = {}
        for org_id in org_ids:
            one.catalogue.put_org(org_id, ORG)
            runs[org_id] = one.runs.create_run(org_id, "1", metadata).id
        yield Measured(one.app, runs)


class Echo(httpx.AsyncBaseTransport):
    """A third party that answers at once with what it was asked, and for which run."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(await request.aread())
        return httpx.Response(200, content=dumped({"asked": asked, "run": request.headers["x-correlation-id"]}))


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The floor: the same request read as JSON, the same answer written as JSON, and nothing decided."""
    content = b""
    more = True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = message.get("more_body", False)
    call = json.loads(content)
    answer = dumped({"ok": True, "result": {"asked": call["input"], "run": call["runId"]}})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[tuple[str, int]]:
    """Host and port of `app` behind uvicorn on loopback, in this event loop."""
    with listen_on_loopback("127.0.0.1", 0) as listener:
        server = Server(
            uvicorn.Config(app, http="h11", lifespan="off", log_config=None, access_log=False, backlog=BACKLOG)
        )
        serving = asyncio.create_task(server.serve([listener]))
        try:
            while not server.started and not serving.done():
                await asyncio.sleep(POLL_S)
            yield listener.getsockname()[:2]
        finally:
            server.should_exit = True
            await serving


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: Ctrl-C is the benchmark's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def call(org_id: str, run_id: str, input: dict[str, Any]) -> bytes:
    """One request for a tool call through the internal door, as it goes over the wire."""
    body = dumped({"orgId": org_id, "runId": run_id, "toolName": TOOL, "action": ACTION, "input": input})
    head = (
        f"POST {EXECUTE_PATH} HTTP/1.1\r\nhost: gateway\r\nx-agent-secret: {SECRET}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


def dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
