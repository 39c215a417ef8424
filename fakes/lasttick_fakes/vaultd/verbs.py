"""What does a verb do when the vault carries it out? A small, made-up result, and what identity verbs remember.

| verb | result |
|---|---|
| google.gmail.drafts.create | `{draft_id}` |
| google.gmail.drafts.send, messages.send | `{message_id}` |
| identity.profile.read.v1 | `{values, missing_slots}` of the tenant's subject |
| identity.extraction.run.v1 | `{document_id, values}`: the document's fields, and those given, are remembered |
| generic.http.request.v1 | `{status: 200, headers: {}, body: {ok: true}}` |
| others | `{ok: true}` |

A scripted verb (`PUT /control/verbs/{verb}`) answers what it is told instead. Nothing leaves the vault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd.refusal import VaultError
from lasttick_fakes.vaultd.state import VaultState


def perform(state: VaultState, tenant: str, verb: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out one verb. Raises VaultError: it failed."""
    scripted = state.verbs.get(verb)
    if scripted is not None:
        return _scripted(scripted)
    match verb.removesuffix(".v1"):
        case "google.gmail.drafts.create":
            return {"draft_id": state.next_id("draft")}
        case "google.gmail.drafts.send" | "google.gmail.messages.send":
            return {"message_id": state.next_id("message")}
        case "identity.profile.read":
            return _read(state, tenant, inner)
        case "identity.extraction.run":
            return _extract(state, tenant, inner)
        case "generic.http.request":
            return {"status": 200, "headers": {}, "body": {"ok": True}}
    return {"ok": True}


def _scripted(scripted: Mapping[str, Any]) -> dict[str, Any]:
    error = scripted.get("error")
    if error is None:
        return dict(scripted.get("result") or {})
    raise VaultError(
        int(error.get("status", 422)),
        str(error.get("code", "VERB_FAILED")),
        str(error.get("message", "The verb failed; expected so by a script; take the script away.")),
        error.get("details") or {},
    )


def _read(state: VaultState, tenant: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    known = state.identities.get(tenant, {}).get(_subject(inner), {})
    slots = inner.get("slots", [])
    return {
        "values": {slot: known[slot] for slot in slots if known.get(slot)},
        "missing_slots": [slot for slot in slots if not known.get(slot)],
    }


def _extract(state: VaultState, tenant: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    document_id = inner.get("document_id")
    found = [one for one in state.documents if (one["tenant"], one["document_id"]) == (tenant, document_id)]
    if not found:
        raise VaultError(
            404,
            "DOCUMENT_NOT_FOUND",
            f"No document is {shown(document_id)}; expected one of this tenant; upload it.",
            {"document_id": document_id},
        )
    values = {**found[-1]["fields"], **inner.get("extracted_fields", {})}
    values = {slot: value for slot, value in values.items() if isinstance(value, str) and value}
    state.identities.setdefault(tenant, {}).setdefault(_subject(inner), {}).update(values)
    return {"document_id": document_id, "values": values}


def _subject(inner: Mapping[str, Any]) -> str:
    return str(inner.get("subject_ref") or "self")
