"""How does a shared lease store behave when the way to it is bad, or when it loses its memory?

One server in this process; each host agent reaches it over a `Way` of its own. A step happens in one go, on the
server's own clock; what can go wrong is the way there and back: answers held back, connections cut before or after the
step was done, the server away, started again empty, or replaced by a copy that missed the latest steps.

Not modelled: a server that takes long to do a step, two servers that both believe to be the first (a copy is promoted
and the old one is gone).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, TypeVar

from lasttick.model.lease import Decision, Holder
from lasttick.model.shared_lease import SharedLease, Take
from lasttick.ports import Clock, StoreUnavailable
from lasttick_fakes.leases.table import LeaseTable

T = TypeVar("T")
When = Literal["before", "after"]


class FakeLeaseServer:
    """The server. Its clock is `clock`, shifted by `step`."""

    def __init__(self, clock: Clock) -> None:
        self.table = LeaseTable()
        self.is_up = True
        self.life = 0
        """How often it was stopped: connections of an earlier life are lost."""
        self._clock = clock
        self._ahead_us = 0
        self._ways: dict[str, Way] = {}

    def way(self, host: str) -> Way:
        """The way between that host and the server, the same one for all runs of the host: trouble is the way's."""
        return self._ways.setdefault(host, Way())

    def link(self, host: str) -> Link:
        """What one run of that host has of the server."""
        return Link(self, self.way(host))

    def now_us(self) -> int:
        return self._clock.now_ns() // 1_000 + self._ahead_us

    def step(self, seconds: float) -> None:
        """The server's own clock jumps."""
        self._ahead_us += round(seconds * 1e6)

    def stop(self) -> None:
        """Away: whatever was asked and not answered is lost, and so is what is asked now."""
        self.is_up = False
        self.life += 1
        for way in self._ways.values():
            way.wake()

    def start(self, *, empty: bool = False) -> None:
        if empty:
            self.table.forget()
        self.is_up = True

    def restart(self, *, empty: bool = False) -> None:
        self.stop()
        self.start(empty=empty)

    def fail_over(self, *, lost: int) -> None:
        """A copy takes over that has not heard of the latest `lost` steps which changed anything."""
        self.table.forget(lost)
        self.restart()


class Way:
    """What can go wrong between one host and the server."""

    def __init__(self) -> None:
        self._held: asyncio.Event | None = None
        self._cut: When | None = None
        self._cuts_left: int | None = None

    def hold(self) -> None:
        """From now on steps happen and their answers stay under way, until `release`."""
        if self._held is None:
            self._held = asyncio.Event()

    def release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.set()

    def cut(self, when: When = "before", steps: int | None = None) -> None:
        """The next `steps` steps fail (all until `mend`, when None), before or after they were done."""
        self._cut, self._cuts_left = when, steps

    def mend(self) -> None:
        self._cut, self._cuts_left = None, None

    def wake(self) -> None:
        """Whoever waits for a held answer looks again whether its connection still stands."""
        if self._held is not None:
            held, self._held = self._held, asyncio.Event()
            held.set()

    def next_cut(self) -> When | None:
        """Whether the step that is asked now fails, and when."""
        cut = self._cut
        if cut is not None and self._cuts_left is not None:
            self._cuts_left -= 1
            if self._cuts_left <= 0:
                self.mend()
        return cut

    async def back(self, lost: Callable[[], bool]) -> None:
        """The way of an answer; returns early when the connection was `lost`."""
        while self._held is not None and not lost():
            await self._held.wait()


class Link:
    """The server as one run of a host reaches it: `ports.LeaseServer`."""

    def __init__(self, server: FakeLeaseServer, way: Way) -> None:
        self._server = server
        self._way = way
        self._is_open = True

    def close(self) -> None:
        """The process at the near end is gone: nothing goes out any more, and nothing comes back."""
        self._is_open = False
        self._way.wake()

    async def now_us(self) -> int:
        return await self._step(self._server.now_us)

    async def take(self, ask: Take, ttl_us: int) -> Decision:
        return await self._step(lambda: self._server.table.take(ask, self._server.now_us(), ttl_us))

    async def end_use(self, device_id: str, holder: Holder, pin: str, ttl_us: int) -> bool:
        server = self._server
        return await self._step(lambda: server.table.end_use(device_id, holder, pin, server.now_us(), ttl_us))

    async def keep(self, device_id: str, holder: Holder, host: str, ttl_us: int) -> bool:
        server = self._server
        return await self._step(lambda: server.table.keep(device_id, holder, host, server.now_us(), ttl_us))

    async def release(self, device_id: str, holder: Holder, ttl_us: int) -> bool:
        server = self._server
        return await self._step(lambda: server.table.release(device_id, holder, server.now_us(), ttl_us))

    async def end_holder(self, holder: Holder, ttl_us: int) -> list[str]:
        return await self._step(lambda: self._server.table.end_holder(holder, self._server.now_us(), ttl_us))

    async def fence_above(self, seen: int) -> None:
        await self._step(lambda: self._server.table.fence_above(seen))

    async def records(self, ttl_us: int) -> tuple[int, list[SharedLease]]:
        def read() -> tuple[int, list[SharedLease]]:
            now_us = self._server.now_us()
            return now_us, self._server.table.records(now_us, ttl_us)

        return await self._step(read)

    async def aclose(self) -> None:
        """Nothing is kept open."""

    async def _step(self, do: Callable[[], T]) -> T:
        await asyncio.sleep(0)  # on its way: other hosts' steps may come first
        server, cut = self._server, self._way.next_cut()
        if not (self._is_open and server.is_up) or cut == "before":
            raise StoreUnavailable("the connection to the lease store was lost before the step was done (fake)")
        life = server.life

        def lost() -> bool:
            return not self._is_open or server.life != life

        result = do()
        if cut != "after":
            await self._way.back(lost)
        if cut == "after" or lost():
            raise StoreUnavailable("the connection to the lease store was lost before its answer came (fake)")
        return result
