"""How does one host agent use a lease store that others use too? A `LeaseStore` over a `LeaseServer`.

Here is what this host must remember: the names of its running calls, so that it can say of each that it still runs
(`model.shared_lease`), and of the steps whose outcome it does not know, so that none of them leaves a pin behind. A
step whose answer was lost is asked once more; steps happen once however often they are asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from lasttick.model import lease
from lasttick.model.lease import Decision, Granted, Holder, LeaseView, Refused
from lasttick.model.shared_lease import Take, TakeName
from lasttick.ports import Clock, LeaseServer, StoreUnavailable

T = TypeVar("T")
Key = tuple[str, Holder]

KEEPS_PER_TTL = 3
"""How often a running call is kept within one TTL: two lost keeps lose no lease."""
KEEPS_AT_ONCE = 4
"""Hundreds of calls must be kept well within a TTL also by a slow server, and leave connections to other steps."""

log = logging.getLogger(__name__)


class SharedLeaseStore:
    """The leases of one rack of devices, as this host sees them. Be inside `running()` while calls are made.

    `host` names this run of the host agent and no other; `clock` times the keeping, never a lease.
    Raises ValueError for a TTL that is not a positive, finite number of seconds.
    """

    def __init__(self, server: LeaseServer, clock: Clock, *, host: str, ttl_s: float = 60.0) -> None:
        self._ttl_s = lease.checked_ttl_s(ttl_s)
        self._server = server
        self._clock = clock
        self._host = host
        self._ttl_us = round(ttl_s * 1e6)
        self._asked = 0
        self._pins: dict[Key, list[str]] = {}
        """The names of this host's running calls."""
        self._assignments: dict[Key, None] = {}
        """Cloud holds, which last until they are given back."""
        self._doubtful: list[tuple[str, Holder, str]] = []
        """Pins that may be on the server and belong to no call."""
        self._ended: dict[Holder, None] = {}
        """Holders whose end the server may not know yet."""

    @property
    def ttl_s(self) -> float:
        return self._ttl_s

    @property
    def shared(self) -> bool:
        return True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep what runs, and settle what is in doubt, until left."""
        tasks = [
            asyncio.create_task(self._keep_for_ever(), name="lease keeper"),
            # Apart from the keeping: after an outage there may be thousands to settle, and a lease lasts only a TTL.
            asyncio.create_task(self._settle_for_ever(), name="lease settler"),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._server.aclose()

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        return await self._take("acquire", device_id, holder)

    async def begin_use(self, device_id: str, holder: Holder) -> Decision:
        return await self._take("begin_use", device_id, holder)

    async def begin_own_use(self, device_id: str, holder: Holder) -> Decision:
        return await self._take("begin_own_use", device_id, holder)

    async def end_use(self, device_id: str, holder: Holder) -> bool:
        pins = self._pins.get((device_id, holder))
        if not pins:
            return False
        pin = pins.pop()
        if not pins:
            del self._pins[(device_id, holder)]
        with self._in_doubt(device_id, holder, pin):
            return await self._ask(lambda: self._server.end_use(device_id, holder, pin, self._ttl_us))

    async def release(self, device_id: str, holder: Holder) -> bool:
        self._assignments.pop((device_id, holder), None)
        return await self._ask(lambda: self._server.release(device_id, holder, self._ttl_us))

    async def end_holder(self, holder: Holder) -> list[str]:
        for key in [key for key in self._assignments if key[1] == holder]:
            del self._assignments[key]
        self._ended[holder] = None
        had = await self._ask(lambda: self._server.end_holder(holder, self._ttl_us))
        self._ended.pop(holder, None)
        return had

    async def fence_above(self, device_id: str, seen: int) -> None:
        await self._ask(lambda: self._server.fence_above(seen))

    async def snapshot(self) -> list[LeaseView]:
        """Times are put on this host's clock, by their age."""
        now_us, records = await self._ask(lambda: self._server.records(self._ttl_us))
        now_ns = self._clock.now_ns()

        def at_ns(t_us: int) -> int:
            return now_ns - (now_us - t_us) * 1_000

        return [
            LeaseView(r.device_id, r.holder, at_ns(r.acquired_us), at_ns(r.last_used_us), len(r.pins), r.ended)
            for r in records
        ]

    async def _take(self, name: TakeName, device_id: str, holder: Holder) -> Decision:
        if holder in self._ended:
            return Refused(device_id, None, "ended")
        self._asked += 1
        pin = f"{self._host}.{self._asked}"
        ask = Take(name, device_id, holder, self._host, pin)
        with self._in_doubt(device_id, holder, pin):
            decision = await self._ask(lambda: self._server.take(ask, self._ttl_us))
        if isinstance(decision, Granted):
            if name != "acquire":
                self._pins.setdefault((device_id, holder), []).append(pin)
            if holder.kind == "cloud":
                self._assignments[(device_id, holder)] = None
        return decision

    @contextmanager
    def _in_doubt(self, device_id: str, holder: Holder, pin: str) -> Iterator[None]:
        """A step that may put or leave this pin on the server: when it fails, nobody knows whether it did."""
        try:
            yield
        except BaseException:
            self._doubtful.append((device_id, holder, pin))
            raise

    async def _ask(self, step: Callable[[], Awaitable[T]]) -> T:
        try:
            return await step()
        except StoreUnavailable as error:
            log.info("the lease store did not answer, asking once more: %s", error)
            return await step()

    async def _keep_for_ever(self) -> None:
        await self._again_and_again(self.keep_all, "the leases of running calls cannot be kept")

    async def _settle_for_ever(self) -> None:
        await self._again_and_again(self.settle_all, "what the lease store may not know cannot be told")

    async def _again_and_again(self, step: Callable[[], Awaitable[None]], failed: str) -> None:
        while True:
            await self._clock.sleep(self._ttl_s / KEEPS_PER_TTL)
            try:
                await step()
            except StoreUnavailable as error:
                log.warning("%s: %s", failed, error)
            except Exception:
                log.exception(failed)  # one failure must not end all keeping

    async def keep_all(self) -> None:
        """Tell the server what still runs here. One that cannot be kept keeps no other from being tried."""
        at_once = asyncio.Semaphore(KEEPS_AT_ONCE)

        async def keep(device_id: str, holder: Holder) -> None:
            async with at_once:
                if not ((device_id, holder) in self._pins or (device_id, holder) in self._assignments):
                    return  # over meanwhile
                if not await self._server.keep(device_id, holder, self._host, self._ttl_us):
                    log.warning("device %s: the lease of a running call was lost to the lease store's time", device_id)

        keys = {**self._pins, **self._assignments}
        for answer in await asyncio.gather(*(keep(*key) for key in keys), return_exceptions=True):
            if isinstance(answer, BaseException):
                raise answer

    async def settle_all(self) -> None:
        """Take back pins that may be left on the server, and tell it of ended holders. Stops at the first failure:
        that one comes last the next time, so that it does not stand in the way of the others for ever.
        """
        for doubt in list(self._doubtful):
            device_id, holder, pin = doubt
            self._doubtful.remove(doubt)
            with self._in_doubt(device_id, holder, pin):
                await self._server.end_use(device_id, holder, pin, self._ttl_us)
        for holder in list(self._ended):
            if holder not in self._ended:
                continue  # told meanwhile
            del self._ended[holder]
            self._ended[holder] = None  # the last one now
            await self._server.end_holder(holder, self._ttl_us)
            self._ended.pop(holder, None)
