"""The error matrix: each row of the seed's table with its code, message, data and log level."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from lasttick import World, scenario

from .steps import HELD_BY_MCP, heard, listening, moving, refused_start, workflow

Row = Callable[[World], Awaitable[None]]


def expect(answer: Any, code: int, message: str, **data: Any) -> None:
    """The answer is exactly this JSON-RPC error, and no tool result."""
    assert answer.error is not None, f"expected error {code} ({message}), got {answer}"
    assert answer.result is None
    assert (answer.error.code, answer.error.message) == (code, message)
    assert answer.error.data == data
    assert answer.http_status == 200


def expect_held(answer: Any, device_id: str, owner: Any, held: str = "held by another MCP session") -> None:
    """Busy, with the first 8 characters of the owner's session and no more."""
    session = str(owner.raw.session_id)[:8]
    message, busy_owner = f"device {device_id} is busy ({held})", f"mcp_session:{session}"
    expect(answer, -32000, message, reason="device_busy", device_id=device_id, busy_owner=busy_owner)


async def row_1(world: World) -> None:
    """Missing or wrong bearer: 401, says so in header and body; failures are not logged, the first success once."""
    host = await world.hostagent()
    with listening(world) as log:
        async with host.http() as http:
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {host.token}"}):
                answer = await http.post("/mcp", json={}, headers=headers)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.json() == {"error": "invalid token"}
        said = [record for record in log.records if record.name.startswith("lasttick")]
        assert said == [], f"a refusal at the door leaves no line, got {said}"
        for name in ("alice", "bob"):
            await host.client(name)
    if log.heard:
        assert log.levels("valid token") == ["INFO"], "the first success, once"


async def row_2(world: World) -> None:
    """The cloud holds the device: -32000, owner cloud_assignment, DEBUG."""
    cloud = await world.cloud()
    host = await world.hostagent()
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    await phone.slow("tap", host.ttl_s)
    task = await cloud.submit(workflow=workflow(90, 300), device_id="phone-1")
    await moving(world, phone)
    with listening(world) as log:
        answer = await alice.tap("phone-1")
    expect(
        answer,
        -32000,
        "device phone-1 is busy (held by cloud assignment)",
        reason="device_busy",
        device_id="phone-1",
        busy_owner="cloud_assignment",
    )
    assert log.levels("device phone-1 is busy") == ["DEBUG"] * log.heard
    assert (await cloud.finished(task))["state"] == "succeeded"


async def row_3(world: World) -> None:
    """Another session holds the device: -32000, owner mcp_session and 8 characters of its id, never more, DEBUG."""
    host = await world.hostagent()
    alice, bob = await host.client("alice"), await host.client("bob")
    assert (await alice.tap("phone-1")).ok
    with listening(world) as log:
        answer = await bob.tap("phone-1")
    expect_held(answer, "phone-1", alice)
    assert str(alice.raw.session_id) not in str(answer)
    assert log.levels("device phone-1 is busy") == ["DEBUG"] * log.heard


async def row_4(world: World) -> None:
    """Unknown device: -32602, checked before any lease is taken."""
    host = await world.hostagent()
    alice = await host.client("alice")
    for tool, arguments in (("tap", {"x": 1, "y": 1}), ("take_screenshot", {}), ("device_status", {})):
        answer = await alice.call(tool, device_id="phone-9", **arguments)
        expect(answer, -32602, "unknown device: phone-9", reason="unknown_device", device_id="phone-9")
    assert await host.busy() == []


async def row_5(world: World) -> None:
    """The driver fails: -32000 with its own message, WARNING with the traceback; the caller still holds the device."""
    host = await world.hostagent()
    phone = world.device("phone-1")
    alice, bob = await host.client("alice"), await host.client("bob")
    await phone.crash()
    with listening(world) as log:
        answer = await alice.tap("phone-1")
    message = "phone-1 has crashed; a device must have health ok to act; wait until it is back"
    expect(answer, -32000, message, reason="driver_error", device_id="phone-1")
    assert log.levels("device phone-1 failed in tap") == ["WARNING"] * log.heard
    assert log.tracebacks("device phone-1 failed in tap") == log.heard
    await phone.heal()
    assert (await bob.tap("phone-1")).reason == "device_busy"
    assert (await alice.tap("phone-1")).ok


async def row_6(world: World) -> None:
    """An assignment meets an MCP lease: failed, with exactly the seed's reason, INFO once."""
    heartbeat_s = world.ttl_s * 4
    cloud = await world.cloud(heartbeat_s=heartbeat_s)
    host = await world.hostagent(heartbeat_s=heartbeat_s)
    alice = await host.client("alice")
    await heard(world, cloud)
    assert (await alice.tap("phone-1")).ok
    with listening(world) as log:
        task = await cloud.finished(await cloud.submit(goal="tap Messages", device_id="phone-1"))
    (assignment,) = task["assignments"]
    assert (assignment["state"], assignment["failure_reason"]) == ("failed", HELD_BY_MCP)
    assert log.levels(HELD_BY_MCP) == ["INFO"] * log.heard


async def row_7(world: World) -> None:
    """A corrupt token file: the host agent does not start, says which file, and leaves it as it is."""
    folder = world.path / "identity"
    folder.mkdir(mode=0o700)
    token = folder / "host_mcp_token.json"
    token.touch(mode=0o600)
    token.write_bytes(b'{"version": 1, "token": "abc')
    message = await refused_start(world, identity_dir=folder)
    assert f"{token} is not JSON" in message, message
    assert "Traceback" not in message
    assert token.read_bytes() == b'{"version": 1, "token": "abc', "never made anew silently"


async def row_9(world: World) -> None:
    """A client is gone in the middle of a call: the device stays its own until the driver ends and the TTL has run."""
    host = await world.hostagent()
    phone = world.device("phone-1")
    alice, bob = await host.client("alice"), await host.client("bob")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    call.drop()
    await alice.vanish()
    expect_held(await bob.tap("phone-1"), "phone-1", alice)
    await world.advance(host.ttl_s / 2)
    assert not phone.running
    await world.until(phone.last_end_s + host.ttl_s - world.tick_s)
    assert (await bob.tap("phone-1")).reason == "device_busy", "the TTL runs from the end of the driver call"
    await world.until(phone.last_end_s + host.ttl_s)
    assert (await bob.tap("phone-1")).ok


async def row_10(world: World) -> None:
    """Back after the TTL: silently its own again if nobody took the device, else busy."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    for device_id in ("phone-1", "phone-2"):
        assert (await alice.tap(device_id)).ok
    await world.until(world.device("phone-2").last_end_s + host.ttl_s)
    assert (await alice.tap("phone-1")).ok, "an expired lease that nobody took is taken again without a word"
    assert (await bob.tap("phone-2")).ok
    expect_held(await alice.tap("phone-2"), "phone-2", bob)


async def row_11(world: World) -> None:
    """One session, two devices at once: neither waits for the other."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice = await host.client("alice")
    await world.device("phone-1").slow("tap", host.ttl_s / 2)
    first = alice.begin_tap("phone-1")
    assert (await alice.tap("phone-2")).ok
    assert not first.done, "the call on phone-2 waited for the one on phone-1"
    assert (await first).ok


async def row_12(world: World) -> None:
    """One session, one device, two calls at once: the second waits its turn, but not longer than a call may take."""
    host = await world.hostagent(max_call_s=world.ttl_s)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await phone.slow("tap", host.ttl_s / 2)
    first, second = alice.begin_tap("phone-1"), alice.begin_tap("phone-1")
    assert (await first).ok
    assert (await second).ok
    await phone.hang()
    first = alice.begin_tap("phone-1")
    second = alice.begin_tap("phone-1")
    answer = await second
    expect_held(answer, "phone-1", alice, "held by an earlier call of this MCP session")
    await phone.heal()
    await first


async def row_13(world: World) -> None:
    """A client without a session or handles: -32001 for the leased tools, ERROR in the log, and nothing is leased."""
    host = await world.hostagent(stateless_handles=False)
    stranger = await host.client("stranger", era="modern")
    with listening(world) as log:
        answer = await stranger.call("tap", device_id="phone-1", x=1, y=1)
    assert (answer.error.code, answer.error.message) == (-32001, "cannot determine MCP session")
    assert answer.reason == "no_session"
    assert answer.error.data["hint"], "it says what to do"
    assert log.levels("cannot determine MCP session") == ["ERROR"] * log.heard
    assert await host.busy() == []
    assert world.device("phone-1").calls == 0


async def row_14(world: World) -> None:
    """The host agent stops while a session holds a device: the lease goes with the process."""
    host = await world.hostagent()
    alice = await host.client("alice")
    assert (await alice.tap("phone-1")).ok
    assert await host.busy() == ["phone-1"]
    await host.restart()
    assert await host.busy() == []
    bob = await host.client("bob")
    assert (await bob.tap("phone-1")).ok
    assert (await alice.tap("phone-1")).http_status == 404, "the old session is gone with its process"


ROWS: dict[str, Row] = {
    "1": row_1,
    "2": row_2,
    "3": row_3,
    "4": row_4,
    "5": row_5,
    "6": row_6,
    "7": row_7,
    "9": row_9,
    "10": row_10,
    "11": row_11,
    "12": row_12,
    "13": row_13,
    "14": row_14,
}


@scenario("HA-10")
@pytest.mark.parametrize("row", list(ROWS))
async def test_matrix_row(world: World, row: str) -> None:
    """One row of the error matrix (seed 002, section 7) is provoked and its answer read by a plain client.
    Code, message, data and log level are the row's own, and nothing is left behind that the row does not name."""
    await ROWS[row](world)


@scenario("HA-10", rung="memory")  # it changes the user of this process while the host starts: not for a child
async def test_matrix_row_8_unwritable_token(world: World) -> None:
    """The host agent starts as a user who may not write in its identity folder, where no token is yet (row 8).
    The start fails, names the file, and no token exists, on disk or in memory."""
    host = await world.hostagent()
    await host.stop()
    folder = host.options.identity_dir
    (folder / "host_mcp_token.json").unlink()
    (folder / "host_agent.pid").touch()
    folder.chmod(0o555)
    left = sorted(path.name for path in folder.iterdir())
    before, nobody = os.geteuid(), 65_534
    if before == 0:  # root may write anywhere; what that user needs to read has been read, or imported, before
        for path in folder.iterdir():
            os.chown(path, nobody, nobody)
        world.path.chmod(0o711)
        os.seteuid(nobody)
    try:
        if os.access(folder, os.W_OK, effective_ids=True):
            world.inconclusive(f"uid {os.geteuid()} can write in {folder}; expected a folder that it can not")
        message = await refused_start(world, identity_dir=folder)
    finally:
        os.seteuid(before)
    assert "host_mcp_token.json cannot be made" in message, message
    folder.chmod(0o700)
    assert sorted(path.name for path in folder.iterdir()) == left, "nothing is left half-written"


@scenario("HA-10")
async def test_two_calls_in_flight_never_share_a_request_id(world: World) -> None:
    """While a slow tap runs, the same session sends a second request under the same JSON-RPC id.
    The second gets 409 and no answer of another call; the first gets its own; afterwards the id may be used again."""
    host = await world.hostagent()
    phone = world.device("phone-1")
    alice, bob = await host.client("alice"), await host.client("bob")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    status = {"name": "device_status", "arguments": {"device_id": "phone-1"}}
    for same in (call.request_id, str(call.request_id)):  # the SDK files both under one text
        second = await alice.raw.request("tools/call", status, id=same)
        assert second.http_status == 409, f"expected 409 for the id in flight, got {second.http_status}"
        assert second.message is not None
        assert second.message["id"] is None, "with the id, a client would take the refusal for the first call's answer"
        assert second.error.data["reason"] == "duplicate_request_id"
    assert (await bob.raw.request("tools/call", status, id=call.request_id)).ok, "ids of other sessions are apart"
    first = await call
    assert first.ok
    assert "hit" in first.value, f"the first call must get its own answer, got {first.value}"
    assert (await alice.raw.request("tools/call", status, id=call.request_id)).ok
