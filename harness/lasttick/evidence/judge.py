"""What do today's checks say of a history that was judged before? A check that was mended is held against old runs.

Only checks over the trace are repeated; what a scenario asserted while it ran can only be replayed.
Source: DESIGN "The flow" (written first, judged second).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.checks import Verdict, standing
from lasttick.engine.trace import Event
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.lookup import recorded_events
from lasttick.evidence.results import ScenarioResult
from lasttick.evidence.verdicts import read_verdicts


@dataclass(frozen=True, slots=True)
class Judged:
    """One check on one scenario's trace. `recorded` is None where the run had no such check."""

    scenario: str
    recorded: Verdict | None
    today: Verdict
    differs: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "recorded": None if self.recorded is None else self.recorded.as_json(),
            "today": self.today.as_json(),
            "differs": self.differs,
        }


def judge_run(folder: Path) -> list[Judged]:
    """Every standing check on every trace of the run. Raises EvidenceError for what can not be read."""
    judged: list[Judged] = []
    for result in read_verdicts(folder).scenarios:
        events = recorded_events(folder, result)
        try:
            judged += judge_again(result, events) if events else []
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
            raise EvidenceError(
                f"the trace of {result.id} can not be judged: {error!r}",
                "events as contract world, Trace event, describes them",
                "see what lasttick verify says of the run",
            ) from error
    return judged


def judge_again(result: ScenarioResult, events: Iterable[Event]) -> list[Judged]:
    """Pure: what the checks say today of `events`, beside what `result` says."""
    events = list(events)
    recorded = {check.id: check for check in result.checks}
    found: list[Judged] = []
    for check in standing(events):
        today = check(events)
        before = recorded.get(today.id)
        found.append(Judged(result.id, before, today, _differs(result, before, today)))
    return found


def _differs(result: ScenarioResult, before: Verdict | None, today: Verdict) -> bool:
    quiet = today.verdict in ("pass", "not_applicable")
    if before is None:
        return not quiet
    if quiet and before.verdict == result.verdict and before.reason == result.reason != "":
        # A failed assertion counts against every id that its scenario claims: not the check had found something.
        return False
    return before.verdict != today.verdict
