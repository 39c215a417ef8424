"""What verdict does a run deserve? A scenario's result from its examples, its checks and how it ended.

Source: contract world, "Verdicts"; DESIGN "Words" (verdict).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from lasttick.checks import Verdict, VerdictWord
from lasttick.engine.trace import Event, trace_sha256
from lasttick.evidence import Examples, Falsified, ScenarioResult, trace_path
from lasttick.targets.outcome import CheckFailed, Inconclusive


class Played(Protocol):
    """What is read of a run: a ScenarioRun, or a law that was played on a live target."""

    @property
    def events(self) -> list[Event]: ...

    @property
    def checks(self) -> Sequence[Verdict]: ...

    @property
    def virtual_s(self) -> float: ...

    @property
    def examples(self) -> int: ...

    @property
    def failed(self) -> int: ...

    @property
    def arguments(self) -> Mapping[str, str] | None: ...


def judge(
    scenario_id: str,
    claims: Sequence[str],
    laws: tuple[str, ...],
    run: Played | None,
    error: BaseException | None,
    *,
    skipped: str | None,
    is_property: bool,
    duration_s: float,
    replay: str,
    text: str = "",
) -> ScenarioResult:
    """The result of one scenario. `error` is what ended it, `skipped` why it was not played at all.

    `laws` are those that the claims speak for. A check's id is the id it judges; a bare assertion counts against every
    id claimed. `replay` is the command that plays it again, `text` its docstring.
    """
    verdict, reason, t_s = ended(error, skipped)
    checks = {check.id: check for check in (run.checks if run else [])}
    for claim in claims:
        judged = checks.get(claim)
        # What the devices saw says more than the assertion that noticed it.
        if judged is None or (judged.verdict != "fail" and _blames(error, claim)):
            checks[claim] = Verdict(claim, verdict, error.reason if isinstance(error, CheckFailed) else reason, t_s)
    return ScenarioResult(
        id=scenario_id,
        requirements=tuple(claim for claim in claims if "/" not in claim),
        laws=laws,
        verdict=verdict,
        reason=reason,
        duration_s=duration_s,
        virtual_s=run.virtual_s if run else 0.0,
        trace_sha256=trace_sha256(run.events) if run else None,
        checks=tuple(checks.values()),
        examples=Examples(run.examples, run.failed) if run and is_property else None,
        falsified=Falsified(run.arguments or {}, replay) if run and run.failed and is_property else None,
        trace=str(trace_path(scenario_id)) if run else None,
        text=text,
    )


def ended(error: BaseException | None, skipped: str | None = None) -> tuple[VerdictWord, str, float | None]:
    """Verdict, reason and instant for a scenario that ended with `error` (None: it came to its end)."""
    if skipped is not None:
        return "not_applicable", skipped, None
    if error is None:
        return "pass", "", None
    if isinstance(error, Inconclusive):
        return "inconclusive", str(error), None
    return "fail", _first_line(error), error.t_s if isinstance(error, CheckFailed) else None


def _blames(error: BaseException | None, claim: str) -> bool:
    return error is not None and not (isinstance(error, CheckFailed) and error.check != claim)


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
