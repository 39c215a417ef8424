"""What does the answer of an executing call mean for the tool: done, a person's turn, or nobody knows?

One place for jobs and plan runs: the pending id is looked up where the answer lacks it, and no failure of that look-up
ever replaces the hand-off. Source: contract vaultclaw 14; rulings VC-4, VC-12, VC-13; VC-11.
"""

from __future__ import annotations

from lasttick.model.vaultclaw import handoff, pending
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.handoff import Handoff
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer


async def settle_job(vault: Vault, answer: VaultAnswer) -> None:
    """An answer of execute-job that is a success. Raises ToolFailure: the hand-off, or MCP_INTERNAL."""
    await _hand_off(vault, answer, handoff.of_job(answer.body))
    if not handoff.is_known_job(answer.body):
        raise _no_state(answer)


async def settle_plan(vault: Vault, answer: VaultAnswer) -> None:
    """An answer of plan-execute that is a success. Raises ToolFailure: the hand-off, or MCP_INTERNAL."""
    await _hand_off(vault, answer, handoff.of_plan(answer.body))
    if not handoff.is_known_plan(answer.body):
        raise _no_state(answer)


async def resolve_pending_id(vault: Vault, found: Handoff) -> Handoff:
    """The hand-off with its pending id, if that can be had."""
    if not found.can_be_looked_up:
        return found
    try:
        answer = await vault.pending_approvals(pending.look_up_query(found.challenge_id))
    except ToolFailure:
        return found
    return found.with_pending_id(pending.of_job(answer.body, found.job_id))


async def _hand_off(vault: Vault, answer: VaultAnswer, found: Handoff | None) -> None:
    if found is not None:
        found = await resolve_pending_id(vault, found)
        raise handoff.failure(found, answer.request_id, answer.status, answer.body)


def _no_state(answer: VaultAnswer) -> ToolFailure:
    return handoff.no_state(answer.request_id, answer.status, answer.body, "tells no state of what was begun")
