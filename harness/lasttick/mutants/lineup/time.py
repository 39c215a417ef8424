"""Wrong versions of until when a card can be answered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from lasttick.model.lineup import cards
from lasttick.mutants import Mutant
from lasttick.reference.lineup.cards_open import OpenCards

TICK_NS = 1_000_000
PERMISSION = "lineup/clock/a-permission-is-open-up-to-its-last-tick"
LIFE = "lineup/clock/a-model-may-say-how-long-its-card-lives"


def later(ticks: int) -> Callable[[Any], Callable[..., int]]:
    return lambda right: lambda card, wall, read_ns: right(card, wall, read_ns) + ticks * TICK_NS


def by_timer_alone(right: Any) -> Callable[..., Any]:
    """When a result was read is not looked at: what its timer has not closed is open."""
    return lambda self, frame, read_ns: right(self, frame, 0)


def by_wall_clock(right: Any) -> Callable[..., Any]:
    """A result is late when the wall clock is past the card's `expires_at`."""

    def result(self: OpenCards, frame: Any, read_ns: int) -> None:
        shown = self._open.get(frame.call_id)
        if shown is not None:
            left = datetime.fromisoformat(shown.card.expires_at) - self._shop.clock.wall()
            read_ns = shown.deadline_ns - left // timedelta(microseconds=1) * 1000
        right(self, frame, read_ns)

    return result


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/card-outlives-agent",
        breaks="LU-09",
        text="a permission card lives 300 s, but the agent denies by itself after 60: a click then reaches nobody",
        killed_by="lineup/clock/nobody-answers",
        patch=lambda seam: seam.replace(cards, "PERMISSION_LIFE", timedelta(seconds=300)),
    ),
    Mutant(
        "lineup/open-at-its-deadline",
        breaks="LU-09",
        text="a card can be answered at its deadline, one tick too long",
        killed_by=PERMISSION,
        patch=lambda seam: seam.wrap(cards, "deadline_ns", later(1)),
    ),
    Mutant(
        "lineup/closed-a-tick-early",
        breaks="LU-09",
        text="a card cannot be answered in its last tick",
        killed_by=PERMISSION,
        patch=lambda seam: seam.wrap(cards, "deadline_ns", later(-1)),
    ),
    Mutant(
        "lineup/only-its-timer-closes-a-card",
        breaks="LU-09",
        text="a result that is read at the deadline, before the card's timer has run, is taken",
        killed_by="lineup/clock/at-the-deadline-the-order-of-timers-does-not-matter",
        patch=lambda seam: seam.wrap(OpenCards, "result", by_timer_alone),
    ),
    Mutant(
        "lineup/deadline-by-wall-clock",
        breaks="LU-09",
        text="a step of the wall clock closes a card early",
        killed_by=PERMISSION,
        patch=lambda seam: seam.wrap(OpenCards, "result", by_wall_clock),
    ),
    Mutant(
        "lineup/model-may-ask-for-a-day",
        breaks="LU-09",
        text="a model's card may live for a day",
        killed_by=LIFE,
        patch=lambda seam: seam.replace(cards, "MODEL_LIFE_MOST", timedelta(days=1)),
    ),
    Mutant(
        "lineup/model-may-ask-for-a-moment",
        breaks="LU-09",
        text="a model's card may live for less than anybody needs to read it",
        killed_by=LIFE,
        patch=lambda seam: seam.replace(cards, "MODEL_LIFE_LEAST", timedelta(0)),
    ),
]
