"""Two host agents that share a lease store drive the same phone, never at once, whatever breaks between them.

Neither host knows of the other; the store says who holds, and the phone itself refuses whoever comes with an old
fencing token. The standing check judges every trace from the phone's own log (HA-05).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import Answer, World, scenario
from lasttick.model.lease import Granted, Holder, Refused

from .handover import expect_busy, expect_served, takes_over_exactly
from .steps import HELD_BY_MCP, heard, moving, out_of_quarantine, over, workflow


async def two_hosts(world: World, **options: Any) -> tuple[Any, Any]:
    first = await world.hostagent(devices=["phone-1"], lease_store="shared", **options)
    return first, await world.hostagent(devices=["phone-1"], lease_store="shared", **options)


def expect_reason(answer: Answer, reason: str, when: str) -> None:
    assert answer.reason == reason, f"{when}: expected {reason}, got {answer.error or 'a result'}"


@scenario("HA-06", "HA-05", sees=("hand-over",))
async def test_a_lease_ends_at_the_tick_on_the_other_host_too(world: World) -> None:
    """An agent at one host used the phone at t. An agent at the other is refused until t + TTL and served from then on.
    Before that both hosts show the same lease."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", world.ttl_s / 10)
    expect_served(await alice.tap("phone-1"), "alice, first")
    expect_busy(await bob.tap("phone-1"), "bob, while alice holds at the other host")
    assert await here.busy() == await there.busy() == ["phone-1"], "both hosts must show the lease"
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + world.ttl_s)
    expect_busy(await alice.tap("phone-1"), "alice, after bob took over")


@scenario("HA-06", sees=("refusal-during-call",))
async def test_a_long_call_is_kept_over_many_ttls(world: World) -> None:
    """A call of two and a half TTLs at one host: the other host's agent is refused all the time, and served a TTL
    after its end."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 2.5 * world.ttl_s)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    began_s = phone.log[0].t_s
    for sixths in range(3, 15, 3):
        await world.until(began_s + sixths * world.ttl_s / 6)
        expect_busy(await bob.tap("phone-1"), f"bob, {sixths / 6:g} TTL into alice's call")
    expect_served(await call, "alice's long call")
    await phone.slow("tap", 0)
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + world.ttl_s)


@scenario("HA-06", needs=("schedule",))
async def test_a_call_that_can_not_be_kept_costs_no_other_its_lease(world: World) -> None:
    """Two phones, a long call on each. Whenever their host tells the store that they run, the first step fails, so that
    one lease is lost. The other one is kept: an agent at the other host is refused all the time."""
    devices = ["phone-1", "phone-2"]
    here = await world.hostagent(devices=devices, lease_store="shared")
    there = await world.hostagent(devices=devices, lease_store="shared")
    alice, bob = await here.client("alice"), await there.client("bob")
    for device_id in devices:
        await world.device(device_id).slow("tap", 2.5 * world.ttl_s)
        alice.begin_tap(device_id)
        await moving(world, world.device(device_id))
    for _ in range(6):
        world.lease_server.cut(here, steps=1)
        await world.advance(world.ttl_s / 3)
    assert await there.busy() == ["phone-2"], "the store must know of the call that could be kept, and of no other"
    expect_busy(await bob.tap("phone-2"), "bob, two TTLs into alice's call")


@scenario("HA-05", "HA-07", "HA-15", sees=("hand-over",))
async def test_a_killed_hosts_phone_waits_for_its_ttl_and_for_its_call(world: World) -> None:
    """A host is killed with a call in flight. The other host's agent is refused as long as the dead one's lease stands,
    then because the phone still acts; when the phone has ended, it is served. The killed host comes back and works."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 2 * world.ttl_s)
    alice.begin_tap("phone-1")
    await moving(world, phone)
    await here.kill()
    killed_s = world.now_s
    await world.until(killed_s + world.ttl_s / 2)
    expect_busy(await bob.tap("phone-1"), "bob, half a TTL after the kill")
    await world.until(killed_s + 1.5 * world.ttl_s)
    expect_reason(await bob.tap("phone-1"), "driver_stuck", "bob, when the lease is gone and the phone still acts")
    assert phone.calls == 1, "a second holder reached the phone during the dead host's call"

    await phone.slow("tap", 0)
    await world.until(killed_s + 2.2 * world.ttl_s)
    await out_of_quarantine(world, there, "phone-1")
    expect_served(await bob.tap("phone-1"), "bob, when the phone has ended")
    await here.restart()
    alice = await here.client("alice-again")
    expect_busy(await alice.tap("phone-1"), "alice at her restarted host, while bob holds")
    await world.until(phone.last_end_s + 1.2 * world.ttl_s)
    expect_served(await alice.tap("phone-1"), "alice at her restarted host, a TTL later")


@scenario("HA-05", "HA-06")
@pytest.mark.parametrize("lease", ["new", "known"])
async def test_a_call_that_comes_too_late_is_refused_by_the_phone(world: World, lease: str) -> None:
    """A host has been granted the phone, and stands still before it drives. Long after the TTL, when the other host's
    agent has the phone, it goes on: the phone refuses the old call, its agent is told `lease_lost`, and next `busy`."""
    here, there = await two_hosts(world, ttl_s=world.ttl_s / 2)  # a client gives up on an answer some time
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    if lease == "known":
        expect_served(await alice.tap("phone-1"), "alice, first")
    before = phone.calls
    world.lease_server.hold(here)
    late = alice.begin_tap("phone-1")
    await world.advance(here.ttl_s + world.tick_s)
    expect_served(await bob.tap("phone-1"), "bob, a TTL after alice's grant")
    world.lease_server.release(here)
    expect_reason(await late, "lease_lost", "alice's call, a TTL late")
    assert phone.callers[before:] == ["bob"], f"the phone's log shows {phone.callers}; expected bob only"
    assert lease == "new" or phone.refused == ["alice"], "the phone itself must refuse an old token"
    expect_busy(await alice.tap("phone-1"), "alice, while bob holds")


@scenario("HA-05", needs=("signals",))
async def test_a_host_that_stood_still_between_grant_and_call_drives_nothing(world: World) -> None:
    """The store has granted the phone, and the host's process is stopped before it hears of it. A TTL later the other
    host's agent has the phone and acts. The first host goes on where it stood: the phone refuses its old call."""
    here, there = await two_hosts(world, ttl_s=world.ttl_s / 2)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice, first")
    expect_busy(await bob.tap("phone-1"), "bob, while alice holds")
    world.lease_server.hold(here)
    late = alice.begin_tap("phone-1")
    await world.settle()
    here.pause()
    world.lease_server.release(here)
    await world.until(world.now_s + here.ttl_s)
    expect_served(await bob.tap("phone-1"), "bob, a TTL after alice's host stood still")
    here.resume()
    expect_reason(await late, "lease_lost", "alice's call, a TTL late")
    assert phone.callers == ["alice", "bob"], f"the phone's log shows {phone.callers}"
    assert phone.refused == ["alice"], "the phone itself must refuse the old token"
    expect_busy(await alice.tap("phone-1"), "alice, while bob holds")


@scenario("HA-05", "HA-06", needs=("schedule",), sees=("hand-over",))
async def test_a_host_that_is_cut_off_drives_nothing_new_and_loses_its_lease(world: World) -> None:
    """A host loses its way to the store while a call runs. The phone ends its call before anybody else drives it; the
    cut-off host lets nobody drive on a guess, and works again by itself when the way is back."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 1.5 * world.ttl_s)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    world.lease_server.cut(here)
    await world.until(phone.log[0].t_s + 1.2 * world.ttl_s)
    expect_reason(
        await bob.tap("phone-1"), "driver_stuck", "bob, when alice's lease is lost and the phone acts for her"
    )
    assert phone.calls == 1
    await call
    await phone.slow("tap", 0)
    expect_reason(await alice.tap("phone-1"), "store_unavailable", "alice, cut off")
    await out_of_quarantine(world, there, "phone-1")
    expect_served(await bob.tap("phone-1"), "bob, when the phone has ended")
    world.lease_server.mend(here)
    expect_busy(await alice.tap("phone-1"), "alice, when the way is back and bob holds")
    await world.until(phone.last_end_s + world.ttl_s)
    expect_served(await alice.tap("phone-1"), "alice, a TTL after bob")


@scenario("HA-07", needs=("schedule",))
@pytest.mark.parametrize("tries", [1, 2])
@pytest.mark.parametrize("step", ["take", "end"])
async def test_a_lost_answer_leaves_no_pin(world: World, step: str, tries: int) -> None:
    """The connection breaks after the store has done a step and before its answer is there, once or also at the second
    try. When the agent's session ends later, the phone is free at once: nothing of the lost step is left behind."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    if step == "take":
        world.lease_server.cut(here, "after", steps=tries)
        answer = await alice.tap("phone-1")
    else:
        await phone.slow("tap", world.ttl_s / 10)
        call = alice.begin_tap("phone-1")
        await moving(world, phone)
        world.lease_server.cut(here, "after", steps=tries)
        answer = await call
    if step == "take" and tries == 2:
        expect_reason(answer, "store_unavailable", "a call whose grant is not known")
    else:
        expect_served(answer, "a call whose lost answer was asked again")
    await world.advance(world.ttl_s / 3 + world.tick_s)  # the host has told the store again what runs
    expect_busy(await bob.tap("phone-1"), "bob, while alice's session may hold")
    await alice.end()
    expect_served(await bob.tap("phone-1"), "bob, at once after the end of alice's session")


@scenario("HA-05", needs=("schedule",), sees=("hand-over",))
async def test_a_store_that_starts_empty_lets_only_the_later_holder_act(world: World) -> None:
    """The store restarts without its memory while an agent holds the phone. The other host's agent is granted it too;
    of the two, the phone lets in the later only."""
    await _two_holders_by_the_store(world, lambda: world.lease_server.restart(empty=True))


@scenario("HA-05", needs=("schedule",), sees=("hand-over",))
async def test_a_fail_over_that_forgot_a_grant_lets_only_the_later_holder_act(world: World) -> None:
    """A copy takes over that missed the latest grant. By the store two hold; the phone lets in the later one only."""
    await _two_holders_by_the_store(world, lambda: world.lease_server.fail_over(lost=1))


@scenario("HA-05", needs=("schedule",))
@pytest.mark.parametrize("behind", [0.1, 60.0])
async def test_a_copy_whose_clock_is_behind_costs_one_call(world: World, behind: float) -> None:
    """A copy takes over that remembers nothing, and its clock is behind by a tenth of a TTL, or by an hour: the phone
    knows later tokens than it gives. An agent that goes on calling loses one call, not the phone for ever."""
    world.lease_server.step(1e9)
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    expect_served(await alice.tap("phone-1"), "alice, first")
    world.lease_server.step(-behind * world.ttl_s)
    world.lease_server.restart(empty=True)
    expect_reason(await bob.tap("phone-1"), "lease_lost", "bob, whose token is older than alice's")
    await world.advance(world.ttl_s / 4)
    expect_served(await bob.tap("phone-1"), "bob, again")
    expect_busy(await alice.tap("phone-1"), "alice, while bob holds")


async def _two_holders_by_the_store(world: World, forget: Any) -> None:
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice, first")
    await alice.end()
    alice = await here.client("alice-2")
    await world.advance(world.tick_s)
    await phone.slow("tap", world.ttl_s / 10)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    forget()
    expect_reason(await bob.tap("phone-1"), "driver_stuck", "bob, granted while the phone acts for alice")
    await call
    await phone.slow("tap", 0)
    await out_of_quarantine(world, there, "phone-1")
    expect_served(await bob.tap("phone-1"), "bob")
    expect_busy(await alice.tap("phone-1"), "alice, whose lease the store forgot")
    assert phone.callers == ["alice", "alice-2", "bob"]


@scenario("HA-05", needs=("schedule",))
async def test_of_two_holders_by_the_store_the_phone_knows_the_later(world: World) -> None:
    """A call with its grant is on its way to the phone when the store loses its memory. The other host's agent is
    granted the phone and acts; the first call, which comes then, is refused by the phone itself."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice, first")
    way_s = world.ttl_s / 10
    world.trouble.delay(way_s, way_s)
    late = alice.begin_tap("phone-1")
    await world.advance(1.5 * way_s)  # at the host and granted, and half way from there to the phone
    world.trouble.delay(0, 0)
    world.lease_server.restart(empty=True)
    expect_served(await bob.tap("phone-1"), "bob, after the store lost its memory")
    expect_reason(await late, "lease_lost", "alice's call, after bob's")
    assert phone.callers == ["alice", "bob"], f"the phone's log shows {phone.callers}"
    assert phone.refused == ["alice"], "the phone itself must refuse the older token"


@scenario("HA-05", "HA-16", needs=("schedule",))
async def test_one_handle_at_two_hosts_drives_one_call_at_a_time(world: World) -> None:
    """A client without a session holds a phone by a handle, and presents it at both hosts. While a call runs at one,
    the other refuses; when it has ended, the handle is good there too. No session gets the phone meanwhile."""
    here, there = await two_hosts(world)
    eve, eve_there = await here.client("eve", era="modern"), await there.client("eve", era="modern")
    bob = await there.client("bob")
    phone = world.device("phone-1")
    expect_served(await eve.tap("phone-1"), "eve's first call, which gives her a handle")
    eve_there.handles.update(eve.handles)
    await phone.slow("tap", world.ttl_s / 4)
    call = eve.begin_tap("phone-1")
    await moving(world, phone)
    expect_busy(await eve_there.tap("phone-1"), "eve's handle at the other host, under her own call")
    expect_served(await call, "eve's call")
    expect_served(await eve_there.tap("phone-1"), "eve's handle at the other host")
    expect_busy(await bob.tap("phone-1"), "bob, while eve's handle holds")
    assert phone.callers == ["eve", "eve", "eve"]


@scenario("HA-16", needs=("schedule",))
async def test_a_handle_outlives_a_restart_of_its_host(world: World) -> None:
    """A client without a session holds a phone by a handle of one host, which restarts.
    The lease is the store's: the handle is good at both hosts until t + TTL, and worth nothing from then on."""
    here, there = await two_hosts(world)
    eve, eve_there = await here.client("eve", era="modern"), await there.client("eve", era="modern")
    phone = world.device("phone-1")
    expect_served(await eve.tap("phone-1"), "eve's first call, which gives her a handle")
    await here.restart()
    again = await here.client("eve", era="modern")
    again.handles.update(eve.handles)
    eve_there.handles.update(eve.handles)
    expect_served(await again.tap("phone-1"), "eve's handle at its host, started anew")
    expect_served(await eve_there.tap("phone-1"), "eve's handle at the other host")
    await world.until(phone.last_end_s + world.ttl_s)
    for caller in (again, eve_there):
        expect_reason(await caller.tap("phone-1"), "unknown_handle", "eve's handle from t + TTL on")


@scenario("HA-05", rung="memory")
async def test_one_holder_at_two_hosts_does_not_overlap(world: World) -> None:
    """One handle is presented at two hosts at once: while a call runs for it at one, the other refuses; then it may."""
    here, there = world.shared_lease_store("here"), world.shared_lease_store("there")
    me = Holder("mcp", "one-handle")
    assert isinstance(await here.begin_use("phone-1", me), Granted)
    for ask in (there.begin_use, there.begin_own_use):
        refused = await ask("phone-1", me)
        assert isinstance(refused, Refused), "a second host let the same holder drive under its running call"
        assert refused.owner == me
    assert await here.end_use("phone-1", me)
    again = await there.begin_own_use("phone-1", me)
    assert isinstance(again, Granted), "a holder may go on at another host when nothing runs for it"
    assert not again.fresh


@scenario("HA-07", rung="memory")
async def test_a_holder_that_ended_at_one_host_has_ended_at_all(world: World) -> None:
    """A session ends at one host. What it held is free, and at no host does it ever hold again; another one may."""
    here, there = world.shared_lease_store("here"), world.shared_lease_store("there")
    gone, other = Holder("mcp", "gone"), Holder("mcp", "other")
    assert isinstance(await here.acquire("phone-1", gone), Granted)
    assert await here.end_holder(gone) == ["phone-1"]
    for ask in (there.acquire, there.begin_use, here.acquire):
        refused = await ask("phone-1", gone)
        assert isinstance(refused, Refused), "an ended session was granted the phone"
        assert refused.why == "ended"
    assert isinstance(await there.acquire("phone-1", other), Granted)


@scenario("HA-05", sees=("refusal-during-call",))
async def test_an_assignment_at_one_host_waits_for_no_session_at_the_other(world: World) -> None:
    """An agent at one host drives the phone; the cloud hands work for it to the other host, and it fails at once. When
    the agent's session is over, the same work is done."""
    first = await world.hostagent(devices=["phone-1"], lease_store="shared")
    cloud = await world.cloud(heartbeat_s=world.ttl_s * 4)
    await world.hostagent(devices=["phone-1"], lease_store="shared", heartbeat_s=world.ttl_s * 4)
    phone = world.device("phone-1")
    alice = await first.client("alice")
    await heard(world, cloud)
    await phone.slow("tap", world.ttl_s / 2)
    call = alice.begin_tap("phone-1")
    await moving(world, phone)
    task = await over(world, cloud, await cloud.submit(workflow=workflow(90, 300), device_id="phone-1"))
    assert (task["state"], task["failure_reason"]) == ("failed", HELD_BY_MCP)
    bob = await first.client("bob")
    expect_busy(await bob.tap("phone-1"), "bob, during alice's call")
    expect_served(await call, "alice")
    await alice.end()
    task = await over(world, cloud, await cloud.submit(workflow=workflow(91, 300), device_id="phone-1"))
    assert task["state"] == "succeeded", f"the phone is free, and the work ended as {task}"


@scenario("HA-05", sees=("hand-over",))
async def test_a_session_at_one_host_is_refused_under_an_assignment_at_the_other(world: World) -> None:
    """The cloud's work runs on the phone through one host, for two TTLs. An agent at the other host is refused all the
    time with the cloud as owner, and gets the phone when the work is done."""
    first = await world.hostagent(devices=["phone-1"], lease_store="shared")
    cloud = await world.cloud(heartbeat_s=world.ttl_s / 2)
    await world.hostagent(devices=["phone-1"], lease_store="shared")
    phone = world.device("phone-1")
    alice = await first.client("alice")
    await heard(world, cloud)
    await phone.slow("tap", world.ttl_s)
    steps = [*workflow(90, 300), *workflow(91, 300)]
    task_id = await cloud.submit(workflow=steps, device_id="phone-1")
    await moving(world, phone)
    began_s = phone.log[0].t_s
    for sixths in (3, 9):
        await world.until(began_s + sixths * world.ttl_s / 6)
        expect_busy(await alice.tap("phone-1"), f"alice, {sixths / 6:g} TTL into the work", "cloud_assignment")
    task = await over(world, cloud, task_id)
    assert task["state"] == "succeeded", f"the cloud's work must not suffer, it ended as {task}"
    await phone.slow("tap", 0)
    expect_served(await alice.tap("phone-1"), "alice, after the work")


@scenario("HA-05", needs=("schedule",), sees=("hand-over",))
@pytest.mark.parametrize("who", ["cloud", "after-a-lost-grant"])
async def test_whoever_comes_first_asks_the_phone(world: World, who: str) -> None:
    """A host is killed under its call, and its lease runs out while the phone still acts. Who drives next at the other
    host asks the phone first, also where the store granted it before: to a cloud assignment as a whole, or in an answer
    that was lost."""
    here = await world.hostagent(devices=["phone-1"], lease_store="shared")
    cloud = await world.cloud(heartbeat_s=world.ttl_s / 2)
    there = await world.hostagent(devices=["phone-1"], lease_store="shared")
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    await phone.slow("tap", 3 * world.ttl_s)
    alice.begin_tap("phone-1")
    await moving(world, phone)
    await here.kill()
    await phone.slow("tap", 0)
    await world.until(world.now_s + 1.5 * world.ttl_s)
    if who == "cloud":
        task = await over(world, cloud, await cloud.submit(workflow=workflow(90, 300), device_id="phone-1"))
        assert task["state"] == "failed", (
            f"the phone still acts for the dead host, and the cloud's work ended as {task}"
        )
    else:
        world.lease_server.cut(there, "after", steps=2)
        expect_reason(await bob.tap("phone-1"), "store_unavailable", "bob, whose grant was lost")
        expect_reason(
            await bob.tap("phone-1"), "driver_stuck", "bob, who holds, while the phone acts for the dead host"
        )
    assert phone.calls == 1, "a second holder reached the phone during the dead host's call"
    await world.until(phone.log[0].t_s + 3 * world.ttl_s)
    await out_of_quarantine(world, there, "phone-1")
    expect_served(await bob.tap("phone-1"), "bob, when the phone has ended")


@scenario("HA-06", needs=("wall-clock",), sees=("hand-over",))
async def test_the_stores_clock_decides(world: World) -> None:
    """Two hosts whose clocks are five hours apart, and both years from the store's: a lease ends exactly a TTL after
    its last use. The store's clock may even jump back: the lease lasts longer then, and no token is given twice."""
    world.lease_server.step(1e9)
    here = await world.hostagent(devices=["phone-1"], lease_store="shared", clock_ahead_s=18_000)
    there = await world.hostagent(devices=["phone-1"], lease_store="shared")
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    expect_served(await alice.tap("phone-1"), "alice, on a free phone")
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + world.ttl_s)
    await takes_over_exactly(world, alice, "phone-1", phone.last_end_s + world.ttl_s)
    world.lease_server.step(-world.ttl_s / 2)
    await takes_over_exactly(world, bob, "phone-1", phone.last_end_s + 1.5 * world.ttl_s)


@scenario("HA-15")
async def test_a_restarted_host_is_let_in_by_phones_that_knew_larger_tokens(world: World) -> None:
    """A phone has seen many tokens. Its host restarts, with leases in its memory only, and begins to count anew: above
    what the phone has seen, so that it refuses no call of its own host."""
    host = await world.hostagent(devices=["phone-1"])
    for number in range(3):
        agent = await host.client(f"agent-{number}")
        expect_served(await agent.tap("phone-1"), "before the restart")
        await agent.end()
    await host.restart()
    bob = await host.client("bob")
    expect_served(await bob.tap("phone-1"), "bob, after the restart")


@scenario("HA-15", sees=("hand-over",))
@pytest.mark.parametrize("call", ["idle", "running"])
async def test_a_host_that_stops_gives_back_what_it_holds(world: World, call: str) -> None:
    """A host is stopped in an orderly way. Its sessions' leases go with it, for the other host too: an agent there is
    served at once, or, when a call still runs on the phone, as soon as the phone reports its end."""
    here, there = await two_hosts(world)
    alice, bob = await here.client("alice"), await there.client("bob")
    phone = world.device("phone-1")
    if call == "idle":
        expect_served(await alice.tap("phone-1"), "alice")
    else:
        await phone.slow("tap", 2 * world.ttl_s)
        alice.begin_tap("phone-1")
        await moving(world, phone)
        await phone.slow("tap", 0)
    await here.stop()
    if call == "running":
        expect_reason(await bob.tap("phone-1"), "driver_stuck", "bob, while the phone acts for the stopped host")
        await world.until(phone.log[0].t_s + 2 * world.ttl_s)
        await out_of_quarantine(world, there, "phone-1")
    expect_served(await bob.tap("phone-1"), "bob, after the other host has stopped")


Act = Literal["tap", "leave", "end", "hold", "release", "cut", "mend", "kill", "restart"]


@dataclass(frozen=True)
class Step:
    """What happens at host `at`, and how many TTLs later the next thing does. `long`: a call's length in TTLs."""

    at: int
    act: Act
    gap: float
    long: float = 0.0


STEPS = st.builds(
    Step,
    at=st.integers(0, 1),
    act=st.sampled_from(
        ["tap", "tap", "leave", "leave", "leave", "end", "hold", "release", "cut", "mend", "kill", "restart"]
    ),
    gap=st.sampled_from([0.0, 1 / 60, 0.3, 0.7, 1.0, 1.4]),
    long=st.sampled_from([0.0, 0.1, 0.9, 1.5]),
)
FROZEN = [
    Step(0, "tap", 0.3),
    Step(0, "hold", 0.0),
    Step(0, "leave", 1.0),
    Step(1, "tap", 0.1),
    Step(0, "release", 0.1),
    Step(0, "tap", 1.0),
    Step(0, "tap", 0.1, 0.1),
]
KILLED = [
    Step(0, "leave", 0.3, 1.5),
    Step(1, "tap", 0.0),
    Step(0, "kill", 1.0),
    Step(1, "tap", 0.7),
    Step(1, "tap", 0.1),
    Step(0, "restart", 0.3),
    Step(0, "tap", 1.0),
    Step(0, "tap", 0.0),
]


@scenario("HA-05", needs=("schedule",), sees=("refusal-during-call", "hand-over"))
@settings(max_examples=8)
@given(plan=st.lists(STEPS, min_size=4, max_size=12))
@example(plan=FROZEN)
@example(plan=KILLED)
async def test_no_story_of_two_hosts_lets_two_holders_meet(world: World, plan: list[Step]) -> None:
    """Agents at two hosts tap one phone, for up to one and a half TTLs, while hosts are frozen, cut off, killed and
    started again. By the phone's own log no two meet; in the end, with all well again, each of them can have it."""
    hosts = list(await two_hosts(world))
    phone = world.device("phone-1")
    agents = [await host.client(f"agent-{at}") for at, host in enumerate(hosts)]
    dead, troubled = [False, False], ["", ""]
    count = 0
    for step in plan:
        host = hosts[step.at]
        if not dead[step.at]:
            if step.act in ("tap", "leave"):
                await phone.slow("tap", step.long * world.ttl_s)
                agents[step.at].begin_tap("phone-1")
                await world.settle()
            elif step.act == "end" and not troubled[step.at]:
                await agents[step.at].end()
                count += 1
                agents[step.at] = await host.client(f"agent-{step.at}-{count}")
            elif step.act in ("hold", "cut") and not troubled[step.at]:
                troubled[step.at] = step.act
                getattr(world.lease_server, step.act)(host)
            elif step.act in ("release", "mend") and troubled[step.at]:
                _well_again(world, host, troubled, step.at)
            elif step.act == "kill":
                await host.kill()
                dead[step.at] = True
        elif step.act == "restart":
            await _back(world, host, troubled, dead, step.at)
            count += 1
            agents[step.at] = await host.client(f"agent-{step.at}-{count}")
        await world.advance(step.gap * world.ttl_s)
    await phone.slow("tap", 0)
    for at, host in enumerate(hosts):
        if dead[at]:
            await _back(world, host, troubled, dead, at)
        elif troubled[at]:
            _well_again(world, host, troubled, at)
    await world.advance(8 * world.ttl_s)
    for at, host in enumerate(hosts):
        last = await host.client(f"last-{at}")
        expect_served(await last.tap("phone-1"), f"an agent at host {at}, when all is well again")
        await last.end()


def _well_again(world: World, host: Any, troubled: list[str], at: int) -> None:
    kind, troubled[at] = troubled[at], ""
    if kind == "hold":
        world.lease_server.release(host)
    else:
        world.lease_server.mend(host)


async def _back(world: World, host: Any, troubled: list[str], dead: list[bool], at: int) -> None:
    if troubled[at]:
        _well_again(world, host, troubled, at)
    await host.restart()
    dead[at] = False
