"""`lasttick bench vaultclaw`: what do 500 waits at once cost, and what does one wait of ten minutes in virtual time?

500 tenants, each with a session of its own, wait at once in one process for a decision that falls after a second; each
polls at once and after a second. Floor: 500 bare sleeps of that second. The ten minutes are virtual, 400 polls at the
default interval; their time is that of the processor. Source: VC-12, VC-20.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.bench.figures import Figure, Target, figure, report, stable
from lasttick.bench.rounds import Effort, conditions, cpu_ns, interleaved, pinned, real_ns
from lasttick.engine.chance import Chance
from lasttick.engine.clock import SystemClock, SystemEntropy, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.targets.vaultclaw.measured import Crowd, crowd

TENANTS = 500
DECIDED_S = 1.0
WAITS_S_MAX = 5.0
LONG_S = 600.0
LONG_MS_MAX = 50.0
INTERVAL_MS, LONG_INTERVAL_MS = 1_000, 1_500


@dataclass(frozen=True, slots=True)
class Slice:
    """One go: its seconds, and how many were told something wrong."""

    s: float
    wrong: int = 0


def measure(effort: Effort, told: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The benchmark, as `--json` prints it. `told` hears what is measured next."""
    told("vaultclaw")
    with pinned() as processor, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        real = crowd(Path(folder) / "real", SystemClock(), SystemEntropy(), TENANTS)
        waiting = runner.run(stack.enter_async_context(real))
        try:
            slices = interleaved(
                {
                    "waits": lambda: runner.run(at_once(waiting)),
                    "floor": lambda: runner.run(sleeps()),
                    "long": lambda: ten_minutes(Path(folder)),
                },
                effort,
                settled,
            )
        finally:
            runner.run(stack.aclose())
    return report("vaultclaw", {**conditions(effort, processor), "tenants": TENANTS}, figures(slices))


def figures(slices: Mapping[str, Sequence[Slice]]) -> list[Figure]:
    seconds = {name: [one.s for one in taken] for name, taken in slices.items()}
    wrong = [float(one.wrong) for taken in slices.values() for one in taken]
    long_ms = [one * 1_000 for one in seconds["long"]]
    waits = Target("max", "at most", WAITS_S_MAX)
    return [
        figure("vaultclaw/waits-at-once", "s", seconds["waits"], seconds["floor"], waits),
        figure("vaultclaw/ten-minute-wait", "ms", long_ms, target=Target("median", "at most", LONG_MS_MAX)),
        figure("vaultclaw/wrong", "answers", wrong, target=Target("max", "at most", 0)),
    ]


def settled(so_far: Mapping[str, Sequence[Slice]]) -> bool:
    """Has the ratio to the floor?"""
    pairs = zip(so_far["waits"], so_far["floor"], strict=True)
    return stable([mine.s / bare.s for mine, bare in pairs])


async def at_once(waiting: Crowd) -> Slice:
    start_ns = real_ns()
    wrong = await waiting.waited(DECIDED_S, interval_ms=INTERVAL_MS)
    return Slice((real_ns() - start_ns) / 1e9, wrong)


async def sleeps() -> Slice:
    start_ns = real_ns()
    await asyncio.gather(*(asyncio.sleep(DECIDED_S) for _ in range(TENANTS)))
    return Slice((real_ns() - start_ns) / 1e9)


def ten_minutes(folder: Path) -> Slice:
    """One wait in virtual time, without the start of its server."""

    async def main(loop: VirtualLoop) -> Slice:
        async with crowd(folder / "virtual", VirtualClock(loop), Chance(1), 1) as one:
            start_ns = cpu_ns()
            wrong = await one.waited(LONG_S, interval_ms=LONG_INTERVAL_MS)
            return Slice((cpu_ns() - start_ns) / 1e9, wrong)

    return run_virtual(main)
