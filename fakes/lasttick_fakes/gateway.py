"""A platform that is not ours: it answers a tool call with whatever it is told, and keeps every request it got.

Fidelity. Models: one HTTP answer, a redirect among them, to `POST /v1/runtime/tools/execute`. Does not model: doors,
runs, manifests, time. For scenarios about what the agent's side sends, and to whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class Got:
    """One request: header names in lower case, a header sent twice has both values in its list."""

    method: str
    path: str
    headers: Mapping[str, list[str]]
    body: bytes


@dataclass(slots=True)
class ScriptedGateway:
    """An ASGI application. `status`, `headers`, `body`: the next answers."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"ok": true, "result": {}}'
    got: list[Got] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            headers.setdefault(name.lower(), []).append(value)
        self.got.append(Got(request.method, request.url.path, headers, await request.body()))
        answer = Response(self.body, self.status, {"content-type": "application/json", **self.headers})
        await answer(scope, receive, send)
