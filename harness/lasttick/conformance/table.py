"""How does a person read a judgement? A row for each scenario, a column for each run, and below what was wrong."""

from __future__ import annotations

from collections.abc import Iterator

from lasttick.conformance.play import Judgement, Run
from lasttick.conformance.results import Outcome

SHOWN = {"pass": "pass", "known": "known", "fail": "FAIL", "nothing": "EMPTY", "absent": "ABSENT", "stale": "STALE"}


def lines(judgement: Judgement) -> Iterator[str]:
    """The whole page."""
    for number, run in enumerate(judgement.runs, start=1):
        yield f"{number}  {run.suite} {run.revision}, {run.way}: {_score(run)}"
    yield ""
    names = sorted({outcome.name for run in judgement.runs for outcome in run.outcomes})
    by_run = [{outcome.name: outcome for outcome in run.outcomes} for run in judgement.runs]
    width = max((len(name) for name in names), default=8)
    yield " ".join([" " * width, *(f"{number:>6}" for number in range(1, len(by_run) + 1))]).rstrip()
    for name in names:
        yield f"{name:<{width}} " + " ".join(f"{_cell(found.get(name)):>6}" for found in by_run)
    yield ""
    for check in judgement.own:
        yield f"own check {check.id}: {'pass' if check.ok else 'FAIL ' + check.reason}"
    for number, run in enumerate(judgement.runs, start=1):
        for outcome in run.outcomes:
            if not outcome.ok:
                yield f"FAIL {number} {outcome.name}: {outcome.reason}"
    yield f"{judgement.system}: {judgement.verdict} (lower case in brackets is not scored)"


def _score(run: Run) -> str:
    return f"{len([outcome for outcome in run.required if outcome.ok])} of {len(run.required)} required pass"


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    shown = SHOWN[outcome.verdict]
    return shown if outcome.required else f"({shown.lower()[:4]})"
