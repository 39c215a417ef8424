"""Who calls the vault, and what may they do? A token is an agent's, an approver's, or both; scopes per call.

An agent belongs to one tenant and has the scopes of contract vaultclaw 8. An approver is a person of one tenant, who
decides and lists pending approvals there, and does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick_fakes.http_json import Refused, shown
from lasttick_fakes.vaultd.refusal import VaultError

LIST = "connectors.list.v1"
GET = "connectors.get.v1"
EXECUTE = "connectors.execute.v1"
EXECUTE_JOB = "connectors.execute_job.v1"
PLANS_EXECUTE = "connectors.plans.execute.v1"
PLANS_READ = "connectors.plans.read.v1"
PENDING_READ = "connectors.approvals.pending.read.v1"
PROFILES_WRITE = "connectors.unbounded.profiles.write"
TYPES_SUGGEST = "docs.types.suggest"
TYPES_LATEST = "docs.types.latest"
SCOPES = (
    LIST,
    GET,
    EXECUTE,
    EXECUTE_JOB,
    PLANS_EXECUTE,
    PLANS_READ,
    PENDING_READ,
    PROFILES_WRITE,
    TYPES_SUGGEST,
    TYPES_LATEST,
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Whose token it is. `agent_id` "" for one that is no agent's; `approver` is the person's name, or ""."""

    tenant: str
    agent_id: str = ""
    scopes: tuple[str, ...] = ()
    approver: str = ""


DEFAULT_TOKENS: dict[str, Principal] = {
    "vc-agent": Principal("acme", "agent-1", SCOPES),
    "vc-approver": Principal("acme", approver="Pat"),
    "vc-other-agent": Principal("globex", "agent-2", SCOPES),
    "vc-other-approver": Principal("globex", approver="Sam"),
}
"""For quick starts; `reset` brings them back."""


def principal_of(tokens: Mapping[str, Principal], authorization: str | None) -> Principal:
    """Whom the header names. Raises VaultError (401)."""
    scheme, _, token = (authorization or "").partition(" ")
    principal = tokens.get(token.strip()) if scheme.lower() == "bearer" else None
    if principal is None:
        raise VaultError(
            401, "UNAUTHENTICATED", "The token is not known; expected one that this vault issued; ask for a new one."
        )
    return principal


def need_scope(principal: Principal, scope: str | None) -> None:
    """An agent with that scope, or with any when it is None. Raises VaultError (403)."""
    reads_as_person = scope == PENDING_READ and bool(principal.approver)
    if reads_as_person or (principal.agent_id and (scope is None or scope in principal.scopes)):
        return
    raise VaultError(
        403,
        "INSUFFICIENT_SCOPE",
        f"The token has no scope {scope or 'of an agent'}; expected one that has it; ask for a token with that scope.",
        {"required_scope": scope or ""},
    )


def parse_principal(body: Mapping[str, Any]) -> Principal:
    """`{tenant, agent_id?, scopes?, approver?}`; an agent without `scopes` has all. Raises Refused (400)."""
    known = {"tenant", "agent_id", "scopes", "approver"}
    if odd := sorted(set(body) - known):
        raise Refused(400, f"unknown member {shown(odd[0])}; expected only {', '.join(sorted(known))}; leave it out")
    for name in ("tenant", "agent_id", "approver"):
        if not isinstance(body.get(name, ""), str):
            raise Refused(400, f"{name} is {shown(body[name])}; expected text; correct it")
    if not body.get("tenant") or not (body.get("agent_id") or body.get("approver")):
        raise Refused(400, f"the token is {shown(dict(body))}; expected a tenant, and agent_id or approver; give them")
    scopes = body.get("scopes", list(SCOPES))
    if not isinstance(scopes, list) or any(scope not in SCOPES for scope in scopes):
        raise Refused(400, f"scopes is {shown(scopes)}; known are {', '.join(SCOPES)}; use these")
    agent_id = body.get("agent_id", "")
    return Principal(body["tenant"], agent_id, tuple(scopes) if agent_id else (), body.get("approver", ""))
