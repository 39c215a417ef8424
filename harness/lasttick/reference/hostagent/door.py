"""May this request come in at all? The bearer door around the MCP app and nothing else (HA-02).

A plain ASGI class: it looks at one header and passes everything else through untouched. It says nothing about
failures, in no log, so that guessing tokens cannot flood one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from lasttick.ports import AsgiApp

log = logging.getLogger(__name__)

REFUSAL = b'{"error":"invalid token"}'


def presented(headers: list[tuple[bytes, bytes]]) -> str | None:
    """The bearer token of a request; None unless there is exactly one Authorization header, of that scheme, in ASCII.

    The scheme's case does not matter, the token's does. Nowhere but in this header is a token looked for.
    """
    values = [value for name, value in headers if name.lower() == b"authorization"]
    if len(values) != 1 or not values[0].isascii():
        return None
    scheme, _, token = values[0].decode("ascii").strip(" \t").partition(" ")
    return token.strip(" \t") if scheme.lower() == "bearer" else None


class Door:
    """ASGI app around `app`. `verify(token) -> bool` compares in constant time and is asked for ASCII tokens only."""

    def __init__(self, app: AsgiApp, verify: Callable[[str], bool]) -> None:
        self._app = app
        self._verify = verify
        self._opened = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or (scope["type"] == "http" and self.admits(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self.refuse(scope, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "MCP is not served over WebSocket"})

    def admits(self, scope: Any) -> bool:
        """Whatever the method: HEAD, GET, DELETE and OPTIONS need the token as POST does."""
        token = presented(scope["headers"])
        if not token or not self._verify(token):
            return False
        self.tell_once()
        return True

    def tell_once(self) -> None:
        """One line per door, without the token: the operator sees that a client came through."""
        if not self._opened:
            self._opened = True
            log.info("the first MCP request with a valid token came in")

    async def refuse(self, scope: Any, send: Any) -> None:
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(REFUSAL)).encode()),
            (b"www-authenticate", b"Bearer"),
        ]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else REFUSAL
        await send({"type": "http.response.body", "body": body})
