"""Does a shared store end a holder of thousands of devices, as quickly as one of a few? And a database set up anew?"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import asyncpg
import pytest

from lasttick.model.lease import Granted, Holder
from lasttick.model.shared_lease import Take

from .shared_servers import KINDS, POSTGRES, opened

TTL_US = 60_000_000
DEVICES = 5_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")


async def hold(server: Any, kind: str, device_ids: list[str]) -> None:
    """Alice holds them; how she came to them is not what is tested."""
    await server.take(Take("begin_use", device_ids[0], ALICE, "h1", "h1.1"), TTL_US)
    if kind == "postgres":
        async with server._pool.acquire() as sql:
            await sql.execute(
                f"INSERT INTO {server._schema}.lease SELECT convert_to(one, 'UTF8'), kind, id, host, acquired_us, "
                f"last_used_us, fence, '{{}}', taken_by, ended FROM {server._schema}.lease, unnest($1::text[]) AS one",
                device_ids[1:],
            )
    else:
        idle = await server.take(Take("acquire", device_ids[1], ALICE, "h1", "h1.2"), TTL_US)
        assert isinstance(idle, Granted)
        record = await server._redis.hget(server._keys[0], device_ids[1])
        await server._redis.hset(server._keys[0], mapping=dict.fromkeys(device_ids[2:], record))


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_a_holder_of_thousands(kind: str) -> None:
    device_ids = sorted(f"phone-{number}" for number in range(DEVICES))

    async def main() -> None:
        async with opened(kind) as server:
            await hold(server, kind, device_ids)
            began = time.monotonic()
            assert await server.end_holder(ALICE, TTL_US) == device_ids
            assert time.monotonic() - began < 1.5
            ((record,),) = [(await server.records(TTL_US))[1]]
            assert (record.device_id, record.ended, record.pins) == (device_ids[0], True, ("h1.1",))
            for device_id, free in ((device_ids[0], False), (device_ids[-1], True)):
                answer = await server.take(Take("acquire", device_id, BOB, "h2", "h2.1"), TTL_US)
                assert isinstance(answer, Granted) is free, device_id

    asyncio.run(main())


def test_a_database_that_was_set_up_anew_is_used_by_itself() -> None:
    async def main() -> None:
        async with opened("postgres") as server:
            first = await server.take(Take("acquire", "phone-1", ALICE, "h1", "h1.1"), TTL_US)
            other = await asyncpg.connect(POSTGRES)
            await other.execute(f"SET client_min_messages = warning; DROP SCHEMA {server._schema} CASCADE")
            await other.close()
            second = await server.take(Take("acquire", "phone-1", BOB, "h2", "h2.1"), TTL_US)
            assert isinstance(first, Granted)
            assert isinstance(second, Granted)
            assert second.fence > first.fence

    asyncio.run(main())
