"""Today's checks over recorded traces: where they say the same, and where a mended check says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lasttick.checks import Verdict
from lasttick.evidence import ScenarioResult, judge_run
from lasttick.evidence.judge import judge_again

from .conftest import ID, events_of

RESULT = ScenarioResult(ID, ("HA-05",), (), "pass", "", 0.1, 90.0)


def differing(result: ScenarioResult, *, overlap: bool) -> list[str]:
    return [judged.today.id for judged in judge_again(result, events_of(overlap=overlap)) if judged.differs]


def test_the_same_checks_say_the_same(make_run: Callable[..., Path]) -> None:
    judged = judge_run(make_run(events_of(overlap=True)))
    assert [(item.scenario, item.today.id, item.today.verdict) for item in judged] == [
        (ID, "HA-05", "fail"),
        (ID, "HA-13", "pass"),
    ]
    assert not any(item.differs for item in judged)


def test_a_check_that_sees_more_than_the_recorded_one() -> None:
    blind = replace(RESULT, checks=(Verdict("HA-05", "pass", ""), Verdict("HA-13", "pass", "")))
    assert differing(blind, overlap=True) == ["HA-05"]
    assert differing(blind, overlap=False) == []


def test_a_check_that_was_wrong() -> None:
    wrong = replace(
        RESULT, verdict="fail", reason="HA-05: two holders", checks=(Verdict("HA-05", "fail", "two holders"),)
    )
    assert differing(wrong, overlap=False) == ["HA-05"]


def test_a_check_of_which_the_run_knew_nothing() -> None:
    assert differing(RESULT, overlap=True) == ["HA-05"]
    assert differing(RESULT, overlap=False) == []


def test_an_assertion_that_counts_against_the_id_is_not_judged_again() -> None:
    reason = "expected device_busy"
    asserted = replace(RESULT, verdict="fail", reason=reason, checks=(Verdict("HA-05", "fail", reason),))
    assert differing(asserted, overlap=False) == []
