"""How does the vault show a job or a run? Pure. Source: contract vaultclaw 8, "Job object", "Run object"."""

from __future__ import annotations

from typing import Any

from lasttick_fakes.vaultd.approval import Approval, pending_object
from lasttick_fakes.vaultd.state import Work

NS = 1_000_000_000


def job_view(work: Work, asked: Approval | None, now_ns: int) -> dict[str, Any]:
    """`asked` is the work's last approval."""
    status, error = _told(work, now_ns)
    view: dict[str, Any] = {"job_id": work.work_id, "status": status}
    if work.kind == "JOB" and not work.script:
        view |= {"connector_id": work.connector_id, "verb": work.verb}
    if error:
        view["error"] = error
    if asked is not None and status == "PENDING":
        view["pending_approval"] = pending_object(asked)
        view["pending_expires_at_unix_ms"] = asked.expires_unix_ms
    if status == "SUCCEEDED" and "result" in work.outcome and work.kind == "JOB":
        view["result"] = work.outcome["result"]
    return view


def run_answer(work: Work, asked: Approval | None, now_ns: int) -> dict[str, Any]:
    """What executing a plan and reading its run answer: the run, and the job that carries it."""
    status, error = _told(work, now_ns)
    job = job_view(work, asked, now_ns)
    run = {
        "run_id": work.work_id,
        "job_id": work.work_id,
        # A run says in its own word what its job calls PENDING. Scripted states are shown as they are told.
        "state": "PENDING_APPROVAL" if status == "PENDING" and not work.script else status,
        "last_error_code": str(error.get("code", "")),
        "challenge_id": work.challenge_id,
        "step_id": work.step_id,
        "outputs": work.outputs,
    }
    answer: dict[str, Any] = {"run_id": work.work_id, "run": run, "job": job}
    if "pending_approval" in job:
        answer["pending_approval"] = job["pending_approval"]
    return answer


def _told(work: Work, now_ns: int) -> tuple[str, dict[str, Any]]:
    """Its status and error by now: those of a script, or its own."""
    if not work.script:
        return work.status, {"code": work.code, "message": work.message} if work.code else {}
    past = [one for one in work.script if now_ns >= work.created_ns + round(one["at_s"] * NS)]
    now = past[-1] if past else work.script[0]
    return now["status"], now.get("error") or {}
