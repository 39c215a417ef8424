"""Many sessions, many devices, a long time: the lease store keeps to the plain model of itself."""

from __future__ import annotations

import asyncio
import gc
import random
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model.lease import Granted, Holder, Lease, Refused
from lasttick.model.lease_oracle import Op, OpName, PureLeases, Reply

from .fleet import Fleet
from .handover import expect_busy, expect_served

HOLDERS = [Holder("mcp", "alice"), Holder("mcp", "bob"), Holder("mcp", "carol"), Holder("cloud", "assignment-1")]
DEVICES = ["phone-1", "phone-2", "no such phone", ""]
OPS: list[OpName] = ["acquire", "begin_use", "begin_use", "end_use", "end_use", "release", "end_holder"]
STEPS = [0, 0, 1, 30_000, 59_999, 60_000, 60_001]
"""Milliseconds, of a TTL of 60,000: a tick, half a TTL, one tick before, at and after it."""

ALICE, BOB = HOLDERS[0], HOLDERS[1]


async def ask(store: Any, op: Op) -> Reply:
    """The same operation at the store."""
    if op.name == "end_holder":
        return await store.end_holder(op.holder)  # type: ignore[no-any-return]
    return await getattr(store, op.name)(op.device_id, op.holder)  # type: ignore[no-any-return]


def now_ns(world: World) -> int:
    return round(world.now_s * 1e9)


@scenario("HA-18", rung="model", needs=("scale",))
@settings(max_examples=100)
@given(
    history=st.lists(
        st.tuples(
            st.builds(Op, st.sampled_from(OPS), st.sampled_from(HOLDERS), st.sampled_from(DEVICES)),
            st.sampled_from(STEPS),
        ),
        max_size=25,
    ),
    look=st.booleans(),
)
@example(history=[(Op("acquire", ALICE, "phone-1"), 0), (Op("acquire", BOB, "phone-1"), 59_999)], look=True)
@example(history=[(Op("acquire", ALICE, "phone-1"), 0), (Op("acquire", BOB, "phone-1"), 60_000)], look=False)
@example(history=[(Op("begin_use", ALICE, "phone-1"), 0), (Op("end_holder", ALICE), 60_001)], look=True)
async def test_any_history_of_the_store_is_that_of_the_plain_model(
    world: World, history: list[tuple[Op, int]], look: bool
) -> None:
    """Any history of uses, releases and ends, with steps of time around the TTL, at the lease store.

    Every answer and every snapshot is the one that the plain model of leases gives; looking at it changes nothing.
    """
    store = world.lease_store(ttl_s=60.0)
    model = PureLeases(60_000_000_000)
    for op, step in history:
        if step:
            await world.until(world.now_s + step / 1000)
        model, expected = model.apply(op, now_ns(world))
        got = await ask(store, op)
        assert got == expected, f"{op} at t={world.now_s:.3f}: the store says {got}, the model {expected}"
        if look:
            assert await store.snapshot() == model.snapshot(now_ns(world)), f"after {op} at t={world.now_s:.3f}"
    for step in (0, 59_999, 1):
        await world.until(world.now_s + step / 1000)
        assert await store.snapshot() == model.snapshot(now_ns(world)), f"at the end, t={world.now_s:.3f}"


@scenario("HA-18", rung="model", needs=("scale",))
@settings(max_examples=60)
@given(
    history=st.lists(
        st.tuples(
            st.sampled_from(["acquire", "acquire", "renew", "release", "release_device"]),
            st.sampled_from(["alice", "bob", "carol"]),
            st.sampled_from(DEVICES),
            st.sampled_from(STEPS),
        ),
        max_size=25,
    )
)
@example(history=[("acquire", "alice", "phone-1", 0), ("renew", "alice", "phone-1", 59_999)])
@example(history=[("acquire", "alice", "phone-1", 0), ("renew", "bob", "no such phone", 60_000)])
async def test_the_trackers_busy_ids_are_its_snapshot(world: World, history: list[tuple[str, str, str, int]]) -> None:
    """Any history at the tracker, unknown devices and strangers' renewals and releases among it.

    After each step busy_device_ids, snapshot and the plain model name the same devices, and the same sessions.
    """
    tracker = world.busy_tracker(ttl_s=60.0)
    model = PureLeases(60_000_000_000)
    names: dict[str, OpName] = {"release": "end_holder", "release_device": "release"}
    for name, session_id, device_id, step in history:
        if step:
            await world.until(world.now_s + step / 1000)
        op = Op(names.get(name, name), Holder("mcp", session_id), device_id)  # type: ignore[arg-type]
        model, expected = model.apply(op, now_ns(world))
        got = getattr(tracker, name)(*((session_id,) if name == "release" else (device_id, session_id)))
        if name == "acquire":
            expected = isinstance(expected, Granted)
        assert got == expected, f"{name} of {session_id} on {device_id!r}: the tracker says {got}, the model {expected}"
        held = {view.device_id: view.holder.id for view in model.snapshot(now_ns(world))}
        assert tracker.busy_device_ids() == sorted(held), f"after {name} at t={world.now_s:.3f}"
        assert {lease.device_id: lease.session_id for lease in tracker.snapshot()} == held, f"after {name}"


@scenario("HA-18", rung="memory", needs=("scale",))
async def test_two_hundred_sessions_on_a_thousand_devices_for_an_hour(world: World) -> None:
    """200 sessions use 1,000 devices for one virtual hour: calls of 0.1 to 90 s, pauses, sessions that end and return.

    Every answer is the plain model's and so is each snapshot; no lease is lost, and a TTL later none is left, in the
    store or in memory.
    """
    store = world.lease_store(ttl_s=60.0)
    fleet = Fleet(60_000_000_000)
    told = {"granted": 0, "refused": 0, "ended": 0}
    before = leases_in_memory()

    async def both(op: Op) -> Reply:
        got, expected = await ask(store, op), fleet.apply(op, now_ns(world))
        assert got == expected, f"{op} at t={world.now_s:.3f}: the store says {got}, the model {expected}"
        return got

    async def session(number: int, chance: random.Random) -> None:
        life = 0
        holder = Holder("mcp", f"{number}.{life}")
        own: list[str] = []
        await world.until(world.now_s + chance.uniform(0, 60))
        while True:
            # Mostly a device it had before, as agents do; now and then any other, perhaps somebody's.
            fresh = not own or chance.random() < 0.3
            device_id = f"device-{chance.randrange(1_000):04}" if fresh else chance.choice(own)
            if isinstance(await both(Op("begin_use", holder, device_id)), Granted):
                told["granted"] += 1
                own = [*own[-4:], device_id]
                await world.until(world.now_s + chance.choice([0.1, 1.0, 10.0, chance.uniform(0.1, 90)]))
                assert await both(Op("end_use", holder, device_id)), "a use that began must end"
            else:
                told["refused"] += 1
            if chance.random() < 0.05:
                await both(Op("end_holder", holder))
                told["ended"] += 1
                life, own = life + 1, []
                holder = Holder("mcp", f"{number}.{life}")
            pause_s = chance.choice(
                [0.0, 59.999, 60.0, chance.uniform(0, 120), chance.uniform(60, 600), chance.uniform(60, 600)]
            )
            if world.now_s + pause_s > 3_400:
                return
            await world.until(world.now_s + pause_s)

    sessions = [world.start(session(number, world.random(f"session-{number}"))) for number in range(200)]
    for minute in range(5, 56, 10):
        await world.until(60.0 * minute)
        snapshot = await store.snapshot()
        assert snapshot == fleet.snapshot(now_ns(world)), f"the snapshot in minute {minute}"
    kept = leases_in_memory() - before
    assert kept <= 1_000, f"{kept} lease records for 1,000 devices near the end"
    await asyncio.gather(*sessions)
    last_s = world.now_s
    assert await store.snapshot() == fleet.snapshot(now_ns(world)), "the snapshot at the end"
    await world.until(last_s + 60.0)
    assert await store.snapshot() == [], "leases are left one TTL after the last use"
    kept = leases_in_memory() - before
    assert kept == 0, f"{kept} lease records stay in memory"
    assert min(told.values()) > 100, f"too little happened to prove anything: {told}"


@scenario("HA-18", "HA-07", rung="memory", needs=("scale",))
async def test_an_ended_holder_is_remembered_long_enough_and_not_for_ever(world: World) -> None:
    """20,000 sessions end one after the other over an hour of leases of one second.

    For 60 TTLs after its end, and while it is among the last 1,024, what is left of a session is refused; one whose
    call still runs is refused for all that time. The store never remembers many more than that.
    """
    store = world.lease_store(ttl_s=1.0)
    hung = Holder("mcp", "hung")
    assert isinstance(await store.begin_use("phone-1", hung), Granted)
    await store.end_holder(hung)
    before, ended = holders_in_memory(), 0
    for step in range(400):
        # Now 40 a second, for a hundred seconds, now a few in a long time.
        many = step % 100 < 50
        for _ in range(90 if many else 10):
            await store.end_holder(Holder("mcp", f"session-{ended}"))
            ended += 1
        await world.until(world.now_s + (2.0 if many else 15.0))
        for ago in (1, 1_024, 90 * 29 if many and step % 100 > 30 else 1):
            if ago <= ended:
                late = Holder("mcp", f"session-{ended - ago}")
                answer = await store.begin_use("phone-2", late)
                assert answer == Refused("phone-2", None, "ended"), f"ended {ago} ends ago: {answer} at {world.now_s} s"
        if step % 50 == 49:
            kept = holders_in_memory() - before
            assert kept <= 90 * 31 + 1_024, f"{kept} holders in memory after {ended} ends"
    await store.end_use("phone-1", hung)
    assert await store.begin_use("phone-1", hung) == Refused("phone-1", None, "ended"), "its call ran all the time"


def holders_in_memory() -> int:
    """Holders that something still refers to."""
    gc.collect()
    return sum(type(thing) is Holder for thing in gc.get_objects())


def leases_in_memory() -> int:
    """Records of leases that something still refers to."""
    gc.collect()
    return sum(type(thing) is Lease for thing in gc.get_objects())


@scenario("HA-18")
async def test_unknown_devices_and_bad_arguments_change_nothing(world: World) -> None:
    """Alice holds one of two phones; she and Bob send unknown devices, unknown tools and bad arguments.

    What is held does not change: the other phone stays free, no unknown id is ever shown as busy.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob = await host.client("alice"), await host.client("bob")
    expect_served(await alice.tap("phone-1"), "alice on a free phone")
    for client in (alice, bob):
        wrong = [
            ("tap", {"device_id": "phone-9", "x": 1, "y": 1}, "unknown_device"),
            ("tap", {"device_id": "", "x": 1, "y": 1}, "bad_arguments"),
            ("tap", {"device_id": "phone-2", "x": "left", "y": 1}, "bad_arguments"),
            ("tap", {"device_id": "phone-2"}, "bad_arguments"),
            ("swipe", {"device_id": ["phone-2"]}, "bad_arguments"),
            ("fold", {"device_id": "phone-2"}, "unknown_tool"),
            ("device_status", {"device_id": "phone-9"}, "unknown_device"),
        ]
        for tool, arguments, reason in wrong:
            answer = await client.call(tool, **arguments)
            assert answer.reason == reason, f"{client.name}: {tool} {arguments} gave {answer}"
        assert await host.busy() == ["phone-1"], f"{client.name}'s wrong calls changed what is held"
    assert world.device("phone-2").calls == 0, "a wrong call reached a phone"
    expect_served(await bob.tap("phone-2"), "bob on the phone that nobody has")
    expect_busy(await bob.tap("phone-1"), "bob on alice's phone")
