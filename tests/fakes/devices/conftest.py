"""A clock that only the test moves, and a rack over it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from lasttick_fakes.devices import Rack, parse_devices

S = 1_000_000_000


class ManualClock:
    """A `ports.Clock` that stands still until `advance`; wakes sleepers in the order in which they are due."""

    def __init__(self) -> None:
        self._now_ns = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    def now_ns(self) -> int:
        return self._now_ns

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._now_ns // 1000)

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_ns + round(seconds * S), self._count, woken))
        await woken

    async def advance(self, seconds: float) -> None:
        until_ns = self._now_ns + round(seconds * S)
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until_ns:
            due_ns, _, woken = heapq.heappop(self._sleepers)
            self._now_ns = max(self._now_ns, due_ns)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self._now_ns = until_ns


async def settle() -> None:
    """Let every task run as far as it can without time."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def rack(clock: ManualClock) -> Rack:
    return Rack(clock, parse_devices("phone-1,ipad-1=ios@2,ipad-2=ios@3"))


@pytest.fixture(scope="session")
def new_rack() -> Callable[[str], tuple[ManualClock, Rack]]:
    """For properties: a fresh clock and rack per example."""

    def make(devices: str) -> tuple[ManualClock, Rack]:
        clock = ManualClock()
        return clock, Rack(clock, parse_devices(devices))

    return make
