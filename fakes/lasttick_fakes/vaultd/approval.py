"""How does a pending approval live? Asked, then decided once by a person, or expired at its last tick.

| state | meaning | what may follow |
|---|---|---|
| WAITING | nobody has decided | RUNNING or DENIED by a person, EXPIRED by the clock, FAILED with its cancelled work |
| RUNNING | approved, the work runs | SUCCEEDED, FAILED, DENIED (the policy drifted) |
| SUCCEEDED, DENIED, FAILED, EXPIRED | ended | nothing |

At `expires_ns` itself it is expired: a decision at that instant is late. Pure: state and now in, state out. Times are
nanoseconds of the daemon's clock. Source: contract vaultclaw 8 and 14; requirement VC-14.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd.principals import Principal
from lasttick_fakes.vaultd.refusal import VaultError

STATES = ("WAITING", "READY", "RUNNING", "SUCCEEDED", "DENIED", "FAILED", "EXPIRED")
"""Of pending items, as clients filter by them. READY is never entered here: an approved job runs at once."""
DECISIONS = ("approve", "deny")
LATE = "APPROVAL_DECISION_EXPIRED"


@dataclass(frozen=True, slots=True)
class Approval:
    """One request for a person's word. `arguments` is what was shown and what will run.

    `person_ns`: when the scripted person decides `person_decision`; None when nobody is scripted. `decided_by` is ""
    until a person decided: an expiry names nobody.
    """

    challenge_id: str
    pending_id: str
    work_id: str
    step_id: str
    tenant: str
    agent_id: str
    connector_id: str
    verb: str
    arguments: dict[str, Any]
    policy_hash: str
    created_seq: int
    asked_ns: int
    expires_ns: int
    expires_unix_ms: int
    person_ns: int | None = None
    person_decision: str = ""
    person_name: str = ""
    state: str = "WAITING"
    last_error_code: str = ""
    decision: str = ""
    decided_by: str = ""
    decided_ns: int | None = None

    @property
    def due_ns(self) -> int | None:
        """When something happens to it by itself; None when nothing does."""
        if self.state != "WAITING":
            return None
        return self.expires_ns if self.person_ns is None else min(self.person_ns, self.expires_ns)


def may_decide(approval: Approval | None, principal: Principal, challenge_id: str, pending_id: str) -> Approval:
    """Only an approver of the request's own tenant, never the asking agent. Raises VaultError (403, 404)."""
    if not principal.approver:
        raise VaultError(
            403, "FORBIDDEN", "The token is an agent's; expected an approver's; let a person of the tenant decide."
        )
    if approval is None or (approval.tenant, approval.pending_id) != (principal.tenant, pending_id):
        # Another tenant's request is as one that does not exist: nothing is learned of it.
        raise VaultError(
            404,
            "APPROVAL_NOT_FOUND",
            f"No approval is {shown(challenge_id)}, {shown(pending_id)}; expected one of this tenant; list them.",
        )
    if principal.agent_id == approval.agent_id:
        raise VaultError(
            403, "FORBIDDEN", f"{principal.agent_id} asked for this itself; expected another to decide; ask a person."
        )
    return approval


def decide(approval: Approval, decision: str, by: str, now_ns: int) -> Approval:
    """A person's word. Raises VaultError (409: decided before, or late)."""
    if approval.state == "EXPIRED" or (approval.state == "WAITING" and now_ns >= approval.expires_ns):
        raise VaultError(
            409,
            LATE,
            f"The approval {approval.pending_id} has expired; expected a decision before that; ask again.",
            {"expires_at_unix_ms": approval.expires_unix_ms},
        )
    if approval.state != "WAITING":
        raise VaultError(
            409,
            "APPROVAL_ALREADY_DECIDED",
            f"The approval {approval.pending_id} is {approval.state}; expected one that waits; nothing is left to do.",
            {"state": approval.state, "decided_by": approval.decided_by},
        )
    if decision == "approve":
        state, code = "RUNNING", ""
    else:
        state, code = "DENIED", "PLAN_APPROVAL_DENIED"
    return replace(approval, state=state, last_error_code=code, decision=decision, decided_by=by, decided_ns=now_ns)


def expire(approval: Approval) -> Approval:
    return replace(approval, state="EXPIRED", last_error_code=LATE)


def end(approval: Approval, state: str, code: str = "") -> Approval:
    """How its work ended."""
    return replace(approval, state=state, last_error_code=code)


def pending_object(approval: Approval) -> dict[str, Any]:
    """`pending_approval` as jobs and runs show it."""
    return {
        "pending_id": approval.pending_id,
        "challenge": {"challenge_id": approval.challenge_id},
        "remote_attestation_url": f"https://vault.example/attest/{approval.challenge_id}",
    }


def item(approval: Approval) -> dict[str, Any]:
    """An entry of the pending list."""
    return {
        "pending_id": approval.pending_id,
        "job_id": approval.work_id,
        "challenge_id": approval.challenge_id,
        "state": approval.state,
        "last_error_code": approval.last_error_code,
        "created_seq": approval.created_seq,
        "pending_approval": pending_object(approval),
        "remote_attestation_url": pending_object(approval)["remote_attestation_url"],
        "agent_id": approval.agent_id,
        "connector_id": approval.connector_id,
        "verb": approval.verb,
        "step_id": approval.step_id,
        "arguments": approval.arguments,
        "expires_at_unix_ms": approval.expires_unix_ms,
        "decision": approval.decision,
        "decided_by": approval.decided_by,
    }
