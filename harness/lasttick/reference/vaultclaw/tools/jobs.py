"""Read a job: its state, and what was decided about it. Source: contract vaultclaw 14 (job_get)."""

from __future__ import annotations

from lasttick.model.vaultclaw import handoff, outcome
from lasttick.model.vaultclaw.arguments import as_object
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.vault import VaultAnswer


async def job_get(call: ToolCall) -> Success:
    job_id = required_text(call.arguments, "job_id")
    answer = await call.vault.job(job_id)
    job = handoff.job_of(answer.body)
    if job is None:
        raise lacks(answer, "job")
    decided = outcome.job_outcome(job)
    state = {
        "status": outcome.approval_status(outcome.job_state(job), decided),
        "decision_outcome": decided,
        "pending_approval": as_object(job.get("pending_approval")),
    }
    return Success({"job": job, "decision_outcome": decided, "approval_state": state}, answer.meta)


def lacks(answer: VaultAnswer, member: str) -> ToolFailure:
    """A good answer without the object that was asked for."""
    return ToolFailure(
        "MCP_INTERNAL",
        f"the vault's answer holds no {member} object; expected one, as the vault's API says; look at the vault",
        {"request_id": answer.request_id, "vault_http_status": answer.status},
    )


TOOLS = (
    Tool(
        "vaultclaw_job_get",
        "Read a job: its state, and what was decided about it.",
        properties_of(job_id="s"),
        job_get,
        ("job_id",),
    ),
)
