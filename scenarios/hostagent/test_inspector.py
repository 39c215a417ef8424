"""A client that others wrote: the MCP Inspector's command line as it is installed, with the token in a header."""

from __future__ import annotations

import os
from typing import Any

from lasttick import World, scenario

TOOLS = 11


def inspector(world: World, host: Any, token: str | None = None) -> Any:
    """The installed Inspector; inconclusive, with the way to get it, when there is none."""
    from lasttick.conformance import toolbox
    from lasttick.conformance.inspector import Inspector

    box = toolbox.look(toolbox.folder_of(os.environ))
    if (lacks := box.lacks(inspector=True)) is not None:
        world.inconclusive(lacks)
    home = world.path / "inspector-home"
    home.mkdir(exist_ok=True)
    return Inspector(box, host.url, token or host.token, home)


async def tapped(world: World, client: Any, y: float) -> Any:
    """One tap of the Inspector, told to the trace as the call of a caller of its own: it is another session each time,
    and the phone's log must tell them apart."""
    actor, ref = f"inspector-{y:g}", world.next_ref("c")
    tap = {"device_id": "phone-1", "x": 101.5, "y": y}
    world.trace.emit(actor, "call.start", ref, tool="tap", device_id="phone-1", arguments=tap, session=None)
    done = await client.tools_call("tap", **tap)
    ok = done.code == 0
    code, reason = (None, None) if ok else (-32000, "device_busy")
    world.trace.emit(actor, "call.end", ref, tool="tap", ok=ok, http_status=200, code=code, reason=reason)
    return done


@scenario("HA-19", "HA-02", "HA-22", rung="process")
async def test_the_inspector_lists_and_calls_through_the_door(world: World) -> None:
    """The Inspector with the bearer header lists the eleven tools and asks for the devices; with a wrong token it does
    not come in (exit code 3)."""
    host = await world.hostagent()
    client = inspector(world, host)
    listed = await client.tools_list()
    assert listed.code == 0, listed.said
    assert len(listed.result["tools"]) == TOOLS
    devices = await client.tools_call("list_devices")
    assert devices.code == 0, devices.said
    assert [one["device_id"] for one in devices.result["structuredContent"]["devices"]] == ["phone-1"]
    stranger = await inspector(world, host, "not-the-token").tools_list()
    assert (stranger.code, stranger.result) == (3, None)
    assert "auth_required" in stranger.said


@scenario("HA-19", "HA-04", "HA-06", rung="process")
async def test_a_lease_of_the_inspector_ends_by_its_ttl_alone(world: World) -> None:
    """Each call of the Inspector is a session of its own, which it never ends. So its second tap is another session's
    and is refused (exit code 1) until the TTL after the first has passed, and then it gets the phone."""
    host = await world.hostagent(ttl_s=3 * world.ttl_s)
    client = inspector(world, host)
    phone = world.device("phone-1")
    first = await tapped(world, client, 3.5)
    assert first.code == 0, first.said
    assert await host.busy() == ["phone-1"], "nobody ended the session, so the phone is still held"
    second = await tapped(world, client, 4.5)
    assert (second.code, second.result) == (1, None)
    assert "device phone-1 is busy (held by another MCP session)" in second.said
    unknown = await client.tools_call("tap", device_id="phone-9", x=101.5, y=4)
    assert unknown.code == 1
    assert "unknown device: phone-9" in unknown.said
    await world.until(phone.last_end_s + host.ttl_s)
    third = await tapped(world, client, 5.5)
    assert third.code == 0, third.said
    assert phone.calls == 2


@scenario("HA-21", rung="process")
async def test_the_inspector_tells_a_failed_tool_from_an_error(world: World) -> None:
    """A tool that says it failed: the Inspector shows its result and ends with exit code 5, not with that of a JSON-RPC
    error."""
    host = await world.hostagent(fixtures=True)
    failed = await inspector(world, host).tools_call("test_error_handling")
    assert failed.code == 5, failed.said
    assert failed.result["isError"] is True
    assert failed.result["content"][0]["text"] == "This tool intentionally returns an error for testing"
