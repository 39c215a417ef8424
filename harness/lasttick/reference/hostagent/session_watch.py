"""When has an MCP session ended? The SDK has no callback for it, so two signals end in one place.

`SessionWatch` reads the wire: a DELETE that was answered well, or a 404 for a session's id (ruling 8). The MCP
server's own connection clean-up is the second signal (`mcp_server.py`); the lease's TTL is the backstop of both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from lasttick.ports import AsgiApp

SessionOf = Callable[[Any], str | None]
"""The session id that a request's ASGI scope presents, or None for a request outside any session."""


class Sessions:
    """The sessions opened here and not ended yet. `on_end(session_id)` runs once for each, whichever signal is first.

    An id that was never opened here ends nothing: clients may present any id, and each would be remembered for ever.
    """

    def __init__(self, on_end: Callable[[str], Awaitable[object]]) -> None:
        self._on_end = on_end
        self._open: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, session_id: str) -> None:
        self._open[session_id] = None

    async def ended(self, session_id: str) -> None:
        if session_id in self._open:
            del self._open[session_id]
            await self._on_end(session_id)


def ends_session(method: str, status: int) -> bool:
    """Whether this answer to a request with a session id says that the session is gone."""
    return status == 404 or (method == "DELETE" and 200 <= status < 300)


class SessionWatch:
    """ASGI app around `app`: tells `sessions` before the client is told, so a DELETE's answer finds leases freed."""

    def __init__(self, app: AsgiApp, session_of: SessionOf, sessions: Sessions) -> None:
        self._app = app
        self._session_of = session_of
        self._sessions = sessions

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        presented = self._session_of(scope)

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                await self._read(scope["method"], presented, message)
            await send(message)

        await self._app(scope, receive, watched)

    async def _read(self, method: str, presented: str | None, start: Any) -> None:
        if presented is not None:
            if ends_session(method, start["status"]):
                await self._sessions.ended(presented)
        elif start["status"] < 400:
            given = next((value for name, value in start["headers"] if name.lower() == b"mcp-session-id"), None)
            if given is not None:
                self._sessions.opened(given.decode("latin-1"))
