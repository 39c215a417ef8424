"""Somebody's tool server over plain HTTP: callers with tokens, sessions, two tools, and the resource's own log.

Clean it keeps all laws of tools and sessions; a fault of FAULTS shows in the verdict of one.
A call without a session is served too.
"""

from __future__ import annotations

import base64
import itertools
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

FAULTS = (
    "any-tool-for-all",
    "any-tool-on-the-other-way",
    "refuses-and-does-it",
    "own-token-in-error",
    "session-of-another-in-refusal",
    "upstream-key-in-effects",
    "token-in-log",
    "any-session",
    "anyone-ends",
    "ended-acts",
    "ended-answers-ok",
    "replicas",
    "forgets-the-first-session",
    "fails-in-the-first-session",
    "refuses-all",
    "does-nothing",
    "errors-for-refusals",
    "list-fails-for-bob",
)
ENVIRON = {"ALICE": "alice-token-77e0c1", "BOB": "bob-token-5d1c93", "KEY": "upstream-key-0b42aa"}
PROFILE = """\
version = 1
effects = { http = "GET /effects", each = "/body/effects", out = { mark = "/mark" } }
log = { http = "GET /log" }
lag_s = 0.2
vars = { upstream = "${KEY}" }
[target]
url = "http://127.0.0.1:4800"
[outcomes]
denied = [{ "/status" = 404 }]
[callers.alice]
headers = { Authorization = "Bearer ${ALICE}" }
may = ["look", "paint"]
[callers.bob]
headers = { Authorization = "Bearer ${BOB}" }
may = ["look"]
[session.open]
http = "POST /sessions"
out = { session = "/body/session" }
[session.end]
http = "DELETE /sessions/{session}"
[tools.list]
http = "GET /tools"
headers = { X-Session = "{session}" }
each = "/body/tools"
out = { name = "/name" }
[tools.call]
http = "POST /tools/{tool}"
headers = { X-Session = "{session}" }
json = { mark = "{mark}" }
"""
MAY = {"alice": ("look", "paint"), "bob": ("look",)}


class ToolServer:
    """`faults`: any of FAULTS. `app` is its ASGI application."""

    def __init__(self, *faults: str) -> None:
        assert all(fault in FAULTS for fault in faults), faults
        self.faults = faults
        self.effects: list[dict[str, Any]] = []
        self.ended: list[str] = []
        self._replicas: list[dict[str, str]] = [{}, {}] if "replicas" in faults else [{}]
        self._turn = itertools.count()
        self._numbers = itertools.count(1)
        self.app = Starlette(
            routes=[
                Route("/sessions", self.open, methods=["POST"]),
                Route("/sessions/{session}", self.end, methods=["DELETE"]),
                Route("/tools", self.list),
                Route("/tools/{tool}", self.call, methods=["POST"]),
                Route("/also/{tool}", self.call, methods=["POST"]),
                Route("/effects", self.log_of_effects),
                Route("/log", self.log),
            ]
        )

    async def open(self, request: Request) -> JSONResponse:
        caller = _caller(request)
        if caller is None:
            return _no(401, "who are you")
        session = f"session-of-{caller}-{next(self._numbers)}"
        self._next_replica()[session] = caller
        return JSONResponse({"session": session})

    async def end(self, request: Request) -> JSONResponse:
        session, caller = request.path_params["session"], _caller(request)
        sessions = self._next_replica()
        if sessions.get(session) != caller and "anyone-ends" not in self.faults:
            return _no(403, "not yours")
        if "ended-acts" not in self.faults and "ended-answers-ok" not in self.faults:
            sessions.pop(session, None)
        self.ended.append(session)
        return JSONResponse({})

    async def list(self, request: Request) -> JSONResponse:
        caller = _caller(request)
        if "list-fails-for-bob" in self.faults and caller == "bob":
            return _no(500, "try later")
        session = request.headers.get("x-session")
        if caller is None or (session is not None and self._next_replica().get(session) != caller):
            return _no(404, "no such session")
        return JSONResponse({"tools": [{"name": name} for name in MAY[caller]]})

    async def call(self, request: Request) -> JSONResponse:
        tool, caller, session = request.path_params["tool"], _caller(request), request.headers.get("x-session", "")
        mark = (await request.json())["mark"]
        of = self._next_replica().get(session) if session else caller
        if session in self.ended and "ended-answers-ok" in self.faults:
            return JSONResponse({"done": mark})
        if session.endswith("-1") and "fails-in-the-first-session" in self.faults:
            return _no(500, "which session?")
        if of is None or (session.endswith("-1") and "forgets-the-first-session" in self.faults):
            return _no(404, "no such session")
        if tool not in ("look", "paint"):
            return _no(400, f"no tool {tool}{self._told_in_errors(request)}")
        allowed = of == caller or "any-session" in self.faults
        open_to_all = "any-tool-for-all" in self.faults or (
            "any-tool-on-the-other-way" in self.faults and request.url.path.startswith("/also/")
        )
        if not allowed or (tool not in MAY[str(caller)] and not open_to_all):
            return self._refuse(mark, session)
        return self._do(mark, session)

    async def log_of_effects(self, request: Request) -> JSONResponse:
        return JSONResponse({"effects": self.effects})

    async def log(self, request: Request) -> JSONResponse:
        return JSONResponse({"lines": ["started", ENVIRON["BOB"] if "token-in-log" in self.faults else "listening"]})

    def _do(self, mark: str, session: str) -> JSONResponse:
        if "refuses-all" in self.faults:
            return self._refuse(mark, session)
        if "does-nothing" not in self.faults:
            upstream = {"key": ENVIRON["KEY"].encode().hex()} if "upstream-key-in-effects" in self.faults else {}
            self.effects.append({"mark": mark, **upstream})
        return JSONResponse({"done": mark})

    def _refuse(self, mark: str, session: str) -> JSONResponse:
        if "refuses-and-does-it" in self.faults:
            self.effects.append({"mark": mark})
        first = next(iter(self._replicas[0]))
        reason = f"held by {first}" if "session-of-another-in-refusal" in self.faults else "not for you"
        return _no(500 if "errors-for-refusals" in self.faults else 403, reason)

    def _told_in_errors(self, request: Request) -> str:
        told = base64.b64encode(request.headers["authorization"].encode()).decode()
        return f" for {told}" if "own-token-in-error" in self.faults else ""

    def _next_replica(self) -> dict[str, str]:
        if "replicas" in self.faults:
            return self._replicas[next(self._turn) % 2]
        return self._replicas[0]


def _caller(request: Request) -> str | None:
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    return {ENVIRON["ALICE"]: "alice", ENVIRON["BOB"]: "bob"}.get(token)


def _no(status: int, reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status)
