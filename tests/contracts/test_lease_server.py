"""Are the script in Redis and the transactions in PostgreSQL the rule of a shared lease store, to the microsecond?

Small cases for the sentences that matter, each seen red on a wrong script; and random histories, answer by answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model.lease import Granted, Holder, Refused
from lasttick.model.shared_lease import Take
from lasttick.ports import LeaseServer
from lasttick.reference.hostagent import redis_server

from .shared_servers import KINDS, HandClock, RuleServer, need, opened, own_name

TTL_US = 60_000_000
ALICE, BOB = Holder("mcp", "alice\x00\ud800ü"), Holder("mcp", "bob")
CLOUD = Holder("cloud", "assignment-1")
Server: TypeAlias = LeaseServer
Check = Callable[[Server, HandClock], Awaitable[None]]


def begin(holder: Holder, pin: str, host: str = "h1", name: Any = "begin_use", device: str = "phone-1") -> Take:
    return Take(name, device, holder, host, pin)


async def free_exactly_at_ttl(server: Server, clock: HandClock) -> None:
    await server.take(begin(ALICE, "h1.1", name="acquire"), TTL_US)
    clock.t_us += TTL_US - 1
    assert await server.take(begin(BOB, "h2.1", "h2"), TTL_US) == Refused("phone-1", ALICE, "held")
    assert len((await server.records(TTL_US))[1]) == 1
    clock.t_us += 1
    assert (await server.records(TTL_US))[1] == []
    assert await server.take(begin(BOB, "h2.2", "h2"), TTL_US) == Granted("phone-1", BOB, fresh=True)


async def fences_grow(server: Server, clock: HandClock) -> None:
    """Also when the server's clock stands still or steps back, and above what a device has seen."""
    seen = 0
    for turn, step_us in enumerate([0, 0, -3_600_000_000, 7]):
        clock.t_us += step_us
        decision = await server.take(begin(ALICE, f"h1.{turn}", name="acquire"), TTL_US)
        assert isinstance(decision, Granted)
        assert decision.fence > seen
        again = await server.take(begin(ALICE, f"h1.{turn}b"), TTL_US)
        assert isinstance(again, Granted)
        assert again.fence == decision.fence
        seen = decision.fence
        await server.end_use("phone-1", ALICE, f"h1.{turn}b", TTL_US)
        await server.release("phone-1", ALICE, TTL_US)
    await server.fence_above(2**52)
    decision = await server.take(begin(BOB, "h1.9", device="phone-2"), TTL_US)
    assert isinstance(decision, Granted)
    assert decision.fence == 2**52 + 1


async def pins_are_counted(server: Server, clock: HandClock) -> None:
    for pin in ("h1.1", "h1.2"):
        await server.take(begin(ALICE, pin), TTL_US)
    await server.release("phone-1", ALICE, TTL_US)
    assert await server.end_use("phone-1", ALICE, "h1.1", TTL_US) is True
    assert await server.take(begin(BOB, "h1.3"), TTL_US) == Refused("phone-1", ALICE, "held")
    assert await server.end_use("phone-1", ALICE, "h1.2", TTL_US) is True
    assert await server.take(begin(BOB, "h1.4"), TTL_US) == Granted("phone-1", BOB, fresh=True)


async def asked_twice_happens_once(server: Server, clock: HandClock) -> None:
    first = await server.take(begin(ALICE, "h1.1"), TTL_US)
    assert isinstance(first, Granted)
    again = await server.take(begin(ALICE, "h1.1"), TTL_US)
    assert isinstance(again, Granted)
    assert (again, again.fence) == (first, first.fence)
    assert again.fresh
    ((record,),) = [(await server.records(TTL_US))[1]]
    assert record.pins == ("h1.1",)
    assert await server.end_use("phone-1", ALICE, "h1.1", TTL_US) is True
    assert await server.end_use("phone-1", ALICE, "h1.1", TTL_US) is False
    assert await server.end_holder(ALICE, TTL_US) == ["phone-1"]
    assert await server.end_holder(ALICE, TTL_US) == []


async def one_host_drives_at_a_time(server: Server, clock: HandClock) -> None:
    await server.take(begin(ALICE, "h1.1"), TTL_US)
    assert await server.take(begin(ALICE, "h2.1", "h2"), TTL_US) == Refused("phone-1", ALICE, "held")
    await server.end_use("phone-1", ALICE, "h1.1", TTL_US)
    assert await server.take(begin(ALICE, "h2.2", "h2"), TTL_US) == Granted("phone-1", ALICE, fresh=False)


async def an_ended_holder_stays_out(server: Server, clock: HandClock) -> None:
    await server.take(begin(ALICE, "h1.1"), TTL_US)
    assert await server.end_holder(ALICE, TTL_US) == ["phone-1"]
    for name in ("acquire", "begin_use", "begin_own_use"):
        assert await server.take(begin(ALICE, "h1.2", name=name), TTL_US) == Refused("phone-1", None, "ended")
    assert await server.take(begin(BOB, "h2.1", "h2"), TTL_US) == Refused("phone-1", ALICE, "held")
    await server.end_use("phone-1", ALICE, "h1.1", TTL_US)
    assert await server.take(begin(BOB, "h2.2", "h2"), TTL_US) == Granted("phone-1", BOB, fresh=True)
    assert await server.end_holder(CLOUD, TTL_US) == []
    clock.t_us += 3_600_000_000
    assert await server.take(begin(ALICE, "h1.3"), TTL_US) == Refused("phone-1", None, "ended")


async def a_pin_lives_while_it_is_kept(server: Server, clock: HandClock) -> None:
    await server.take(begin(ALICE, "h1.1"), TTL_US)
    for _ in range(5):
        clock.t_us += TTL_US - 1
        assert await server.keep("phone-1", ALICE, "h2", TTL_US) is False
        assert await server.keep("phone-1", BOB, "h1", TTL_US) is False
        assert await server.keep("phone-1", ALICE, "h1", TTL_US) is True
    clock.t_us += TTL_US
    assert await server.keep("phone-1", ALICE, "h1", TTL_US) is False
    assert await server.end_use("phone-1", ALICE, "h1.1", TTL_US) is False
    assert await server.take(begin(BOB, "h2.1", "h2"), TTL_US) == Granted("phone-1", BOB, fresh=True)


async def an_own_use_takes_nothing(server: Server, clock: HandClock) -> None:
    nothing = Refused("phone-1", None, "not_held")
    assert await server.take(begin(ALICE, "h1.1", name="begin_own_use"), TTL_US) == nothing
    await server.take(begin(ALICE, "h1.2"), TTL_US)
    await server.release("phone-1", ALICE, TTL_US)
    assert await server.take(begin(ALICE, "h1.3", name="begin_own_use"), TTL_US) == nothing
    assert await server.take(begin(ALICE, "h1.4"), TTL_US) == Granted("phone-1", ALICE, fresh=False)
    assert await server.take(begin(ALICE, "h1.5", name="begin_own_use"), TTL_US) == Granted("phone-1", ALICE, False)


CHECKS: list[Check] = [
    free_exactly_at_ttl,
    fences_grow,
    pins_are_counted,
    asked_twice_happens_once,
    one_host_drives_at_a_time,
    an_ended_holder_stays_out,
    a_pin_lives_while_it_is_kept,
    an_own_use_takes_nothing,
]

HELD = "now_us < record.last_used_us + ttl_us"
WRONG: dict[str, tuple[Check, str, str]] = {
    "expires a tick late": (free_exactly_at_ttl, HELD, HELD.replace("<", "<=")),
    "expires a tick early": (free_exactly_at_ttl, HELD, HELD.replace("now_us", "now_us + 1", 1)),
    "the fence is the clock's alone": (fences_grow, "math.max(last + 1, now_us)", "now_us"),
    "the fence does not grow": (fences_grow, "math.max(last + 1, now_us)", "math.max(last, now_us)"),
    "the pin is a flag": (
        pins_are_counted,
        "    if other ~= pin then\n      table.insert(left, other)\n    end\n",
        "",
    ),
    "asked again, a second pin": (asked_twice_happens_once, " and not has_pin(record, pin)", ""),
    "asked again, not fresh": (asked_twice_happens_once, "record.taken_by == pin and 1 or 0", "0"),
    "another host joins in": (one_host_drives_at_a_time, "#record.pins > 0 and record.host ~= host", "false"),
    "an ended holder is let in": (an_ended_holder_stays_out, "  if has_ended(kind, id) then\n    return {'ref", ""),
    "its end tears a call's device away": (an_ended_holder_stays_out, "if #record.pins > 0 then", "if false then"),
    "a pin outlives its host": (
        a_pin_lives_while_it_is_kept,
        f"return {HELD}",
        f"return #record.pins > 0 or {HELD}",
    ),
    "anybody keeps": (a_pin_lives_while_it_is_kept, "record.host ~= host or not held", "not held"),
    "a handle takes": (an_own_use_takes_nothing, "name == 'begin_own_use' then", "false then"),
}


def play(kind: str, check: Check, script: str = redis_server.SCRIPT) -> None:
    async def main() -> None:
        clock = HandClock(1_796_000_000_000_000)
        async with opened(kind, now_us=clock.now_us, script=script) as server:
            await check(server, clock)

    asyncio.run(main())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["rule", *KINDS])
def test_the_server_keeps_the_rule(kind: str, check: Check) -> None:
    play(kind, check)


@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_script_is_seen(what: str) -> None:
    check, right, wrong = WRONG[what]
    if what == "an ended holder is let in":
        right = "  if has_ended(kind, id) then\n    return {'refused', 'ended', '', ''}\n  end\n"
    assert right in redis_server.SCRIPT
    with pytest.raises(AssertionError):
        play("redis", check, redis_server.SCRIPT.replace(right, wrong))


# -- random histories

HOLDERS = st.sampled_from([ALICE, BOB, CLOUD])
DEVICES = st.sampled_from(["phone-1", "", "\x00\ud800"])
HOSTS = st.sampled_from(["h1", "h2"])
PINS = st.sampled_from(["p1", "p2", "p3", "p4"])
NAMES: Any = st.sampled_from(["acquire", "begin_use", "begin_own_use"])
STEPS = st.one_of(
    st.tuples(st.just("take"), st.builds(Take, NAMES, DEVICES, HOLDERS, HOSTS, PINS)),
    st.tuples(st.just("take"), st.builds(Take, st.just("begin_use"), DEVICES, HOLDERS, HOSTS, PINS)),
    st.tuples(st.just("end_use"), DEVICES, HOLDERS, PINS),
    st.tuples(st.just("keep"), DEVICES, HOLDERS, HOSTS),
    st.tuples(st.just("release"), DEVICES, HOLDERS),
    st.tuples(st.just("end_holder"), HOLDERS),
)
PASSES_US = st.sampled_from([0, 0, 1, TTL_US // 3, TTL_US - 1, TTL_US, TTL_US + 1, -TTL_US])


@pytest.mark.parametrize(("kind", "histories"), [("redis", 150), ("postgres", 30)])
def test_any_history_is_that_of_the_rule(kind: str, histories: int) -> None:
    """One script, one transaction, one rule: equal answers, fencing tokens included, and equal records."""
    need(kind)
    with asyncio.Runner() as runner:
        clock, name = HandClock(), own_name()
        context = opened(kind, now_us=clock.now_us, name=name)
        server = runner.run(context.__aenter__())

        @settings(max_examples=histories, deadline=None)
        @given(history=st.lists(st.tuples(STEPS, PASSES_US), max_size=25))
        def same(history: list[Any]) -> None:
            async def main() -> None:
                clock.t_us = 1_796_000_000_000_000
                rule = RuleServer(clock.now_us, forgets=kind == "redis")
                await empty(server)
                for (step, *words), passes_us in history:
                    clock.t_us += passes_us
                    ttl = [TTL_US]
                    mine, theirs = [await getattr(one, step)(*words, *ttl) for one in (server, rule)]
                    assert mine == theirs
                    assert getattr(mine, "fence", 0) == getattr(theirs, "fence", 0)
                    assert await server.records(TTL_US) == await rule.records(TTL_US)

            runner.run(main())

        try:
            same()
        finally:
            runner.run(context.__aexit__(None, None, None))


async def empty(server: Any) -> None:
    if isinstance(server, redis_server.RedisLeaseServer):
        await server._redis.delete(*server._keys)
    else:
        await server.now_us()
        schema = server._schema
        async with server._pool.acquire() as sql:
            await sql.execute(
                f"DELETE FROM {schema}.lease; DELETE FROM {schema}.ended; UPDATE {schema}.meta SET fence=0"
            )


# -- housekeeping


def test_what_nobody_needs_goes() -> None:
    """Ended holders after a day, leases that ended with the next look: an idle table is as good as empty."""

    async def main() -> None:
        clock = HandClock(1_796_000_000_000_000)
        async with opened("redis", now_us=clock.now_us) as server:
            for number in range(50):
                holder = Holder("mcp", f"session-{number}")
                await server.take(begin(holder, "h1.1", device=f"phone-{number}"), TTL_US)
                await server.end_holder(holder, TTL_US)
            leases, ended, _ = server._keys
            assert (await server._redis.hlen(leases), await server._redis.zcard(ended)) == (50, 50)
            clock.t_us += 24 * 3_600_000_000 + 1
            await server.end_holder(ALICE, TTL_US)
            assert (await server._redis.hlen(leases), await server._redis.zcard(ended)) == (0, 1)

    asyncio.run(main())


def test_all_keys_are_of_one_slot() -> None:
    server = redis_server.RedisLeaseServer(need("redis"), prefix="a")
    assert server._keys == ["{a}:leases", "{a}:ended", "{a}:meta"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_another_version_is_refused(kind: str) -> None:
    from lasttick.ports import StoreUnavailable

    async def main() -> None:
        async with opened(kind) as server:
            await server.fence_above(1)
            if kind == "redis":
                await server._redis.hset(server._keys[2], "version", "9")
            else:
                async with server._pool.acquire() as sql:
                    await sql.execute(f"UPDATE {server._schema}.meta SET version = 9")
                server._pool = None
            with pytest.raises(StoreUnavailable, match="version 9; expected 1"):
                await server.now_us()

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seen", [-1, 2**53])
def test_a_token_that_nothing_can_follow_is_refused(kind: str, seen: int) -> None:
    async def main() -> None:
        async with opened(kind) as server:
            with pytest.raises(ValueError, match=r"expected one below 2\^53"):
                await server.fence_above(seen)

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_server_a_test_is_skipped_by_name_and_fails_in_ci(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import shared_servers

    monkeypatch.setitem(shared_servers._there, kind, False)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no server at .*; install .* or set LASTTICK_TEST_"):
        need(kind)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="nothing may be skipped"):
        need(kind)
