"""How a scenario can end other than by passing or by a failed assertion.

Source: contract world, "Verdicts".
"""

from __future__ import annotations


class Inconclusive(Exception):
    """The run could not decide; the message says what was missing. Never a pass."""


class StartRefused(Exception):
    """A part ended instead of starting, for a reason it said. The text is all it said."""


class Overslept(Inconclusive):
    """Real time went past the instant that the scenario waited for: worth another try on a fresh world."""


class CheckFailed(AssertionError):
    """An invariant over the trace does not hold. `check` is the id it judges; `t_s` when it broke."""

    def __init__(self, check: str, reason: str, t_s: float | None) -> None:
        super().__init__(f"{check}: {reason}")
        self.check = check
        self.reason = reason
        self.t_s = t_s
