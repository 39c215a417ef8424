"""What does a failing answer of the vault mean to the caller of a tool? One table, and the rules around it.

Source: contract vaultclaw 9; VC-05.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import trim

_BY_MCP_CODE: dict[str, tuple[str, ...]] = {
    "MCP_APPROVAL_REQUIRED": (
        "CONNECTOR_APPROVAL_DECISION_REQUIRED",
        "PLAN_APPROVAL_REQUIRED",
        "CONNECTOR_APPROVAL_GRANT_REQUIRED",
    ),
    "MCP_APPROVAL_DENIED": ("PLAN_APPROVAL_DENIED", "CONNECTOR_APPROVAL_RULE_DENIED"),
    "MCP_UNBOUNDED_PROFILE_INVALID": (
        "UNBOUNDED_PROFILE_SLOT_UNRESOLVED",
        "UNBOUNDED_PROFILE_SLOT_VIOLATION",
        "UNBOUNDED_PROFILE_NOT_FOUND",
        "UNBOUNDED_PROFILE_REQUIRED_FIELDS_MISSING",
    ),
    "MCP_AUTH_UNAUTHENTICATED": ("UNAUTHENTICATED", "UNAUTHORIZED"),
    "MCP_AUTH_FORBIDDEN": ("FORBIDDEN", "INSUFFICIENT_SCOPE"),
    "MCP_VALIDATION_ERROR": (
        "INVALID_ARGUMENT",
        "PLAN_INVALID",
        "PLAN_STEP_INVALID",
        "PLAN_BINDING_INVALID",
        "PLAN_BINDING_SOURCE_MISSING",
        "PLAN_TRANSITION_AMBIGUOUS",
        "PLAN_TRANSITION_NO_MATCH",
    ),
    "MCP_POLICY_ERROR": (
        "PLAN_POLICY_DRIFT",
        "ERR_GENERIC_HTTP_RESPONSE_MODE_NOT_ALLOWED",
        "ERR_GENERIC_HTTP_CONTENT_TYPE_NOT_ALLOWED",
        "ERR_GENERIC_HTTP_SECRET_ATTACHED_BODY_NOT_ALLOWED",
        "ERR_GENERIC_HTTP_EXTRACT_SPEC_INVALID",
        "ERR_GENERIC_HTTP_EXTRACT_PARSE_FAILED",
        "ERR_GENERIC_HTTP_EXTRACT_REQUIRED_FIELD_MISSING",
    ),
    "MCP_SECRET_ERROR": (
        "SECRET_SLOT_NOT_DEFINED",
        "SECRET_SLOT_UNRESOLVED",
        "SECRET_SLOT_CONFLICT",
        "SECRET_SLOT_BINDING_INVALID",
        "SECRET_SLOT_BINDING_NOT_FOUND",
        "SECRET_INTENT_INVALID",
        "SECRET_INTENT_NOT_FOUND",
        "SECRET_INTENT_TYPE_MISMATCH",
    ),
    "MCP_PLAN_RUN_NOT_FOUND": ("PLAN_RUN_NOT_FOUND",),
    "MCP_PLAN_RUN_INTERRUPTED": ("PLAN_RUN_INTERRUPTED",),
}
MCP_CODES: dict[str, str] = {vault: mcp for mcp, codes in _BY_MCP_CODE.items() for vault in codes}
"""Vault code -> MCP code, for the 37 vault codes that are mapped."""

NO_CODE = "HTTP_ERROR"
"""The vault code of an answer that names none."""
UNREACHED = "NETWORK_ERROR"
"""The vault code when there is no answer at all."""
_PHRASES = {
    413: "Request Entity Too Large",
    414: "Request URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
"""Reason phrases whose wording changed over the years, hence over the versions of Python."""


def mcp_code(vault_code: str, status: int) -> str:
    """The MCP code of a vault code in any case, by `status` when it is in no table."""
    return MCP_CODES.get(vault_code.upper()) or ("MCP_NETWORK_ERROR" if status >= 500 else "MCP_INTERNAL")


def is_retryable(status: int) -> bool:
    return status >= 500 or status == 429


def failure_of(status: int, body: Any, request_id: str) -> ToolFailure:
    """What a tool answers when the vault answered with `status` >= 400 and `body` (parsed; None for no JSON)."""
    error = as_object((as_object(body) or {}).get("error")) or {}
    vault_code = string(error.get("code")) or NO_CODE
    message = error.get("message")
    message = message if isinstance(message, str) and trim(message) else reason_phrase(status)
    return _failure(
        mcp_code(vault_code, status),
        vault_code,
        message,
        as_object(error.get("details")),
        status=status,
        request_id=request_id,
        retryable=is_retryable(status),
    )


def network_failure(message: str, request_id: str) -> ToolFailure:
    """No answer, or not the whole of one: MCP_INTERNAL, and worth another try."""
    return _failure("MCP_INTERNAL", UNREACHED, message, None, status=0, request_id=request_id, retryable=True)


def reason_phrase(status: int) -> str:
    try:
        return _PHRASES.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP status {status}"


def _failure(
    code: str, vault_code: str, message: str, details: Any, *, status: int, request_id: str, retryable: bool
) -> ToolFailure:
    return ToolFailure(
        code,
        message,
        {
            "request_id": request_id,
            "vault_http_status": status,
            "vault_error": {"code": vault_code, "message": message, "details": details},
        },
        retryable=retryable,
        vault_code=vault_code,
    )
