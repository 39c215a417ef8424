"""How do several host agents keep their leases in PostgreSQL? A `LeaseServer` whose every step is one transaction.

A step locks what it is about, reads, asks `model.shared_lease`, and writes. A device without a row can be locked too:
by an advisory lock on its name; its row, where there is one, is locked as well, since the end of a holder of thousands
locks rows only. The order is the same everywhere - holder, device, rows, fence - and holders are locked so that nobody
takes a device for one that ends in the same instant. Time is the server's, read inside the locks.

A host that is stopped in the middle of a step holds its locks for no longer than the server lets a transaction idle.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar, cast

import asyncpg  # type: ignore[import-untyped]

from lasttick.model import shared_lease
from lasttick.model.lease import Decision, Holder, HolderKind, Refused
from lasttick.model.shared_lease import Record, SharedLease, Take
from lasttick.ports import StoreUnavailable
from lasttick.reference.hostagent.lease_wire import as_bytes, as_text, check_fence, without_password

T = TypeVar("T")
Connection: TypeAlias = Any
"""asyncpg brings no types that a pool's connection has."""
Step: TypeAlias = Callable[[Connection], Awaitable[T]]

VERSION = 1
SCHEMA = "lasttick"
ANSWER_S = 2.0
"""How long one step may take, with connecting. A store that is slower than that is away."""
CONNECTIONS_MAX = 8
TRIES = 3
KEPT = "interval '1 day'"
AGAIN = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.UniqueViolationError)
TROUBLE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
COLUMNS = "device_id, kind, id, host, acquired_us, last_used_us, fence, pins, taken_by, ended"
UPSERT = f"""
INSERT INTO {{schema}}.lease ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (device_id) DO UPDATE SET kind = $2, id = $3, host = $4, acquired_us = $5, last_used_us = $6,
    fence = $7, pins = $8, taken_by = $9, ended = $10
"""
TABLES = """
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), version integer NOT NULL, fence bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS {schema}.lease (
    device_id bytea PRIMARY KEY, kind text NOT NULL, id bytea NOT NULL, host text NOT NULL,
    acquired_us bigint NOT NULL, last_used_us bigint NOT NULL, fence bigint NOT NULL,
    pins text[] NOT NULL, taken_by text NOT NULL, ended boolean NOT NULL
);
CREATE TABLE IF NOT EXISTS {schema}.ended (
    kind text NOT NULL, id bytea NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (kind, id)
);
INSERT INTO {schema}.meta VALUES (true, {version}, 0) ON CONFLICT DO NOTHING;
"""


class PostgresLeaseServer:
    """`ports.LeaseServer` in the database at `url`. Hosts with one `schema` share leases; it is made if absent.

    `now_us`: a clock in place of the server's, for tests. Raises ValueError for a URL or a schema that is none.
    """

    def __init__(self, url: str, *, schema: str = SCHEMA, now_us: Callable[[], int] | None = None) -> None:
        if not (schema.isascii() and schema.isidentifier() and schema.islower() and len(schema) < 60):
            raise ValueError(
                f"the schema is {schema!r}; expected a lower-case name of letters, digits and _ "
                "(contract hostagent, lease stores); choose another"
            )
        self._url = url
        self._schema = schema
        self._upsert = UPSERT.format(schema=schema)
        self._hand_clock = now_us
        self._pool: Any = None
        self._making = asyncio.Lock()

    async def now_us(self) -> int:
        return await self._step(self._time)

    async def take(self, ask: Take, ttl_us: int) -> Decision:
        async def step(sql: Connection) -> Decision:
            await self._lock(sql, ask.device_id, shared=ask.holder)
            ended = await sql.fetchval(
                f"SELECT 1 FROM {self._schema}.ended WHERE kind = $1 AND id = $2",
                ask.holder.kind,
                as_bytes(ask.holder.id),
            )
            if ended:
                return Refused(ask.device_id, None, "ended")
            now_us, record = await self._read(sql, ask.device_id)
            fresh = ask.name != "begin_own_use" and not (record and shared_lease.held(record, now_us, ttl_us))
            last = await sql.fetchval(f"SELECT fence FROM {self._schema}.meta FOR UPDATE") if fresh else 0
            after, decision = shared_lease.take(record, False, last, ask, now_us, ttl_us)
            await self._write(sql, ask.device_id, record, after)
            if fresh and after is not None:
                await self._raise_fence(sql, after.fence)
            return decision

        return await self._step(step)

    async def end_use(self, device_id: str, holder: Holder, pin: str, ttl_us: int) -> bool:
        return await self._on(device_id, lambda was, now: shared_lease.end_use(was, holder, pin, now, ttl_us))

    async def keep(self, device_id: str, holder: Holder, host: str, ttl_us: int) -> bool:
        return await self._on(device_id, lambda was, now: shared_lease.keep(was, holder, host, now, ttl_us))

    async def release(self, device_id: str, holder: Holder, ttl_us: int) -> bool:
        return await self._on(device_id, lambda was, now: shared_lease.give_back(was, holder, now, ttl_us))

    async def end_holder(self, holder: Holder, ttl_us: int) -> list[str]:
        kind, id = holder.kind, as_bytes(holder.id)

        async def step(sql: Connection) -> list[str]:
            await self._lock(sql, alone=holder)
            await sql.execute(f"DELETE FROM {self._schema}.ended WHERE at < now() - {KEPT}")
            new = f"INSERT INTO {self._schema}.ended VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1"
            if not await sql.fetchval(new, kind, id):
                return []
            rows = await sql.fetch(
                f"SELECT {COLUMNS} FROM {self._schema}.lease WHERE kind = $1 AND id = $2 ORDER BY device_id FOR UPDATE",
                *(kind, id),
            )
            now_us = await self._time(sql)
            had = [record for record in map(_record, rows) if shared_lease.held(record, now_us, ttl_us)]
            left = [(was, shared_lease.give_back(was, holder, now_us, ttl_us)[0]) for was in had]
            free = [as_bytes(was.device_id) for was, after in left if after is None]
            await sql.execute(f"DELETE FROM {self._schema}.lease WHERE device_id = ANY($1)", free)
            pinned = [_row(after) for was, after in left if after is not None and after != was]
            await sql.executemany(self._upsert, pinned)
            return sorted(record.device_id for record in had)

        return await self._step(step)

    async def fence_above(self, seen: int) -> None:
        check_fence(seen)
        await self._step(lambda sql: self._raise_fence(sql, seen))

    async def records(self, ttl_us: int) -> tuple[int, list[SharedLease]]:
        async def step(sql: Connection) -> tuple[int, list[SharedLease]]:
            rows = await sql.fetch(f"SELECT {COLUMNS} FROM {self._schema}.lease")
            now_us = await self._time(sql)
            held = [record for record in map(_record, rows) if shared_lease.held(record, now_us, ttl_us)]
            return now_us, sorted(held, key=lambda record: record.device_id)

        return await self._step(step)

    async def aclose(self) -> None:
        if self._pool is not None:
            self._pool.terminate()

    # -- inside a step's transaction

    async def _on(self, device_id: str, rule: Callable[[Record, int], tuple[Record, bool]]) -> bool:
        async def step(sql: Connection) -> bool:
            await self._lock(sql, device_id)
            now_us, record = await self._read(sql, device_id)
            after, answer = rule(record, now_us)
            await self._write(sql, device_id, record, after)
            return answer

        return await self._step(step)

    async def _lock(
        self,
        sql: Connection,
        device_id: str | None = None,
        *,
        shared: Holder | None = None,
        alone: Holder | None = None,
    ) -> None:
        """Until the transaction's end. In one message, and apart from the reading: that must see what it waited for."""
        words = []
        if shared is not None:
            words.append(f"SELECT pg_advisory_xact_lock_shared({self._number('holder', *shared)})")
        if alone is not None:
            words.append(f"SELECT pg_advisory_xact_lock({self._number('holder', *alone)})")
        if device_id is not None:
            words.append(f"SELECT pg_advisory_xact_lock({self._number('device', device_id)})")
        await sql.execute(";".join(words))

    def _number(self, *names: str) -> int:
        """What an advisory lock is known by. Two names with one number would only wait for each other."""
        parts = b"".join(b"%d:" % len(data) + data for data in map(as_bytes, (self._schema, *names)))
        return int.from_bytes(hashlib.blake2b(parts, digest_size=8).digest(), "big", signed=True)

    async def _time(self, sql: Connection) -> int:
        return int(await sql.fetchval(f"SELECT {NOW}")) if self._hand_clock is None else self._hand_clock()

    async def _read(self, sql: Connection, device_id: str) -> tuple[int, Record]:
        row = await sql.fetchrow(
            f"SELECT {COLUMNS} FROM {self._schema}.lease WHERE device_id = $1 FOR UPDATE", as_bytes(device_id)
        )
        return await self._time(sql), None if row is None else _record(row)

    async def _write(self, sql: Connection, device_id: str, before: Record, after: Record) -> None:
        if after == before:
            return
        if after is None:
            await sql.execute(f"DELETE FROM {self._schema}.lease WHERE device_id = $1", as_bytes(device_id))
            return
        await sql.execute(self._upsert, *_row(after))

    async def _raise_fence(self, sql: Connection, seen: int) -> None:
        await sql.execute(f"UPDATE {self._schema}.meta SET fence = greatest(fence, $1)", seen)

    # -- around it

    async def _step(self, step: Step[T]) -> T:
        try:
            async with asyncio.timeout(ANSWER_S):
                for _ in range(TRIES - 1):
                    try:
                        return await self._transaction(step)
                    except AGAIN:
                        continue
                    except asyncpg.UndefinedTableError:  # the database was set up anew: it remembers nothing
                        await self._make_tables_in(self._pool)
                return await self._transaction(step)
        except TROUBLE as error:
            said = str(error) or "no answer in time"
            raise StoreUnavailable(f"PostgreSQL: {type(error).__name__}: {without_password(said, self._url)}") from None

    async def _transaction(self, step: Step[T]) -> T:
        if self._pool is None:
            await self._open()
        async with self._pool.acquire() as connection, connection.transaction():
            return await step(connection)

    async def _open(self) -> None:
        async with self._making:
            if self._pool is not None:
                return
            pool: Any = None
            try:
                pool = asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=CONNECTIONS_MAX,
                    timeout=ANSWER_S,
                    command_timeout=ANSWER_S,
                    server_settings={
                        "application_name": "lasttick",
                        "lock_timeout": f"{ANSWER_S * 1000:.0f}",
                        "idle_in_transaction_session_timeout": f"{ANSWER_S * 1000:.0f}",
                    },
                )
                await pool
                await self._make_tables_in(pool)
            except BaseException as error:
                if pool is not None:
                    pool.terminate()  # whoever asks again makes another
                if isinstance(error, ValueError):  # its words may hold a piece of a password that was taken for a port
                    raise UnreadableUrl from error
                raise
            self._pool = pool

    async def _make_tables_in(self, pool: Any) -> None:
        async with pool.acquire() as connection, connection.transaction():
            await self._make_tables(connection)

    async def _make_tables(self, sql: Connection) -> None:
        await sql.execute(f"SELECT pg_advisory_xact_lock({self._number('tables')})")
        await sql.execute("SET LOCAL client_min_messages = warning")
        if await sql.fetchval("SELECT to_regclass($1)", f"{self._schema}.meta") is None:
            await sql.execute(TABLES.format(schema=self._schema, version=VERSION))
        version = await sql.fetchval(f"SELECT version FROM {self._schema}.meta")
        if version != VERSION:
            raise StoreUnavailable(
                f"PostgreSQL: the tables in schema {self._schema} are of version {version}; expected {VERSION}"
            )


class UnreadableUrl(asyncpg.InterfaceError):
    def __init__(self) -> None:
        super().__init__("the URL cannot be read")


def _row(record: SharedLease) -> tuple[Any, ...]:
    r = record
    whose = (as_bytes(r.device_id), r.holder.kind, as_bytes(r.holder.id), r.host)
    return (*whose, r.acquired_us, r.last_used_us, r.fence, list(r.pins), r.taken_by, r.ended)


def _record(row: Any) -> SharedLease:
    device_id, kind, id, host, acquired_us, last_used_us, fence, pins, taken_by, ended = row
    holder = Holder(cast("HolderKind", kind), as_text(id))
    return SharedLease(as_text(device_id), holder, host, acquired_us, last_used_us, fence, tuple(pins), taken_by, ended)
