"""How long did it last, seen from outside? Bounds that no delay can make wrong, against what was declared.

The clock is read before a send and after the answer; the target decided between. Began in [s0, r0], last seen standing
by a probe sent at s1, first seen over by a probe answered at r2: the true length is more than s1 - r0 and at most
r2 - s0. Network, scheduler and our own oversleeping only widen that, so they can cost a verdict, never cause a wrong
one. Source: contract laws, "Real time".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

DRIFT = 0.001
"""How far two honest clocks may run apart, as a part of the time that passed."""
ROUNDING_S = 1e-6
"""Sums of floats are not exact."""
Comparison: TypeAlias = Literal["inside", "disjoint", "overlapping"]


@dataclass(frozen=True, slots=True)
class Interval:
    """Seconds, more than `low_s` and at most `high_s`."""

    low_s: float
    high_s: float

    def __str__(self) -> str:
        if self.low_s == -math.inf:
            return "an unknown time" if self.high_s == math.inf else f"at most {self.high_s:.3f} s"
        if self.high_s == math.inf:
            return f"more than {self.low_s:.3f} s"
        return f"{self.low_s:.3f} to {self.high_s:.3f} s"


@dataclass(frozen=True, slots=True)
class Span:
    """Something the target did between `sent_s` and `answered_s` of our clock."""

    sent_s: float
    answered_s: float


@dataclass(frozen=True, slots=True)
class Probe:
    """One look. `over`: it was seen to be over; then nothing later says anything about it."""

    sent_s: float
    answered_s: float
    over: bool


def declared(ttl_s: float, *, tolerance_s: float, lag_s: float) -> Interval:
    """When what is said to last `ttl_s` must be over, as the target's clock and its sweeper may have it."""
    return Interval(ttl_s * (1 - DRIFT) - tolerance_s, ttl_s * (1 + DRIFT) + lag_s + tolerance_s)


def at_most(limit_s: float, *, tolerance_s: float) -> Interval:
    """What may be over at any time, but must be within `limit_s`."""
    return Interval(-math.inf, limit_s * (1 + DRIFT) + tolerance_s)


def measured(began: Span, probes: Iterable[Probe]) -> Interval:
    """How long it truly lasted, by serial probes in their order."""
    low_s, high_s = -math.inf, math.inf
    for probe in probes:
        if probe.over:
            high_s = probe.answered_s - began.sent_s
            break
        low_s = max(low_s, probe.sent_s - began.answered_s)
    return Interval(low_s, high_s)


def compare(found: Interval, expected: Interval) -> Comparison:
    """Inside: whatever the truth is, it is as declared. Disjoint: whatever it is, it is not."""
    if found.high_s < expected.low_s - ROUNDING_S or found.low_s > expected.high_s + ROUNDING_S:
        return "disjoint"
    if found.low_s >= expected.low_s - ROUNDING_S and found.high_s <= expected.high_s + ROUNDING_S:
        return "inside"
    return "overlapping"


def told(what: str, found: Interval, expected: Interval) -> str:
    """A sentence with both intervals; `what` is what lasted, as in "alice's lease after its acquire"."""
    return f"{what} lasted {found}; declared: {expected} (docs/check.md, Time)"


def next_probe_s(
    began: Span, expected: Interval, now_s: float, last_s: float | None, *, step_s: float, round_trip_s: float = 0.0
) -> float | None:
    """When to send the next probe, at `now_s` or later; None when one more could tell nothing. `last_s`: the last one.

    One half way and one just before the declared interval, to see what ends too early; one at its start and then every
    `step_s` until one after its end, to see what ends too late.
    """
    first_s = began.answered_s + expected.low_s
    final_s = began.answered_s + expected.high_s + step_s
    early_s = (began.sent_s + expected.low_s / 2, began.sent_s + expected.low_s - round_trip_s - step_s)
    for planned_s in (*early_s, first_s):
        if planned_s >= now_s and (last_s is None or planned_s > last_s):
            return planned_s
    if last_s is None or last_s < first_s:
        return now_s
    return None if last_s >= final_s else max(now_s, min(last_s + step_s, final_s))
