"""At most one holder drives a device at every instant, whoever asks, in whatever order, for however long.

The judge is the standing check over the devices' own logs (HA-05); the scenarios bring the trouble, and show that it
was trouble: refusals during calls, hand-overs, hand-overs at the very tick.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import Answer, World, scenario

from .handover import expect_busy, expect_served
from .steps import out_of_quarantine

Act = Literal["await", "leave", "cancel", "drop", "end", "vanish"]
"""What a caller does with its call: wait, leave it running, cancel it, hang up; or end its session, or crash, in it."""


@dataclass(frozen=True)
class Step:
    """Caller `who` taps a phone for `ttls` TTLs, `ticks` from the phone's expiry or, if None, `gap` TTLs later."""

    who: int
    phone: int
    ttls: float
    act: Act
    gap: float = 0.0
    ticks: int | None = None


SHORTEST, LONGEST = 0.1 / 60, 1.5
STEPS = st.builds(
    Step,
    who=st.integers(0, 2),
    phone=st.integers(0, 1),
    ttls=st.one_of(st.sampled_from([SHORTEST, 1 / 6, 1.0, LONGEST]), st.floats(SHORTEST, LONGEST)),
    act=st.sampled_from(["await", "leave", "leave", "leave", "cancel", "drop", "end", "vanish"]),
    gap=st.sampled_from([0.0, 0.0, 1 / 60, 0.3, 0.7, 1.0]),
    ticks=st.sampled_from([None, None, -1, 0, 1]),
)
AT_THE_TICK = [
    Step(0, 0, 1.5, "leave"),
    Step(1, 0, 0.1, "await", gap=1.25),
    Step(0, 0, 0.1, "await", gap=0.3),
    Step(1, 0, 0.1, "await", ticks=-1),
    Step(1, 0, 0.1, "await", ticks=0),
]
ENDS = [
    Step(0, 0, 0.6, "end"),
    Step(1, 0, 0.1, "leave", gap=0.2),
    Step(1, 0, 0.5, "cancel", gap=0.6),
    Step(2, 0, 0.1, "await", gap=0.2),
    Step(2, 1, 0.3, "drop"),
    Step(0, 1, 0.1, "await", gap=0.1),
]


@scenario("HA-05", sees=("refusal-during-call", "hand-over", "hand-over-at-tick"))
@settings(max_examples=6)
@given(plan=st.lists(STEPS, min_size=3, max_size=7))
@example(plan=AT_THE_TICK)
@example(plan=ENDS)
async def test_a_crowd_never_shares_a_phone(world: World, plan: list[Step]) -> None:
    """Three agents on two phones: calls of 0.1 s to 90 s of a 60 s TTL, some cancelled, dropped, or left by a crash.

    No two holders drive a phone at once or within a TTL of each other, and afterwards every phone is to be had again.
    """
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    phones = [world.device("phone-1"), world.device("phone-2")]
    agents = [await host.client(f"agent-{who}") for who in range(3)]
    for number, step in enumerate(plan):
        phone = phones[step.phone]
        if step.ticks is not None and phone.log and phone.running == 0:
            at_s = phone.last_end_s + host.ttl_s + step.ticks * world.tick_s
            if at_s > world.now_s:
                await world.until(at_s)
        elif step.gap:
            await world.advance(step.gap * host.ttl_s)
        await phone.slow("tap", step.ttls * host.ttl_s)
        call = agents[step.who].begin_tap(phone.device_id)
        await world.settle()
        if step.act == "await":
            await call
        elif step.act == "cancel":
            await agents[step.who].cancel(call)
        elif step.act == "drop":
            call.drop()
        elif step.act in ("end", "vanish"):
            await (agents[step.who].end() if step.act == "end" else agents[step.who].vanish())
            call.drop()
            agents[step.who] = await host.client(f"agent-{step.who}-{number}")
    for phone in phones:
        await phone.heal()
    await world.settle()
    while any(phone.running for phone in phones):
        await world.advance(host.ttl_s / 4)
    last_s = max([phone.last_end_s for phone in phones if phone.log], default=world.now_s)
    await world.until(max(world.now_s, last_s + host.ttl_s))
    newcomer = await host.client("newcomer")
    for phone in phones:
        expect_served(await newcomer.tap(phone.device_id), f"a newcomer on {phone.device_id}, a TTL after everything")


@scenario("HA-05", needs=("schedule",), sees=("refusal-during-call", "hand-over"))
@settings(max_examples=3)
@given(delay=st.sampled_from([0.0, 0.001, 0.2, 2.0]), run=st.integers(0, 1_000))
@example(delay=0.0, run=0)
@example(delay=0.5, run=1)
async def test_interleaved_requests_never_share_a_phone(world: World, delay: float, run: int) -> None:
    """Two agents and the cloud go for one phone again and again in the same instant.

    The loop runs ready tasks in a seeded order and messages take seeded times; exactly one gets a free phone each time.
    """
    cloud = await world.cloud(heartbeat_s=20 * world.ttl_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=20 * world.ttl_s)
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 10)
    await world.advance(1.0)
    chance = world.random(f"interleaving-{run}")
    world.trouble.shuffle()
    world.trouble.delay(0.0, delay)
    for round_ in range(2):
        before = phone.calls
        goers = ["alice", "bob", "cloud"]
        chance.shuffle(goers)
        calls, task = [], ""
        for goer in goers:
            if goer == "cloud":
                task = await cloud.submit(workflow=tap_workflow(round_), device_id="phone-1")
            else:
                calls.append((alice if goer == "alice" else bob).begin_tap("phone-1"))
        answers = [await call for call in calls]
        ended = await cloud.finished(task)
        won = sum(answer.ok for answer in answers) + (ended["state"] == "succeeded")
        assert won >= 1, f"round {round_}: nobody got a free phone: {answers}, cloud {ended}"
        assert phone.calls - before == won, f"round {round_}: {phone.calls - before} taps for {won} winners"
        if delay == 0.0:
            assert won == 1, f"round {round_}: {won} winners in one instant: {answers}, cloud {ended}"
        await world.advance(host.ttl_s * 1.5)


@scenario("HA-05", "HA-06", needs=("schedule",))
@pytest.mark.parametrize("order", list(itertools.permutations(["alice", "bob", "cloud"])), ids="-".join)
async def test_at_the_last_tick_exactly_one_wins(world: World, order: tuple[str, str, str]) -> None:
    """Carol's lease runs out; two agents and a cloud assignment ask in the same instant, in this order.

    One tick before the TTL none of them gets the phone. At the TTL exactly one does, however their requests
    interleave; when each waits for the one before to be decided, it is the first.
    """
    cloud = await world.cloud(heartbeat_s=20 * world.ttl_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=20 * world.ttl_s)
    agents = {name: await host.client(name) for name in ("alice", "bob", "carol")}
    phone = world.device("phone-1")

    async def ask(number: int, *, one_by_one: bool) -> dict[str, Answer | str]:
        """What each got, in order; no time passes between the first question and the last."""
        begun_s, calls, task = world.now_s, {}, ""
        for name in order:
            if name == "cloud":
                task = await cloud.submit(workflow=tap_workflow(number), device_id="phone-1")
            else:
                calls[name] = agents[name].begin_tap("phone-1")
            if one_by_one:
                await world.settle()
        assert world.now_s == begun_s, "all must ask in the same instant"
        got: dict[str, Answer | str] = {name: await call for name, call in calls.items()}
        got["cloud"] = (await cloud.finished(task))["state"]
        return {name: got[name] for name in order}

    expect_served(await agents["carol"].tap("phone-1"), "carol on a free phone")
    free_s = phone.last_end_s + host.ttl_s
    await phone.slow("tap", host.ttl_s / 4)
    await world.until(free_s - world.tick_s)
    for name, early in (await ask(1, one_by_one=False)).items():
        if isinstance(early, Answer):
            expect_busy(early, f"{name}, one tick before the TTL")
        else:
            assert early == "failed", f"the cloud had the phone one tick before the TTL: {early}"
    assert phone.callers == ["carol"], f"somebody drove the phone before the TTL: {phone.callers}"
    await world.until(free_s)
    got = await ask(2, one_by_one=False)
    winners = [name for name, answer in got.items() if answer == "succeeded" or getattr(answer, "ok", False)]
    assert len(winners) == 1, f"expected exactly one winner at the TTL, got {winners}: {got}"
    assert phone.calls == 2, f"expected carol's tap and the winner's: {phone.callers}"
    await world.until(phone.last_end_s + host.ttl_s)
    for name, answer in (await ask(3, one_by_one=True)).items():
        first = name == order[0]
        if not isinstance(answer, Answer):
            assert answer == ("succeeded" if first else "failed"), (
                f"the cloud, asking as number {order.index(name) + 1}"
            )
        elif first:
            expect_served(answer, f"{name}, first at the TTL")
        else:
            expect_busy(answer, f"{name}, not first at the TTL", "cloud" if order[0] == "cloud" else "mcp_session:")
    assert phone.calls == 3, f"expected one more tap, by {order[0]}: {phone.callers}"


@scenario("HA-05", sees=("hand-over",))
async def test_agents_and_the_cloud_meet_on_a_free_phone(world: World) -> None:
    """Two agents and a cloud assignment go for one free phone at once, nobody knowing of the others.

    Exactly one gets it; the others are refused while its call runs; a TTL later the phone is to be had again.
    """
    cloud = await world.cloud(heartbeat_s=20 * world.ttl_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=20 * world.ttl_s)
    alice, bob = await host.client("alice"), await host.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    await world.settle()
    task = await cloud.submit(workflow=tap_workflow(1), device_id="phone-1")
    calls = [alice.begin_tap("phone-1"), bob.begin_tap("phone-1")]
    answers = [await call for call in calls]
    ended = await cloud.finished(task)
    won = sum(answer.ok for answer in answers) + (ended["state"] == "succeeded")
    assert won == 1, f"expected exactly one winner: {answers}, cloud {ended}"
    assert phone.calls == 1, f"expected one driver call, by the winner: {phone.callers}"
    await phone.heal()
    await world.until(phone.last_end_s + host.ttl_s + world.tick_s)
    expect_served(await bob.tap("phone-1"), "bob, a TTL after the winner's call")


@scenario("HA-05", sees=("refusal-during-call", "hand-over"))
async def test_two_assignments_hold_two_phones(world: World) -> None:
    """The cloud runs two assignments at once, the later one on the second phone.

    An agent is refused on both phones while they run, told that the cloud holds them, and gets both at once afterwards.
    """
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice = await host.client("alice")
    phones = [world.device("phone-1"), world.device("phone-2")]
    tasks = []
    for number, phone in enumerate(phones):
        await phone.slow("tap", host.ttl_s / 2)
        tasks.append(await cloud.submit(workflow=tap_workflow(number), device_id=phone.device_id))
        await world.settle()
    await world.settle()
    assert [phone.running for phone in phones] == [1, 1], "both assignments must run"
    for phone in phones:
        expect_busy(await alice.tap(phone.device_id), f"alice on {phone.device_id} during its assignment", "cloud")
    for task in tasks:
        assert (await cloud.finished(task))["state"] == "succeeded", "the assignments must succeed"
    for phone in phones:
        await phone.heal()
        expect_served(await alice.tap(phone.device_id), f"alice on {phone.device_id} after its assignment")


@scenario("HA-05", sees=("refusal-during-call", "hand-over"))
@pytest.mark.parametrize("how", ["succeeds", "fails"])
async def test_a_cloud_hold_goes_with_its_assignment(world: World, how: str) -> None:
    """A cloud assignment on a phone ends well, or breaks off because the phone lost its cable.

    While it runs an agent is refused; once the cloud has its result, the agent gets the phone at once, not a TTL later.
    """
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    task = await cloud.submit(workflow=[*tap_workflow(1), *tap_workflow(2)], device_id="phone-1")
    await world.settle()
    assert phone.running == 1, "the assignment must run"
    expect_busy(await alice.tap("phone-1"), "alice during the assignment", "cloud")
    if how == "fails":
        await phone.disconnect()
    ended = await cloud.finished(task)
    assert ended["state"] == ("succeeded" if how == "succeeds" else "failed"), ended
    await phone.heal()
    expect_served(await alice.tap("phone-1"), "alice right after the assignment")


@scenario("HA-05", sees=("hand-over",))
async def test_a_host_that_crashed_starts_without_leases_and_without_sharing(world: World) -> None:
    """The host agent is killed while Alice's tap runs, and started again.

    The tap ends by itself on the phone; then Bob drives it, and Alice, back in a new session, is refused like anybody.
    """
    host = await world.hostagent(devices=["phone-1"])
    alice = await host.client("alice")
    phone = world.device("phone-1")
    await phone.slow("tap", host.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await world.settle()
    assert phone.running == 1, "alice's tap must run"
    start_s = phone.log[0].t_s
    await host.kill()
    call.drop()
    await world.advance(host.ttl_s / 10)
    await host.restart()
    assert await host.busy() == [], "a lease survived the crash"
    await phone.heal()
    await world.until(max(world.now_s, start_s + host.ttl_s / 2 + world.tick_s))
    assert phone.running == 0, "the old tap must have ended by itself"
    await out_of_quarantine(world, host, "phone-1")  # a host that was up again before it, looks now and then
    alice, bob = await host.client("alice-again"), await host.client("bob")
    expect_served(await bob.tap("phone-1"), "bob after the restart, when the phone has ended the old tap")
    expect_busy(await alice.tap("phone-1"), "alice's new session")


def tap_workflow(number: int) -> list[dict[str, object]]:
    """One tap at a point that no agent uses."""
    return [{"tool": "tap", "arguments": {"x": 90, "y": 40 + number}}]
