"""Which requests need the connector's policy hash, and what is filled in before a request is validated?

Pure decisions: the look-up itself is the caller's. "Outer request" is the object with `connector_id`, `verb` and the
inner `request`. Nothing that is given is changed in place. Source: contract vaultclaw 10; VC-07.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.arguments import string

LIST_VERBS = ("google.gmail.messages.list", "google.gmail.messages.list.v1")
QUERY, PLAN_QUERY = "query_ast_v1", "query_ast_base"
BOUNDED, LEGACY = "google_gmail_bounded", "legacy_secret_binding_fields"
PLAN_NOTE = "module_hash is derived by the vault for the steps of a plan; none was put in"


@dataclass(frozen=True, slots=True)
class Need:
    """Whether a hash must be looked up. `reason`: a token when `needed`, else free text."""

    needed: bool
    reason: str
    connector_id: str = ""
    verb: str = ""


def with_default_query(holder: Mapping[str, Any], key: str = QUERY) -> dict[str, Any]:
    """A copy in which the verbs that list messages ask for the inbox, if they ask for nothing (rule 1)."""
    filled = dict(holder)
    if string(holder.get("verb")).lower() in LIST_VERBS and not _asks(holder.get(key)):
        filled[key] = {"pred": {"field": "label", "op": "eq", "value": {"kind": "enum", "enum": "inbox"}}}
    return filled


def need_of(request: Mapping[str, Any]) -> Need:
    """Rules 2 to 4."""
    connector_id, verb = string(request.get("connector_id")), string(request.get("verb"))
    if string(request.get("module_hash")):
        return Need(False, "the request brings its module_hash")
    if not connector_id or not verb:
        return Need(False, "the request names no connector_id or no verb")
    if connector_id.lower() == "google" and verb.lower().startswith("google.gmail."):
        return Need(True, BOUNDED, connector_id, verb)
    if _binds_secrets_the_old_way(request.get("request")):
        return Need(True, LEGACY, connector_id, verb)
    return Need(False, "this connector and verb run without a module_hash")


def report(need: Need, module_hash: str = "") -> dict[str, Any]:
    """The report object of a tool's answer."""
    if not need.needed:
        return {"applied": False, "reason": need.reason}
    return {
        "applied": True,
        "reason": need.reason,
        "connector_id": need.connector_id,
        "verb": need.verb,
        "module_hash": module_hash,
    }


def normalise_steps(plan: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A plan with every step's request_base and default query filled in, and its report. No step gets a hash."""
    steps = plan.get("steps")
    if not isinstance(steps, list) or not steps:
        return dict(plan), {"applied_count": 0, "applied": []}
    note = {"applied_count": 0, "applied": [], "note": PLAN_NOTE}
    return {**plan, "steps": [_normal_step(step) for step in steps]}, note


def _normal_step(step: Any) -> Any:
    if not isinstance(step, dict) or not string(step.get("connector_id")) or not string(step.get("verb")):
        return step
    filled = with_default_query(step, PLAN_QUERY)
    if not isinstance(filled.get("request_base"), dict):
        filled["request_base"] = {}
    return filled


def _asks(query: Any) -> bool:
    """Does it hold a non-empty `pred` or `bool` object?"""
    return isinstance(query, dict) and any(isinstance(part := query.get(k), dict) and part for k in ("pred", "bool"))


def _binds_secrets_the_old_way(inner: Any) -> bool:
    if not isinstance(inner, dict):
        return False
    ids = inner.get("required_secret_ids")
    listed = ids if isinstance(ids, list) else []
    return bool(string(inner.get("token_secret_id"))) or any(string(item) for item in listed)
