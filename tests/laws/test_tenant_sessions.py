"""The law of tenants where a session is an MCP session: another tenant's id is no better than nobody's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .playing import Ruled
from .verdicts import judged

TENANT = "tools/tenant-isolated"
ENVIRON = {"ANN": "ann-token-77e0c1", "BEN": "ben-token-5d1c93"}
PROFILE = """\
version = 1
effects = { http = "GET /effects", each = "/body", out = { mark = "" } }
[target]
url = "http://127.0.0.1:4801/mcp"
[outcomes]
denied = [{ "/status" = 404 }]
[callers.ann]
tenant = "red"
headers = { Authorization = "Bearer ${ANN}" }
may = ["look"]
[callers.ben]
tenant = "blue"
headers = { Authorization = "Bearer ${BEN}" }
may = ["look"]
[tools.call]
tool = "{tool}"
args = { mark = "{mark}" }
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


class Sessions:
    """A session is its opener's. `fault`: what it makes of another's: "serves" it, or "says" whose it is."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._of: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self.marks: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/mcp", self.post, methods=["POST"]),
                Route("/mcp", self.end, methods=["DELETE"]),
                Route("/effects", self.effects),
            ]
        )

    async def effects(self, request: Request) -> JSONResponse:
        return JSONResponse(self.marks)

    async def end(self, request: Request) -> Response:
        return self._refusal(request) or Response()

    async def post(self, request: Request) -> Response:
        message = await request.json()
        headers = {}
        if message.get("method") == "initialize":
            session = f"4f1d7c{next(self._numbers):06d}"
            self._of[session] = request.headers["authorization"]
            headers["mcp-session-id"], result = session, HELLO
        elif (refusal := self._refusal(request)) is not None:
            return refusal
        elif "id" not in message:
            return Response(status_code=202)
        else:
            result = self._result(message["method"], message["params"])
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/list":
            return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
        self.marks.append(params["arguments"]["mark"])
        return {"content": [{"type": "text", "text": "{}"}]}

    def _refusal(self, request: Request) -> Response | None:
        session = request.headers.get("mcp-session-id", "")
        of = self._of.get(session)
        if of == request.headers["authorization"] or (of is not None and self._fault == "serves"):
            return None
        known = of is not None and self._fault == "says"
        return JSONResponse({"error": "not yours" if known else f"no session {session}"}, 404)


def test_another_tenants_session_is_one_that_is_not_there() -> None:
    ruled = judged(TENANT, Sessions("").app, PROFILE, ENVIRON)
    assert ruled == Ruled("pass", "", ("the session id of ann, by ben", "the session id of ben, by ann"))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("serves", "ben's call with the session id of ann's tenant happened"),
        ("says", "ben's call with the session id of ann's tenant is not answered like one with what is not there"),
    ],
)
def test_a_session_that_serves_or_shows_is_red(fault: str, reason: str) -> None:
    ruled = judged(TENANT, Sessions(fault).app, PROFILE, ENVIRON)
    assert ruled.word == "fail", ruled
    assert ruled.reason.startswith(reason)
