"""What goes in and out at a part, seen from outside it: the tool calls at the platform, the wire at the agent.

A tap stands in front of an application and changes no byte. It says what it saw through `saw(kind, run_id, data)`;
what a request claims of itself is cut, since a stranger may have sent it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Saw = Callable[[str, str | None, dict[str, Any]], None]

CALL_PATH = "/v1/runtime/tools/execute"
CHAT_PATH = "/v1/chat"
BODY_MAX = 1 << 21
TEXT_MAX = 200
_CALL_NAMES = ("orgId", "runId", "toolName", "action")


class Tap:
    """ASGI app around `app`. Kinds: `gateway.call` and `gateway.answer`, or `agent.wire` with the body as it came."""

    def __init__(self, app: Any, saw: Saw) -> None:
        self._app = app
        self._saw = saw
        self._count = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path") if scope["type"] == "http" else None
        if path == CALL_PATH:
            await self._call(scope, receive, send)
        elif path == CHAT_PATH:
            await self._app(scope, _heard(receive, self._wire), send)
        else:
            await self._app(scope, receive, send)

    def _wire(self, body: bytes) -> None:
        wire = _object(body)
        self._saw("agent.wire", _text(wire.get("run_id")), {"body": body.decode("utf-8", "replace")})

    async def _call(self, scope: Any, receive: Any, send: Any) -> None:
        self._count += 1
        number, run_id = self._count, None
        content = bytearray()
        status = 0

        def called(body: bytes) -> None:
            nonlocal run_id
            asked = _object(body)
            run_id = _text(asked.get("runId"))
            data = {name: _text(asked.get(name)) for name in _CALL_NAMES if name != "runId"}
            self._saw("gateway.call", run_id, {"call": number, **data})

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                content.extend(message.get("body", b"")[: BODY_MAX - len(content)])
            await send(message)

        await self._app(scope, _heard(receive, called), sending)
        code = _text(_object(bytes(content)).get("code"))
        self._saw("gateway.answer", run_id, {"call": number, "status": status, "code": code})


def _heard(receive: Any, whole: Callable[[bytes], None]) -> Any:
    """`receive`, and `whole` is told the body when it has come to its end."""
    content = bytearray()

    async def receiving() -> Any:
        message = await receive()
        if message["type"] == "http.request":
            content.extend(message.get("body", b"")[: BODY_MAX - len(content)])
            if not message.get("more_body", False):
                whole(bytes(content))
        return message

    return receiving


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value[:TEXT_MAX] if isinstance(value, str) else None
