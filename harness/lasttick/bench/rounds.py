"""How are a part and its floor compared fairly? Turn by turn, in short slices, on one processor, until it settles.

Whatever else the machine does in a slice hits both, so their ratio moves much less than either. The order is turned
round in every other round, since who goes second finds a warm cache. Rounds are bounded: a median that has not settled
by then is reported as it is, with `stable` false.
"""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from lasttick.bench.figures import stable

T = TypeVar("T")

real_ns = time.perf_counter_ns
cpu_ns = time.thread_time_ns


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure: rounds at least and at most, and how long one slice of a closed loop lasts, seconds."""

    rounds_min: int
    rounds_max: int
    slice_s: float

    @property
    def tight(self) -> Effort:
        """For slices of a few milliseconds: many more of them."""
        return Effort(self.rounds_min * 4, self.rounds_max * 4, self.slice_s)


FULL = Effort(rounds_min=5, rounds_max=11, slice_s=0.2)
QUICK = Effort(rounds_min=2, rounds_max=2, slice_s=0.03)


def interleaved(
    subjects: Mapping[str, Callable[[], T]],
    effort: Effort,
    settled: Callable[[Mapping[str, list[T]]], bool],
) -> dict[str, list[T]]:
    """One result of every subject a round, until `settled` or `rounds_max`."""
    results: dict[str, list[T]] = {name: [] for name in subjects}
    names = list(subjects)
    gc.freeze()  # what is there already is not looked through again before every slice
    try:
        for number in range(effort.rounds_max):
            for name in names if number % 2 == 0 else reversed(names):
                gc.collect()
                results[name].append(subjects[name]())
            if number + 1 >= effort.rounds_min and settled(results):
                break
    finally:
        gc.unfreeze()
    return results


def compared(
    works: Mapping[str, Callable[[int], object]],
    times: int,
    effort: Effort,
    *,
    floor: str = "floor",
    clock_ns: Callable[[], int] = cpu_ns,
) -> dict[str, list[float]]:
    """Seconds for one of the `times` that each work does in one go, until all medians over the floor's have settled.

    The time is that of the processor, so that other programs count less; work that waits for a disk needs `real_ns`.
    """

    def subject(work: Callable[[int], object]) -> Callable[[], float]:
        work(max(1, times // 10))

        def slice_s() -> float:
            start_ns = clock_ns()
            work(times)
            return (clock_ns() - start_ns) / 1e9 / times

        return slice_s

    def settled(so_far: Mapping[str, list[float]]) -> bool:
        bare = so_far[floor]
        return all(stable([mine / base for mine, base in zip(so_far[name], bare, strict=True)]) for name in works)

    return interleaved({name: subject(work) for name, work in works.items()}, effort, settled)


def micro(seconds: Sequence[float]) -> list[float]:
    """Microseconds."""
    return [one * 1e6 for one in seconds]


@contextmanager
def pinned() -> Iterator[int | None]:
    """This thread, and those it starts, on one processor; its number, or None where that cannot be asked for.

    Threads of one interpreter share a lock anyway; two processors only add a handing to and fro that varies from run
    to run.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    processor = max(before)
    os.sched_setaffinity(0, {processor})
    try:
        yield processor
    finally:
        os.sched_setaffinity(0, before)


def conditions(effort: Effort, processor: int | None) -> dict[str, Any]:
    """What a reader must know to repeat the run."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "pinned_to": processor,
        "rounds": [effort.rounds_min, effort.rounds_max],
        "slice_s": effort.slice_s,
    }
