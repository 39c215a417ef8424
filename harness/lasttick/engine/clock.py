"""Where time comes from: a virtual clock that the loop drives, and the system's.

Both are `lasttick.ports.Clock`. Only this module reads the system's time; a test greps for it. The functions are kept
in a tuple because freezegun replaces module attributes that hold them, and a frozen monotonic clock would stop leases
of a served target (contract engine, "Loop and clock").
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NS = 1_000_000_000

_REAL = (time.monotonic_ns, time.time_ns)


def ns(seconds: float) -> int:
    """Seconds to integer nanoseconds, nearest."""
    return round(seconds * NS)


@dataclass(slots=True)
class WallTrouble:
    """How far the wall clock is off: `at_s` is the loop time from which `drift` and `paused` count."""

    offset_s: float = 0.0
    drift: float = 0.0
    paused: bool = False
    at_s: float = 0.0


class VirtualClock:
    """Loop time and wall time of one world, driven together; the wall may be stepped, drifted and paused on purpose."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._trouble = WallTrouble()

    def now_ns(self) -> int:
        return ns(self._loop.time())

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=self._wall_s())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def step(self, seconds: float) -> None:
        """Trouble: the wall clock jumps by `seconds`, either way."""
        self._rebase(drift=self._trouble.drift, paused=self._trouble.paused, step_s=seconds)

    def drift(self, rate: float) -> None:
        """Trouble: from now on the wall clock gains `rate` seconds each second (negative: loses)."""
        self._rebase(drift=rate, paused=self._trouble.paused)

    def pause(self, paused: bool = True) -> None:
        """Trouble: the wall clock stands still (or goes on)."""
        self._rebase(drift=self._trouble.drift, paused=paused)

    def _wall_s(self) -> float:
        trouble = self._trouble
        gone = 0.0 if trouble.paused else (self._loop.time() - trouble.at_s) * (1 + trouble.drift)
        return trouble.offset_s + gone

    def _rebase(self, *, drift: float, paused: bool, step_s: float = 0.0) -> None:
        self._trouble = WallTrouble(self._wall_s() + step_s, drift, paused, self._loop.time())


class SystemClock:
    """The machine's clocks: CLOCK_MONOTONIC (comparable between processes, stops while suspended) and UTC wall time."""

    def now_ns(self) -> int:
        return _REAL[0]()

    def wall(self) -> datetime:
        return datetime.fromtimestamp(_REAL[1]() / NS, UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemEntropy:
    """The operating system's random bytes: the `Entropy` port of a served part."""

    def token_bytes(self, n: int) -> bytes:
        return os.urandom(n)
