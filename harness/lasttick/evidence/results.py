"""What came of one scenario? The entry of `verdicts.json`, and what a worker of a parallel run sends to its controller.

Source: DESIGN "What machines read", contract world "Verdicts".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.checks import Verdict, VerdictWord, as_word


@dataclass(frozen=True, slots=True)
class Examples:
    """How many examples of a property scenario ran, and how many of them failed."""

    run: int
    failed: int


@dataclass(frozen=True, slots=True)
class Falsified:
    """The shrunk example: its arguments as text, and the command that runs it again."""

    args: Mapping[str, str]
    replay: str


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One scenario with its parameters; a property scenario is one, with the worst over its examples.

    `laws` without planned ones. `duration_s` is real, `virtual_s` the sum over examples. `trace` is the path of the
    trace in the run folder, with slashes; None when nothing was traced, and then `trace_sha256` is None too. `text` is
    the scenario's docstring; "" in a run of an older lasttick. Of a law: `cases`, how many instances it judged,
    `judged`, what by (effects or answers), and `replies`, the raw replies it rests on; None, "" and () elsewhere.
    `artifacts`: the files it left behind, by their paths in the run folder.
    """

    id: str
    requirements: tuple[str, ...]
    laws: tuple[str, ...]
    verdict: VerdictWord
    reason: str
    duration_s: float
    virtual_s: float
    trace_sha256: str | None = None
    checks: tuple[Verdict, ...] = ()
    examples: Examples | None = None
    falsified: Falsified | None = None
    trace: str | None = None
    text: str = ""
    cases: int | None = None
    judged: str = ""
    replies: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        examples, falsified = self.examples, self.falsified
        return {
            "id": self.id,
            "requirements": list(self.requirements),
            "laws": list(self.laws),
            "verdict": self.verdict,
            "reason": self.reason,
            "duration_s": self.duration_s,
            "virtual_s": self.virtual_s,
            "trace_sha256": self.trace_sha256,
            "checks": [check.as_json() for check in self.checks],
            "examples": None if examples is None else {"run": examples.run, "failed": examples.failed},
            "falsified": None if falsified is None else {"args": dict(falsified.args), "replay": falsified.replay},
            "trace": self.trace,
            "text": self.text,
            **({} if self.cases is None else self._as_law()),
            **({"artifacts": list(self.artifacts)} if self.artifacts else {}),
        }

    def _as_law(self) -> dict[str, Any]:
        return {"cases": self.cases, "judged": self.judged, "replies": list(self.replies)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ScenarioResult:
        """Raises KeyError for a missing field, TypeError or ValueError for one of the wrong kind."""
        examples, falsified = value["examples"], value["falsified"]
        return cls(
            id=value["id"],
            requirements=tuple(value["requirements"]),
            laws=tuple(value["laws"]),
            verdict=as_word(value["verdict"]),
            reason=value["reason"],
            duration_s=float(value["duration_s"]),
            virtual_s=float(value["virtual_s"]),
            trace_sha256=value["trace_sha256"],
            checks=tuple(Verdict.from_json(check) for check in value["checks"]),
            examples=None if examples is None else Examples(examples["run"], examples["failed"]),
            falsified=None if falsified is None else Falsified(dict(falsified["args"]), falsified["replay"]),
            trace=value["trace"],
            text=str(value.get("text", "")),
            cases=value.get("cases"),
            judged=str(value.get("judged", "")),
            replies=tuple(map(str, value.get("replies", ()))),
            artifacts=tuple(map(str, value.get("artifacts", ()))),
        )
