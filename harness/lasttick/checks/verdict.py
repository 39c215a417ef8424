"""What did a check find? One word, and the reason in a sentence.

Source: contract world, "Verdicts".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

VerdictWord: TypeAlias = Literal["pass", "fail", "inconclusive", "not_applicable"]
WORST_FIRST: tuple[VerdictWord, ...] = ("fail", "inconclusive", "pass", "not_applicable")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`id` is the requirement or law judged; `t_s` counts from the start of the example, None: no instant is meant."""

    id: str
    verdict: VerdictWord
    reason: str
    t_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "verdict": self.verdict, "reason": self.reason, "t_s": self.t_s}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Verdict:
        """Raises KeyError for a missing field and ValueError for an unknown verdict."""
        return cls(value["id"], as_word(value["verdict"]), value["reason"], value["t_s"])


def as_word(value: Any) -> VerdictWord:
    """Raises ValueError when `value` is none of the four words."""
    if value not in WORST_FIRST:
        raise ValueError(f"{value!r} is no verdict; expected one of {', '.join(WORST_FIRST)}")
    return cast(VerdictWord, value)


def worst(verdicts: Iterable[VerdictWord]) -> VerdictWord:
    """fail > inconclusive > pass > not applicable; no verdict at all is inconclusive."""
    return min(verdicts, key=WORST_FIRST.index, default="inconclusive")
