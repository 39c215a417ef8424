"""May this tool call be executed? The gateway's checks, in the one order in which they are answered.

A caller learns only of the first check that fails, so the order is part of what it can see: whose run it is comes
before everything else, and "not yours" and "not there" are one answer (ruling 5).
Source: contract gateway "Parts" (ToolGatewayService), rulings 2, 5, 12; GW-05 to GW-08.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.tool_registry import Access
from lasttick.model.trust import Door

ACTIVE = "active"
FINISHED = "finished"
"""The states of a run."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer instead of a result: HTTP status, stable code, and a message that holds nothing of the request."""

    status: int
    code: str
    message: str


RUN_NOT_FOUND = Refusal(
    404,
    "RUN_NOT_FOUND",
    "no such run; expected the id of a run of the caller's own organisation; start a run and use its id",
)
RUN_NOT_ACTIVE = Refusal(
    409, "RUN_NOT_ACTIVE", "this run is over; expected a run that is still active; start a new run and call there"
)
NOT_IN_MANIFEST = Refusal(
    403,
    "NOT_IN_MANIFEST",
    "this run may not call this action; expected one of its manifest's allowedTools; call one of those",
)
ACCESS_CLASS_FORBIDDEN = Refusal(
    403,
    "ACCESS_CLASS_FORBIDDEN",
    "this caller may not call an action of this class; expected a read action of a published binding; "
    "call a read action, or go through the runner door",
)
POLICY_DENIED = Refusal(
    403, "POLICY_DENIED", "the organisation's policy denies this action; expected allow; ask its administrator"
)
TOOL_DISPATCH_DISABLED = Refusal(
    403,
    "TOOL_DISPATCH_DISABLED",
    "tools are switched off for this organisation; expected tool_dispatch_enabled; ask its administrator",
)
CREDENTIALS_INCOMPLETE = Refusal(
    424,
    "CREDENTIALS_INCOMPLETE",
    "the organisation's credentials for this tool are incomplete; expected a value for each; ask its administrator",
)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What was found out about one call, at the time of the call. A fact that nobody found out is against the call."""

    door: Door
    run_found: bool
    """By `run_visible`."""
    run_active: bool = False
    in_manifest: bool = False
    access: Access | None = None
    """By `tool_registry.call_access`; None: no such action."""
    policy_allows: bool = False
    flag_on: bool = False
    credentials_complete: bool = False


def first_refusal(facts: CallFacts) -> Refusal | None:
    """The first check that fails, in the contract's order; None: execute."""
    checks = (
        (facts.run_found, RUN_NOT_FOUND),
        (facts.run_active, RUN_NOT_ACTIVE),
        (facts.in_manifest, NOT_IN_MANIFEST),
        (class_admits(facts.door, facts.access), ACCESS_CLASS_FORBIDDEN),
        (facts.policy_allows, POLICY_DENIED),
        (facts.flag_on, TOOL_DISPATCH_DISABLED),
        (facts.credentials_complete, CREDENTIALS_INCOMPLETE),
    )
    return next((refusal for holds, refusal in checks if not holds), None)


def run_visible(run_org_id: str | None, claims_org_id: str, body_org_id: Any) -> bool:
    """May the caller know of this run? `run_org_id` None: there is none. The claims' org decides; a body that names
    another org is answered as if the run were not there (ruling 5)."""
    return run_org_id == claims_org_id and body_org_id == claims_org_id


def is_active(state: Any) -> bool:
    """A manifest stays valid only while its run is active (ruling 12)."""
    return bool(state == ACTIVE)


def class_admits(door: Door, access: Access | None) -> bool:
    """The internal door is for reading only, whatever the manifest says; through the runner door a write in the
    manifest works (ruling 2). An action that the registry does not have goes through neither."""
    return access == "read" if door == "internal" else access is not None


def policy_allows(policies: Mapping[str, Any], name_action: str) -> bool:
    """`policies` holds "allow" or "deny" by pair. No word on a pair allows it; a word that is neither denies it."""
    return bool(policies.get(name_action, "allow") == "allow")


def flag_on(flags: Mapping[str, Any]) -> bool:
    """The organisation's switch at the time of the call; OFF unless true itself."""
    return flags.get("tool_dispatch_enabled") is True
