"""A session or a call ends at each turn of the event loop there is: wherever that falls, nothing of it is left over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .handover import expect_busy, expect_served, takes_over_exactly
from .turns import TURNS_MAX, at_instant, turns

PHONE = "phone-1"
WAYS = ["delete", "delete-and-drop", "cancel", "drop"]
MORE_WAYS = [*WAYS, "cancel-and-drop", "crash"]
"""`drop`: the POST's connection breaks. `crash`: all of the client's do, which here looks the same to the host."""


def ending(world: World, client: Any, call: Any, how: str) -> asyncio.Task[Any] | None:
    """Begin to end it, now: at this very turn."""
    words: dict[str, Callable[[], Any]] = {"delete": client.end, "cancel": lambda: client.cancel(call)}
    word = words.get(how.partition("-")[0])
    said = None if word is None else world.start(word())
    if how == "crash":
        world.start(client.vanish())
    if how.endswith("drop") or how == "crash":
        call.drop()
    return said


async def turns_of_a_call(world: World, client: Any) -> int:
    """How many turns a call takes from its sending to its answer when nothing disturbs it."""
    call = client.begin_tap(PHONE)
    count = 0
    while not call.done:
        assert count < TURNS_MAX, f"a call was not answered within {TURNS_MAX} turns of the loop"
        await turns(1)
        count += 1
    expect_served(await call, "a call that nothing disturbs")
    return count


async def device_is_done(world: World, phone: Any, bob: Any, end_s: float, when: str) -> None:
    """While the driver runs Bob is refused, until the phone itself reports the end; not a tick earlier."""
    if not phone.running:
        return
    expect_busy(await bob.tap(PHONE), f"bob at once, {when}")
    if world.now_s < end_s - world.tick_s:
        await world.until(end_s - world.tick_s)
        expect_busy(await bob.tap(PHONE), f"bob one tick before the driver ends, {when}")
    await phone.heal()
    await world.until(end_s)
    assert phone.running == 0, f"the tap must have ended by itself, {when}"


async def nothing_is_left(world: World, host: Any, alice: Any, when: str) -> None:
    """Bob has the phone; when his lease is over too nobody has: what Alice's session still asks brings nothing back."""
    dead = await alice.tap(PHONE)
    assert dead.http_status == 404, f"a call in an ended session must get 404, {when}: {dead}"
    await world.until(last_use_s(world) + host.ttl_s)
    assert await host.busy() == [], f"a lease was left or made again, {when}"


def last_use_s(world: World) -> float:
    """When the phone was last used."""
    return float(world.device(PHONE).last_end_s)


@scenario("HA-07", needs=("every-await",))
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("moment", ["quick", "slow", "driver-end"])
async def test_an_end_at_each_turn_of_a_call(world: World, moment: str, how: str) -> None:
    """At each turn in the life of a tap, from its sending or from its driver's end, Alice ends the session, or cancels
    the call, or her connection breaks. Bob is refused while the driver runs. After it, the phone of an ended session is
    his at once, else one TTL later, exactly; Alice's session never has it again."""
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s / 10)
    phone, bob = world.device(PHONE), await host.client("bob")
    length_s = 0.0 if moment == "quick" else host.ttl_s / 2
    for turn in range(await turns_of_a_call(world, bob) + 2):
        await world.until(last_use_s(world) + host.ttl_s)
        alice, when = await host.client(f"alice-{turn}"), f"{how} at turn {turn} ({moment})"
        before = phone.calls
        if length_s:
            await phone.slow("tap", length_s)
        start_s = world.now_s
        call = alice.begin_tap(PHONE)
        if moment == "driver-end":
            await at_instant(world, start_s + length_s)
        await turns(turn)
        said = ending(world, alice, call, how)
        await world.settle()
        if said is not None:
            await said
        await device_is_done(world, phone, bob, start_s + length_s, when)
        await phone.heal()
        touched = phone.calls > before
        if how.startswith("delete"):
            expect_served(await bob.tap(PHONE), f"bob when the driver has ended, {when}")
        elif touched:
            await takes_over_exactly(world, bob, PHONE, phone.last_end_s + host.ttl_s)
        else:
            await world.until(world.now_s + host.ttl_s)
            expect_served(await bob.tap(PHONE), f"bob one TTL after a call that never reached the phone, {when}")
        if not how.startswith("delete"):
            await alice.end()
        await nothing_is_left(world, host, alice, when)
        call.drop()


@scenario("HA-07", needs=("every-await",))
async def test_a_call_at_each_turn_of_a_delete(world: World) -> None:
    """Alice holds a phone and ends her session; at each turn of that she still sends a tap.

    It is served before the end or refused, and then the phone is Bob's at once: no turn brings her lease back.
    """
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s / 10)
    bob = await host.client("bob")
    for turn in range(await turns_of_a_call(world, bob) + 2):
        await world.until(last_use_s(world) + host.ttl_s)
        alice, when = await host.client(f"alice-{turn}"), f"a tap {turn} turns into a DELETE"
        expect_served(await alice.tap(PHONE), f"alice, {when}")
        ended = world.start(alice.end())
        await turns(turn)
        call = alice.begin_tap(PHONE)
        await world.settle()
        assert (await ended).http_status < 300, when
        assert call.done, f"the tap is still not answered, {when}"
        expect_served(await bob.tap(PHONE), f"bob, {when}")
        await nothing_is_left(world, host, alice, when)


@scenario("HA-07", needs=("every-await",))
@pytest.mark.parametrize("driver", ["quick", "slow"])
async def test_a_call_at_each_turn_of_an_idle_end(world: World, driver: str) -> None:
    """Alice's session reaches its idle limit; at each turn of that instant, and a tick before, she sends a tap.

    Either her session was over, and the phone is free, or it goes on, and ends one idle limit after the tap's end.
    """
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s, session_idle_s=world.ttl_s / 60)
    phone, idle_s = world.device(PHONE), host.options.session_idle_s
    for turn in range(-1, 16):
        alice, when = await host.client(f"alice-{turn}"), f"a tap {turn} turns after the idle limit"
        expect_served(await alice.tap(PHONE), f"alice, {when}")
        if driver == "slow":
            await phone.slow("tap", idle_s / 2)
        await at_instant(world, phone.last_end_s + idle_s - (world.tick_s if turn < 0 else 0))
        await turns(turn)
        call = alice.begin_tap(PHONE)
        await world.settle()
        if phone.running:
            bob = await host.client(f"bob-{turn}")
            await device_is_done(world, phone, bob, world.now_s + idle_s / 2, when)
        await phone.heal()
        answer = await call
        if answer.ok:
            assert await host.busy() == [PHONE], f"the session goes on, and so does its lease, {when}"
            await world.until(phone.last_end_s + idle_s + world.tick_s)
        else:
            assert answer.http_status == 404, f"a call in a session closed for idleness must get 404, {when}: {answer}"
        assert (await alice.call("list_devices")).http_status == 404, f"the session is over, {when}"
        bob = await host.client(f"carol-{turn}")
        expect_served(await bob.tap(PHONE), f"whoever comes next, {when}")
        await bob.end()
        assert await host.busy() == [], f"a lease was left or made again, {when}"


@scenario("HA-07", "HA-13", needs=("every-await",))
async def test_a_waiting_call_is_cancelled_at_each_turn_of_its_turn(world: World) -> None:
    """One tap of Alice runs and one waits behind it; at each turn of the two she cancels the second.

    Whether that one still reaches the phone or not, her third tap is served: the turn is not lost with who waited.
    """
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s / 10)
    phone, alice = world.device(PHONE), await host.client("alice")
    for turn in range(2 * await turns_of_a_call(world, alice)):
        calls = [alice.begin_tap(PHONE), alice.begin_tap(PHONE)]
        await turns(turn)
        ending(world, alice, calls[1], "cancel")
        await world.settle()
        expect_served(await calls[0], f"the first of two taps, the second cancelled at turn {turn}")
        third = alice.begin_tap(PHONE)
        await world.settle()
        assert third.done, f"a tap after one that was cancelled at turn {turn} is not answered"
        expect_served(await third, f"a tap after one that was cancelled at turn {turn}")
    assert phone.running == 0, "every tap has ended"


@scenario("HA-07", needs=("every-await", "schedule"), sees=("refusal-during-call",))
@settings(max_examples=8)
@given(turn=st.integers(0, 18), how=st.sampled_from(MORE_WAYS), queued=st.integers(0, 2))
@example(turn=4, how="delete", queued=1)
@example(turn=8, how="delete-and-drop", queued=2)
async def test_an_end_at_any_turn_in_any_order_of_tasks(world: World, turn: int, how: str, queued: int) -> None:
    """The same with ready tasks run in a seeded order, and with more taps of Alice waiting their turn behind the first.

    Nobody drives while the phone moves, and the waiting taps of an ended session never reach it.
    """
    world.trouble.shuffle()
    host = await world.hostagent(devices=[PHONE], ttl_s=world.ttl_s / 10)
    phone, alice, bob = world.device(PHONE), await host.client("alice"), await host.client("bob")
    await phone.slow("tap", host.ttl_s / 2)
    calls = [alice.begin_tap(PHONE) for _ in range(queued + 1)]
    await turns(turn)
    for call in calls if how.startswith("cancel") else calls[:1]:
        ending(world, alice, call, how)
    if how.endswith("drop") or how == "crash":
        for call in calls:
            call.drop()
    await world.settle()
    while phone.running:
        expect_busy(await bob.tap(PHONE), f"bob while alice's tap runs, {how} at turn {turn}")
        await world.advance(host.ttl_s / 2 - world.tick_s)
        expect_busy(await bob.tap(PHONE), f"bob one tick before it ends, {how} at turn {turn}")
        await world.advance(world.tick_s)
    if how.startswith("delete"):
        assert phone.calls <= 1, f"a waiting tap of an ended session reached the phone: {phone.callers}"
    else:
        await alice.end()
    await phone.heal()
    expect_served(await bob.tap(PHONE), f"bob when all has ended, {how} at turn {turn}")
    assert await host.busy() == [PHONE], "only bob's lease may be left"
    for call in calls:
        call.drop()
