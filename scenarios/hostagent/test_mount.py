"""Where MCP is served: at /mcp on the console's own port, to this machine only, and gone within five seconds."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from lasttick import World, scenario

STOP_S = 5.0
HOST = "phones.example"
OTHER_PATHS = (
    *("/mcpx", "/mcp/x", "/mcp/mcp", "/mcp//", "//mcp", "/MCP", "/mcp;x", "/api/mcp", "/api/status/"),
    "/.well-known/oauth-protected-resource",
)
BOTH = {"HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK": "1"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
}


async def initialize(http: httpx.AsyncClient, at: Any, path: str = "/mcp", **headers: str) -> httpx.Response:
    """An initialize request with the token. Header names as keywords, `_` for `-`."""
    own = {"authorization": f"Bearer {at.token}", "accept": "application/json, text/event-stream"}
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post(path, json=INITIALIZE, headers=own | given)


def port_of(host: Any) -> int:
    port = httpx.URL(host.console_url).port
    assert port is not None
    return port


@scenario("HA-01")
async def test_both_spellings_are_the_endpoint(world: World) -> None:
    """POST to /mcp and to /mcp/: both answer 200 themselves, no redirect. A session opened at one works at the
    other."""
    host = await world.hostagent()
    assert host.url == f"{host.console_url}/mcp", "MCP has no address of its own: it is on the console's port"
    async with host.http() as http:
        for path, other in (("/mcp", "/mcp/"), ("/mcp/", "/mcp")):
            answer = await initialize(http, host, path)
            assert answer.status_code == 200, f"POST {path} gave {answer.status_code}, to {answer.headers}"
            session = answer.headers["mcp-session-id"]
            headers = {
                "authorization": f"Bearer {host.token}",
                "accept": "application/json, text/event-stream",
                "mcp-session-id": session,
                "mcp-protocol-version": "2025-11-25",
            }
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            listed = await http.post(other, json=body, headers=headers)
            assert listed.status_code == 200, f"a session of {path} used at {other} gave {listed.status_code}"
            assert "take_screenshot" in listed.text, f"tools/list at {other}: {listed.text[:100]}"


@scenario("HA-01", "HA-02")
async def test_other_paths_are_the_consoles(world: World) -> None:
    """Paths near /mcp, with and without the token. The console's 404 for all, and its own pages stay its own."""
    host = await world.hostagent()
    async with host.http() as http:
        nothing = await http.get("/no-such-page")
        assert nothing.status_code == 404, f"an unknown page of the console gave {nothing.status_code}"
        token = {"authorization": f"Bearer {host.token}"}
        for path in OTHER_PATHS:
            for headers in ({}, token):
                answer = await http.get(host.console_url + path, headers=headers)
                said = f"GET {path} with {list(headers)}: {answer.status_code} {answer.headers.get('location', '')}"
                assert answer.status_code == 404, f"expected the console's 404, got {said}"
                assert answer.text == nothing.text, f"GET {path} is not answered by the console: {answer.text[:100]}"
        for headers in ({}, token):
            answer = await http.get("/api/status", headers=headers)
            assert answer.status_code == 401, f"the console's status wants its login, also with {list(headers)}"


@scenario("HA-01")
@pytest.mark.parametrize("switches", ["none", "flag", "variable", "variable-0"])
@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", HOST])
async def test_one_switch_lets_nobody_in(world: World, address: str, switches: str) -> None:
    """A host that other machines can reach, with no switch, only the flag, or only the variable. The start is refused,
    the message names both switches, and nothing was made in the identity folder."""
    environ = {"variable": BOTH, "variable-0": dict.fromkeys(BOTH, "0")}.get(switches, {})
    flag = switches in ("flag", "variable-0")
    folder = world.path / "identity"
    said = await world.refusal(host=address, allow_non_loopback=flag, environ=environ, identity_dir=folder)
    for part in (address, "--allow-non-loopback", *BOTH):
        assert part in said, f"the refusal must name {part}: {said}"
    assert not folder.exists() or not list(folder.iterdir()), "a refused start makes nothing"


@scenario("HA-01", rung="memory")
async def test_both_switches_let_that_host_in_and_no_other(world: World) -> None:
    """Both switches and a host name. Requests to that name or loopback are served; another Host header gets 421,
    another Origin 403."""
    host = await world.hostagent(host=HOST, allow_non_loopback=True, environ=BOTH)
    port = port_of(host)
    async with host.http() as http:
        for name in (HOST, "127.0.0.1", "localhost"):
            answer = await initialize(http, host, host=f"{name}:{port}")
            assert answer.status_code == 200, f"Host {name} gave {answer.status_code}"
            answer = await initialize(http, host, host=f"{name}:{port}", origin=f"http://{name}:{port}")
            assert answer.status_code == 200, f"Origin {name} gave {answer.status_code}"
        for name in ("evil.example", f"{HOST}.evil.example", f"sub.{HOST}", "192.0.2.1", "0.0.0.0"):
            answer = await initialize(http, host, host=f"{name}:{port}")
            assert answer.status_code == 421, f"foreign Host {name} gave {answer.status_code}"
            answer = await initialize(http, host, host=f"{HOST}:{port}", origin=f"http://{name}:{port}")
            assert answer.status_code == 403, f"foreign Origin {name} gave {answer.status_code}"
        answer = await initialize(http, host, host=f"{HOST}:{port + 1}")
        assert answer.status_code == 421, f"another port in Host gave {answer.status_code}"


@scenario("HA-01")
async def test_on_loopback_only_loopback_names_are_served(world: World) -> None:
    """The usual start. A browser sent here by a foreign page (foreign Host, foreign Origin) is refused with the token
    in its hand; loopback names are served."""
    host = await world.hostagent()
    port = port_of(host)
    async with host.http() as http:
        for name in ("127.0.0.1", "localhost", "[::1]"):
            answer = await initialize(http, host, host=f"{name}:{port}", origin=f"http://{name}:{port}")
            assert answer.status_code == 200, f"{name} gave {answer.status_code}"
        for name in ("evil.example", HOST, "127.0.0.1.evil.example", "0.0.0.0"):
            answer = await initialize(http, host, host=f"{name}:{port}")
            assert answer.status_code == 421, f"foreign Host {name} gave {answer.status_code}"
            answer = await initialize(http, host, origin=f"http://{name}:{port}")
            assert answer.status_code == 403, f"foreign Origin {name} gave {answer.status_code}"
        assert (await initialize(http, host, origin="null")).status_code == 403, "Origin null is foreign"


@scenario("HA-01")
async def test_stops_in_five_seconds_with_answers_as_streams(world: World) -> None:
    """The same with answers as event streams: the call in flight is one more open stream. Gone within five seconds."""
    await stops_in_time(world, sse=True)


@scenario("HA-01")
async def test_stops_in_five_seconds_whatever_is_open(world: World) -> None:
    """Two GET streams are open and a driver call that takes far longer runs. Told to stop, the host agent is gone
    within five seconds, and nobody waits for an answer any more."""
    await stops_in_time(world, sse=False)


async def stops_in_time(world: World, *, sse: bool) -> None:
    host = await world.hostagent(sse=sse)
    alice, bob = await host.client("alice"), await host.client("bob")
    streams = [await alice.raw.open_stream(), await bob.raw.open_stream()]
    assert [stream.http_status for stream in streams] == [200, 200], "both streams are open"
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s * 6)
    call = alice.begin_tap("phone-1")
    await world.settle()
    assert phone.running == 1, "the driver call runs"
    begin_s = world.now_s
    await host.stop()
    took_s = world.now_s - begin_s
    assert took_s <= STOP_S, f"the stop took {took_s:.2f} s; expected at most {STOP_S:g} s with streams and a call open"
    answers = await asyncio.gather(call, return_exceptions=True)
    assert not getattr(answers[0], "ok", False), "the call whose driver still ran got no result"
    assert world.now_s - begin_s <= STOP_S, f"its caller waited {world.now_s - begin_s:.2f} s for an answer"
    assert phone.running == 1, "the driver call does not end with the host agent: it ended before its time"
    for stream in streams:
        await stream.close()
