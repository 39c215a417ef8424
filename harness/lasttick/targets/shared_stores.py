"""What does a lease in Redis or PostgreSQL cost beside the least that such a server can do? A store and its floor.

The floor is one bare script run, or one bare update in its transaction, for each step. Servers are those of
LASTTICK_TEST_REDIS and LASTTICK_TEST_POSTGRES; a table of this process's own is made there and removed.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, Protocol

from lasttick.engine.clock import SystemClock
from lasttick.model.lease import Holder
from lasttick.ports import StoreUnavailable
from lasttick.reference.hostagent.lease_servers import lease_server
from lasttick.reference.hostagent.lease_wire import shown
from lasttick.reference.hostagent.shared_store import SharedLeaseStore
from lasttick.reference.hostagent.start_error import StartError

Kind = Literal["redis", "postgres"]
KINDS: tuple[Kind, ...] = ("redis", "postgres")
URLS: dict[Kind, tuple[str, str]] = {
    "redis": ("LASTTICK_TEST_REDIS", "redis://127.0.0.1:6379"),
    "postgres": ("LASTTICK_TEST_POSTGRES", "postgresql://127.0.0.1:5432/test"),
}
BARE_SCRIPT = "return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])"


class NotThere(Exception):
    """The server cannot be measured; the message says why, by its name."""


class Stepped(Protocol):
    """The two transitions that a lease's life needs; answers are not looked at."""

    async def acquire(self, device_id: str, holder: Holder) -> Any: ...

    async def release(self, device_id: str, holder: Holder) -> Any: ...


class BareScript:
    """One EVALSHA for each step, which writes one field of a hash."""

    def __init__(self, script: Any, key: str) -> None:
        self._script = script
        self._key = key

    async def acquire(self, device_id: str, holder: Holder) -> Any:
        return await self._script(keys=[self._key], args=[device_id, holder.id])

    release = acquire


class BareUpdate:
    """One UPDATE of one row for each step, a transaction of its own."""

    def __init__(self, pool: Any, schema: str) -> None:
        self._pool = pool
        self._words = f"UPDATE {schema}.bare SET id = $2 WHERE device_id = $1"

    async def acquire(self, device_id: str, holder: Holder) -> Any:
        return await self._pool.execute(self._words, device_id, holder.id)

    release = acquire


@asynccontextmanager
async def pair(kind: Kind, device_id: str) -> AsyncIterator[tuple[Stepped, Stepped]]:
    """The store and its floor. Raises NotThere."""
    variable, usual = URLS[kind]
    url = os.environ.get(variable, usual)
    name = f"lasttick_bench_{os.getpid()}"
    try:
        server: Any = lease_server(f"{url}#{name}")
        await server.now_us()
    except (StartError, StoreUnavailable) as error:
        why = error.happened if isinstance(error, StartError) else f"no server at {shown(url)}"
        raise NotThere(f"{kind}: {why}; start one, or set {variable}") from error
    store = SharedLeaseStore(server, SystemClock(), host="bench")
    try:
        if kind == "redis":
            yield store, BareScript(server._redis.register_script(BARE_SCRIPT), f"{{{name}}}:bare")
        else:
            await server._pool.execute(f"CREATE TABLE {name}.bare (device_id text PRIMARY KEY, id text)")
            await server._pool.execute(f"INSERT INTO {name}.bare VALUES ($1, '')", device_id)
            yield store, BareUpdate(server._pool, name)
    finally:
        if kind == "redis":
            await server._redis.delete(*server._keys, f"{{{name}}}:bare")
        else:
            async with server._pool.acquire() as sql:
                await sql.execute(f"SET client_min_messages = warning; DROP SCHEMA {name} CASCADE")
        await server.aclose()
