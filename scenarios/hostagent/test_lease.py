"""A device lease from its first call to its last tick."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick import World, scenario

from .handover import expect_busy, expect_served, takes_over, takes_over_exactly


@scenario("HA-06", sees=("hand-over-at-tick",))
@given(ticks=st.integers(-3, 3))
@example(ticks=-1)
@example(ticks=0)
@example(ticks=1)
async def test_free_exactly_at_ttl(world: World, ticks: int) -> None:
    """A phone last used at t is held until t + TTL. One tick before, a second agent is refused; at it, it gets it."""
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await alice.call("tap", device_id="phone-1", x=1, y=1)
    await world.until(phone.last_end_s + host.ttl_s + ticks * world.tick_s)
    answer = await bob.call("tap", device_id="phone-1", x=2, y=2)
    if ticks >= 0:
        expect_served(answer, f"bob, {ticks} ticks after the TTL")
    else:
        expect_busy(answer, f"bob, {-ticks} ticks before the TTL is over")


@scenario("HA-04")
async def test_first_call_takes_the_phone_and_a_second_session_is_told_who_has_it(world: World) -> None:
    """Alice taps a phone; Bob asks for it and for another one.

    Bob gets -32000 with Alice as owner (8 characters of her session, no more) and the phone is not touched; the other
    phone is his, and the console shows both holders' devices and nothing else.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2", "phone-3"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    refused = await bob.tap("phone-1")
    expect_busy(refused, "bob on alice's phone")
    assert refused.error is not None
    assert refused.error.message == "device phone-1 is busy (held by another MCP session)", refused.error
    assert refused.error.data["device_id"] == "phone-1", refused.error
    assert alice.raw.session_id is not None
    assert refused.error.data["busy_owner"] == f"mcp_session:{alice.raw.session_id[:8]}", "8 characters and no more"
    expect_served(await bob.tap("phone-2"), "bob on a free phone")
    expect_busy(await alice.tap("phone-2"), "alice on bob's phone")
    assert world.device("phone-1").callers == ["alice"], "a refused call must not touch the phone"
    assert await host.busy() == ["phone-1", "phone-2"], "the console must show what is held, and only that"


@scenario("HA-04", "HA-06")
async def test_each_call_of_the_holder_renews_from_its_end(world: World) -> None:
    """Alice taps, and again one tick before her lease would end.

    The TTL runs anew from the end of the second tap: Bob is refused at the end of the first TTL and gets the phone
    exactly one TTL after the second tap.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice's first tap")
    first_s = phone.last_end_s
    await world.until(first_s + host.ttl_s - world.tick_s)
    expect_served(await alice.tap("phone-1"), "alice's second tap")
    second_s = phone.last_end_s
    await world.until(first_s + host.ttl_s)
    expect_busy(await bob.tap("phone-1"), "bob when the first TTL is over")
    await takes_over_exactly(world, bob, "phone-1", second_s + host.ttl_s)


@scenario("HA-04")
async def test_nobody_else_frees_a_lease_or_keeps_it(world: World) -> None:
    """Alice holds a phone while Bob asks for it again and again, and Carol, refused too, ends her session.

    Neither frees the phone early, and no refused call keeps it: it is free one TTL after Alice's tap.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob, carol = [await host.client(name) for name in ("alice", "bob", "carol")]
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    free_s = world.device("phone-1").last_end_s + host.ttl_s
    expect_busy(await carol.tap("phone-1"), "carol on alice's phone")
    await world.until(free_s - host.ttl_s * 3 / 4)
    await carol.end()
    expect_busy(await bob.tap("phone-1"), "bob after carol's end")
    await world.until(free_s - host.ttl_s / 2)
    expect_busy(await bob.tap("phone-1"), "bob in the middle of the TTL")
    await takes_over(world, bob, "phone-1", free_s)


@scenario("HA-04", rung="memory")
async def test_only_the_holder_renews_or_releases(world: World) -> None:
    """At the tracker: Bob renews, acquires and releases what Alice holds, and ends his session.

    Each is refused and changes nothing: the phone is Alice's until her own TTL, which Bob's renewal did not move.
    """
    tracker = world.busy_tracker()
    assert tracker.acquire("phone-1", "alice"), "a free phone"
    await world.until(world.ttl_s / 2)
    assert not tracker.renew("phone-1", "bob"), "bob renewed alice's lease"
    assert not tracker.acquire("phone-1", "bob"), "bob took alice's phone"
    assert not tracker.release_device("phone-1", "bob"), "bob gave back alice's phone"
    assert tracker.release("bob") == [], "bob's end freed alice's phone"
    assert [lease.session_id for lease in tracker.snapshot()] == ["alice"], "the phone is no longer alice's"
    await world.until(world.ttl_s - world.tick_s)
    assert tracker.busy_device_ids() == ["phone-1"], "free one tick before the TTL"
    await world.until(world.ttl_s)
    assert tracker.busy_device_ids() == [], "held at the TTL: somebody else renewed it"


@scenario("HA-06")
@pytest.mark.parametrize("taken", [False, True], ids=["nobody-took-it", "bob-took-it"])
async def test_an_expired_holder_who_comes_back(world: World, taken: bool) -> None:
    """Alice's lease ran out; she calls again, one tick after Bob took the phone or when nobody did.

    If the phone is free she has it again without a word; if it is Bob's, she is refused (row 10).
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    await world.until(phone.last_end_s + host.ttl_s)
    if taken:
        expect_served(await bob.tap("phone-1"), "bob at the TTL")
    await world.advance(world.tick_s)
    answer = await alice.tap("phone-1")
    if taken:
        expect_busy(answer, "alice when bob has taken the phone")
        return
    expect_served(answer, "alice when nobody took the phone")
    expect_busy(await bob.tap("phone-1"), "bob when alice has the phone again")


@scenario("HA-06")
async def test_every_place_that_shows_a_lease_is_right_to_the_tick(world: World) -> None:
    """Alice's lease is looked at one tick before its TTL is over, and at it, without anybody asking for the phone.

    device_status, list_devices and the console show it held, then free: none needs a sweep, or a call, to notice.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    free_s = world.device("phone-1").last_end_s + host.ttl_s
    assert await host.busy() == ["phone-1"], "alice holds the phone"
    ticks = 1 if world.mode == "virtual" else 2  # there three questions take time, each on the safe side of the tick
    for at_s, status, busy in ((free_s - ticks * world.tick_s, "busy", ["phone-1"]), (free_s, "idle", [])):
        await world.until(at_s)
        assert await host.busy() == busy, f"/api/status at t={at_s:.3f}, free at {free_s:.3f}"
        shown = (await bob.call("device_status", device_id="phone-1")).value["status"]
        assert shown == status, f"device_status at t={at_s:.3f} shows {shown}, free at {free_s:.3f}"
        (row,) = (await bob.call("list_devices")).value["devices"]
        assert row["status"] == status, f"list_devices at t={at_s:.3f} shows {row}, free at {free_s:.3f}"


NO_RENEWAL = [
    "ping",
    "get-stream",
    "tools-list",
    "list-devices",
    "device-status",
    "another-device",
    "bad-arguments",
]


@scenario("HA-06")
@pytest.mark.parametrize("traffic", NO_RENEWAL)
async def test_only_a_leased_call_on_the_device_itself_renews(world: World, traffic: str) -> None:
    """Alice holds two phones; half a TTL later she sends something that is no leased call on the first.

    The first phone is free one TTL after her last tap on it, as if nothing had been sent.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-2"), "alice on a free phone")
    expect_served(await alice.tap("phone-1"), "alice on another free phone")
    free_s = world.device("phone-1").last_end_s + host.ttl_s
    await world.until(free_s - host.ttl_s / 2)
    if traffic == "ping":
        assert (await alice.raw.ping()).ok, "ping must be answered"
    elif traffic == "get-stream":
        stream = await alice.raw.open_stream()
        assert stream.http_status == 200, f"GET stream gave HTTP {stream.http_status}"
    elif traffic == "tools-list":
        await alice.list_tools()
    elif traffic == "list-devices":
        expect_served(await alice.call("list_devices"), "list_devices")
    elif traffic == "device-status":
        expect_served(await alice.call("device_status", device_id="phone-1"), "device_status")
    elif traffic == "another-device":
        expect_served(await alice.tap("phone-2"), "alice's own other phone")
    else:
        assert (await alice.call("tap", device_id="phone-1", x="left")).reason == "bad_arguments"
    await takes_over(world, bob, "phone-1", free_s)
    if traffic == "get-stream":
        await stream.close()


@scenario("HA-06")
@pytest.mark.parametrize("tool", ["list_devices", "device_status"])
async def test_looking_takes_no_lease(world: World, tool: str) -> None:
    """Alice only looks at a free phone. It stays idle: nothing is shown as held, and Bob may tap at once."""
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    arguments = {"device_id": "phone-1"} if tool == "device_status" else {}
    expect_served(await alice.call(tool, **arguments), tool)
    assert await host.busy() == [], f"{tool} leased the phone"
    expect_served(await bob.tap("phone-1"), f"bob after alice's {tool}")
    assert world.device("phone-1").callers == ["bob"], f"{tool} touched the phone"
