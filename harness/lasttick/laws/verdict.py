"""How a law speaks its verdict: `must` or it fails, `control` or nothing was shown.

Controls guard passes; a witness needs none. Source: contract laws, "Verdicts".
"""

from __future__ import annotations

from collections.abc import Sequence

from lasttick.laws.said import Said
from lasttick.targets.outcome import Inconclusive


class LawFailed(AssertionError):
    """The target broke a law. `said`: the answers this rests on."""

    def __init__(self, reason: str, said: tuple[Said, ...] = ()) -> None:
        super().__init__(_with_replies(reason, said))
        self.reason = reason
        self.said = said


class NotShown(Inconclusive):
    """A control did not hold: nothing can be said. `timing`: worth another try on a fresh subject."""

    def __init__(self, reason: str, said: tuple[Said, ...] = (), *, timing: bool = False) -> None:
        super().__init__(_with_replies(reason, said))
        self.reason = reason
        self.said = said
        self.timing = timing


class Unfound(NotShown):
    """A pointer of the profile finds nothing in an answer: the binding is wrong."""


class NotApplicable(Exception):
    """This target cannot show the law at all; the message says what it would need."""


def must(holds: bool, reason: str, *said: Said) -> None:
    """`reason` says what happened instead, with values. Raises LawFailed."""
    if not holds:
        raise LawFailed(reason, said)


def control(holds: bool, reason: str, *said: Said, timing: bool = False) -> None:
    """What has to work before anything can be concluded. Raises NotShown."""
    if not holds:
        raise NotShown(reason, said, timing=timing)


def some_case(cases: Sequence[str]) -> None:
    """A law that came to its end without judging anything has shown nothing. Raises NotShown."""
    if not cases:
        raise NotShown("no case: the law came to its end and judged nothing")


def _with_replies(reason: str, said: tuple[Said, ...]) -> str:
    return "\n".join((reason, *(one.shown() for one in said)))
