"""May this request state be believed? It comes back from the client, so it is signed with a key of this run."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any, NoReturn

import mcp_types as types
from mcp.shared.exceptions import MCPError

from lasttick.ports import Entropy

KEY_BYTES = 32


class SignedState:
    """Seals what a fixture remembers between two rounds, and opens it again."""

    def __init__(self, entropy: Entropy) -> None:
        self._key = entropy.token_bytes(KEY_BYTES)

    def seal(self, **remembered: Any) -> str:
        """Text for the client to give back."""
        payload = base64.urlsafe_b64encode(json.dumps(remembered, sort_keys=True).encode()).decode()
        return f"{payload}.{self._signature(payload)}"

    def open(self, sealed: str | None) -> dict[str, Any]:
        """What was sealed. Raises MCPError -32602 for anything that this run did not seal."""
        payload, _, signature = (sealed or "").partition(".")
        if not hmac.compare_digest(self._signature(payload).encode(), signature.encode("utf-8", "replace")):
            _refuse()
        return dict(json.loads(base64.urlsafe_b64decode(payload)))

    def _signature(self, payload: str) -> str:
        return hmac.new(self._key, payload.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _refuse() -> NoReturn:
    raise MCPError(
        types.INVALID_PARAMS,
        "requestState is not what this server gave; expected it back as it was (MCP specification, multi round-trip "
        "requests); begin the call again",
        {"reason": "bad_request_state"},
    ) from None
