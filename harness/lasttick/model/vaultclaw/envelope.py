"""What does every tool answer? One envelope: the data, or an error with its code, category and details.

Source: contract vaultclaw 4 and 9 ("All MCP codes").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CATEGORIES: dict[str, str] = {
    "MCP_VALIDATION_ERROR": "validation",
    "MCP_TENANT_HEADER_REQUIRED": "validation",
    "MCP_SESSION_NOT_CONFIGURED": "auth",
    "MCP_AUTH_UNAUTHENTICATED": "auth",
    "MCP_AUTH_FORBIDDEN": "auth",
    "MCP_INTERNAL": "internal",
    "MCP_NETWORK_ERROR": "network",
    "MCP_APPROVAL_REQUIRED": "approval",
    "MCP_APPROVAL_DENIED": "approval",
    "MCP_APPROVAL_PENDING_NOT_FOUND": "approval",
    "MCP_WAIT_TIMEOUT": "approval",
    "MCP_UNBOUNDED_PROFILE_REQUIRED": "secrets",
    "MCP_UNBOUNDED_PROFILE_INVALID": "secrets",
    "MCP_SECRET_ERROR": "secrets",
    "MCP_POLICY_ERROR": "policy",
    "MCP_MODULE_HASH_REQUIRED": "policy",
    "MCP_PLAN_RUN_NOT_FOUND": "plans",
    "MCP_PLAN_RUN_INTERRUPTED": "plans",
    "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED": "plans",
    "MCP_CATALOG_NOT_FOUND": "validation",
    "MCP_CATALOG_CONFLICT": "validation",
    "MCP_CATALOG_SCHEMA_INVALID": "validation",
    "MCP_TEMPLATE_NOT_FOUND": "validation",
    "MCP_TEMPLATE_RENDER_UNRESOLVED": "validation",
    "MCP_TEMPLATE_INPUT_INVALID": "validation",
    "MCP_CATALOG_SOURCE_NOT_FOUND": "validation",
    "MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH": "validation",
    "MCP_CATALOG_REMOTE_FETCH_FAILED": "network",
    "MCP_RECIPIENT_REQUIRED": "validation",
    "MCP_DOCUMENT_UPLOAD_REQUIRED": "validation",
    "MCP_DOCUMENT_RESOLUTION_FAILED": "validation",
    "MCP_GMAIL_DRAFT_SEND_FAILED": "validation",
    "MCP_PASSPORT_EXTRACTION_FAILED": "validation",
    "MCP_PASSPORT_PROFILE_READ_FAILED": "validation",
    "MCP_MANUAL_FIELDS_REQUIRED": "validation",
}
"""The 35 codes of the surface, each with its category."""


@dataclass(frozen=True, slots=True)
class Meta:
    """Where an answer comes from: the id that was sent with the decisive vault call, and its HTTP status.

    `more`: further members (`resolver` of route_resolve).
    """

    request_id: str = ""
    vault_http_status: int = 0
    vault_code: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "request_id": self.request_id,
            "vault_http_status": self.vault_http_status,
            "vault_code": self.vault_code,
            **self.more,
        }


@dataclass(frozen=True, slots=True)
class Success:
    """What a tool answers when it went well. `data` is JSON-able."""

    data: Any
    meta: Meta = Meta()

    def as_json(self) -> dict[str, Any]:
        return {"ok": True, "data": self.data, "error": None, "meta": self.meta.as_json()}


class ToolFailure(Exception):
    """What a tool answers when it failed; its category follows from `code`. `details` is JSON-able.

    `meta` carries `request_id` and `vault_http_status` of `details`, when they are there.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        retryable: bool = False,
        vault_code: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details or {})
        self.retryable = retryable
        self.vault_code = vault_code

    @property
    def category(self) -> str:
        return CATEGORIES[self.code]

    def error(self) -> dict[str, Any]:
        """The `error` member."""
        return {
            "code": self.code,
            "category": self.category,
            "message": self.message,
            "retryable": self.retryable,
            "vault_code": self.vault_code,
            "details": self.details,
        }

    def as_json(self) -> dict[str, Any]:
        meta = Meta(
            str(self.details.get("request_id", "")), int(self.details.get("vault_http_status", 0)), self.vault_code
        )
        return {"ok": False, "data": None, "error": self.error(), "meta": meta.as_json()}
