"""Invariants over the history of a scenario, judged by what devices and third parties saw, never by what the target
says.
"""

from collections.abc import Callable, Sequence

from lasttick.checks.exclusive import STANDING, exclusive, own_turn
from lasttick.checks.history import DriverCall, History, histories
from lasttick.checks.seen import Sight, seen
from lasttick.checks.untouched import untouched
from lasttick.checks.verdict import Verdict, VerdictWord, as_word, worst
from lasttick.engine.trace import Event

__all__ = [
    "STANDING",
    "DriverCall",
    "History",
    "Sight",
    "Verdict",
    "VerdictWord",
    "as_word",
    "exclusive",
    "histories",
    "own_turn",
    "seen",
    "standing",
    "untouched",
    "worst",
]


def standing(events: Sequence[Event]) -> tuple[Callable[[Sequence[Event]], Verdict], ...]:
    """The checks that judge every trace of this kind, when it is made and when it is judged again."""
    return (*STANDING, untouched) if any(event.kind == "gateway.call" for event in events) else STANDING
