"""What came of the whole run? `verdicts.json`: every scenario, and the worst per requirement and law.

Source: DESIGN "What machines read", contract world "Verdicts".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.checks import VerdictWord, worst
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.results import ScenarioResult

VERSION = 1
FILE = "verdicts.json"
WORDS: tuple[VerdictWord, ...] = ("pass", "fail", "inconclusive", "not_applicable")


@dataclass(frozen=True, slots=True)
class RunVerdicts:
    """One run. `scenarios` sorted by id; `requirements` and `laws` hold only ids that somebody spoke for."""

    seed: int
    mode: str
    scenarios: tuple[ScenarioResult, ...]

    @classmethod
    def of(cls, results: Iterable[ScenarioResult], *, seed: int, mode: str) -> RunVerdicts:
        return cls(seed, mode, tuple(sorted(results, key=lambda result: result.id)))

    @property
    def requirements(self) -> dict[str, VerdictWord]:
        return self._worst(lambda result: result.requirements, is_law=False)

    @property
    def laws(self) -> dict[str, VerdictWord]:
        return self._worst(lambda result: result.laws, is_law=True)

    @property
    def counts(self) -> dict[VerdictWord, int]:
        return {word: sum(result.verdict == word for result in self.scenarios) for word in WORDS}

    def as_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "seed": self.seed,
            "mode": self.mode,
            "scenarios": [result.as_json() for result in self.scenarios],
            "requirements": self.requirements,
            "laws": self.laws,
            "counts": self.counts,
        }

    def _worst(self, claims: Callable[[ScenarioResult], Iterable[str]], *, is_law: bool) -> dict[str, VerdictWord]:
        words: dict[str, list[VerdictWord]] = {}
        for result in self.scenarios:
            for id_ in claims(result):
                words.setdefault(id_, []).append(result.verdict)
            for check in result.checks:
                # A check judges its own id on traces of scenarios that do not claim it: what it found wrong counts.
                if ("/" in check.id) == is_law and check.verdict in ("fail", "inconclusive"):
                    words.setdefault(check.id, []).append(check.verdict)
        return {id_: worst(words[id_]) for id_ in sorted(words)}


def read_verdicts(run: Path) -> RunVerdicts:
    """Read `verdicts.json` of a run folder, or the file itself.

    Raises EvidenceError when it is missing, not JSON, of a newer version or of another shape.
    """
    path = run / FILE if run.is_dir() else run
    expected = f"the {FILE} of a run, version {VERSION} or older"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EvidenceError(
            f"{path} does not exist", expected, "run lasttick run first, or name a run folder"
        ) from error
    except OSError as error:
        raise EvidenceError(
            f"{path} can not be read: {error.strerror or error}", expected, "make it readable"
        ) from error
    except ValueError as error:
        raise EvidenceError(
            f"{path} is not JSON: {error}", expected, "run again; the file was not written whole"
        ) from error
    version = document.get("version") if isinstance(document, Mapping) else None
    if not isinstance(version, int) or version > VERSION:
        raise EvidenceError(f"{path} has version {version!r}", expected, "read it with the lasttick that wrote it")
    try:
        scenarios = [ScenarioResult.from_json(entry) for entry in document["scenarios"]]
        return RunVerdicts.of(scenarios, seed=document["seed"], mode=document["mode"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EvidenceError(f"{path} has another shape: {error!r}", expected, "run again with this lasttick") from error
