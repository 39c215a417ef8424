"""Which lease store does a URL name? Memory and SQLite are one host's own; Redis and PostgreSQL are shared by several.

The clients of the two databases are extras, loaded only when asked for. Nothing said here shows a password.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from lasttick.ports import Clock, Entropy, LeaseServer, LeaseStore, StoreUnavailable
from lasttick.reference.hostagent.lease_wire import shown
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.shared_store import SharedLeaseStore
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore
from lasttick.reference.hostagent.start_error import StartError

EXPECTED = (
    "memory:, sqlite:PATH, redis://HOST:PORT/DB, rediss://... or postgresql://HOST:PORT/DB (docs/device-leases.md)"
)
EXTRAS = {"redis": "redis", "rediss": "redis", "postgresql": "postgres", "postgres": "postgres"}
HOST_BYTES = 8


@asynccontextmanager
async def open_store(url: str, *, clock: Clock, entropy: Entropy, ttl_s: float) -> AsyncIterator[LeaseStore]:
    """The store at `url`, which answers, until left. Raises StartError."""
    scheme, colon, rest = url.partition(":")
    if scheme == "memory" and not rest:
        yield MemoryLeaseStore(clock, ttl_s)
    elif scheme == "sqlite" and rest:
        sqlite = SqliteLeaseStore(Path(rest.removeprefix("//")), clock, ttl_s)
        try:
            yield sqlite
        finally:
            sqlite.close()
    elif colon and scheme in EXTRAS and rest.startswith("//"):
        server = lease_server(url)
        store = SharedLeaseStore(server, clock, host=entropy.token_bytes(HOST_BYTES).hex(), ttl_s=ttl_s)
        async with store.running():
            await _first_answer(server, url)
            yield store
    else:
        raise StartError(f"the lease store is {shown(url)!r}", f"one of {EXPECTED}", "correct --lease-store")


def lease_server(url: str) -> LeaseServer:
    """The shared server at a redis:// or postgresql:// URL, not asked for anything yet. Raises StartError.

    What follows a # names one table of leases among several: the prefix of keys in Redis, the schema in PostgreSQL.
    """
    extra = EXTRAS[url.partition(":")[0]]
    place, _, name = url.partition("#")
    try:
        module = importlib.import_module(f"lasttick.reference.hostagent.{extra}_server")
    except ModuleNotFoundError as error:
        raise StartError(
            f"the lease store {shown(url)} needs the package {error.name}, which is not installed",
            f"lasttick with its extra {extra} (docs/device-leases.md)",
            f"run: pip install 'lasttick[{extra}]'",
        ) from error
    try:
        if extra == "redis":
            return cast("LeaseServer", module.RedisLeaseServer(place, prefix=name or module.PREFIX))
        return cast("LeaseServer", module.PostgresLeaseServer(place, schema=name or module.SCHEMA))
    except ValueError:
        # The library's words may hold a piece of a password that was taken for a port.
        raise StartError(
            f"the lease store {shown(url)!r} cannot be read as a URL",
            f"{EXPECTED}, with user and password percent-encoded",
            "correct --lease-store",
        ) from None


async def _first_answer(server: LeaseServer, url: str) -> None:
    try:
        await server.now_us()
    except StoreUnavailable as error:
        raise StartError(
            f"the lease store {shown(url)} cannot be used: {error}",
            "a server that answers within seconds and may be written to (docs/device-leases.md)",
            "start it, or correct --lease-store",
        ) from error
