"""Which plan sends a passport with its details, and what does a failure of that plan mean?

One plan with two branches: the profile that exists has all five values, or they are extracted from the document first.
Source: contract vaultclaw 19 ("plan", "plan_input"); ruling VC-11; VC-19.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.passport import SLOTS, SUBJECT_REF, TYPE_ID, Request, composed_text, pre_send_summary

READ, EXTRACT, READ_AGAIN = "read_existing_profile", "extract_passport_fields", "read_after_extract_profile"
DRAFT, SEND = "create_draft_from_existing", "send_draft_from_existing"
DRAFT_AGAIN, SEND_AGAIN = "create_draft_after_extract", "send_draft_after_extract"

NEXT_CALL = {
    "MCP_PASSPORT_EXTRACTION_FAILED": "give the values in manual_fields, or upload a better copy of the passport",
    "MCP_MANUAL_FIELDS_REQUIRED": "ask the user for details.missing_fields and give them in manual_fields",
    "MCP_PASSPORT_PROFILE_READ_FAILED": "have the vault's identity profile put in place, or give manual_fields",
    "MCP_GMAIL_DRAFT_SEND_FAILED": "correct what details.upstream_error says and call again",
}
"""What to do after each failure of the plan."""


def data_of(request: Request) -> dict[str, Any]:
    """What the tool answers whether it sends or not, without `status`."""
    return {
        "pre_send_summary": pre_send_summary(request),
        "resolved_fields": dict(request.manual or {}),
        "composed_text": composed_text(request.body_style, READ),
        "composed_text_alt": composed_text(request.body_style, READ_AGAIN),
        "plan": plan_of(request),
        "plan_input": plan_input_of(request),
        "document_type_id": TYPE_ID,
        "document_subject": SUBJECT_REF,
        "required_slot_set": list(SLOTS),
    }


def plan_of(request: Request) -> dict[str, Any]:
    """The seven steps."""
    return {
        "type": "connector.execution.plan.v1",
        "start_step_id": READ,
        "steps": [
            {**_read(READ), **_branch(DRAFT, EXTRACT)},
            {**_extract(request.given), **_then(READ_AGAIN)},
            {**_read(READ_AGAIN), **_then(DRAFT_AGAIN)},
            {**_draft(DRAFT, composed_text(request.body_style, READ)), **_then(SEND)},
            _send(SEND, DRAFT),
            {**_draft(DRAFT_AGAIN, composed_text(request.body_style, READ_AGAIN)), **_then(SEND_AGAIN)},
            _send(SEND_AGAIN, DRAFT_AGAIN),
        ],
    }


def plan_input_of(request: Request) -> dict[str, Any]:
    return {
        "passport": {
            "subject_ref": SUBJECT_REF,
            "document_id": request.document_id,
            "slots": list(SLOTS),
            "manual_fields": request.given,
        },
        "email": {
            "to": [request.recipient],
            "subject": request.subject,
            "document_attachments": [{"type_id": TYPE_ID}],
        },
    }


def failure_of(error: ToolFailure, request: Request, summary: Mapping[str, Any]) -> ToolFailure:
    """A failure of the plan as the workflow tells it; one that waits for an approval keeps its hand-off."""
    if error.code == "MCP_APPROVAL_REQUIRED":
        details = {**error.details, "pre_send_summary": summary}
        return ToolFailure(error.code, error.message, details, retryable=error.retryable, vault_code=error.vault_code)
    code, more = classify(error, request)
    return ToolFailure(
        code,
        f"the passport mail was not sent: {error.code}: {error.message}; expected the plan to run to its end; "
        f"{NEXT_CALL[code]}",
        {"pre_send_summary": summary, "upstream_error": error.error(), **more},
    )


def classify(error: ToolFailure, request: Request) -> tuple[str, dict[str, Any]]:
    """The code of a failed plan, by the step that the vault says failed, and what more belongs into its details."""
    vault_error = as_object(error.details.get("vault_error")) or {}
    details = as_object(vault_error.get("details")) or {}
    step_id = string(details.get("step_id"))
    if step_id == EXTRACT:
        return "MCP_PASSPORT_EXTRACTION_FAILED", {}
    if step_id in (READ, READ_AGAIN):
        missing = details.get("missing_slots")
        if isinstance(missing, list) and missing:
            fields = [slot for slot in SLOTS if slot in missing and slot not in request.given]
            return "MCP_MANUAL_FIELDS_REQUIRED", {"missing_fields": fields}
        return "MCP_PASSPORT_PROFILE_READ_FAILED", {}
    return "MCP_GMAIL_DRAFT_SEND_FAILED", {}


def _read(step_id: str) -> dict[str, Any]:
    base = {"subject_ref": SUBJECT_REF, "profile_kind": "KYC", "slots": []}
    return _step(step_id, "identity", "identity.profile.read.v1", base, [_from_input("/slots", "/passport/slots")])


def _extract(manual: Mapping[str, str]) -> dict[str, Any]:
    base = {
        "subject_ref": SUBJECT_REF,
        "profile_kind": "KYC",
        "slots": [],
        "provider": "aws.textract.v1",
        "mode": "ANALYZE_AND_SAVE",
        "document_id": "passport_doc_placeholder",
        "extracted_fields": dict(manual),
    }
    bound = [_from_input("/document_id", "/passport/document_id"), _from_input("/slots", "/passport/slots")]
    return _step(EXTRACT, "identity", "identity.extraction.run.v1", base, bound)


def _draft(step_id: str, text: str) -> dict[str, Any]:
    base = {"user_id": "me", "to": [], "subject": "", "text_plain": text, "document_attachments": []}
    bound = [_from_input(f"/{name}", f"/email/{name}") for name in ("to", "subject", "document_attachments")]
    return _step(step_id, "google", "google.gmail.drafts.create", base, bound)


def _send(step_id: str, draft_step_id: str) -> dict[str, Any]:
    base = {"user_id": "me", "draft_id": "draft_placeholder"}
    bound = [{"path": "/draft_id", "ref": _output(draft_step_id, "/draft_id")}]
    return _step(step_id, "google", "google.gmail.drafts.send", base, bound)


def _step(
    step_id: str, connector_id: str, verb: str, base: dict[str, Any], bound: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "step_id": step_id,
        "connector_id": connector_id,
        "verb": verb,
        "policy_version": "1",
        "request_base": base,
        "request_bindings": bound,
    }


def _then(step_id: str) -> dict[str, Any]:
    return {"default_success_next_step_id": step_id}


def _branch(complete: str, otherwise: str) -> dict[str, Any]:
    """To `complete` if the profile that was read has all five values."""
    exists = [{"op": "exists", "ref": _output(READ, f"/values/{slot}")} for slot in SLOTS]
    when = {"op": "and", "args": exists}
    return {"success_branches": [{"when": when, "next_step_id": complete}], **_then(otherwise)}


def _from_input(path: str, input_path: str) -> dict[str, Any]:
    return {"path": path, "ref": {"source": "plan_input", "path": input_path}}


def _output(step_id: str, path: str) -> dict[str, Any]:
    return {"source": "step_output", "step_id": step_id, "path": path}
