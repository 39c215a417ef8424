"""How does a person on this machine look at the host agent? A login with a password, and the status as JSON.

The cookie opens the console and nothing else; the MCP token opens `/mcp` and nothing else (HA-02). All endpoints are
async: FastAPI runs others in threads, which a virtual clock cannot see. Source: world, "Host agent's surface".
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from lasttick.ports import Clock, Entropy, StoreUnavailable
from lasttick.reference.hostagent.tokens import token_urlsafe

COOKIE = "lasttick_console"
BODY_MAX = 4_096
SESSION_BYTES = 32
SESSIONS_MAX = 100
STORE_AWAY = (
    "the lease store cannot be reached, so nobody knows who holds which device; expected an answer from it "
    "(ports.LeaseStore); ask again later, and see the host agent's log"
)
SESSION_NS = 12 * 3_600 * 1_000_000_000


class Console:
    """Login and status. `password` is set when the agent starts; before that nobody gets in.

    `status` gives the JSON object of `/api/status`.
    """

    def __init__(self, *, status: Callable[[], Awaitable[dict[str, Any]]], clock: Clock, entropy: Entropy) -> None:
        self.password: str | None = None
        self._status = status
        self._clock = clock
        self._entropy = entropy
        self._sessions: dict[str, int] = {}

    def add_routes(self, app: FastAPI) -> None:
        """As plain routes: FastAPI's own keep what they call in caches of the process, and with it the host agent."""
        app.add_route("/login", self.login, methods=["POST"])
        app.add_route("/api/status", self.status, methods=["GET"])

    async def login(self, request: Request) -> JSONResponse:
        """`{password}` -> 200 `{"ok": true}` and the session cookie; 400 malformed, 401 wrong, 413 too long."""
        body = await _read(request)
        if body is None:
            return _error(413, f"the body is over {BODY_MAX} bytes; expected {{password}}; send only that")
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        password = given.get("password") if isinstance(given, dict) else None
        if not isinstance(password, str):
            return _error(400, 'the body is not {"password": text}; expected that as JSON; correct it and log in again')
        if not opens(password, self.password):
            return _error(401, "wrong password; expected the one in host_console.json; log in again")
        answer = JSONResponse({"ok": True})
        answer.set_cookie(COOKIE, self._open_session(), httponly=True, samesite="strict", path="/")
        return answer

    async def status(self, request: Request) -> JSONResponse:
        """The status object; 401 without a session of this console; 503 when the lease store is away."""
        if not self._is_open(request.cookies.get(COOKIE, "")):
            return _error(401, "not logged in; expected the cookie of POST /login; log in first")
        try:
            return JSONResponse(await self._status())
        except StoreUnavailable:
            return _error(503, STORE_AWAY)

    def _open_session(self) -> str:
        while len(self._sessions) >= SESSIONS_MAX:
            del self._sessions[next(iter(self._sessions))]  # the oldest
        session = token_urlsafe(self._entropy, SESSION_BYTES)
        self._sessions[session] = self._clock.now_ns()
        return session

    def _is_open(self, session: str) -> bool:
        # A look-up may take a different time for a better guess; 32 unguessable bytes do not care.
        opened_ns = self._sessions.get(session)
        return opened_ns is not None and self._clock.now_ns() < opened_ns + SESSION_NS


def opens(presented: str, password: str | None) -> bool:
    """Whether this is the password, in constant time."""
    if password is None:
        return False
    return hmac.compare_digest(presented.encode("utf-8", "surrogatepass"), password.encode("utf-8", "surrogatepass"))


async def _read(request: Request) -> bytes | None:
    """The body, None when it is too long."""
    body = b""
    with suppress(ClientDisconnect):
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_MAX:
                return None
    return body


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
