"""Leases age by monotonic time alone: no wall clock and no sleep of the machine changes one."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .handover import expect_busy, expect_served, takes_over_exactly

YEAR_S = 365 * 86_400


@scenario("HA-06", needs=("wall-clock",), sees=("hand-over-at-tick",))
@settings(max_examples=5)
@given(
    ttls=st.one_of(st.integers(-3, 3), st.sampled_from([-20 * YEAR_S // 60, 20 * YEAR_S // 60])),
    ticks=st.integers(-1, 1),
)
@example(ttls=1, ticks=-1)
@example(ttls=-1, ticks=0)
@example(ttls=20 * YEAR_S // 60, ticks=0)
@example(ttls=-20 * YEAR_S // 60, ticks=0)
async def test_a_step_of_the_wall_clock_changes_no_lease(world: World, ttls: int, ticks: int) -> None:
    """Half a TTL after Alice's tap the wall clock jumps, by ticks, TTLs or decades, either way.

    Bob is refused up to the last tick of the TTL and gets the phone at it, as on a machine with a good clock.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    free_s = world.device("phone-1").last_end_s + host.ttl_s
    await world.until(free_s - host.ttl_s / 2)
    world.trouble.step(ttls * host.ttl_s + ticks * world.tick_s)
    expect_busy(await bob.tap("phone-1"), "bob right after the step")
    await takes_over_exactly(world, bob, "phone-1", free_s)


@scenario("HA-06", needs=("wall-clock",))
@settings(max_examples=4)
@given(rate=st.sampled_from([-0.9, -0.5, 0.5, 9.0]))
@example(rate=-1.0)
@example(rate=99.0)
async def test_a_wall_clock_that_drifts_or_stands_changes_no_lease(world: World, rate: float) -> None:
    """From Alice's tap on, the wall clock runs too slow, too fast or (rate -1) not at all, across a long call too.

    Her call of one and a half TTLs stays pinned, and the TTL after it is one TTL.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    world.trouble.wall.drift(rate)
    await phone.slow("tap", 1.5 * host.ttl_s)
    expect_served(await alice.tap("phone-1"), "alice's long tap")
    await phone.heal()
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + host.ttl_s)


@scenario("HA-06", needs=("suspend",))
@settings(max_examples=4)
@given(ttls=st.integers(1, 1000), left=st.sampled_from([0.25, 0.5, 0.75]))
@example(ttls=1, left=0.5)
async def test_suspended_time_does_not_count(world: World, ttls: int, left: float) -> None:
    """The machine sleeps for many TTLs while Alice holds a phone; on waking a part of her TTL is left.

    That part still runs: Bob is refused after the wake-up, and gets the phone exactly when it is used up.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    free_s = world.device("phone-1").last_end_s + host.ttl_s
    await world.until(free_s - left * host.ttl_s)
    world.trouble.suspend(ttls * host.ttl_s)
    expect_busy(await bob.tap("phone-1"), "bob right after the wake-up")
    await takes_over_exactly(world, bob, "phone-1", free_s)
