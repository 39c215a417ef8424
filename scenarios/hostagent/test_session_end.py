"""However a session ends, and whenever: what it held goes when the device is done with it, and never comes back."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.lease import Granted, Holder, Refused

from .handover import expect_busy, expect_served, takes_over

INSTANTS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0).map(lambda part: round(part, 3)))


@scenario("HA-07", sees=("refusal-during-call", "hand-over"))
@settings(max_examples=5)
@given(part=INSTANTS, sse=st.booleans())
@example(part=0.5, sse=False)
@example(part=0.0, sse=False)
async def test_delete_during_a_call_frees_the_phone_when_the_driver_ends(world: World, part: float, sse: bool) -> None:
    """Alice's tap takes one and a half TTLs; at a seeded part of it she ends her session by DELETE.

    Until the phone itself reports the end Bob is refused; from that instant on, with no TTL, he gets the phone.
    """
    host = await world.hostagent(devices=["phone-1"], sse=sse)
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    length_s = 1.5 * host.ttl_s
    await phone.slow("tap", length_s)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    await world.until(max(world.now_s, start_s + part * (length_s - 2 * world.tick_s)))
    await alice.end()
    expect_busy(await bob.tap("phone-1"), f"bob right after the DELETE at {part} of the call")
    await world.until(start_s + length_s - world.tick_s)
    expect_busy(await bob.tap("phone-1"), "bob one tick before the driver ends")
    await phone.heal()
    await world.until(start_s + length_s)
    assert phone.running == 0, "the tap must have ended by itself"
    expect_served(await bob.tap("phone-1"), "bob when the driver has ended")
    call.drop()
    dead = await alice.tap("phone-1")
    assert not dead.ok, "a call of the ended session was served"
    assert await host.busy() == ["phone-1"], "only bob's lease may be left"


@scenario("HA-07")
async def test_delete_frees_idle_phones_at_once(world: World) -> None:
    """Alice holds two idle phones and ends her session. Bob has both in the same instant, and hers never come back."""
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    for device_id in ("phone-1", "phone-2"):
        expect_served(await alice.tap(device_id), f"alice on {device_id}")
    ended = await alice.end()
    assert ended.http_status < 300, f"DELETE gave HTTP {ended.http_status}"
    assert await host.busy() == [], "leases of an ended session are left"
    dead = await alice.tap("phone-1")
    assert dead.http_status == 404, f"a call in an ended session must get 404, got {dead}"
    assert await host.busy() == [], "a call in an ended session made a lease"
    for device_id in ("phone-1", "phone-2"):
        expect_served(await bob.tap(device_id), f"bob on {device_id} right after alice's end")
    assert (await alice.end()).http_status == 404, "a second DELETE has nothing to end"
    expect_served(await bob.tap("phone-1"), "bob after alice's second DELETE")


@scenario("HA-07", "HA-13")
@pytest.mark.parametrize("part", [0.0, 0.5])
async def test_delete_while_a_call_waits_its_turn(world: World, part: float) -> None:
    """Alice has one tap running and one queued behind it when she ends her session.

    The queued one never reaches the phone; Bob is refused until the first ends, then has the phone at once.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    calls = [alice.begin_tap("phone-1"), alice.begin_tap("phone-1")]
    await world.settle()
    start_s = phone.log[0].t_s
    await world.until(max(world.now_s, start_s + part * host.ttl_s / 2))
    await alice.end()
    expect_busy(await bob.tap("phone-1"), "bob right after the DELETE")
    await phone.heal()
    await world.until(start_s + host.ttl_s / 2 + world.tick_s)
    assert phone.calls == 1, f"the queued call of an ended session reached the phone: {phone.callers}"
    assert await host.busy() == [], "a lease of the ended session is left, or made again by the queued call"
    expect_served(await bob.tap("phone-1"), "bob when the first tap has ended")
    for call in calls:
        call.drop()


@scenario("HA-07")
@pytest.mark.parametrize("how", ["crash", "crash-and-drop", "cancel", "drop"])
async def test_who_goes_without_a_word_leaves_one_ttl(world: World, how: str) -> None:
    """In the middle of a tap Alice's program crashes, or cancels or drops the call and says no more.

    Nobody can know that she is gone: Bob is refused while the tap runs, and gets the phone one TTL after its end.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    await world.until(start_s + host.ttl_s / 6)
    if how == "cancel":
        await alice.cancel(call)
    elif how == "drop":
        call.drop()
    else:
        await alice.vanish()
        if how == "crash-and-drop":
            call.drop()
    expect_busy(await bob.tap("phone-1"), f"bob right after the {how}")
    await phone.heal()
    await world.until(start_s + host.ttl_s / 2)
    assert phone.running == 0, "the tap must have ended by itself"
    await takes_over(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-07")
async def test_the_idle_limit_of_sessions_frees_their_phones(world: World) -> None:
    """Sessions may be idle for a third of a TTL. Alice taps and falls silent.

    When her session is closed for idleness her phone goes with it, though her TTL still runs; her next call is a 404
    that makes no lease, and Bob has the phone.
    """
    host = await world.hostagent(devices=["phone-1"], session_idle_s=world.ttl_s / 3)
    alice = await host.client("alice")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    end_s = world.device("phone-1").last_end_s
    assert await host.busy() == ["phone-1"], "alice holds the phone"
    await world.until(end_s + host.ttl_s / 3 + world.tick_s)
    bob = await host.client("bob")
    assert await host.busy() == [], "the lease of a session that was closed for idleness is left"
    lost = await alice.tap("phone-1")
    assert lost.http_status == 404, f"a call in a session closed for idleness must get 404, got {lost}"
    assert await host.busy() == [], "a call in a lost session made a lease"
    expect_served(await bob.tap("phone-1"), "bob when alice's session is over")
    assert world.device("phone-1").callers == ["alice", "bob"], "a lost session's call reached the phone"


@scenario("HA-07", "HA-05", sees=("refusal-during-call", "hand-over"))
async def test_an_idle_limit_during_a_cancelled_call_waits_for_the_driver(world: World) -> None:
    """Alice cancels a call of one TTL; her session is closed for idleness while the tap still runs.

    The phone stays hers until it reports the end, and is free in that instant: neither earlier nor a TTL later.
    """
    host = await world.hostagent(devices=["phone-1"], session_idle_s=world.ttl_s / 3)
    alice = await host.client("alice")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    await alice.cancel(call)
    # A tick more than it needs: Bob's session is opened within it, and in process mode that takes time.
    await world.until(start_s + host.ttl_s - 2 * world.tick_s)
    lost = await alice.call("list_devices")
    assert lost.http_status == 404, f"the session must be closed for idleness by now, got {lost}"
    bob = await host.client("bob")
    expect_busy(await bob.tap("phone-1"), "bob while the driver runs")
    await phone.heal()
    await world.until(start_s + host.ttl_s)
    carol = await host.client("carol")  # on a slow machine the idle limit may have closed Bob's session as well
    expect_served(await carol.tap("phone-1"), "carol when the driver has ended")


@scenario("HA-07")
async def test_a_session_that_is_lost_and_replaced(world: World) -> None:
    """Alice's client finds its session gone (404) in the middle of its own call and repeats the call in a new one.

    The old session's tap runs on; the new one is refused until the phone ends it, and then served: never both at once.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await world.settle()
    start_s = phone.log[0].t_s
    await alice.end()
    lost = await alice.call("list_devices")
    assert lost.http_status == 404, f"the old session must be gone, got {lost}"
    again = await host.client("alice-again")
    expect_busy(await again.tap("phone-1"), "the repeat in the new session, the old tap still running")
    await phone.heal()
    await world.until(start_s + host.ttl_s / 2 + world.tick_s)
    expect_served(await again.tap("phone-1"), "the repeat when the old tap has ended")
    call.drop()


@scenario("HA-07", rung="memory")
@settings(max_examples=16)
@given(uses=st.integers(0, 3), later=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
@example(uses=0, later=0.0)
@example(uses=1, later=0.0)
async def test_an_ended_holder_never_holds_again(world: World, uses: int, later: float) -> None:
    """At the lease store and the tracker: a session ends, idle or in calls, and something of it still asks.

    It is refused for ever, before and after its last call ends; its calls end as they would, and the phone goes then.
    """
    store, tracker = world.lease_store(), world.busy_tracker()
    alice, bob = Holder("mcp", "alice"), Holder("mcp", "bob")
    await store.acquire("phone-1", alice)
    for _ in range(uses):
        await store.begin_use("phone-1", alice)
    assert await store.end_holder(alice) == ["phone-1"], "what the session held"
    for left in range(uses, 0, -1):
        assert await store.begin_use("phone-1", alice) == Refused("phone-1", None, "ended"), "a use after the end"
        assert not isinstance(await store.acquire("phone-1", bob), Granted), f"bob with {left} calls running"
        await world.advance(later * store.ttl_s)
        assert await store.end_use("phone-1", alice), "the end of a call that outlived its session"
    assert await store.snapshot() == [], "a lease outlived its session and its calls"
    await world.advance(later * store.ttl_s)
    for device_id in ("phone-1", "phone-2"):
        assert await store.acquire(device_id, alice) == Refused(device_id, None, "ended"), "an ended session came back"
    assert await store.snapshot() == [], "an ended session has a lease again"
    assert isinstance(await store.acquire("phone-1", bob), Granted), "bob, the phone being free"
    assert tracker.acquire("phone-1", "alice")
    assert tracker.release("alice") == ["phone-1"]
    await world.advance(later * store.ttl_s)
    assert not tracker.acquire("phone-1", "alice"), "an ended session acquired"
    assert not tracker.renew("phone-1", "alice"), "an ended session renewed"
    assert tracker.snapshot() == [], "an ended session has a lease again"
