"""How does the vault say no? One error with a code, in the shape that its clients read.

Source: contract vaultclaw 8, "Error answer".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class VaultError(Exception):
    """A call that is refused, or work that fails. `details` is JSON-able; the message has the three parts."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = dict(details or {})

    def as_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "details": self.details}}
