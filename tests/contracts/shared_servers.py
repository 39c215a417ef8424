"""Which lease servers are there to be tested, and what does a test need around one?

Each test has a table of leases of its own (a prefix, a schema), so that workers do not meet, and removes it. A server
that is not there skips the test by its name; where CI=true says that all must be there, that fails.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn
from urllib.parse import urlsplit

import asyncpg
import pytest

from lasttick.model import shared_lease
from lasttick.model.lease import Decision, Holder
from lasttick.model.shared_lease import Record, SharedLease, Take
from lasttick.reference.hostagent import redis_server
from lasttick.reference.hostagent.postgres_server import PostgresLeaseServer
from lasttick.reference.hostagent.redis_server import RedisLeaseServer

REDIS = os.environ.get("LASTTICK_TEST_REDIS", "redis://127.0.0.1:6379")
POSTGRES = os.environ.get("LASTTICK_TEST_POSTGRES", "postgresql://127.0.0.1:5432/test")
ABSENT = {
    "redis": f"Redis: no server at {REDIS}; install redis-server or set LASTTICK_TEST_REDIS",
    "postgres": f"PostgreSQL: no server at {POSTGRES}; install postgresql or set LASTTICK_TEST_POSTGRES",
}
URLS = {"redis": REDIS, "postgres": POSTGRES}
PORTS = {"redis": 6379, "postgres": 5432}
KINDS = ["redis", "postgres"]

_numbers = itertools.count()
_there: dict[str, bool] = {}


class HandClock:
    """The one clock of a test, set by hand: of the host (nanoseconds) and of the server (microseconds)."""

    def __init__(self, t_us: int = 0) -> None:
        self.t_us = t_us

    def now_ns(self) -> int:
        return self.t_us * 1_000

    def now_us(self) -> int:
        return self.t_us

    def wall(self) -> Any:
        raise AssertionError("a lease store decides nothing on wall time")

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()  # the test keeps by hand


class RuleServer:
    """`ports.LeaseServer` that is nothing but the rule: a dict and the functions of `model.shared_lease`.

    `forgets`: who looks at all leases removes those that ended, as Redis does. It shows when time steps back: what was
    free once does not come back then.
    """

    def __init__(self, now_us: Callable[[], int], *, forgets: bool = False) -> None:
        self.forgets = forgets
        self.leases: dict[str, SharedLease] = {}
        self.ended: dict[Holder, None] = {}
        self.fence = 0
        self._now_us = now_us

    async def now_us(self) -> int:
        return self._now_us()

    def _put(self, device_id: str, record: Record) -> None:
        if record is None:
            self.leases.pop(device_id, None)
        else:
            self.leases[device_id] = record

    async def take(self, ask: Take, ttl_us: int) -> Decision:
        was = self.leases.get(ask.device_id)
        record, decision = shared_lease.take(was, ask.holder in self.ended, self.fence, ask, self._now_us(), ttl_us)
        self._put(ask.device_id, record)
        if record is not None:
            self.fence = max(self.fence, record.fence)
        return decision

    async def end_use(self, device_id: str, holder: Holder, pin: str, ttl_us: int) -> bool:
        record, answer = shared_lease.end_use(self.leases.get(device_id), holder, pin, self._now_us(), ttl_us)
        self._put(device_id, record)
        return answer

    async def keep(self, device_id: str, holder: Holder, host: str, ttl_us: int) -> bool:
        record, answer = shared_lease.keep(self.leases.get(device_id), holder, host, self._now_us(), ttl_us)
        self._put(device_id, record)
        return answer

    async def release(self, device_id: str, holder: Holder, ttl_us: int) -> bool:
        record, answer = shared_lease.give_back(self.leases.get(device_id), holder, self._now_us(), ttl_us)
        self._put(device_id, record)
        return answer

    async def end_holder(self, holder: Holder, ttl_us: int) -> list[str]:
        if holder in self.ended:
            return []
        self.ended[holder] = None
        had = [record.device_id for record in (await self.records(ttl_us))[1] if record.holder == holder]
        for device_id in had:
            await self.release(device_id, holder, ttl_us)
        return had

    async def fence_above(self, seen: int) -> None:
        self.fence = max(self.fence, seen)

    async def records(self, ttl_us: int) -> tuple[int, list[SharedLease]]:
        now_us = self._now_us()
        held = [record for record in self.leases.values() if shared_lease.held(record, now_us, ttl_us)]
        if self.forgets:
            self.leases = {record.device_id: record for record in held}
        return now_us, sorted(held, key=lambda record: record.device_id)

    async def aclose(self) -> None:
        pass


def need(kind: str) -> str:
    """The URL of a server that is there; otherwise the test ends here."""
    if kind not in _there:
        parts = urlsplit(URLS[kind])
        try:
            socket.create_connection((parts.hostname, parts.port or PORTS[kind]), timeout=1).close()
            _there[kind] = True
        except OSError:
            _there[kind] = False
    if not _there[kind]:
        absent(ABSENT[kind])
    return URLS[kind]


def absent(reason: str) -> NoReturn:
    """Skip by name; where everything was promised to be there, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (CI=true: nothing may be skipped for it)", pytrace=False)
    pytest.skip(reason)


def own_name() -> str:
    """A table of leases that no other test has."""
    return f"lasttick_test_{os.getpid()}_{next(_numbers)}"


@asynccontextmanager
async def opened(
    kind: str, *, now_us: Callable[[], int] | None = None, name: str | None = None, script: str = redis_server.SCRIPT
) -> AsyncIterator[Any]:
    """A lease server over a table of its own, which is removed afterwards; "rule" needs no server."""
    name = name or own_name()
    if kind == "rule":
        assert now_us is not None
        yield RuleServer(now_us)
        return
    server: Any
    if kind == "redis":
        server = RedisLeaseServer(need(kind), prefix=name, now_us=now_us, script=script)
    else:
        server = PostgresLeaseServer(need(kind), schema=name, now_us=now_us)
    try:
        yield server
    finally:
        await forget(server)
        await server.aclose()


async def forget(server: Any) -> None:
    """Empty a server: no lease, no ended holder, no fencing token."""
    if isinstance(server, RedisLeaseServer):
        await server._redis.delete(*server._keys)
    elif isinstance(server, PostgresLeaseServer):
        sql = await asyncpg.connect(POSTGRES)
        await sql.execute(f"SET client_min_messages = warning; DROP SCHEMA IF EXISTS {server._schema} CASCADE")
        await sql.close()
