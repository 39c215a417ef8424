from __future__ import annotations

import pytest

from lasttick.checks import Verdict, worst


def test_worst_is_fail_then_inconclusive_then_pass() -> None:
    assert worst(["pass", "not_applicable"]) == "pass"
    assert worst(["pass", "inconclusive", "not_applicable"]) == "inconclusive"
    assert worst(["inconclusive", "fail", "pass"]) == "fail"
    assert worst(["not_applicable"]) == "not_applicable"


def test_no_verdict_at_all_proves_nothing() -> None:
    assert worst([]) == "inconclusive"


def test_json_and_back() -> None:
    verdict = Verdict("HA-05", "fail", "two holders", 60.0)
    assert Verdict.from_json(verdict.as_json()) == verdict
    with pytest.raises(ValueError, match="'maybe' is no verdict"):
        Verdict.from_json({**verdict.as_json(), "verdict": "maybe"})
