"""Does an answer of the vault say "ask a person first", and what does the agent then get in its hands?

A hand-off is a failure that names one next call which can be made as it is. "Pending" never becomes plain success: a
pending approval without the id its wait needs is an error, and so is an answer whose state nobody knows.
Source: contract vaultclaw 14; rulings VC-4, VC-13; VC-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lasttick.model.vaultclaw import outcome
from lasttick.model.vaultclaw.arguments import as_object, integer, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.pending import attestation
from lasttick.model.vaultclaw.wait import JOB, PLAN_RUN

WAIT_TOOL = "vaultclaw_approval_wait"
KNOWN_STATES = ("PENDING", "PENDING_APPROVAL", *outcome.OPEN, *outcome.TERMINAL)
"""Any other state of a job or run that was just begun says nothing, so it is no success (ruling VC-4)."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """What is pending. Ids that are not known are "". `pending_approval`: the vault's object, if it sent one."""

    kind: str
    job_id: str
    run_id: str
    challenge_id: str
    pending_id: str
    vault_code: str
    expires_at_unix_ms: int
    pending_approval: dict[str, Any] | None

    @property
    def can_be_waited_for(self) -> bool:
        return bool(self.job_id if self.kind == JOB else self.run_id)

    @property
    def can_be_looked_up(self) -> bool:
        """Is the pending id missing, and enough known to ask for it?"""
        return not self.pending_id and bool(self.challenge_id and self.job_id)

    def with_pending_id(self, pending_id: str) -> Handoff:
        return replace(self, pending_id=pending_id)

    def as_json(self) -> dict[str, Any]:
        """`details.approval`."""
        ids = {
            "job_id": self.job_id,
            "run_id": self.run_id,
            "challenge_id": self.challenge_id,
            "pending_id": self.pending_id,
        }
        return {
            "status": "PENDING_APPROVAL",
            "kind": self.kind,
            **ids,
            "pending_id_resolved": bool(self.pending_id),
            "pending_expires_at_unix_ms": self.expires_at_unix_ms,
            "pending_approval": self.pending_approval,
            "decision_outcome": "PENDING",
            "next_action": {"tool": WAIT_TOOL, "arguments": {"handle": {"kind": self.kind, **ids}}},
            **attestation(self.pending_approval or {}),
        }


def of_job(body: Mapping[str, Any] | None) -> Handoff | None:
    """The hand-off in an answer of execute-job; None when nothing is pending there."""
    job = job_of(body)
    if job is None or outcome.job_state(job) != "PENDING" or not outcome.needs_approval(job):
        return None
    return _handoff(JOB, job, {}, "", outcome.job_code(job), _first_pending(job.get("pending_approval")))


def of_plan(body: Mapping[str, Any] | None) -> Handoff | None:
    """The hand-off in an answer of plan-execute, with a `run` object or without; None when nothing is pending there."""
    body = body or {}
    run, job = run_of(body), job_of(body)
    pending = _first_pending(body.get("pending_approval"), (job or {}).get("pending_approval"))
    job_waits = job is not None and outcome.job_state(job) == "PENDING"
    code = outcome.run_code(run or {}, job)
    job_needs = job_waits and (outcome.job_code(job or {}) in outcome.APPROVAL_CODES or outcome.is_pending(pending))
    if run is not None:
        job_needs = job_needs or outcome.run_state(run) == "PENDING_APPROVAL" or code in outcome.APPROVAL_CODES
    if not job_needs:
        return None
    run_id = string((run or {}).get("run_id")) or string(body.get("run_id"))
    return _handoff(PLAN_RUN, job or {}, run or {}, run_id, code, pending)


def is_known_job(body: Mapping[str, Any] | None) -> bool:
    """Does an answer of execute-job hold a job in a state that exists?"""
    job = job_of(body)
    return job is not None and outcome.job_state(job) in KNOWN_STATES


def is_known_plan(body: Mapping[str, Any] | None) -> bool:
    """Does an answer of plan-execute hold a run, or at least a job, in a state that exists?"""
    run = run_of(body)
    return is_known_job(body) if run is None else outcome.run_state(run) in KNOWN_STATES


def failure(found: Handoff, request_id: str, status: int, body: Mapping[str, Any] | None) -> ToolFailure:
    """The hand-off as the tool's answer. `request_id`, `status`, `body`: of the call that said so."""
    if not found.can_be_waited_for:
        return no_state(request_id, status, body, f"says that an approval is pending, but names no {_id_of(found)}")
    vault = {
        "request_id": request_id,
        "vault_http_status": status,
        "vault_code": found.vault_code,
        "response": body,
    }
    return ToolFailure(
        "MCP_APPROVAL_REQUIRED",
        f"the {found.kind} waits for a person's decision and has not run; expected an approval first; make the call in "
        "details.approval.next_action",
        {"request_id": request_id, "vault_http_status": status, "vault": vault, "approval": found.as_json()},
    )


def no_state(request_id: str, status: int, body: Mapping[str, Any] | None, what: str) -> ToolFailure:
    """An executing call was answered, and nobody can say with what. `what`: completes "the vault's answer ..."."""
    return ToolFailure(
        "MCP_INTERNAL",
        f"the vault's answer {what}; expected a job or run with its id and a state that exists; do not repeat the call "
        "before looking at the vault's own list of jobs, since it may have run",
        {"request_id": request_id, "vault_http_status": status, "vault": {"response": body}},
    )


def job_of(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return as_object((body or {}).get("job"))


def run_of(body: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return as_object((body or {}).get("run"))


def _handoff(
    kind: str, job: Mapping[str, Any], run: Mapping[str, Any], run_id: str, code: str, pending: Any
) -> Handoff:
    asked = as_object(pending)
    challenge = as_object((asked or {}).get("challenge")) or {}
    return Handoff(
        kind=kind,
        job_id=string(run.get("job_id")) or string(job.get("job_id")),
        run_id=run_id,
        challenge_id=string(challenge.get("challenge_id")) or string(run.get("challenge_id")),
        pending_id=string((asked or {}).get("pending_id")),
        vault_code=code,
        expires_at_unix_ms=integer(job.get("pending_expires_at_unix_ms")),
        pending_approval=asked,
    )


def _first_pending(*candidates: Any) -> Any:
    """The first that says anything, an object before anything else; None when nobody does."""
    saying = [candidate for candidate in candidates if outcome.is_pending(candidate)]
    objects = [candidate for candidate in saying if isinstance(candidate, dict)]
    return next(iter([*objects, *saying]), None)


def _id_of(found: Handoff) -> str:
    return "job_id" if found.kind == JOB else "run_id"
