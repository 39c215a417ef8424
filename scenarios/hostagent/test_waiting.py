"""Waiting is for library users, in line and exact; the tools and the cloud's executor never wait.

The tracker is the reference's `McpBusyTracker` on the world's clock (memory rung); what must not wait is shown over
HTTP. Source: ruling 16.
"""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .handover import expect_busy, expect_served
from .steps import heard


class Waits:
    """The waits of one scenario for one phone: who got it and when, checked to hold it at that very moment."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tracker = world.busy_tracker()
        self.done: list[tuple[str, bool, float]] = []

    def begin(self, session_id: str, **options: float) -> asyncio.Task[bool]:
        return self.world.start(self._wait(session_id, **options))

    async def _wait(self, session_id: str, **options: float) -> bool:
        holds = await self.tracker.wait_until_usable("phone-1", session_id, **{"timeout": math.inf, **options})
        self.done.append((session_id, holds, round(self.world.now_s, 3)))
        if holds:
            assert self.holder == session_id, f"True for {session_id}, but the phone is {self.holder}'s"
        return holds

    @property
    def holder(self) -> str | None:
        return next((lease.session_id for lease in self.tracker.snapshot() if lease.device_id == "phone-1"), None)

    @property
    def winners(self) -> list[str]:
        return [session_id for session_id, holds, _ in self.done if holds]


@scenario("HA-14", rung="memory")
@settings(max_examples=25)
@given(
    ways=st.lists(st.sampled_from(["release", "expire", "end"]), min_size=2, max_size=5),
    gap=st.sampled_from([0.0, 0.25, 0.9]),
    barger=st.booleans(),
)
@example(ways=["release", "release"], gap=0.0, barger=True)
@example(ways=["expire", "end", "release"], gap=0.25, barger=True)
async def test_waiters_are_served_in_the_order_they_came(
    world: World, ways: list[str], gap: float, barger: bool
) -> None:
    """Several sessions wait for a phone that each holder gives back, lets expire, or loses with its session.

    They get it first in, first out, at the instant it is free; a session that asks without waiting never passes them.
    """
    waits = Waits(world)
    tracker, names = waits.tracker, [f"session-{number}" for number in range(len(ways))]
    assert tracker.acquire("phone-1", "first")
    for name in names:
        waits.begin(name)
        await world.advance(gap * world.ttl_s / len(names))
    holder = "first"
    for name, way in zip(names, ways, strict=True):
        if barger:
            assert not tracker.acquire("phone-1", "barger"), f"a session passed the line of {name}"
        if way == "release":
            assert tracker.release_device("phone-1", holder)
        elif way == "end":
            assert tracker.release(holder) == ["phone-1"]
        if way != "expire" and barger:
            assert not tracker.acquire("phone-1", "barger"), f"a session passed {name} in the instant of the {way}"
        await (world.settle() if way != "expire" else world.advance(world.ttl_s))
        assert waits.winners == names[: names.index(name) + 1], f"after the {way}: {waits.done}"
        holder = name
    assert waits.holder == names[-1], "the last in line holds the phone"


@scenario("HA-14", rung="memory")
@settings(max_examples=12)
@given(ticks=st.integers(-2, 2), uses=st.integers(0, 2))
@example(ticks=-1, uses=0)
@example(ticks=0, uses=0)
@example(ticks=1, uses=0)
async def test_a_wait_ends_at_the_expiry_or_at_its_time_out(world: World, ticks: int, uses: int) -> None:
    """Bob waits for Alice's phone with a time-out some ticks before or after her TTL, which she renews a few times.

    With the time-out at the expiry or later he holds the phone at that very instant; one tick earlier he gets False
    at his time-out and holds nothing.
    """
    waits = Waits(world)
    assert waits.tracker.acquire("phone-1", "alice")
    free_s = (1 + uses / 2) * world.ttl_s
    wait = waits.begin("bob", timeout=free_s + ticks * world.tick_s)
    for number in range(uses):
        await world.until((number + 1) / 2 * world.ttl_s)
        assert waits.tracker.renew("phone-1", "alice")
    await world.until(free_s - 2 * world.tick_s - (world.tick_s / 2))
    assert not wait.done(), f"the wait ended early: {waits.done}"
    await world.until(free_s + 3 * world.tick_s)
    at_s = free_s if ticks >= 0 else free_s + ticks * world.tick_s
    assert waits.done == [("bob", ticks >= 0, pytest.approx(at_s, abs=world.tick_s / 10))], f"{ticks} ticks"
    assert waits.holder == ("bob" if ticks >= 0 else None), "True, and only True, means that he holds it"


@scenario("HA-14", rung="memory")
async def test_true_means_that_the_caller_holds_the_lease(world: World) -> None:
    """Bob waits for a free phone, then for one that is given back.

    True, and in the same instant the phone is his: others are refused, it is reported busy, and he may renew it.
    """
    waits = Waits(world)
    assert await waits.begin("bob", timeout=0), "a free phone"
    assert waits.tracker.busy_device_ids() == ["phone-1"], "True, but nobody holds the phone"
    assert not waits.tracker.acquire("phone-1", "carol"), "True, but somebody else took the phone"
    assert waits.tracker.renew("phone-1", "bob"), "True, but there was nothing to renew"
    wait = waits.begin("carol")
    await world.advance(world.ttl_s / 2)
    assert not wait.done(), "carol has a phone that is bob's"
    assert waits.tracker.release_device("phone-1", "bob")
    assert await wait, "carol, when the phone was given back"
    assert waits.holder == "carol", "True, but the phone is not hers"


@scenario("HA-14", rung="memory")
async def test_a_time_out_of_zero_tries_once(world: World) -> None:
    """With a time-out of 0 a wait is one question: True for a free phone, False for a held one, and no time passes."""
    waits = Waits(world)
    assert await waits.begin("alice", timeout=0) is True, "a free phone"
    assert await waits.begin("alice", timeout=0) is True, "one's own phone"
    assert await waits.begin("bob", timeout=0) is False, "a held phone"
    assert world.now_s == 0, "a time-out of 0 waited"
    await world.until(world.ttl_s)
    assert await waits.begin("bob", timeout=0) is True, "an expired one, at the TTL"
    assert world.now_s == world.ttl_s, "a time-out of 0 waited"


@scenario("HA-14", rung="memory")
@pytest.mark.parametrize("timeout", [-1.0, -1e-9, math.nan, -math.inf])
async def test_a_time_out_that_makes_no_sense_is_refused(world: World, timeout: float) -> None:
    """A negative time-out or NaN is an error that names the value, for a free phone and a held one; nothing changes."""
    tracker = world.busy_tracker()
    for device_id in ("phone-1", "phone-2"):
        with pytest.raises(ValueError, match="timeout") as refused:
            await tracker.wait_until_usable(device_id, "bob", timeout=timeout)
        assert repr(timeout) in str(refused.value), f"the message must name the value: {refused.value}"
        tracker.acquire("phone-2", "alice")
    assert tracker.busy_device_ids() == ["phone-2"], "a refused wait changed the leases"
    assert world.now_s == 0, "a refused wait waited"


@scenario("HA-14", rung="memory")
@settings(max_examples=10)
@given(busy_s=st.sampled_from([0.0, 0.5, 1.0, 3.2]), held=st.booleans(), poll_s=st.sampled_from([0.25, 1.0]))
@example(busy_s=3.2, held=True, poll_s=1.0)
@example(busy_s=3.2, held=False, poll_s=0.25)
async def test_the_cloud_is_asked_before_a_phone_is_taken(
    world: World, busy_s: float, held: bool, poll_s: float
) -> None:
    """Bob waits with a question to the cloud, which needs the phone for a while; another session waits behind him.

    While the cloud says busy nobody gets the phone; he has it at the first poll after that, and the other still waits.
    """
    waits = Waits(world)
    from_s = world.ttl_s if held else 0.0
    asked: list[float] = []

    def cloud_busy() -> bool:
        asked.append(world.now_s)
        return world.now_s < from_s + busy_s

    if held:
        assert waits.tracker.acquire("phone-1", "alice")
    wait = waits.begin("bob", cloud_busy_check=cloud_busy, poll_interval=poll_s)
    await world.settle()
    behind = waits.begin("carol")
    due_s = from_s + math.ceil(busy_s / poll_s) * poll_s
    if due_s > 0:
        await world.until(due_s - world.tick_s)
        assert not wait.done(), f"bob has a phone that the cloud or alice uses: {waits.done}"
        assert waits.holder == ("alice" if held and busy_s == 0 else None) or world.now_s < from_s, waits.holder
    await world.until(due_s)
    assert await wait is True, f"bob at the first poll after the cloud was done, {due_s}"
    assert waits.done == [("bob", True, due_s)], waits.done
    assert asked, "the cloud was never asked"
    assert not behind.done(), "carol passed bob"
    behind.cancel()


@scenario("HA-14", rung="memory")
async def test_a_wait_that_is_over_leaves_the_line(world: World) -> None:
    """Of four sessions in line one is cancelled, one ends, one times out; the phone is given back.

    The ended one gets False, and the phone goes to the fourth at once: nobody waits behind somebody who is gone.
    """
    waits = Waits(world)
    assert waits.tracker.acquire("phone-1", "alice")
    cancelled = waits.begin("cancelled")
    await world.settle()
    ended, late = waits.begin("ended"), waits.begin("late", timeout=world.ttl_s / 4)
    await world.settle()
    fourth = waits.begin("fourth")
    await world.settle()
    cancelled.cancel()
    waits.tracker.release("ended")
    await world.until(world.ttl_s / 2)
    assert await ended is False, "a session that ended cannot hold the phone"
    assert await late is False, "the time-out"
    assert not fourth.done(), "the phone is still alice's"
    assert waits.tracker.release_device("phone-1", "alice")
    await world.settle()
    assert fourth.done(), "nobody alive is before the fourth"
    assert waits.holder == "fourth", f"the phone is {waits.holder}'s"


@scenario("HA-14")
async def test_a_busy_tool_call_answers_at_once(world: World) -> None:
    """Bob calls each kind of leased tool on a phone in the middle of Alice's call of half a TTL.

    He is refused in the same instant, however soon the phone will be free: no tool call of another session waits.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await world.settle()
    asked_s = world.now_s
    expect_busy(await bob.tap("phone-1"), "bob's tap")
    for tool in ("take_screenshot", "get_ui_tree"):
        expect_busy(await bob.call(tool, device_id="phone-1"), f"bob's {tool}")
    took_s = world.now_s - asked_s
    no_time_s = 0.0 if world.mode == "virtual" else world.tick_s
    assert took_s <= no_time_s, f"three busy answers took {took_s:.3f} s: they must wait for nothing"
    expect_served(await call, "alice's tap")
    await phone.heal()
    await world.until(phone.last_end_s + host.ttl_s - world.tick_s)
    asked_s = world.now_s
    expect_busy(await bob.tap("phone-1"), "bob, one tick before the phone is free")
    took_s = world.now_s - asked_s
    assert took_s <= no_time_s, f"a busy answer took {took_s:.3f} s: it must not wait for the expiry"


@scenario("HA-14")
async def test_an_assignment_for_a_held_phone_fails_at_once(world: World) -> None:
    """The cloud, which has not heard of it yet, assigns a phone that Alice holds.

    The assignment fails at once with its reason, long before the phone is free, and the phone is not touched.
    """
    cloud = await world.cloud(heartbeat_s=20 * world.ttl_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=20 * world.ttl_s)
    alice = await host.client("alice")
    phone = world.device("phone-1")
    await heard(world, cloud)
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    asked_s = world.now_s
    step = {"tool": "tap", "arguments": {"x": 90, "y": 40}}
    ended = await cloud.finished(await cloud.submit(workflow=[step], device_id="phone-1"))
    took_s = world.now_s - asked_s
    assert ended["state"] == "failed", f"the assignment got a held phone: {ended}"
    assert took_s <= (0.0 if world.mode == "virtual" else 4 * world.tick_s), (
        f"the assignment failed only after {took_s:.3f} s: the executor must not wait"
    )
    assert phone.callers == ["alice"], f"the assignment touched the phone: {phone.callers}"
