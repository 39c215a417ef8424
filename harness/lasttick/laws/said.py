"""What a run said and what came of it: one record per verb sent, and one per thing that happened at the resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lasttick.laws.profiles.profile import Outcome
from lasttick.laws.reply import Reply


@dataclass(frozen=True, slots=True)
class Mark:
    """How one call is found again at the resource: `text` for `{mark}`, `number` (1 to 2) for `{mark_number}`."""

    text: str
    number: float

    def is_in(self, value: Any) -> bool:
        """Whether a resource's record of its mark is this one: equal, or a text that holds it as a word of its own."""
        if isinstance(value, str):
            at = value.find(self.text)
            return at >= 0 and not value[at + len(self.text) :][:1].isalnum()
        return isinstance(value, int | float) and not isinstance(value, bool) and value == self.number


@dataclass(frozen=True, slots=True)
class Said:
    """One verb as it was sent, and its answer.

    `sent_s` is read just before the send, `answered_s` just after the answer, on the run's monotonic clock: the target
    decided between. `out` holds the outputs, `each` the rows of a list. `session` tells a caller's sessions apart.
    `pending_s`: when the last poll was sent that found it still undecided; None without such a poll.
    """

    number: int
    law: str
    verb: str
    caller: str
    session: str
    outcome: Outcome
    reply: Reply
    sent_s: float
    answered_s: float
    mark: Mark | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    out: Mapping[str, Any] = field(default_factory=dict)
    each: tuple[Mapping[str, Any], ...] = ()
    raw: str = ""
    pending_s: float | None = None

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def refused(self) -> bool:
        """`busy` or `denied`; an error or a lost answer is never a refusal."""
        return self.outcome in ("busy", "denied")

    @property
    def answer(self) -> str:
        """How it was answered, in words. Of an error: what no rule knows, for that is what has to be written."""
        if self.outcome != "error":
            return f"answered {self.outcome}"
        return f"answered error; no rule of [outcomes] knows {self._unknown()} (docs/check.md, Outcomes)"

    @property
    def resource(self) -> str | None:
        """The resource it is about: put out by the target, else as it was asked for."""
        found = self.out.get("resource", self.inputs.get("resource"))
        return None if found in (None, "") else str(found)

    def _unknown(self) -> str:
        error = self.reply.error
        if isinstance(error, Mapping) and isinstance(error.get("code"), int | str):
            return f"error code {error['code']}"
        return f"HTTP {self.reply.status}" if (self.reply.status or 0) >= 400 else "this reply"

    def shown(self) -> str:
        """A line for people: who said what, when, and the raw reply (already redacted)."""
        mark = f" {self.mark.text}" if self.mark else ""
        return (
            f"  [{self.sent_s:.3f}-{self.answered_s:.3f} s] {self.caller} {self.verb}{mark} -> {self.outcome}: "
            f"{self.raw or self.reply.raw}"
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened at the resource. `at` and `end`: seconds of the resource's own clock, if it says so."""

    mark: Any
    at: float | None = None
    end: float | None = None
    resource: str | None = None
    args: Any = None
    row: Mapping[str, Any] = field(default_factory=dict)
