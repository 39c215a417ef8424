"""The habits of a real agent, in both versions: each is harmless only if the host agent is right about leases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .agents import BUSY, LOST, TIMED_OUT, UNREACHABLE, Agent, expect_done, expect_text, session_is_lost, started
from .handover import expect_busy, expect_served, takes_over, takes_over_exactly
from .steps import out_of_quarantine

PHONE = "phone-1"
VERSIONS = ["0.17.0", "0.19.0"]
BOTH = pytest.mark.parametrize("version", VERSIONS)


@scenario("HA-20")
async def test_what_the_agent_tries_first_leaves_no_phantom_session(world: World) -> None:
    """Before its hello the agent sends HEAD and GET, and a call without a session is sent too.

    All are refused; a session id that such an answer carries is nobody's: it opens nothing and holds nothing.
    """
    host = await world.hostagent(devices=[PHONE])
    bearer = {"authorization": f"Bearer {host.token}", "accept": "*/*"}
    speaks = {**bearer, "accept": "application/json, text/event-stream", "content-type": "application/json"}
    tap = {"name": "tap", "arguments": {"device_id": PHONE, "x": 1, "y": 1}}
    call = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": tap})
    async with host.http() as http:
        for method, headers, body in (("HEAD", bearer, ""), ("GET", bearer, ""), ("POST", speaks, call)):
            refused = await http.request(method, "/mcp", headers=headers, content=body)
            assert 400 <= refused.status_code < 500, f"{method} without a session gave HTTP {refused.status_code}"
            phantom = refused.headers.get("mcp-session-id", "a-session-that-never-was")
            used = await http.post("/mcp", headers={**speaks, "mcp-session-id": phantom}, content=call)
            assert used.status_code == 404, f"the answer to {method} carries a session that lives: {used.text}"
    assert world.device(PHONE).calls == 0
    assert await host.busy() == [], "a phantom holds a phone"


@scenario("HA-20", "HA-04")
@BOTH
async def test_two_agents_that_look_alike_are_two(world: World, version: str) -> None:
    """Two agents of one version cannot be told apart by what they say of themselves; both want one phone.

    The second is refused while the first holds it, and has it at once when the first ends its session.
    """
    host = await world.hostagent(devices=[PHONE, "phone-2"])
    alice, bob = await started(world, host, "alice", version), await started(world, host, "bob", version)
    expect_done(await alice.tap(PHONE), "alice on a free phone")
    expect_text(await bob.tap(PHONE), BUSY, "bob while alice holds the phone")
    expect_done(await bob.tap("phone-2"), "bob on another phone")
    await alice.side.close()
    expect_done(await bob.tap(PHONE), "bob when alice's session is over")
    await bob.side.close()
    assert await host.busy() == [], "an agent that ended as it should left a lease"


@scenario("HA-20", "HA-06")
@pytest.mark.parametrize(("version", "every"), [("0.17.0", 3.0), ("0.19.0", 0.25)])
async def test_the_keepalive_of_an_idle_agent_holds_no_phone(world: World, version: str, every: float) -> None:
    """An idle agent pings, four times within a TTL or, as is its default, once in three. Its session lives, its lease
    does not: Bob has the phone one TTL after its tap. Later it calls as if nothing had been, and waits for its turn."""
    host = await world.hostagent(devices=[PHONE])
    alice = await started(world, host, "alice", version, keepalive_s=every * host.ttl_s)
    bob, phone = await host.client("bob"), world.device(PHONE)
    session_id = alice.side.session_id
    expect_done(await alice.tap(PHONE), "alice on a free phone")
    await takes_over_exactly(world, bob, PHONE, phone.last_end_s + host.ttl_s)
    assert (alice.side.pings >= 3) == (every < 1), f"{alice.side.pings} pings by now"
    expect_text(await alice.tap(PHONE), BUSY, "alice, whose lease has ended")
    await world.until(phone.last_end_s + host.ttl_s + world.tick_s)
    expect_done(await alice.tap(PHONE), "alice when nobody holds the phone")
    assert alice.side.session_id == session_id, "the session lived through all of it"
    await alice.side.close()


@scenario("HA-20", "HA-07")
@pytest.mark.parametrize(("version", "tries"), [("0.17.0", 3), ("0.19.0", 1)])
async def test_a_time_out_that_tells_nobody(world: World, version: str, tries: int) -> None:
    """A tap takes two TTLs, the agent gives up after a sixth of one, and does so up to three times. The host is told
    nothing. Every tap runs to its end, one after another, with the phone still the agent's; then one TTL, and no more.
    """
    host = await world.hostagent(devices=[PHONE])
    alice = await started(world, host, "alice", version, timeout_s=host.ttl_s / 6)
    bob, phone = await host.client("bob"), world.device(PHONE)
    await phone.slow("tap", 2 * host.ttl_s)
    for _ in range(tries):
        expect_text(await alice.tap(PHONE), TIMED_OUT, "alice, whose tap takes too long for her")
    start_s = phone.log[0].t_s
    expect_busy(await bob.tap(PHONE), "bob after the time-out")
    await world.until(start_s + 1.5 * host.ttl_s)
    expect_busy(await bob.tap(PHONE), "bob more than one TTL after the time-out")
    await phone.heal()
    await world.until(start_s + 2 * host.ttl_s + world.tick_s)
    assert phone.callers == ["alice"] * tries, f"every tap that was sent runs, in its turn: {phone.callers}"
    assert phone.running == 0, "all have ended"
    await takes_over(world, bob, PHONE, phone.last_end_s + host.ttl_s)
    assert await host.busy() == [PHONE], "only bob's lease may be left"


@scenario("HA-20")
@BOTH
async def test_three_busy_answers_open_the_breaker(world: World, version: str) -> None:
    """Bob holds the phone; the agent asks three times, is refused, and then reaches the host no more for a minute.

    Its asking neither keeps Bob's lease alive nor keeps it a place: Carol has the phone when Bob's TTL is over.
    """
    host = await world.hostagent(devices=[PHONE])
    alice, phone = await started(world, host, "alice", version), world.device(PHONE)
    bob, carol = await host.client("bob"), await host.client("carol")
    expect_served(await bob.tap(PHONE), "bob on a free phone")
    for _ in range(3):
        expect_text(await alice.tap(PHONE), BUSY, "alice while bob holds the phone")
    opened_s = world.now_s
    expect_text(await alice.tap(PHONE), UNREACHABLE, "alice after three busy answers")
    assert alice.sent_calls == 3, "the fourth call never left"
    await takes_over_exactly(world, carol, PHONE, phone.last_end_s + host.ttl_s)
    await carol.end()
    assert await host.busy() == [], "who was refused three times holds something"
    if world.mode == "virtual":  # the breaker's minute is the agent's own, and a real one elsewhere
        await world.until(opened_s + 60.0)
        expect_done(await alice.tap(PHONE), "alice when the breaker lets a call through")
        await alice.side.close()
        assert await host.busy() == []


@scenario("HA-20", "HA-07")
@pytest.mark.parametrize(("version", "how"), [("0.17.0", "delete"), ("0.19.0", "delete"), ("0.19.0", "restart")])
async def test_a_call_that_is_made_again_in_a_new_session(world: World, version: str, how: str) -> None:
    """In the middle of a tap the agent's session is lost. 0.19.0 makes the next call twice, the second time in a new
    session; 0.17.0 fails it. While the old tap runs neither moves the phone; after it the agent has the phone, at once.
    """
    host = await world.hostagent(devices=[PHONE])
    alice, phone = await started(world, host, "alice", version), world.device(PHONE)
    await phone.slow("tap", 1.5 * host.ttl_s)
    first = alice.begin_tap(PHONE)
    await world.settle()
    start_s = phone.log[0].t_s
    await world.until(start_s + host.ttl_s / 6)
    if how == "delete":
        await session_is_lost(world, host, alice)
    else:
        await host.restart()
    await world.settle()
    assert first.done(), "the call of the lost session is not answered"
    again = await alice.tap(PHONE)
    if version == "0.17.0":
        expect_text(again, LOST, "the call that finds the session gone")
    elif how == "delete":
        expect_text(again, BUSY, "the repeat in a new session, the old tap still running")
    bob = await host.client("bob")
    if phone.running:
        assert not (await bob.tap(PHONE)).ok, "bob drives a phone that still moves"
    await phone.heal()
    await world.until(max(world.now_s, start_s + 1.5 * host.ttl_s + world.tick_s))
    assert phone.running == 0, "the old tap has ended"
    await out_of_quarantine(world, host, PHONE)  # a host that was started anew looks at what its predecessor left
    expect_done(await alice.tap(PHONE), "alice when the old tap has ended, far within a TTL")
    expect_busy(await bob.tap(PHONE), "bob while alice holds the phone again")
    await alice.side.close()
    assert await host.busy() == [], "a lease of the lost session or of the new one is left"


STEPS = st.tuples(
    st.sampled_from(["alice", "bob"]), st.sampled_from(["tap", "time-out", "lose", "kill", "end", "wait"])
)


@scenario("HA-20", "HA-05", needs=("schedule",), sees=("busy", "done", "timed out"))
@settings(max_examples=8)
@given(steps=st.lists(STEPS, min_size=4, max_size=12))
@example(steps=[("alice", "tap"), ("bob", "tap"), ("alice", "lose"), ("bob", "tap"), ("alice", "tap"), ("bob", "kill")])
@example(steps=[("alice", "time-out"), ("alice", "lose"), ("alice", "tap"), ("bob", "tap"), ("alice", "kill")])
async def test_whatever_two_agents_do_the_phone_has_one_holder_and_none_in_the_end(
    world: World, steps: list[tuple[str, str]]
) -> None:
    """An agent of each version taps, gives up, loses its session, is killed and started anew, in any order, and ready
    tasks run in a seeded one. The device's log shows one holder at every instant, and in the end nobody holds anything.
    """
    world.trouble.shuffle()
    host = await world.hostagent(devices=[PHONE])
    phone, version = world.device(PHONE), dict(zip(("alice", "bob"), VERSIONS, strict=True))
    quick = {"timeout_s": host.ttl_s / 6, "keepalive_s": host.ttl_s / 4}
    agents = {name: await started(world, host, name, version[name], **quick) for name in version}
    for number, (name, what) in enumerate(steps):
        agent = agents[name]
        if what == "wait":
            await world.advance(host.ttl_s / 3)
        elif what == "lose":
            await lose(world, host, agent)
        elif what in ("kill", "end"):
            await (agent.side.vanish() if what == "kill" else agent.side.close())
            # A name of its own for each run of the program: what the last one left behind still moves the phone.
            agents[name] = await started(world, host, f"{name}-{number}", version[name], **quick)
        else:
            await phone.slow("tap", host.ttl_s / 2 if what == "time-out" else 0.0)
            text = await agent.tap(PHONE)
            for part, sight in ((BUSY, "busy"), ('{"result"', "done"), (TIMED_OUT, "timed out")):
                if part in text:
                    world.saw(sight)
    await phone.heal()
    for agent in agents.values():
        await agent.side.vanish()
    await world.advance(len(steps) * host.ttl_s)
    assert phone.running == 0
    assert await host.busy() == [], "a lease is left of agents that have all gone"


async def lose(world: World, host: Any, agent: Agent) -> None:
    if agent.side.session_id is not None:
        await session_is_lost(world, host, agent)
