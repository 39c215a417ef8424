"""When is a person asked first, and what does the agent get? Source: contract vaultclaw 14, 21; rulings VC-4, VC-13."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw import handoff
from lasttick.model.vaultclaw.outcome import APPROVAL_CODES
from lasttick.model.vaultclaw.pending import of_job as pending_id_of_job
from lasttick.model.vaultclaw.pending import ordered
from lasttick.model.vaultclaw.wait import read_handle

URL = "https://vault.test/attest/c1"
ASKED = {"pending_id": "apj_1", "challenge": {"challenge_id": "ch_1"}, "remote_attestation_url": URL}
JOB: dict[str, Any] = {"job_id": "job_1", "status": "PENDING", "pending_expires_at_unix_ms": 123}
RUN: dict[str, Any] = {"run_id": "run_1", "job_id": "job_2", "state": "PENDING_APPROVAL", "challenge_id": "ch_2"}


def test_the_whole_hand_off_of_a_job() -> None:
    body = {"job": {**JOB, "pending_approval": ASKED, "error": {"code": "Connector_Approval_Decision_Required"}}}
    found = handoff.of_job(body)
    assert found is not None
    failure = handoff.failure(found, "rid", 200, body)
    handle = {"kind": "JOB", "job_id": "job_1", "run_id": "", "challenge_id": "ch_1", "pending_id": "apj_1"}
    assert (failure.code, failure.category, failure.retryable, failure.vault_code) == (
        "MCP_APPROVAL_REQUIRED",
        "approval",
        False,
        "",
    )
    assert failure.details == {
        "request_id": "rid",
        "vault_http_status": 200,
        "vault": {
            "request_id": "rid",
            "vault_http_status": 200,
            "vault_code": "CONNECTOR_APPROVAL_DECISION_REQUIRED",
            "response": body,
        },
        "approval": {
            "status": "PENDING_APPROVAL",
            **handle,
            "pending_id_resolved": True,
            "pending_expires_at_unix_ms": 123,
            "pending_approval": ASKED,
            "decision_outcome": "PENDING",
            "next_action": {"tool": "vaultclaw_approval_wait", "arguments": {"handle": handle}},
            "remote_attestation_url": URL,
            "remote_attestation_link_markdown": f"[{URL}]({URL})",
        },
    }


@pytest.mark.parametrize(
    ("more", "pending"),
    [
        *(({"error": {"code": code}}, True) for code in APPROVAL_CODES),
        ({"error": {"error": {"code": "plan_approval_required"}}}, True),
        ({"pending_approval": ASKED}, True),
        ({"pending_approval": "yes"}, True),
        ({"pending_approval": False}, True),
        ({"pending_approval": []}, True),
        ({"pending_approval": {}}, False),
        ({"pending_approval": None}, False),
        ({"error": {"code": "OTHER"}}, False),
        ({}, False),  # queued
        ({"status": "RUNNING", "pending_approval": ASKED}, False),
        ({"status": "pending", "pending_approval": ASKED}, True),
    ],
)
def test_which_jobs_are_handed_off(more: dict[str, Any], pending: bool) -> None:
    found = handoff.of_job({"job": {**JOB, **more}})
    assert (found is not None) is pending
    if found is not None:
        given_approval = more.get("pending_approval")
        assert found.as_json()["pending_approval"] == (given_approval if isinstance(given_approval, dict) else None)


@pytest.mark.parametrize(
    ("body", "run_id", "job_id", "challenge_id"),
    [
        ({"run": RUN}, "run_1", "job_2", "ch_2"),
        ({"run": {**RUN, "run_id": " "}, "run_id": "run_9"}, "run_9", "job_2", "ch_2"),
        ({"run": {"state": "READY", "last_error_code": "plan_approval_required"}, "run_id": "r"}, "r", "", ""),
        (
            {"run": {"run_id": "r", "state": "READY"}, "job": {**JOB, "error": {"code": APPROVAL_CODES[2]}}},
            "r",
            "job_1",
            "",
        ),
        ({"run": {"run_id": "r", "state": "READY"}, "job": JOB, "pending_approval": ASKED}, "r", "job_1", "ch_1"),
        ({"run": {"run_id": "r", "state": "READY"}, "job": {**JOB, "pending_approval": ASKED}}, "r", "job_1", "ch_1"),
        ({"run": RUN, "pending_approval": ASKED}, "run_1", "job_2", "ch_1"),
        ({"run_id": "r", "job": {**JOB, "pending_approval": ASKED}}, "r", "job_1", "ch_1"),
        ({"run_id": "r", "job": JOB, "pending_approval": "x"}, "r", "job_1", ""),
        ({"run_id": "r", "job": {**JOB, "error": {"code": APPROVAL_CODES[0]}}}, "r", "job_1", ""),
    ],
)
def test_which_plan_runs_are_handed_off(body: dict[str, Any], run_id: str, job_id: str, challenge_id: str) -> None:
    found = handoff.of_plan(body)
    assert found is not None
    assert (found.kind, found.run_id, found.job_id, found.challenge_id) == ("PLAN_RUN", run_id, job_id, challenge_id)
    approval = handoff.failure(found, "rid", 200, body).details["approval"]
    assert read_handle(approval["next_action"]["arguments"]["handle"]).run_id == run_id


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"run": {"run_id": "r", "state": "RUNNING"}},
        {"run": {"run_id": "r", "state": "RUNNING"}, "job": JOB},
        {"run": {"run_id": "r", "state": "RUNNING"}, "job": {**JOB, "status": "RUNNING"}, "pending_approval": ASKED},
        {"run_id": "r", "job": JOB},
        {"run_id": "r", "pending_approval": ASKED},
        {"run_id": "r", "job": {**JOB, "status": "RUNNING", "pending_approval": ASKED}},
    ],
)
def test_which_plan_runs_are_not(body: Any) -> None:
    assert handoff.of_plan(body) is None


@pytest.mark.parametrize(
    "found",
    [
        handoff.of_job({"job": {**JOB, "job_id": " ", "pending_approval": ASKED}}),
        handoff.of_plan({"run": {**RUN, "run_id": None}}),
        handoff.of_plan({"job": {**JOB, "pending_approval": ASKED}}),
    ],
)
def test_a_pending_approval_without_the_id_its_wait_needs_is_an_internal_failure(found: handoff.Handoff | None) -> None:
    assert found is not None
    failure = handoff.failure(found, "rid", 201, {})
    assert (failure.code, failure.retryable) == ("MCP_INTERNAL", False)
    assert failure.details["vault_http_status"] == 201
    assert "approval" not in failure.details


@pytest.mark.parametrize(
    "status", ["PENDING", "ready", "RUNNING", "SUCCEEDED", "FAILED", "DENIED", "CANCELLED", "EXPIRED"]
)
def test_states_that_exist(status: str) -> None:
    assert handoff.is_known_job({"job": {"status": status}})
    assert handoff.is_known_plan({"job": {"status": status}})
    assert handoff.is_known_plan({"run": {"state": status}})


@pytest.mark.parametrize(
    "body", [None, {}, {"job": "SUCCEEDED"}, {"job": {}}, {"job": {"status": "APPROVED"}}, {"job": []}]
)
def test_an_answer_that_tells_no_state_is_none(body: Any) -> None:
    assert not handoff.is_known_job(body)
    assert not handoff.is_known_plan(body)
    assert not handoff.is_known_plan({"run": {"state": "APPROVED"}, "job": {"status": "SUCCEEDED"}})


def test_the_pending_id_of_the_worked_example() -> None:
    items = [
        {"pending_id": "apj_b", "job_id": "job_9", "created_seq": 5},
        {"pending_id": "apj_a", "job_id": "job_9", "created_seq": 5},
        {"pending_id": "apj_c", "job_id": "job_9", "created_seq": 4},
        {"pending_id": "apj_x", "job_id": "other", "created_seq": 99},
        "no object",
        {"job_id": "job_9", "created_seq": 100},
    ]
    assert pending_id_of_job({"items": items}, "JOB_9") == "apj_a"
    assert pending_id_of_job({"items": items}, "job_8") == ""
    assert [item.get("pending_id") for item in ordered({"items": items})] == [None, "apj_x", "apj_a", "apj_b", "apj_c"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
MEMBERS = st.sampled_from(
    ["job_id", "run_id", "status", "state", "error", "pending_approval", "challenge", "pending_id"]
)
STATES = st.sampled_from(["PENDING", "PENDING_APPROVAL", "RUNNING"])
OBJECT = st.dictionaries(MEMBERS, JSON | STATES | st.dictionaries(MEMBERS, JSON))
BODY = st.dictionaries(st.sampled_from(["job", "run", "run_id", "pending_approval", "items"]), OBJECT | JSON)


@given(BODY)
def test_any_answer_is_read_and_a_pending_job_with_a_pending_approval_is_never_overlooked(body: dict[str, Any]) -> None:
    for found in (handoff.of_job(body), handoff.of_plan(body)):
        if found is not None:
            failure = handoff.failure(found, "rid", 200, body)
            assert failure.code in ("MCP_APPROVAL_REQUIRED", "MCP_INTERNAL")
    job = body.get("job")
    if isinstance(job, dict) and job.get("status") == "PENDING" and job.get("pending_approval") not in (None, {}):
        assert handoff.of_job(body) is not None
        assert handoff.of_plan(body) is not None
    assert isinstance(pending_id_of_job(body, "j"), str)
