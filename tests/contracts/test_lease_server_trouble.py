"""What happens to leases when a shared store dies, fails over, forgets, hangs, or loses an answer? In real time.

Each story ends as it does for a user: by itself, once the store is back; and whatever the store forgot, the device
lets only the later holder act, by its fencing tokens.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from lasttick.engine.clock import SystemClock
from lasttick.model.lease import Granted, Holder, Refused
from lasttick.model.shared_lease import Take
from lasttick.ports import LeaseServer, LeaseStore, StaleFence, StoreUnavailable
from lasttick.reference.hostagent.postgres_server import PostgresLeaseServer
from lasttick.reference.hostagent.redis_server import RedisLeaseServer
from lasttick.reference.hostagent.shared_store import SharedLeaseStore
from lasttick_fakes.devices import Rack, parse_devices

from .own_redis import Link, OwnRedis
from .shared_servers import KINDS, PORTS, POSTGRES, URLS, forget, need, opened, own_name

ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")
SHORT_S = 0.5
TTL_US = 60_000_000
TAP = {"x": 1, "y": 2}


def server_at(kind: str, url: str, name: str) -> Any:
    return RedisLeaseServer(url, prefix=name) if kind == "redis" else PostgresLeaseServer(url, schema=name)


@asynccontextmanager
async def host_at(server: LeaseServer, name: str, ttl_s: float = 60.0, clock: Any = None) -> AsyncIterator[Any]:
    store = SharedLeaseStore(server, clock or SystemClock(), host=name, ttl_s=ttl_s)
    async with store.running():
        yield store


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[OwnRedis]:
    own = OwnRedis(tmp_path)
    yield own
    own.kill()


async def granted(store: LeaseStore, holder: Holder) -> Granted:
    decision = await store.begin_use("phone-1", holder)
    assert isinstance(decision, Granted)
    return decision


async def later_alone_acts(first: Granted, second: Granted) -> None:
    """The device of both grants: it was driven with the first, and is now taken with the second."""
    assert second.fence > first.fence
    rack = Rack(SystemClock(), parse_devices("phone-1"))
    (phone,) = rack.devices
    try:
        await phone.perform("tap", TAP, first.fence)
        assert await phone.claim(second.fence)
        with pytest.raises(StaleFence):
            await phone.perform("tap", TAP, first.fence)
        await phone.perform("tap", TAP, second.fence)
    finally:
        rack.close()


# -- mutual exclusion


@pytest.mark.parametrize(("kind", "grants"), [("redis", 200), ("postgres", 40)])
def test_many_clients_of_many_hosts_never_overlap(kind: str, grants: int) -> None:
    need(kind)
    using: dict[str, str] = {}
    fences: dict[str, list[int]] = {"phone-1": [], "phone-2": []}
    refused = 0

    async def live(store: LeaseStore, name: str, number: int) -> None:
        nonlocal refused
        holder, turn = Holder("mcp", name), number
        while sum(map(len, fences.values())) < grants:
            device_id = f"phone-{1 + turn % 2}"
            turn += 1
            decision = await store.begin_use(device_id, holder)
            if isinstance(decision, Refused):
                refused += 1
                await asyncio.sleep(0)
                continue
            assert using.setdefault(device_id, name) == name, f"{device_id} is used by {using[device_id]} and {name}"
            assert decision.fresh
            fences[device_id].append(decision.fence)
            await asyncio.sleep(0.001)
            assert using.pop(device_id) == name
            await store.release(device_id, holder)
            await store.end_use(device_id, holder)

    async def main() -> None:
        table = own_name()
        async with opened(kind, name=table) as first:
            servers = [first, *(server_at(kind, URLS[kind], table) for _ in range(2))]
            stores = [SharedLeaseStore(server, SystemClock(), host=f"h{i}") for i, server in enumerate(servers)]
            lives = [live(store, f"h{i}-{n}", n) for i, store in enumerate(stores) for n in range(4)]
            await asyncio.gather(*lives)
            for server in servers[1:]:
                await server.aclose()

    asyncio.run(main())
    for seen in fences.values():
        assert seen == sorted(set(seen))
    assert refused > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_that_ends_while_it_takes_holds_nothing(kind: str) -> None:
    """Both at once, from two hosts: whichever is first, the holder is gone and so is its lease."""

    async def main() -> None:
        table = own_name()
        async with opened(kind, name=table) as one:
            two = server_at(kind, URLS[kind], table)
            await asyncio.gather(one.now_us(), two.now_us())
            for number in range(25):
                holder = Holder("mcp", f"session-{number}")
                asks = [Take("acquire", f"phone-{number}-{i}", holder, "h1", f"h1.{number}.{i}") for i in range(4)]
                takes = [one.take(ask, TTL_US) for ask in asks]
                await asyncio.gather(*takes[:2], two.end_holder(holder, TTL_US), *takes[2:])
            assert (await one.records(TTL_US))[1] == []
            await two.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(("deadlocks", "ends_well"), [(2, True), (3, False)])
def test_a_transaction_that_postgres_broke_off_is_tried_again_a_few_times(deadlocks: int, ends_well: bool) -> None:
    async def main() -> None:
        async with opened("postgres") as server:
            await server.now_us()
            right, tries = server._read, 0

            async def read(*words: Any) -> Any:
                nonlocal tries
                tries += 1
                if tries <= deadlocks:
                    raise asyncpg.DeadlockDetectedError("deadlock detected")
                return await right(*words)

            server._read = read
            if ends_well:
                assert await server.release("phone-1", ALICE, TTL_US) is False
            else:
                with pytest.raises(StoreUnavailable, match="PostgreSQL: DeadlockDetectedError"):
                    await server.release("phone-1", ALICE, TTL_US)
            assert tries == 3

    asyncio.run(main())


# -- the servers' own clocks


@pytest.mark.parametrize("kind", KINDS)
def test_a_lease_ends_by_the_servers_own_clock(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as server:
            await server.now_us()
            async with host_at(server, "h1", SHORT_S) as store:
                await store.acquire("phone-1", ALICE)
                assert await store.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
                await asyncio.sleep(SHORT_S + 0.02)
                assert await store.begin_use("phone-1", BOB) == Granted("phone-1", BOB, fresh=True)
                await asyncio.sleep(3 * SHORT_S)  # the keeper's work
                assert await store.acquire("phone-1", ALICE) == Refused("phone-1", BOB, "held")
            # its host is gone: nobody keeps the call
            again = server_at(kind, URLS[kind], server._schema if kind == "postgres" else server._keys[0][1:-8])
            await asyncio.sleep(SHORT_S + 0.02)
            async with host_at(again, "h2", SHORT_S) as store:
                assert await store.acquire("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=True)

    asyncio.run(main())


class Skewed(SystemClock):
    """The clock of a host that is hours off."""

    def __init__(self, by_s: float) -> None:
        super().__init__()
        self._by_ns = round(by_s * 1e9)

    def now_ns(self) -> int:
        return super().now_ns() + self._by_ns


@pytest.mark.parametrize("kind", KINDS)
def test_hosts_whose_clocks_are_hours_apart_agree(kind: str) -> None:
    async def main() -> None:
        async with opened(kind) as server:
            early, late = Skewed(-7_200), Skewed(7_200)
            one = SharedLeaseStore(server, early, host="h1")
            two = SharedLeaseStore(server, late, host="h2")
            await one.acquire("phone-1", ALICE)
            assert await two.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
            for store, clock in ((one, early), (two, late)):
                (view,) = await store.snapshot()
                assert 0 <= clock.now_ns() - view.last_used_ns < 2e9
            await one.release("phone-1", ALICE)
            assert await two.acquire("phone-1", BOB) == Granted("phone-1", BOB, fresh=True)

    asyncio.run(main())


# -- it dies, and comes back empty


def test_a_redis_that_was_killed_is_said_and_recovers_by_itself(redis: OwnRedis) -> None:
    async def main() -> None:
        async with host_at(RedisLeaseServer(redis.url), "h1") as one, host_at(RedisLeaseServer(redis.url), "h2") as two:
            await asyncio.gather(*(two.snapshot() for _ in range(8)))  # connections that lie idle when it dies
            first = await granted(one, ALICE)
            redis.kill()
            began = time.monotonic()
            for step in (one.begin_use("phone-2", ALICE), one.end_use("phone-1", ALICE), one.snapshot()):
                with pytest.raises(StoreUnavailable, match="Redis: ConnectionError"):
                    await step
            assert time.monotonic() - began < 5
            redis.start()
            second = await granted(two, BOB)  # it forgot that Alice holds the device; no script is loaded there either
            await asyncio.gather(*(two.snapshot() for _ in range(8)))
            await one.keep_all()
            assert [view.holder for view in await one.snapshot()] == [BOB]
            await later_alone_acts(first, second)

    asyncio.run(main())


def test_a_flushed_redis_loads_the_script_again(redis: OwnRedis) -> None:
    async def main() -> None:
        async with host_at(RedisLeaseServer(redis.url), "h1") as one:
            await granted(one, ALICE)
            redis.say("SCRIPT", "FLUSH")
            assert await one.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")

    asyncio.run(main())


def test_a_redis_that_hangs_is_away_within_seconds(redis: OwnRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lasttick.reference.hostagent.redis_server.ANSWER_S", 0.5)

    async def main() -> None:
        async with host_at(RedisLeaseServer(redis.url), "h1") as one:
            await granted(one, ALICE)
            redis.signal(signal.SIGSTOP)
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match="Redis: Timeout"):
                await one.begin_use("phone-1", ALICE)
            assert time.monotonic() - began < 3
            redis.signal(signal.SIGCONT)
            await one.end_use("phone-1", ALICE)
            # What was sent while it hung may have been done then: the settler takes it back.
            await one.settle_all()
            assert [view.uses for view in await one.snapshot()] == [0]

    asyncio.run(main())


def test_what_may_not_be_written_to_is_away(redis: OwnRedis, tmp_path: Path) -> None:
    """A primary that became a replica, and one that has lost its primary, answer with errors."""

    async def main() -> None:
        async with host_at(RedisLeaseServer(redis.url), "h1") as one:
            await granted(one, ALICE)
            redis.say("CONFIG", "SET", "replica-serve-stale-data", "yes")
            redis.say("REPLICAOF", "127.0.0.1", "1")
            with pytest.raises(StoreUnavailable, match="Redis: ReadOnlyError"):
                await one.begin_use("phone-2", ALICE)
            redis.say("CONFIG", "SET", "replica-serve-stale-data", "no")
            with pytest.raises(StoreUnavailable, match="Redis: MasterDownError"):
                await one.begin_use("phone-2", ALICE)
            redis.say("REPLICAOF", "NO", "ONE")
            await one.keep_all()
            assert [view.device_id for view in await one.snapshot()] == ["phone-1"]

    asyncio.run(main())


def test_a_fail_over_that_forgot_a_grant_gives_the_device_twice_and_the_device_lets_the_later_act(
    redis: OwnRedis, tmp_path: Path
) -> None:
    async def main() -> None:
        async with Link(redis.port) as link:
            copy = OwnRedis(tmp_path, "--replicaof", f"127.0.0.1 {link.port}", "--repl-ping-replica-period", "1")
            try:
                primary, replica = RedisLeaseServer(redis.url), RedisLeaseServer(copy.url)
                async with host_at(primary, "h1") as one, host_at(replica, "h2") as two:
                    await one.end_holder(Holder("mcp", "carol"))
                    until = time.monotonic() + 5
                    while await replica._redis.zcard(replica._keys[1]) == 0:
                        assert time.monotonic() < until, "the replica did not follow"
                        await asyncio.sleep(0.02)
                    await link.close()  # from here on the copy misses what is written
                    first = await granted(one, ALICE)
                    redis.kill()
                    copy.say("REPLICAOF", "NO", "ONE")
                    second = await granted(two, BOB)
                    ended = await two.acquire("phone-2", Holder("mcp", "carol"))
                    assert ended == Refused("phone-2", None, "ended")
                    await later_alone_acts(first, second)
            finally:
                copy.kill()

    asyncio.run(main())


def test_a_postgres_that_ended_all_connections_is_used_again() -> None:
    async def main() -> None:
        async with opened("postgres") as server, host_at(server, "h1") as one:
            await granted(one, ALICE)
            async with server._pool.acquire() as mine:
                pid = mine.get_server_pid()
            other = await asyncpg.connect(POSTGRES)
            await other.execute("SELECT pg_terminate_backend($1)", pid)
            await other.close()
            assert await one.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
            assert await one.end_use("phone-1", ALICE) is True

    asyncio.run(main())


def test_a_host_stopped_inside_a_step_holds_its_locks_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lasttick.reference.hostagent.postgres_server.ANSWER_S", 0.6)

    async def main() -> None:
        async with opened("postgres") as server, host_at(server, "h1") as one:
            await one.snapshot()
            async with server._pool.acquire() as stopped:
                await stopped.execute("BEGIN")
                await server._lock(stopped, "phone-1")
                with pytest.raises(StoreUnavailable):
                    await server.release("phone-1", ALICE, TTL_US)
                await asyncio.sleep(0.3)
                await granted(one, ALICE)

    asyncio.run(main())


# -- the line is cut between a step and its answer


SAID = {"redis": b"EVALSHA", "postgres": b"COMMIT"}


@asynccontextmanager
async def over_a_link(kind: str) -> AsyncIterator[tuple[Link, Any, Any]]:
    """The link, a store behind it, and the same table seen without it."""
    parts = urlsplit(need(kind))
    async with Link(parts.port or PORTS[kind]) as link, opened(kind) as direct:
        await direct.now_us()
        table = direct._schema if kind == "postgres" else direct._keys[0][1:-8]
        user = f"{parts.username}@" if parts.username else ""
        far = server_at(kind, f"{parts.scheme}://{user}127.0.0.1:{link.port}{parts.path}", table)
        async with host_at(far, "h1") as store:
            await store.snapshot()
            link.cut_after = SAID[kind]
            yield link, store, direct


@pytest.mark.parametrize(("kind", "cuts"), [("redis", 1), ("redis", 2), ("redis", 3), ("postgres", 1)])
def test_a_lost_answer_costs_no_second_pin(kind: str, cuts: int) -> None:
    async def main() -> None:
        async with over_a_link(kind) as (link, store, direct):
            link.cuts = cuts
            assert (await granted(store, ALICE)).fresh  # as the lost answer said
            assert link.done == cuts
            ((record,),) = [(await direct.records(TTL_US))[1]]
            assert len(record.pins) == 1
            link.cuts = cuts
            await store.end_use("phone-1", ALICE)
            ((record,),) = [(await direct.records(TTL_US))[1]]
            assert record.pins == ()

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_a_pin_that_nobody_could_confirm_is_taken_back(kind: str) -> None:
    async def main() -> None:
        async with over_a_link(kind) as (link, store, direct):
            link.cuts = 100
            with pytest.raises(StoreUnavailable):
                await store.begin_use("phone-1", ALICE)
            ((record,),) = [(await direct.records(TTL_US))[1]]
            assert len(record.pins) == 1
            link.cuts = 0
            await store.settle_all()
            ((record,),) = [(await direct.records(TTL_US))[1]]
            assert record.pins == ()

    asyncio.run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_a_session_that_could_not_be_told_is_told_later(kind: str) -> None:
    async def main() -> None:
        async with over_a_link(kind) as (link, store, direct):
            await store.acquire("phone-1", ALICE)
            await link.close()
            with pytest.raises(StoreUnavailable):
                await store.end_holder(ALICE)
            assert await store.begin_use("phone-1", ALICE) == Refused("phone-1", None, "ended")
            assert [record.holder for record in (await direct.records(TTL_US))[1]] == [ALICE]
            store._server = direct  # the line is there again
            await store.settle_all()
            assert (await direct.records(TTL_US))[1] == []

    asyncio.run(main())


# -- nothing shows a password


@pytest.mark.parametrize(
    "url",
    [
        "redis://user:s3cret-word@127.0.0.1:1/0",
        "postgresql://user:s3cret-word@127.0.0.1:1/test",
        "redis://:s3cret-word@127.0.0.1:6379/0",
    ],
)
def test_no_message_shows_a_password(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def main() -> None:
        server = server_at(url.partition(":")[0].replace("postgresql", "postgres"), url, own_name())
        async with host_at(server, "h1") as store:
            try:
                await store.snapshot()
            except StoreUnavailable as error:
                caplog.records.append(logging.makeLogRecord({"msg": str(error)}))
            else:
                await forget(server)

    asyncio.run(main())
    assert not [record.getMessage() for record in caplog.records if "s3cret" in record.getMessage()]
