"""What does the state of a job, a run or a pending item say about the person's decision?

ALLOW comes only from SUCCEEDED (ruling VC-4). A state that nobody knows decides nothing and ends nothing.
Source: contract vaultclaw 8 (objects), 14 (outcomes); rulings VC-3, VC-4, VC-13.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lasttick.model.vaultclaw.arguments import as_object, string

Outcome = Literal["PENDING", "ALLOW", "DENY", "UNKNOWN"]

SUCCEEDED = "SUCCEEDED"
TERMINAL = (SUCCEEDED, "FAILED", "DENIED", "CANCELLED", "EXPIRED")
"""States of jobs and runs from which nothing follows."""
OPEN = ("READY", "RUNNING")
APPROVAL_CODES = (
    "CONNECTOR_APPROVAL_DECISION_REQUIRED",
    "PLAN_APPROVAL_REQUIRED",
    "CONNECTOR_APPROVAL_GRANT_REQUIRED",
)
"""A person has to decide first."""
DENY_CODES = ("CONNECTOR_APPROVAL_RULE_DENIED", "PLAN_APPROVAL_DENIED", "APPROVAL_DECISION_EXPIRED")


def state_of(value: Any) -> str:
    """A state or a code of the vault in upper case; "" when it is no text."""
    return string(value).upper()


def job_state(job: Mapping[str, Any]) -> str:
    return state_of(job.get("status"))


def run_state(run: Mapping[str, Any]) -> str:
    return state_of(run.get("state"))


def job_code(job: Mapping[str, Any]) -> str:
    """Its error code in upper case, plain or nested; "" when there is none."""
    error = as_object(job.get("error")) or {}
    return state_of(error.get("code")) or state_of((as_object(error.get("error")) or {}).get("code"))


def run_code(run: Mapping[str, Any], job: Mapping[str, Any] | None) -> str:
    """The run's last error code, else its job's."""
    return state_of(run.get("last_error_code")) or (job_code(job) if job else "")


def is_pending(pending_approval: Any) -> bool:
    """Does this member say that a person is asked? Null and `{}` do not; anything that is no object does (VC-13)."""
    return pending_approval is not None and pending_approval != {}


def needs_approval(job: Mapping[str, Any]) -> bool:
    """Does the job's own code or pending approval say that a person is asked?"""
    return job_code(job) in APPROVAL_CODES or is_pending(job.get("pending_approval"))


def job_outcome(job: Mapping[str, Any]) -> Outcome:
    state = job_state(job)
    if state in ("PENDING", *OPEN):
        return "PENDING" if needs_approval(job) else "UNKNOWN"
    return _ended(state, job_code(job))


def run_outcome(run: Mapping[str, Any], job: Mapping[str, Any] | None) -> Outcome:
    state = run_state(run)
    return "PENDING" if state in ("PENDING_APPROVAL", *OPEN) else _ended(state, run_code(run, job))


def item_outcome(item: Mapping[str, Any]) -> Outcome:
    """Of an item of the list of pending approvals."""
    state, code = state_of(item.get("state")), state_of(item.get("last_error_code"))
    if state in ("WAITING", *OPEN):
        return "PENDING"
    if state == SUCCEEDED:
        return "ALLOW"
    return "DENY" if state in ("DENIED", "EXPIRED") and code in (*DENY_CODES, "") else "UNKNOWN"


def approval_status(state: str, outcome: Outcome) -> str:
    """TERMINAL, PENDING_APPROVAL or UNKNOWN: what job_get and plan_run_get tell of a state."""
    if state in TERMINAL:
        return "TERMINAL"
    return "PENDING_APPROVAL" if outcome == "PENDING" else "UNKNOWN"


def _ended(state: str, code: str) -> Outcome:
    if state == SUCCEEDED:
        return "ALLOW"
    return "DENY" if state == "DENIED" and code in DENY_CODES else "UNKNOWN"
