"""The MCP Inspector's command line without the program: the requests that it sends, byte for byte, in every mode.

Recorded from version 2.12.0 calling one tool; the token, the session id and the address are the run's own.
"""

from __future__ import annotations

import contextlib
from typing import Any

import httpx

from lasttick import World, scenario

INITIALIZE = (
    b'{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},'
    b'"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/skills":{}}},"clientInfo":'
    b'{"name":"inspector-cli","version":"2.12.0"}},"jsonrpc":"2.0","id":0}'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST = b'{"method":"tools/list","jsonrpc":"2.0","id":1}'
CALL = (
    b'{"method":"tools/call","params":{"name":"launch_app","arguments":{"device_id":"phone-1","app":"notes"}},'
    b'"jsonrpc":"2.0","id":2}'
)
NODE = {"accept-language": "*", "sec-fetch-mode": "cors", "user-agent": "node", "accept-encoding": "gzip, deflate"}
BOTH = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def body(answer: httpx.Response) -> Any:
    """The JSON of an answer, whether it came plain or as the one event of a stream."""
    assert answer.status_code == 200, f"HTTP {answer.status_code}: {answer.text[:200]}"
    if answer.headers["content-type"].startswith("application/json"):
        return answer.json()
    (data,) = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return httpx.Response(200, text=data.removeprefix("data: ")).json()


@scenario("HA-19")
async def test_what_the_inspector_sends_is_served(world: World) -> None:
    """The Inspector's requests for one call: initialize with id 0 and capabilities nobody here knows, initialized, a
    GET stream, the list, the call. Each is answered well and the phone does it; without the token nothing is."""
    host = await world.hostagent()
    door = {**NODE, "authorization": f"Bearer {host.token}"}
    async with host.http() as http, contextlib.AsyncExitStack() as streams:
        stranger = await http.post("/mcp", content=INITIALIZE, headers={**NODE, **BOTH})
        assert (stranger.status_code, stranger.headers["www-authenticate"]) == (401, "Bearer")

        began = await http.post("/mcp", content=INITIALIZE, headers={**door, **BOTH})
        told = body(began)
        assert told["id"] == 0, f"the answer to request 0 is {told}"
        assert told["result"]["protocolVersion"] == "2025-11-25"
        world.alias_session(began.headers["mcp-session-id"])
        door |= {"mcp-session-id": began.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        assert (await http.post("/mcp", content=INITIALIZED, headers={**door, **BOTH})).status_code == 202

        stream = http.stream("GET", "/mcp", headers={**door, "accept": "text/event-stream"}, timeout=None)
        assert (await streams.enter_async_context(stream)).status_code == 200

        listed = body(await http.post("/mcp", content=LIST, headers={**door, **BOTH}))
        assert len(listed["result"]["tools"]) == 11
        ref, given = world.next_ref("c"), {"device_id": "phone-1", "app": "notes"}
        launch = {"tool": "launch_app", "device_id": "phone-1", "arguments": given}
        world.trace.emit("inspector", "call.start", ref, session=None, **launch)
        called = body(await http.post("/mcp", content=CALL, headers={**door, **BOTH}))
        world.trace.emit("inspector", "call.end", ref, tool="launch_app", ok=True, http_status=200, reason=None)
        assert called["id"] == 2
        assert not called["result"].get("isError", False), called
    assert [entry.tool for entry in world.device("phone-1").log if entry.kind == "start"] == ["launch_app"]
