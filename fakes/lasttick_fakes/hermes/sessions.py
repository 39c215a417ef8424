"""What is an MCP session to the agent, whatever carries it, and how can it fail?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

PROTOCOL_VERSION = "2025-11-25"
_CAPABILITIES: Mapping[str, Any] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}}
INITIALIZE: Mapping[str, Any] = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": _CAPABILITIES,
    "clientInfo": {"name": "mcp", "version": "0.1.0"},
}
"""Its own hello: it cannot be told apart by its name (contract hermes, 3.4)."""


class RpcError(Exception):
    """The server answered with a JSON-RPC error; only its message goes further. `error`: all of it, for who watches."""

    def __init__(self, message: str, error: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error = error


class ConnectionClosed(RpcError):
    """The child is gone, in the middle of a call or before it."""

    def __init__(self) -> None:
        super().__init__("Connection closed")


class SessionLost(RpcError):
    """The server does not know the session any more (404)."""

    def __init__(self) -> None:
        super().__init__("Session terminated")


class GivenUp(Exception):
    """This will never be an MCP server; connecting again is of no use."""


class Session(Protocol):
    """One MCP session. `request` raises RpcError, ConnectionClosed, SessionLost, OSError."""

    async def preflight(self) -> None:
        """Before the first try to connect only. Raises GivenUp, OSError."""
        ...

    async def initialize(self) -> Mapping[str, Any]:
        """The handshake; what the server says of itself."""
        ...

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]: ...

    async def close(self) -> None: ...
