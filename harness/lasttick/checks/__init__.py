"""Invariants over the history of a scenario. They judge what the devices wrote, never what the target says of itself."""

from lasttick.checks.exclusive import exclusive, own_turn
from lasttick.checks.history import split_examples
from lasttick.checks.seen import Sight, seen
from lasttick.checks.verdict import Verdict, VerdictWord, as_word, worst

__all__ = ["Sight", "Verdict", "VerdictWord", "as_word", "exclusive", "own_turn", "seen", "split_examples", "worst"]
