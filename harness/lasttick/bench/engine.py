"""`lasttick bench engine`: what does the virtual loop cost over the least that jumps from timer to timer?

1,000 sleepers with deadlines of their own, each sleeping again and again: every wake-up is a jump, or nearly so, which
is the work that a scenario of days is made of. The bare loop can do that and nothing else: it has no bound, no settle,
no numbered tasks and no deadlock report.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any

from lasttick.bench.figures import Target, figure, report
from lasttick.bench.rounds import Effort, compared, conditions, pinned
from lasttick.engine.loop import run_virtual

SLEEPERS = 1_000
RATIO_MIN = 0.85
SLEEPS = 3


class _BareSelector(selectors.DefaultSelector):
    loop: BareLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events and timeout is not None and timeout > 0:
            self.loop.jump()
        return events


class BareLoop(asyncio.SelectorEventLoop):
    """The floor: an asyncio loop whose time jumps to the next timer when nothing is ready."""

    _scheduled: Any

    def __init__(self) -> None:
        selector = _BareSelector()
        super().__init__(selector)
        selector.loop = self
        self._now_s = 0.0

    def time(self) -> float:
        return self._now_s

    def jump(self) -> None:
        self._now_s = max(self._now_s, self._scheduled[0]._when)


def deadline_s(number: int, turn: int) -> float:
    """A different one for every sleeper and turn: steps of an irrational share of 60 s, sevenths of a second apart."""
    return 1.0 + (number * 0.6180339887498949 + turn * 0.4142135623730951) % 1.0 * 60.0


async def sleepers(times: int) -> float:
    """All 1,000, each `times` times. The loop's time at the end, to see that both loops did the same."""

    async def sleeper(number: int) -> None:
        for turn in range(times):
            await asyncio.sleep(deadline_s(number, turn))

    await asyncio.gather(*(sleeper(number) for number in range(SLEEPERS)))
    return asyncio.get_running_loop().time()


def on_virtual(times: int) -> float:
    return run_virtual(lambda loop: sleepers(times), bound_s=float("inf"))


def on_bare(times: int) -> float:
    loop = BareLoop()
    try:
        return loop.run_until_complete(sleepers(times))
    finally:
        loop.close()


def measure(effort: Effort, told: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The benchmark, as `--json` prints it."""
    told(f"engine/sleepers-{SLEEPERS}")
    with pinned() as processor:
        seconds = compared({"virtual": on_virtual, "floor": on_bare}, SLEEPS, effort.tight)
        facts = conditions(effort.tight, processor)
    per_s = {name: [SLEEPERS / one for one in rounds] for name, rounds in seconds.items()}
    target = Target("ratio", "at least", RATIO_MIN)
    return report(
        "engine", facts, [figure(f"engine/sleepers-{SLEEPERS}", "wake-ups/s", per_s["virtual"], per_s["floor"], target)]
    )
