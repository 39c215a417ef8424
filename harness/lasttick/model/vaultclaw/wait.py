"""When does an approval wait poll, how long may one poll take, and what does its answer mean?

It polls at once, then one interval after each answer, and once at the deadline; a poll that is under way at the
deadline is the last one. So a wait ends at most one second after its deadline, even when the vault hangs.
Source: contract vaultclaw 14 (approval_wait); rulings VC-1 to VC-4; VC-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw import outcome
from lasttick.model.vaultclaw.arguments import as_object, integer, string
from lasttick.model.vaultclaw.envelope import ToolFailure

NS_PER_MS = 1_000_000
TIMEOUT_MS, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX = 600_000, 1_000, 3_600_000
INTERVAL_MS, INTERVAL_MS_MIN, INTERVAL_MS_MAX = 1_500, 250, 10_000
"""Default, smallest and largest of the two arguments."""
POLL_MS_MIN = 1_000
"""A poll close to the deadline may still take this long."""
JOB, PLAN_RUN = "JOB", "PLAN_RUN"


@dataclass(frozen=True, slots=True)
class Handle:
    """What is waited for. `challenge_id` and `pending_id` are only echoed."""

    kind: str
    job_id: str
    run_id: str
    challenge_id: str
    pending_id: str

    def as_json(self) -> dict[str, str]:
        """Empty members are left out."""
        members = ("kind", "job_id", "run_id", "challenge_id", "pending_id")
        return {name: value for name in members if (value := getattr(self, name))}


@dataclass(frozen=True, slots=True)
class Limits:
    """How long to wait, and how often to ask; both within their bounds."""

    timeout_ms: int
    poll_interval_ms: int

    def as_json(self) -> dict[str, int]:
        """`wait_options`."""
        return {"timeout_ms": self.timeout_ms, "poll_interval_ms": self.poll_interval_ms}


@dataclass(frozen=True, slots=True)
class Observation:
    """A good answer of the vault: what is waited for is in `state`."""

    job: dict[str, Any] | None
    run: dict[str, Any] | None
    state: str
    decision_outcome: outcome.Outcome

    @property
    def ends(self) -> bool:
        return self.state in outcome.TERMINAL

    def as_json(self) -> dict[str, Any]:
        return {"job": self.job, "run": self.run}


def read_handle(given: Mapping[str, Any]) -> Handle:
    """Raises ToolFailure: another kind, or without the id its kind needs."""
    texts = {name: string(given.get(name)) for name in ("job_id", "run_id", "challenge_id", "pending_id")}
    handle = Handle(string(given.get("kind")).upper(), **texts)
    if (handle.kind == JOB and handle.job_id) or (handle.kind == PLAN_RUN and handle.run_id):
        return handle
    raise ToolFailure(
        "MCP_VALIDATION_ERROR",
        f"the handle has kind {handle.kind!r}, job_id {handle.job_id!r} and run_id {handle.run_id!r}; expected kind "
        "JOB with a job_id, or PLAN_RUN with a run_id; pass the handle of details.approval.next_action on unchanged",
    )


def limits(timeout_ms: int, poll_interval_ms: int) -> Limits:
    """Not above 0 means the default; then clamped."""
    timeout_ms = timeout_ms if timeout_ms > 0 else TIMEOUT_MS
    poll_interval_ms = poll_interval_ms if poll_interval_ms > 0 else INTERVAL_MS
    return Limits(
        min(max(timeout_ms, TIMEOUT_MS_MIN), TIMEOUT_MS_MAX),
        min(max(poll_interval_ms, INTERVAL_MS_MIN), INTERVAL_MS_MAX),
    )


def next_poll_ns(asked_ns: int, answered_ns: int, interval_ns: int, deadline_ns: int) -> int | None:
    """When to poll again after a poll that was sent at `asked_ns`; None when that was the last one."""
    if asked_ns >= deadline_ns or answered_ns > deadline_ns:
        return None
    return min(answered_ns + interval_ns, deadline_ns)


def poll_limit_s(now_ns: int, deadline_ns: int) -> float:
    """How long a poll that is sent now may take; the session's time-out may be shorter."""
    return max(deadline_ns - now_ns, POLL_MS_MIN * NS_PER_MS) / 1e9


def goes_on(failure: ToolFailure) -> bool:
    """Does the wait outlive this failure? A fault of the line or a busy vault, yes: the mapping calls it retryable."""
    return failure.retryable


def observe(kind: str, body: Mapping[str, Any] | None) -> Observation | None:
    """What an answer says about the job or run. None when it has no such object."""
    job, run = (as_object((body or {}).get(name)) for name in ("job", "run"))
    if kind == JOB:
        return None if job is None else Observation(job, None, outcome.job_state(job), outcome.job_outcome(job))
    return None if run is None else Observation(job, run, outcome.run_state(run), outcome.run_outcome(run, job))


def success_json(handle: Handle, last: Observation) -> dict[str, Any]:
    """The data of a wait that ended with a terminal state."""
    return {
        "done": True,
        "terminal_status": last.state,
        "decision_outcome": last.decision_outcome,
        "handle": handle.as_json(),
        **last.as_json(),
    }


def timed_out(handle: Handle, bounds: Limits, latest: Observation | None, error: ToolFailure | None) -> ToolFailure:
    """`latest`: the last good answer; `error`: the newest poll's failure, if it failed (ruling VC-2)."""
    details: dict[str, Any] = {
        "handle": handle.as_json(),
        "latest": latest.as_json() if latest else {"job": None, "run": None},
        "retry_hint": "The decision is still open. Call vaultclaw_approval_wait again with the same handle.",
        "wait_options": bounds.as_json(),
    }
    if error is not None:
        details["latest_error"] = error_summary(error)
    return ToolFailure(
        "MCP_WAIT_TIMEOUT",
        f"no terminal state after {bounds.timeout_ms} ms; expected the {handle.kind} to end within timeout_ms; "
        "wait again with the same handle, or ask the approver",
        details,
        retryable=True,
    )


def error_summary(failure: ToolFailure) -> dict[str, Any]:
    """`latest_error`."""
    return {
        "code": failure.code,
        "category": failure.category,
        "vault_code": failure.vault_code,
        "vault_http_status": integer(failure.details.get("vault_http_status")),
        "message": failure.message,
    }
