"""How do several host agents keep their leases in Redis? A `LeaseServer` whose every step is one run of one script.

The script, `redis_leases.lua`, is the rule of `model.shared_lease` once more; Redis runs it alone, so a step is atomic,
and reads its own clock in it. All keys have one hash tag. What nobody needs any more goes: a lease that ended with the
next look at all of them, an ended holder after a day, since session and assignment ids are unguessable and never used
again and no call of one lasts that long. Redis forgets what it had not written when it dies or fails over: then a
device can be granted twice, and its fencing tokens, which cannot repeat, tell the two apart (HA-05).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from lasttick.model.lease import Decision, Granted, Holder, HolderKind, Refused
from lasttick.model.shared_lease import SharedLease, Take
from lasttick.ports import StoreUnavailable
from lasttick.reference.hostagent.lease_wire import as_bytes, as_text, check_fence, without_password

VERSION = 1
SCRIPT = Path(__file__).with_name("redis_leases.lua").read_text(encoding="utf-8")
PREFIX = "lasttick:leases"
ANSWER_S = 2.0
"""How long one step may take, with connecting. A store that is slower than that is away."""
CONNECTIONS_MAX = 16


class RedisLeaseServer:
    """`ports.LeaseServer` at `url` (redis:// or rediss://). Hosts with one `prefix` in one database share leases.

    `now_us`: a clock in place of the server's, for tests. Raises ValueError for a URL that is none.
    """

    def __init__(
        self, url: str, *, prefix: str = PREFIX, now_us: Callable[[], int] | None = None, script: str = SCRIPT
    ) -> None:
        if not re.fullmatch(r"/?\d*/?", urlsplit(url).path):
            raise ValueError("the URL names a database that is not a number")  # the library would use number 0
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS_MAX,
            timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            socket_timeout=ANSWER_S,
            # A connection that died while it lay idle is noticed only in use. Not so often that time is lost on it:
            # the host's store asks once more anyway, and steps happen once.
            retry=Retry(NoBackoff(), 1),
        )
        pool.connection_kwargs["decode_responses"] = False  # ids are bytes, whatever the URL's options say
        try:
            pool.make_connection()
        except (TypeError, RedisError) as error:
            raise ValueError("the URL has an option, or a value of one, that Redis connections do not have") from error
        self._redis = Redis.from_pool(pool)
        self._url = url
        self._now_us = now_us
        self._keys = [f"{{{prefix}}}:{name}" for name in ("leases", "ended", "meta")]
        self._script = self._redis.register_script(script)

    async def now_us(self) -> int:
        return int(await self._run("now", 0))

    async def take(self, ask: Take, ttl_us: int) -> Decision:
        holder = ask.holder
        words = (ask.name, as_bytes(ask.device_id), holder.kind, as_bytes(holder.id), ask.host, ask.pin)
        answer = await self._run("take", ttl_us, *words)
        if answer[0] == b"granted":
            return Granted(ask.device_id, holder, bool(answer[1]), int(answer[2]))
        why, kind, id = answer[1:]
        owner = Holder(cast("HolderKind", kind.decode()), as_text(id)) if kind else None
        return Refused(ask.device_id, owner, why.decode())

    async def end_use(self, device_id: str, holder: Holder, pin: str, ttl_us: int) -> bool:
        return bool(await self._run("end_use", ttl_us, as_bytes(device_id), holder.kind, as_bytes(holder.id), pin))

    async def keep(self, device_id: str, holder: Holder, host: str, ttl_us: int) -> bool:
        return bool(await self._run("keep", ttl_us, as_bytes(device_id), holder.kind, as_bytes(holder.id), host))

    async def release(self, device_id: str, holder: Holder, ttl_us: int) -> bool:
        return bool(await self._run("release", ttl_us, as_bytes(device_id), holder.kind, as_bytes(holder.id)))

    async def end_holder(self, holder: Holder, ttl_us: int) -> list[str]:
        answer = await self._run("end_holder", ttl_us, holder.kind, as_bytes(holder.id))
        return sorted(as_text(device_id) for device_id in answer)

    async def fence_above(self, seen: int) -> None:
        await self._run("fence_above", 0, check_fence(seen))

    async def records(self, ttl_us: int) -> tuple[int, list[SharedLease]]:
        now_us, *rows = await self._run("records", ttl_us)
        return int(now_us), sorted((_record(row) for row in rows), key=lambda record: record.device_id)

    async def aclose(self) -> None:
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()

    async def _run(self, step: str, ttl_us: int, *words: str | bytes | int) -> Any:
        now: str | int = "" if self._now_us is None else self._now_us()
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._script(keys=self._keys, args=[step, ttl_us, now, VERSION, *words])
        except (RedisError, OSError, TimeoutError) as error:
            # Whatever it is - no connection, loading, a replica that may not write, no memory - nobody can be asked.
            said = str(error) or "no answer in time"
            raise StoreUnavailable(f"Redis: {type(error).__name__}: {without_password(said, self._url)}") from None


def _record(row: list[Any]) -> SharedLease:
    device_id, kind, id, host, acquired_us, last_used_us, fence, pins, taken_by, ended = row
    holder = Holder(cast("HolderKind", kind.decode()), as_text(id))
    named = tuple(pin.decode() for pin in pins)
    return SharedLease(
        as_text(device_id),
        holder,
        host.decode(),
        acquired_us,
        last_used_us,
        fence,
        named,
        taken_by.decode(),
        bool(ended),
    )
