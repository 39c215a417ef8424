"""Are the scripted agent's frames against our host agent those that the real programs were recorded with?

Compared: method, path, every header that the recording kept, body; in order. Masked: session ids (their order of
appearance is not) and the bearer value. The recorded server ran on another SDK version; of its side only what the
agent goes by is compared, the status of each answer. Fixtures: tests/fixtures/hermes (README there).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.targets.host import Host
from lasttick.targets.virtual import VirtualWorld
from lasttick_fakes.hermes import HABITS
from lasttick_fakes.hermes.mcp_side import McpSide

from ..targets.worlds import play

FIXTURES = Path(__file__).parents[1] / "fixtures/hermes"
KEPT = ("accept", "content-type", "mcp-session-id", "mcp-protocol-version", "user-agent", "authorization")
BOTH = pytest.mark.parametrize("version", sorted(HABITS))
Exchange = tuple[dict[str, Any], int]
Script = Callable[[VirtualWorld, Host, McpSide], Awaitable[None]]


def recorded(version: str, name: str) -> list[Exchange]:
    """Each request of a recording with its answer's status."""
    lines = [json.loads(line) for line in (FIXTURES / version / f"{name}.jsonl").read_text().splitlines()]
    status = {line["rid"]: line["status"] for line in lines if "status" in line}
    asked = [line for line in lines if line.get("dir") == "client->server"]
    return [({key: line[key] for key in ("method", "path", "headers", "body")}, status[line["rid"]]) for line in asked]


class Recorder(httpx.AsyncBaseTransport):
    """Keeps every exchange in the recordings' form."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.exchanges: list[Exchange] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: request.headers[name] for name in KEPT if name in request.headers}
        assert headers["authorization"].startswith("Bearer ")
        headers["authorization"] = "present"
        body = json.loads(request.content) if request.content else None
        frame = {"method": request.method, "path": request.url.path, "headers": headers, "body": body}
        place = len(self.exchanges)
        self.exchanges.append((frame, 0))
        response = await self._inner.handle_async_request(request)
        self.exchanges[place] = (frame, response.status_code)
        return response


def masked(exchanges: list[Exchange]) -> list[Exchange]:
    """Session ids by the order in which they appear; members of a body in the order in which they were sent."""
    seen: dict[str, str] = {}
    rows = []
    for frame, status in exchanges:
        headers = dict(frame["headers"])
        if "mcp-session-id" in headers:
            headers["mcp-session-id"] = seen.setdefault(headers["mcp-session-id"], f"session-{len(seen) + 1}")
        rows.append(({**frame, "headers": headers, "body": json.dumps(frame["body"])}, kind(status)))
    return rows


def kind(status: int) -> int:
    """The refusals that the agent tells apart are 404 and 405; a GET without a session is 406 there and 400 here."""
    return int(status) if status < 400 or status in (404, 405) else 400


def run(version: str, script: Script) -> list[Exchange]:
    """The exchanges of the scripted agent with a host agent of its own."""
    recorders: list[Recorder] = []

    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent(devices=["phone-1", "phone-2"], sse=True)
        recorders.append(Recorder(world.transport()))
        agent = McpSide(host.url, host.token, clock=world.clock, transport=recorders[0], version=version)
        await agent.start()
        await script(world, host, agent)
        await agent.close()

    play(story)
    return recorders[0].exchanges


async def three_calls(world: VirtualWorld, host: Host, agent: McpSide) -> None:
    for arguments in ({"x": 1, "y": 1}, {"x": 2, "y": 2}):
        assert "result" in await agent.call("tap", device_id="phone-1", **arguments)
    assert "phone-2" in await agent.call("list_devices")


async def session_lost(world: VirtualWorld, host: Host, agent: McpSide) -> None:
    """The host forgets its sessions before the second call; a model whose call failed makes it again."""
    await agent.call("tap", device_id="phone-1", x=1, y=1)
    await host.restart()
    for _ in range(2):
        if "error" not in await agent.call("tap", device_id="phone-1", x=2, y=2):
            break
    await world.advance(1.5)
    await agent.call("list_devices")


@BOTH
def test_a_session_from_preflight_to_delete(version: str) -> None:
    assert masked(run(version, three_calls)) == masked(recorded(version, "mcp_http_session"))


@BOTH
def test_a_session_that_the_server_forgets(version: str) -> None:
    assert masked(run(version, session_lost)) == masked(recorded(version, "mcp_http_session_lost"))
