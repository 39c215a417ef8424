"""Kind tool at a URL: our reference host agent in a virtual world, and a real SDK server in JSON and in SSE."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import pytest
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from lasttick.engine.loop import run_virtual
from lasttick.laws.reply import find
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place
from lasttick.targets.virtual import VirtualWorld
from lasttick_fakes.client import McpClient

from ...targets.worlds import play
from .servers import chunked, hostile, http, rpc, says

Era = Literal["handshake", "modern"]
ERAS: list[Era] = ["handshake", "modern"]


@dataclass
class Peer:
    place: Place
    transport: httpx.AsyncBaseTransport
    headers: list[dict[str, str]] = field(default_factory=list)
    """Those of each tools/list and tools/call."""
    methods: list[str] = field(default_factory=list)
    """HTTP method and session of every request."""


@asynccontextmanager
async def sdk_server(era: Era, *, sse: bool = False) -> AsyncIterator[Peer]:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        peer.headers.append(dict(ctx.request.headers))
        page = int(params.cursor or 0) if params is not None else 0
        tool = Tool(name=f"tool-{page}", input_schema={"type": "object"})
        return ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 2 else None)

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        peer.headers.append(dict(ctx.request.headers))
        given = params.arguments or {}
        if params.name == "busy":
            raise MCPError(code=-32000, message="device busy", data={"reason": "device_busy"})
        if params.name == "slow":
            await asyncio.sleep(given["s"])
        meta = params.meta or {}
        text = TextContent(type="text", text="first\nsecond")
        return CallToolResult(
            content=[text],
            structured_content={"given": given, "asked": meta.get("lease")},
            is_error=params.name == "fails",
            _meta={"lease": "l-1"},
        )

    server: Server[Any] = Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(
        json_response=not sse,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        peer.methods.append(f"{scope['method']} {headers.get(b'authorization', b'-').decode()}")
        await app(scope, receive, send)

    peer = Peer(Place("http://127.0.0.1:1/mcp", era=era), httpx.ASGITransport(app=watched))
    async with server.session_manager.run():
        yield peer


def with_sdk(
    story: Callable[[CallerWire, Peer], Awaitable[None]], era: Era = "handshake", *, sse: bool = False
) -> None:
    async def body() -> None:
        async with sdk_server(era, sse=sse) as peer:
            headers = {"Authorization": "Bearer alice", "X-Team": "a"}
            wire = CallerWire(peer.place, headers=headers, transport=peer.transport, name="alice")
            try:
                await story(wire, peer)
            finally:
                await wire.close()

    asyncio.run(body())


@pytest.mark.parametrize("sse", [False, True], ids=["json", "sse"])
@pytest.mark.parametrize("era", ERAS)
def test_a_session_from_open_to_end(era: Era, sse: bool) -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        opened = await wire.open()
        assert (opened.ok, opened.status) == (True, 200)
        assert find(opened.document(), "/body/serverInfo/name" if era == "handshake" else "/body/supportedVersions")

        listed = await wire.list_tools(5.0)
        assert [tool["name"] for tool in listed.body["tools"]] == ["tool-0", "tool-1", "tool-2"]

        reply = await wire.send(Message("tool", "tap", args={"x": 1}, meta={"lease": "l-0"}))
        assert (reply.ok, reply.status, reply.error, reply.lost) == (True, 200, None, None)
        assert reply.body == {"given": {"x": 1}, "asked": "l-0"}
        assert reply.meta["lease"] == "l-1"
        assert reply.lines == ("first", "second")
        assert reply.headers["content-type"].startswith(
            "text/event-stream" if sse and era == "handshake" else "application/json"
        )
        assert reply.raw.startswith("HTTP 200 ")

        failed = await wire.send(Message("tool", "fails"))
        assert not failed.ok
        assert failed.error == {"message": "first\nsecond", "body": {"given": {}, "asked": None}}
        busy = await wire.send(Message("tool", "busy"))
        assert (busy.ok, busy.status) == (False, 200)
        assert busy.error == {"code": -32000, "message": "device busy", "data": {"reason": "device_busy"}}

        assert (await wire.end()).ok
        after = await wire.send(Message("tool", "tap"))
        assert (after.ok, after.status) == ((False, 404) if era == "handshake" else (True, 200))

        assert all(seen["authorization"] == "Bearer alice" and seen["x-team"] == "a" for seen in peer.headers)
        # initialize, initialized and DELETE carry the caller's headers too.
        assert [seen for seen in peer.methods if not seen.endswith("Bearer alice")] == []
        assert ("DELETE Bearer alice" in peer.methods) is (era == "handshake")

    with_sdk(story, era, sse=sse)


@pytest.mark.parametrize("era", ERAS)
def test_a_call_opens_the_session_that_it_needs(era: Era) -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        calls = [wire.send(Message("tool", "tap", args={"n": n})) for n in range(3)]
        replies = await asyncio.gather(*calls, wire.list_tools(5.0))
        assert [reply.ok for reply in replies] == [True] * 4
        assert [reply.body["given"]["n"] for reply in replies[:3]] == [0, 1, 2]
        assert len({seen.get("mcp-session-id") for seen in peer.headers}) == 1
        # Three pages and three calls, and in the handshake era one initialize and its notification.
        assert len(peer.methods) == (8 if era == "handshake" else 6)

    with_sdk(story, era)


def test_headers_of_the_message_win() -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        await wire.open()
        reply = await wire.send(Message("tool", "tap", headers={"authorization": "Bearer bob"}))
        assert reply.ok
        assert peer.headers[-1]["authorization"] == "Bearer bob"
        stolen = await wire.send(Message("tool", "tap", headers={"Mcp-Session-Id": "somebody-elses"}))
        assert (stolen.ok, stolen.status) == (False, 404)

    with_sdk(story)


def test_a_call_that_takes_too_long() -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        await wire.open()
        reply = await wire.send(Message("tool", "slow", args={"s": 30}, timeout_s=0.05))
        assert reply.lost == "no whole answer within 0.05 s"
        assert (await wire.send(Message("tool", "tap"))).ok

    with_sdk(story)


def test_nothing_to_end() -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        assert (await wire.end()).ok
        assert peer.methods == []

    with_sdk(story)


def test_arguments_that_json_cannot_say() -> None:
    async def story(wire: CallerWire, peer: Peer) -> None:
        await wire.open()
        before = len(peer.methods)
        for odd in (float("inf"), object()):
            with pytest.raises(WireError, match="cannot be written as JSON"):
                await wire.send(Message("tool", "tap", args={"x": odd}))
        assert len(peer.methods) == before

    with_sdk(story)


def test_a_tool_needs_a_place() -> None:
    async def body() -> None:
        nowhere = CallerWire(Place())
        assert (await nowhere.open()).ok
        for send in (nowhere.list_tools(1.0), nowhere.send(Message("tool", "tap"))):
            with pytest.raises(WireError, match="needs the target's URL"):
                await send
        far = CallerWire(Place("http://lab/mcp"))
        with pytest.raises(WireError, match="the host 'lab'"):
            await far.open()

    asyncio.run(body())


# -- over sockets: what the in-memory server cannot do


def test_a_door_that_says_no() -> None:
    async def body() -> None:
        door = http(b'{"detail": "no such token"}', status="401 Unauthorized")
        async with hostile(says(door, then="hang")) as server:
            wire = CallerWire(Place(server.url))
            opened = await wire.open()
            assert (opened.ok, opened.status, opened.lost) == (False, 401, None)
            assert opened.body == {"detail": "no such token"}
            # Asked to go on all the same, it does: the target must refuse the call itself.
            assert (await wire.send(Message("tool", "tap"))).status == 401
            assert b"tools/call" in server.requests[1]
            await wire.close()

            lazy = CallerWire(Place(server.url))
            assert (await lazy.send(Message("tool", "tap"))).status == 401
            assert b"initialize" in server.requests[2]
            assert len(server.requests) == 3
            await lazy.close()

    asyncio.run(body())


def test_an_opening_that_failed_is_tried_again_by_the_next_call() -> None:
    async def comes_up(writer: asyncio.StreamWriter, number: int) -> None:
        ready = http(rpc({"protocolVersion": "2025-11-25"}, id=number))
        writer.write(http(b"starting", status="503 Service Unavailable", kind="text/plain") if number == 1 else ready)

    async def body() -> None:
        async with hostile(comes_up) as server:
            wire = CallerWire(Place(server.url))
            assert (await wire.send(Message("tool", "tap"))).status == 503
            await wire.send(Message("tool", "tap"))
            methods = [request.partition(b'"method":"')[2].partition(b'"')[0] for request in server.requests]
            assert methods == [b"initialize", b"initialize", b"notifications/initialized", b"tools/call"]
            await wire.close()

    asyncio.run(body())


@pytest.mark.parametrize("version", ["2025-11-25\r\nX-Admin: 1", "\ud800", "", " ", 7, None])
def test_a_version_that_no_header_can_carry(version: Any) -> None:
    async def body() -> None:
        async with hostile(says(http(rpc({"protocolVersion": version})), then="hang")) as server:
            wire = CallerWire(Place(server.url))
            assert (await wire.open()).ok
            await wire.send(Message("tool", "tap"))
            await wire.end()
            assert not any(b"mcp-protocol-version" in request.lower() for request in server.requests)
            await wire.close()

    asyncio.run(body())


def test_a_server_without_session_ids_has_nothing_to_end() -> None:
    async def body() -> None:
        hello = http(rpc({"protocolVersion": "2025-11-25"}))
        async with hostile(says(hello, then="hang")) as server:
            wire = CallerWire(Place(server.url))
            assert (await wire.open()).ok
            sent = len(server.requests)
            assert (await wire.end()).ok
            assert len(server.requests) == sent
            await wire.close()

    asyncio.run(body())


@pytest.mark.parametrize(
    ("answer", "ok", "status"),
    [
        (http(b"", status="405 Method Not Allowed"), False, 405),
        (http(b"<p>", status="200 OK", kind="text/html"), True, 200),
        (b"", False, None),
        (chunked(b"x", whole=False), False, None),
    ],
)
def test_the_end_of_a_session(answer: bytes, ok: bool, status: int | None) -> None:
    async def serve(writer: asyncio.StreamWriter, number: int) -> None:
        if number <= 2:
            writer.write(http(rpc({"protocolVersion": "2025-11-25"}), extra="Mcp-Session-Id: s-1\r\n"))
        else:
            await says(answer)(writer, number)

    async def body() -> None:
        async with hostile(serve) as server:
            wire = CallerWire(Place(server.url))
            await wire.open()
            reply = await wire.end()
            assert (reply.ok, reply.status, reply.error) == (ok, status, None)
            assert (reply.lost is not None) is (status is None)
            assert server.requests[2].startswith(b"DELETE /mcp")
            assert b"s-1" in server.requests[2]
            assert len(server.requests) == 3
            await wire.close()

    asyncio.run(body())


# -- the reference


@pytest.mark.parametrize("sse", [False, True], ids=["json", "sse"])
def test_the_reference_host_agent(sse: bool) -> None:
    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent(sse=sse)
        headers = {"Authorization": f"Bearer {host.token}"}
        alice, bob = (
            CallerWire(Place(host.url), headers=headers, transport=world.transport(), name=name)
            for name in ("alice", "bob")
        )
        assert (await alice.open()).ok
        assert (await bob.open()).ok
        tap = Message("tool", "tap", args={"device_id": "phone-1", "x": 1, "y": 1})
        assert (await alice.send(tap)).ok
        refused = await bob.send(tap)
        assert find(refused.document(), "/error/data/reason") == "device_busy"
        listed = await bob.send(Message("tool", "list_devices"))
        assert find(listed.document(), "/body/devices/0/status") == "busy"
        assert any(tool["name"] == "tap" for tool in (await bob.list_tools(5.0)).body["tools"])
        assert (await alice.end()).ok
        assert (await bob.send(tap)).ok
        stranger = CallerWire(Place(host.url), transport=world.transport())
        assert (await stranger.open()).status == 401

        swipe = {"device_id": "phone-1", "x1": 1, "y1": 1, "x2": 2, "y2": 2, "duration_ms": 30_000}
        at = world.now_s
        held = await bob.send(Message("tool", "swipe", args=swipe, timeout_s=40.0))
        assert (held.ok, world.now_s - at) == (True, 30.0)
        lost = await bob.send(Message("tool", "swipe", args=swipe, timeout_s=10.0))
        assert (lost.lost, world.now_s - at) == ("no whole answer within 10 s", 40.0)

    first, second = play(story, seed=3), play(story, seed=3)
    assert [event.kind for event in first] == [event.kind for event in second]


def test_vanishing_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(McpClient, "delete", lambda self, headers=None: deleted.append(self.name))

    async def story(world: VirtualWorld) -> None:
        host = await world.hostagent()
        headers = {"Authorization": f"Bearer {host.token}"}
        wire = CallerWire(Place(host.url), headers=headers, transport=world.transport(), name="alice")
        swipe = {"device_id": "phone-1", "x1": 1, "y1": 1, "x2": 2, "y2": 2, "duration_ms": 30_000}
        flight = asyncio.create_task(wire.send(Message("tool", "swipe", args=swipe, timeout_s=60.0)))
        await world.until(5.0)
        await wire.vanish()
        assert flight.done()
        assert (await flight).lost == "alice has vanished"
        assert world.now_s == 5.0
        with pytest.raises(WireError, match="alice has vanished and can send nothing"):
            await wire.send(Message("tool", "tap"))
        for use in (wire.open(), wire.end(), wire.list_tools(1.0)):
            with pytest.raises(WireError, match="open another wire"):
                await use
        await wire.vanish()
        await wire.close()

    play(story)
    assert deleted == []


def test_virtual_time_out_does_not_need_a_server() -> None:
    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.get_running_loop().create_future()
            raise AssertionError

    async def main(loop: Any) -> None:
        wire = CallerWire(Place("http://127.0.0.1/mcp", timeout_s=7.0), transport=Silent())
        assert (await wire.open()).lost == "no whole answer within 7 s"
        assert (await wire.list_tools(3.0)).lost == "no whole answer within 3 s"
        assert loop.time() == 10.0

    run_virtual(main)
