"""Invariants over the history of a scenario, judged by what devices and third parties saw, never by what the target
says.
"""

from collections.abc import Callable, Sequence

from lasttick.checks.exclusive import STANDING, exclusive, own_turn
from lasttick.checks.history import DriverCall, History, histories
from lasttick.checks.once_only import once_only
from lasttick.checks.seen import Sight, seen
from lasttick.checks.silence import silence
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
    "once_only",
    "own_turn",
    "seen",
    "silence",
    "standing",
    "untouched",
    "worst",
]


def standing(events: Sequence[Event]) -> tuple[Callable[[Sequence[Event]], Verdict], ...]:
    """The checks that judge every trace of this kind, when it is made and when it is judged again."""
    kinds = dict.fromkeys(event.kind for event in events)
    others = {"gateway.call": untouched, "vault.approval": silence, "host.frame": once_only}
    return (*STANDING, *(check for kind, check in others.items() if kind in kinds))
