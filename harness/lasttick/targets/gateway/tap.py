"""What goes in and out at a part, seen from outside it: the tool calls at the platform, the wire at the agent.

A tap stands in front of an application and changes no byte. It says what it saw through `saw(kind, run_id, data)`;
what a request claims of itself is cut, since a stranger may have sent it. It is also where a platform that is slow,
down or wrong is played to its callers: `POST /tap/trouble` with a trouble of the fake third party's, or
`{"kind": "redirect", "to": URL}`; `{"kind": "heal"}` ends them all. Trouble meets tool calls only.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from lasttick_fakes.thirdparty.trouble import HEAL, BadTrouble, Trouble, TroubleList, garbage, parse

Saw = Callable[[str, str | None, dict[str, Any]], None]

CALL_PATH = "/v1/runtime/tools/execute"
CHAT_PATH = "/v1/chat"
TROUBLE_PATH = "/tap/trouble"
REDIRECT = "redirect"
BODY_MAX = 1 << 21
TEXT_MAX = 200
ERROR_PAGE = b"<!doctype html><title>Error</title>"
_JSON = [(b"content-type", b"application/json")]
_CALL_NAMES = ("orgId", "toolName", "action")


class Tap:
    """ASGI app around `app`. Kinds: `gateway.call` and `gateway.answer`, or `agent.wire` with the body as it came."""

    def __init__(self, app: Any, saw: Saw) -> None:
        self._app = app
        self._saw = saw
        self._count = 0
        self._troubles = TroubleList()
        self._redirect: str | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path") if scope["type"] == "http" else None
        if path == CALL_PATH:
            await self._call(scope, receive, send)
        elif path == CHAT_PATH:
            await self._app(scope, _heard(receive, self._wire), send)
        elif path == TROUBLE_PATH:
            await self._trouble(receive, send)
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
            self._saw(
                "gateway.call", run_id, {"call": number, **{name: _text(asked.get(name)) for name in _CALL_NAMES}}
            )

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                content.extend(message.get("body", b"")[: BODY_MAX - len(content)])
            await send(message)

        await self._met(scope, _heard(receive, called), sending)
        code = _text(_object(bytes(content)).get("code"))
        self._saw("gateway.answer", run_id, {"call": number, "status": status, "code": code})

    async def _met(self, scope: Any, receive: Any, send: Any) -> None:
        """The platform, or what is played in its place."""
        trouble = self._troubles.meet(CALL_PATH)
        if trouble is None and self._redirect is None:
            await self._app(scope, receive, send)
            return
        if trouble is not None and trouble.kind == "slow":
            await asyncio.sleep(trouble.s)
            await self._app(scope, receive, send)
            return
        await _body(receive)
        if trouble is None:
            await _answer(send, 307, b"", [(b"location", str(self._redirect).encode("latin-1"))])
        elif trouble.kind == "5xx":
            await _answer(
                send, trouble.status, b"<!doctype html><title>Error</title>", [(b"content-type", b"text/html")]
            )
        elif trouble.kind == "garbage":
            await _answer(send, 200, garbage(trouble.shape), _JSON)
        else:
            # The head of an answer whose body never comes: a server closes such a connection.
            head = [*_JSON, (b"content-length", b"100")]
            await send({"type": "http.response.start", "status": 200, "headers": head})

    async def _trouble(self, receive: Any, send: Any) -> None:
        asked = _object(await _body(receive))
        try:
            self._make(asked)
        except BadTrouble as error:
            await _answer(send, 400, json.dumps({"error": str(error)}).encode(), _JSON)
        else:
            await _answer(send, 200, b"{}", _JSON)

    def _make(self, asked: dict[str, Any]) -> None:
        """Raises BadTrouble."""
        if asked == {"kind": HEAL}:
            self._troubles.clear()
            self._redirect = None
        elif asked.get("kind") == REDIRECT:
            if sorted(asked) != ["kind", "to"] or not isinstance(asked["to"], str):
                raise BadTrouble("the redirect is not complete; expected `to`, the URL it leads to; give it")
            self._redirect = asked["to"]
        else:
            self._troubles.add(parse(asked))


def trouble_json(kind: str, **options: Any) -> dict[str, Any]:
    """The body of `POST /tap/trouble`. Raises BadTrouble."""
    if kind not in (HEAL, REDIRECT):
        return Trouble(kind, **options).as_json()  # type: ignore[arg-type]
    return {"kind": kind, **options}


async def _body(receive: Any) -> bytes:
    content = bytearray()
    while True:
        message = await receive()
        content.extend(message.get("body", b"")[: BODY_MAX - len(content)])
        if not message.get("more_body", False):
            return bytes(content)


async def _answer(send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


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
