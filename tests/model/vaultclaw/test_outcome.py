"""What states and codes say about a decision. Source: contract vaultclaw 14; rulings VC-3, VC-4, VC-13."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.outcome import (
    APPROVAL_CODES,
    DENY_CODES,
    approval_status,
    item_outcome,
    job_code,
    job_outcome,
    run_outcome,
)

ASKED = {"pending_id": "p"}


@pytest.mark.parametrize("state", ["PENDING", "READY", "running"])
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "UNKNOWN"),
        ({"pending_approval": {}}, "UNKNOWN"),
        ({"pending_approval": None}, "UNKNOWN"),
        ({"pending_approval": ASKED}, "PENDING"),
        ({"pending_approval": "somebody"}, "PENDING"),
        ({"pending_approval": []}, "PENDING"),
        ({"error": {"code": "PLAN_POLICY_DRIFT"}}, "UNKNOWN"),
        *(({"error": {"code": code}}, "PENDING") for code in APPROVAL_CODES),
        ({"error": {"error": {"code": " plan_approval_required "}}}, "PENDING"),
        ({"error": "PLAN_APPROVAL_REQUIRED"}, "UNKNOWN"),
    ],
)
def test_an_open_job_is_pending_only_if_it_says_that_a_person_is_asked(
    state: str, more: dict[str, Any], expected: str
) -> None:
    assert job_outcome({"status": state, **more}) == expected


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("SUCCEEDED", "", "ALLOW"),
        ("succeeded", "PLAN_APPROVAL_DENIED", "ALLOW"),
        *(("DENIED", code, "DENY") for code in DENY_CODES),
        ("DENIED", "", "UNKNOWN"),
        ("DENIED", "PLAN_POLICY_DRIFT", "UNKNOWN"),
        ("FAILED", "PLAN_APPROVAL_DENIED", "UNKNOWN"),
        ("CANCELLED", "PLAN_APPROVAL_DENIED", "UNKNOWN"),
        ("EXPIRED", "APPROVAL_DECISION_EXPIRED", "UNKNOWN"),
        ("APPROVED", "", "UNKNOWN"),
        ("", "", "UNKNOWN"),
    ],
)
def test_the_end_of_jobs_and_runs(state: str, code: str, expected: str) -> None:
    assert job_outcome({"status": state, "error": {"code": code}}) == expected
    assert run_outcome({"state": state, "last_error_code": code}, None) == expected
    assert run_outcome({"state": state}, {"error": {"error": {"code": code}}}) == expected


@pytest.mark.parametrize("state", ["PENDING_APPROVAL", "READY", "Running"])
def test_an_open_run_is_pending(state: str) -> None:
    assert run_outcome({"state": state}, None) == "PENDING"


def test_a_runs_own_code_goes_before_its_jobs() -> None:
    job = {"error": {"code": "PLAN_APPROVAL_DENIED"}}
    assert run_outcome({"state": "DENIED", "last_error_code": "PLAN_POLICY_DRIFT"}, job) == "UNKNOWN"
    assert run_outcome({"state": "DENIED", "last_error_code": " "}, job) == "DENY"


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("WAITING", "", "PENDING"),
        ("READY", "", "PENDING"),
        ("RUNNING", "", "PENDING"),
        ("SUCCEEDED", "", "ALLOW"),
        ("DENIED", "", "DENY"),
        ("EXPIRED", "", "DENY"),
        ("expired", "approval_decision_expired", "DENY"),
        ("DENIED", "PLAN_POLICY_DRIFT", "UNKNOWN"),
        ("FAILED", "", "UNKNOWN"),
        ("NEW", "", "UNKNOWN"),
    ],
)
def test_the_outcome_of_a_pending_item(state: str, code: str, expected: str) -> None:
    assert item_outcome({"state": state, "last_error_code": code}) == expected


@pytest.mark.parametrize(
    ("state", "outcome", "expected"),
    [
        *((state, "UNKNOWN", "TERMINAL") for state in ("SUCCEEDED", "FAILED", "DENIED", "CANCELLED", "EXPIRED")),
        ("PENDING", "PENDING", "PENDING_APPROVAL"),
        ("PENDING", "UNKNOWN", "UNKNOWN"),
        ("NEW", "UNKNOWN", "UNKNOWN"),
    ],
)
def test_the_approval_state(state: str, outcome: Any, expected: str) -> None:
    assert approval_status(state, outcome) == expected


WORDS = st.sampled_from(["SUCCEEDED", "succeeded ", "APPROVED", "ALLOW", "DONE", "", "READY", "PLAN_APPROVAL_DENIED"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["code", "error", "x"]), inner),
    max_leaves=5,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["status", "state", "error", "last_error_code", "pending_approval"]), JSON | WORDS
)


@given(OBJECTS, st.none() | OBJECTS)
def test_allow_comes_only_from_succeeded_whatever_else_is_there(one: dict[str, Any], job: Any) -> None:
    def succeeded(value: Any) -> bool:
        return isinstance(value, str) and value.strip().upper() == "SUCCEEDED"

    assert (job_outcome(one) == "ALLOW") == succeeded(one.get("status"))
    assert (run_outcome(one, job) == "ALLOW") == succeeded(one.get("state"))
    assert (item_outcome(one) == "ALLOW") == succeeded(one.get("state"))
    assert isinstance(job_code(one), str)
