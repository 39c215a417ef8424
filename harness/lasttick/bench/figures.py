"""What does a benchmark say in the end? One figure per line: a median of rounds beside its floor and its target.

Machines differ and other programs run, so a figure is worth its ratio to a floor measured in the same run; the absolute
numbers only say how large things are. `ok` puts the target beside the figure and decides nothing: a benchmark's exit
code is 0. Source: DESIGN "What machines read".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

VERSION = 1
STABLE_WITHIN = 0.05
STABLE_LAST = 3


@dataclass(frozen=True, slots=True)
class Target:
    """`of` says what the bound is on: the figure's ratio to its floor, its median, or the worst that any round saw."""

    of: Literal["ratio", "median", "max"]
    bound: Literal["at least", "at most"]
    value: float

    def met(self, figure: Figure) -> bool | None:
        """None when the figure has no such number."""
        got: float | None = getattr(figure, self.of)
        if got is None:
            return None
        return got >= self.value if self.bound == "at least" else got <= self.value

    def __str__(self) -> str:
        return f"{self.of} {self.bound} {self.value:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity. `n` rounds; `ratio` is the median of figure / floor of each round, not of medians."""

    id: str
    unit: str
    n: int
    min: float
    median: float
    max: float
    floor: float | None = None
    ratio: float | None = None
    target: Target | None = None
    stable: bool = True
    """Whether the running median had settled when the rounds ended."""

    @property
    def ok(self) -> bool | None:
        return None if self.target is None else self.target.met(self)

    def as_json(self) -> dict[str, Any]:
        """{id, unit, n, min, median, max, floor, ratio, target, stable, ok}; no number is infinite or NaN."""
        target = None if self.target is None else str(self.target)
        return {**asdict(self), "target": target, "ok": self.ok}


def figure(
    id: str, unit: str, rounds: Sequence[float], floor: Sequence[float] | None = None, target: Target | None = None
) -> Figure:
    """The figure of one value a round, and of its floor's values in the same rounds."""
    ratios = [mine / bare for mine, bare in zip(rounds, floor, strict=True) if bare > 0] if floor else []
    return Figure(
        id=id,
        unit=unit,
        n=len(rounds),
        min=min(rounds),
        median=median(rounds),
        max=max(rounds),
        floor=median(floor) if floor else None,
        ratio=median(ratios) if ratios else None,
        target=target,
        stable=stable(ratios or rounds),
    )


def stable(values: Sequence[float]) -> bool:
    """Do the last three running medians lie within 5 % of each other?"""
    if len(values) < STABLE_LAST + 2:
        return False
    last = [median(values[: len(values) - back]) for back in range(STABLE_LAST)]
    return max(last) - min(last) <= STABLE_WITHIN * abs(last[0])


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest value that at least `percent` % of all are not above. 0 for no values."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[max(0, math.ceil(percent / 100 * len(ranked)) - 1)]


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all got the same, 1/n when one got everything, 0 when nobody got anything."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def report(benchmark: str, conditions: dict[str, Any], figures: Sequence[Figure]) -> dict[str, Any]:
    """What `--json` prints: {version, benchmark, conditions, figures}."""
    return {
        "version": VERSION,
        "benchmark": benchmark,
        "conditions": conditions,
        "figures": [figure.as_json() for figure in figures],
    }
