"""Invariants over the history of a scenario, judged by what the devices wrote, never by what the target says."""

from lasttick.checks.exclusive import STANDING, exclusive, own_turn
from lasttick.checks.history import DriverCall, History, histories
from lasttick.checks.seen import Sight, seen
from lasttick.checks.verdict import Verdict, VerdictWord, as_word, worst

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
    "worst",
]
