"""A driver call that does not return: who is told what, and when the device is itself again (ruling 13)."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps import heard, listening, moving, workflow


@scenario("HA-10")
async def test_a_hung_call_ends_in_driver_stuck_and_quarantine(world: World) -> None:
    """A phone hangs in a tap for longer than a call may take. The agent is told at max_call_s, and all are refused.
    When the driver returns at last the phone is out of quarantine, still leased for a TTL from then, and then free."""
    host = await world.hostagent(devices=["phone-1", "phone-2"], max_call_s=world.ttl_s * 2)
    phone = world.device("phone-1")
    alice, bob = await host.client("alice"), await host.client("bob")
    await phone.hang()
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    started_s = phone.log[-1].t_s
    with listening(world) as log:
        await world.until(started_s + host.max_call_s + 2 * world.tick_s)
        assert call.done, "the caller of a hung driver call must be told at max_call_s"
        stuck = await call
    assert (stuck.error.code, stuck.reason) == (-32000, "driver_stuck")
    assert stuck.error.data == {"reason": "driver_stuck", "device_id": "phone-1"}
    assert f"within {host.max_call_s:g} s" in stuck.error.message, "it says how long a call may take"
    assert log.levels("quarantined") == ["WARNING"] * log.heard

    asked_s = world.now_s
    for client in (alice, bob):
        assert (await client.tap("phone-1")).reason == "driver_stuck", f"{client.name} reached a device in quarantine"
    assert (await bob.call("device_status", device_id="phone-1")).value["status"] == "error"
    assert (await bob.tap("phone-2")).ok, "other devices go on"
    assert world.mode == "process" or world.now_s == asked_s, "refusals take no time"
    assert phone.calls == 1
    assert await host.busy() == ["phone-1", "phone-2"], "the running driver call pins the lease"

    await phone.heal()
    await world.settle()
    assert (await bob.call("device_status", device_id="phone-1")).value["status"] == "busy"
    assert (await bob.tap("phone-1")).reason == "device_busy"
    await world.until(phone.last_end_s + host.ttl_s)
    assert (await bob.tap("phone-1")).ok
    assert phone.callers == ["alice", "bob"]


@scenario("HA-10", sees=("answered", "stuck"))
@settings(max_examples=6)
@given(ticks=st.integers(-4, 4))
@example(ticks=-1)
@example(ticks=1)
async def test_a_call_may_take_max_call_s_and_no_tick_more(world: World, ticks: int) -> None:
    """A driver call ends a tick before, or a tick after, the longest time that a call may take.
    The first is answered, the second is `driver_stuck`; neither leaves the phone in quarantine once it has ended."""
    host = await world.hostagent(max_call_s=world.ttl_s)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    takes_s = host.max_call_s + (ticks or 1) * world.tick_s
    await phone.slow("tap", takes_s)
    answer = await alice.tap("phone-1")
    if takes_s < host.max_call_s:
        assert answer.ok, f"a call of {takes_s} s may take {host.max_call_s} s, got {answer.error}"
        world.saw("answered")
    else:
        assert answer.reason == "driver_stuck"
        world.saw("stuck")
    while phone.running:
        await world.advance(world.tick_s)
    await world.settle()
    assert (await alice.call("device_status", device_id="phone-1")).value["status"] == "busy"
    await phone.slow("tap", 0)
    assert (await alice.tap("phone-1")).ok


@scenario("HA-10")
async def test_an_assignment_that_hangs_fails_and_frees_the_phone_when_the_driver_returns(world: World) -> None:
    """The cloud's tap hangs. Its assignment is reported as failed at max_call_s, with the phone in quarantine.
    When the driver returns, no lease is left: an agent gets the phone at once."""
    cloud = await world.cloud()
    host = await world.hostagent(max_call_s=world.ttl_s)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    await phone.hang()
    task = await cloud.finished(await cloud.submit(workflow=workflow(90, 300), device_id="phone-1"))
    assert task["state"] == "failed"
    assert "is stuck" in task["failure_reason"]
    assert (await alice.tap("phone-1")).reason == "driver_stuck"
    await phone.heal()
    await world.settle()
    assert (await alice.tap("phone-1")).ok
