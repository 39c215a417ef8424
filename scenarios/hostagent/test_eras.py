"""Both protocol eras, and both shapes of an answer: what stays the same and what a client without a session may do."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

from .test_tools import NAMES

LEASED: dict[str, dict[str, Any]] = {
    "take_screenshot": {},
    "tap": {"x": 1, "y": 1},
    "swipe": {"x1": 1, "y1": 1, "x2": 2, "y2": 2},
    "input_text": {"text": "hello"},
    "launch_app": {"app": "notes"},
    "find_text": {"text": "Notes"},
    "find_icon": {"icon": "notes"},
    "get_ui_tree": {},
    "describe_screen": {},
}


@scenario("HA-10")
async def test_a_client_without_a_session_sees_everything_and_drives_nothing(world: World) -> None:
    """Handles are off; a client of 2026-07-28, which has no session, lists tools and devices beside a sessionful one.
    Each of the nine leased tools is -32001 no_session, also for the device that the other holds; none is touched."""
    host = await world.hostagent(devices=["phone-1", "phone-2"], stateless_handles=False)
    alice = await host.client("alice")
    stranger = await host.client("stranger", era="modern")
    assert stranger.raw.session_id is None
    assert (await alice.tap("phone-1")).ok

    assert await stranger.list_tools() == await alice.list_tools()
    rows = {row["device_id"]: row for row in (await stranger.call("list_devices")).value["devices"]}
    assert (rows["phone-1"]["status"], rows["phone-1"]["owner"]) == ("busy", "mcp")
    assert rows["phone-2"]["status"] == "idle"
    assert (await stranger.call("device_status", device_id="phone-1")).value == rows["phone-1"]
    for tool, arguments in LEASED.items():
        for device_id in ("phone-1", "phone-2"):
            answer = await stranger.call(tool, device_id=device_id, **arguments)
            assert answer.error is not None, f"{tool} must be refused without a session"
            assert (answer.error.code, answer.reason) == (-32001, "no_session")
            assert answer.error.message == "cannot determine MCP session"
    assert await host.busy() == ["phone-1"]
    assert world.device("phone-1").callers == ["alice"]
    assert world.device("phone-2").calls == 0


@scenario("HA-10")
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_bad_calls_are_refused_alike_in_both_eras(world: World, era: str) -> None:
    """The same wrong calls from a client with and from one without a session.
    Unknown tools, bad arguments and unknown devices are -32602 before anybody asks who is calling."""
    host = await world.hostagent()
    client = await host.client("client", era=era)
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("reboot", {"device_id": "phone-1"}, "unknown_tool"),
        ("tap", {"device_id": "phone-1", "x": "left", "y": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": 1, "y": 1, "hard": True}, "bad_arguments"),
        ("list_devices", {"device_id": "phone-1"}, "bad_arguments"),
        ("tap", {"device_id": "phone-9", "x": 1, "y": 1}, "unknown_device"),
        ("device_status", {"device_id": "phone-9"}, "unknown_device"),
    ]
    for tool, arguments, reason in wrong:
        answer = await client.call(tool, **arguments)
        assert answer.error is not None
        assert (answer.error.code, answer.reason) == (-32602, reason), f"{tool} {arguments}: {answer.error}"
    assert await host.busy() == []


@scenario("HA-10", "HA-22")
async def test_answers_as_event_streams_say_the_same(world: World) -> None:
    """Two hosts with a phone each, one answering in JSON, one in event streams, get the same calls.
    Results, error codes, messages and data are the same to the letter, and those that each call must have."""
    answers = []
    for sse in (False, True):
        name = "phone-1" if not sse else "phone-2"
        host = await world.hostagent(devices=[name], sse=sse, name=f"host-{name}")
        alice, bob = await host.client(f"alice-{name}"), await host.client(f"bob-{name}")
        reply = await alice.raw.list_tools()
        kind = reply.headers["content-type"].split(";")[0]
        assert kind == ("text/event-stream" if sse else "application/json")
        assert sorted(tool["name"] for tool in reply.result["tools"]) == NAMES
        said = [
            (await alice.call("launch_app", device_id=name, app="notes")).result,
            (await alice.call("find_text", device_id=name, text="Title")).result,
            (await alice.call("take_screenshot", device_id=name)).result,
            (await alice.call("tap", device_id=name, x="left", y=1)).error,
            (await alice.call("tap", device_id="phone-9", x=1, y=1)).error,
            (await bob.call("device_status", device_id=name)).result,
            (await bob.call("describe_screen", device_id=name)).error,
        ]
        assert [getattr(one, "code", "result") for one in said] == ["result"] * 3 + [-32602, -32602, "result", -32000]
        text = str(said).replace(name, "PHONE").replace(str(alice.raw.session_id)[:8], "ALICE")
        answers.append((text, reply.result))
    assert answers[0] == answers[1]
