"""A driver call in flight holds its device, however long it takes and however it ends."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.lease import Granted, Holder

from .handover import expect_busy, expect_served, takes_over, takes_over_exactly


@scenario("HA-06", sees=("refusal-during-call", "hand-over-at-tick"))
@settings(max_examples=6)
@given(sixtieths=st.sampled_from([1, 59, 60, 61, 120, 180]))
@example(sixtieths=90)
async def test_a_call_longer_than_the_ttl_pins_its_phone(world: World, sixtieths: int) -> None:
    """Alice's tap takes up to three TTLs; Bob asks when it has just begun, at each TTL, and when it ends.

    He is refused all the time it runs and for one TTL after its end, to the tick.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", sixtieths / 60 * host.ttl_s)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    expect_busy(await bob.tap("phone-1"), "bob when the call has begun")
    for ttls in range(1, sixtieths // 60 + 1):
        if start_s + ttls * host.ttl_s >= start_s + sixtieths / 60 * host.ttl_s:
            break
        await world.until(start_s + ttls * host.ttl_s)
        expect_busy(await bob.tap("phone-1"), f"bob {ttls} TTLs after the call began")
    expect_served(await call, "alice's long tap")
    await phone.heal()
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-13", "HA-06")
@pytest.mark.parametrize("order", [(1 / 6, 3 / 2), (3 / 2, 1 / 6)], ids=["short-first", "long-first"])
async def test_two_calls_of_one_session_take_turns(world: World, order: tuple[float, float]) -> None:
    """Alice starts a call of a sixth of a TTL and one of one and a half together on one phone (10 s and 90 s of 60).

    The second waits its turn: the phone runs one at a time, is pinned until their sum (100 s), free one TTL later
    (160 s), and Bob is refused all the while, between the two calls too.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    tools = ["tap", "launch_app"]
    calls = []
    for tool, ttls in zip(tools, order, strict=True):
        await phone.slow(tool, ttls * host.ttl_s)
    calls.append(alice.begin_tap("phone-1"))
    calls.append(alice.begin("launch_app", device_id="phone-1", app="Notes"))
    await world.settle()
    assert phone.running == 1, f"{phone.running} calls of one session run at once on one phone"
    await world.until(phone.log[0].t_s + order[0] * host.ttl_s)
    expect_busy(await bob.tap("phone-1"), "bob when the first call has ended")
    for call, tool in zip(calls, tools, strict=True):
        answer = await call
        assert answer.ok or answer.reason == "driver_error", f"{tool} must reach the phone, got {answer.error}"
    kinds = [entry.kind for entry in phone.log]
    assert kinds == ["start", "end", "start", "end"], f"the calls must follow each other on the phone: {kinds}"
    ends = [entry.t_s for entry in phone.log if entry.kind == "end"]
    took_s = ends[-1] - phone.log[0].t_s
    slack_s = world.tick_s
    assert sum(order) * host.ttl_s <= took_s + slack_s, f"pinned for {took_s:.3f} s: the calls overlapped"
    assert took_s <= sum(order) * host.ttl_s + slack_s, f"pinned for {took_s:.3f} s: the calls did not follow at once"
    await phone.heal()
    await takes_over_exactly(world, bob, "phone-1", ends[-1] + host.ttl_s)


@scenario("HA-13")
async def test_one_session_drives_two_phones_at_once(world: World) -> None:
    """Alice taps two phones in the same instant, each tap taking half a TTL.

    Both run side by side and end together; Bob is refused on both; each is free one TTL after its own last end.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phones = [world.device("phone-1"), world.device("phone-2")]
    for phone in phones:
        await phone.slow("tap", host.ttl_s / 2)
    calls = [alice.begin_tap(phone.device_id) for phone in phones]
    await world.settle()
    assert [phone.running for phone in phones] == [1, 1], "one call on each phone at once"
    for phone in phones:
        expect_busy(await bob.tap(phone.device_id), f"bob on {phone.device_id} during alice's call")
    for call in calls:
        expect_served(await call, "alice's tap")
    for phone in phones:
        await phone.heal()
    apart_s = abs(phones[0].last_end_s - phones[1].last_end_s)
    assert apart_s <= world.tick_s, f"the calls ended {apart_s:.3f} s apart: one waited for the other"
    await world.advance(host.ttl_s / 4)
    expect_served(await alice.tap("phone-2"), "alice's second tap on phone-2")
    await takes_over(world, bob, "phone-1", phones[0].last_end_s + host.ttl_s)
    expect_busy(await bob.tap("phone-2"), "bob on phone-2, which alice used later")


@scenario("HA-06")
@pytest.mark.parametrize("how", ["refused-by-device", "disconnect", "crash"])
async def test_a_failed_call_renews_and_unpins(world: World, how: str) -> None:
    """Alice's call fails half a TTL after it began: an app that does not exist, a lost cable, a crashed phone.

    It was a use all the same: the lease runs from the end of the failed call, no shorter, and is not stuck.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    half_s = host.ttl_s / 2
    await phone.slow("launch_app", half_s if how == "refused-by-device" else host.ttl_s)
    began_s = world.now_s
    call = alice.begin("launch_app", device_id="phone-1", app="no such app")
    if how != "refused-by-device":
        await world.until(began_s + half_s)
        await (phone.disconnect() if how == "disconnect" else phone.crash())
    answer = await call
    assert answer.reason == "driver_error", f"expected the device's failure, got {answer}"
    await phone.heal()
    assert phone.last_end_s >= began_s + half_s, "the call must have taken half a TTL"
    await takes_over(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-06")
@pytest.mark.parametrize("how", ["cancelled", "dropped"])
async def test_a_call_given_up_keeps_its_pin_until_the_driver_ends(world: World, how: str) -> None:
    """Alice gives up a tap of one and a half TTLs early on: by notifications/cancelled, or by hanging up.

    The tap still moves, so Bob is refused while it does and for one TTL from the device's own end of it.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 1.5 * host.ttl_s)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    await world.until(start_s + host.ttl_s / 4)
    if how == "cancelled":
        await alice.cancel(call)
    else:
        call.drop()
    await world.until(start_s + host.ttl_s / 2)
    expect_busy(await bob.tap("phone-1"), f"bob after the call was {how}, the driver still running")
    await world.until(start_s + 1.25 * host.ttl_s + world.tick_s)
    expect_busy(await bob.tap("phone-1"), f"bob one TTL after the call was {how}, the driver still running")
    await phone.heal()
    await world.until(start_s + 1.5 * host.ttl_s + world.tick_s)
    assert phone.running == 0, "the tap must have ended by itself"
    await takes_over(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-06", rung="memory")
@settings(max_examples=40)
@given(uses=st.integers(1, 6), wait=st.sampled_from([0.0, 0.5, 1.0, 1.5]))
@example(uses=2, wait=1.5)
async def test_the_pin_is_a_count(world: World, uses: int, wait: float) -> None:
    """At the lease store: one holder begins several uses of a phone and ends them one by one.

    Nobody else gets it before the last use has ended and a TTL has passed since; one end too many is refused.
    """
    store = world.lease_store()
    alice, bob = Holder("mcp", "alice"), Holder("mcp", "bob")
    for _ in range(uses):
        assert isinstance(await store.begin_use("phone-1", alice), Granted), "alice takes or keeps the phone"
    for left in range(uses, 0, -1):
        await world.advance(wait * store.ttl_s)
        taken = await store.begin_use("phone-1", bob)
        assert not isinstance(taken, Granted), f"bob got the phone with {left} of alice's {uses} uses running"
        assert await store.end_use("phone-1", alice), f"the end of a use, {left} left"
    assert not await store.end_use("phone-1", alice), "one end more than there were uses"
    ended_s = world.now_s
    await world.until(ended_s + store.ttl_s - world.tick_s)
    assert not isinstance(await store.acquire("phone-1", bob), Granted), "bob, one tick before the TTL"
    await world.until(ended_s + store.ttl_s)
    assert isinstance(await store.acquire("phone-1", bob), Granted), "bob, at the TTL"
