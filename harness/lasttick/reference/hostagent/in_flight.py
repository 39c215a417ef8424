"""Can two calls in flight get each other's answers? Not if the second one with the same JSON-RPC id is refused here.

Every SDK version files the answers of a session under the text of the request's id, so a second call with an id in
flight takes the first one's answer (ruling 10). And it files requests whose id is neither a string nor an integer as
notifications, which nobody answers. This layer reads each POST before the SDK does and refuses both, bodies over the
limit, and JSON that is no JSON-RPC message (which the SDK answers with a page of validator output), each with one clear
error.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import anyio
import pydantic_core

from lasttick.model import errors
from lasttick.ports import AsgiApp
from lasttick.reference.hostagent.session_watch import SessionOf

log = logging.getLogger(__name__)

INVALID_REQUEST = -32600
MAX_BODY_BYTES = 4 * 1024 * 1024
BAD_ID = (
    "the request's id is neither a string nor an integer; expected one of the two (MCP specification, Requests); "
    "send the request with such an id"
)
DUPLICATE_ID = (
    "a request with this id is in flight on this session; expected an id that no unanswered request has "
    "(MCP specification, Requests); use a new id for every request"
)
_NO_ID = object()
_NOT_JSON = object()


def parse(body: bytes) -> Any:
    """The JSON of a body as the SDK will read it; `_NOT_JSON` where it is none (the SDK says so well)."""
    try:
        return pydantic_core.from_json(body)
    except ValueError:
        return _NOT_JSON


def flaw(message: Any) -> str | None:
    """Why this JSON is no JSON-RPC 2.0 message, in one sentence; None when it is one."""
    if isinstance(message, list):
        was = "a batch"
    elif not isinstance(message, dict):
        was = f"a JSON {type(message).__name__}"
    elif message.get("jsonrpc") != "2.0":
        was = 'without "jsonrpc": "2.0"'
    elif "method" not in message:
        return _answer_flaw(message)
    elif not isinstance(message["method"], str):
        was = f"with a method of type {type(message['method']).__name__}"
    elif message.get("params") is not None and not isinstance(message["params"], dict):
        was = f"with params of type {type(message['params']).__name__}"
    else:
        return None
    return _no_message(was)


def _answer_flaw(message: dict[str, Any]) -> str | None:
    """The same for a message without a method, which can only be an answer."""
    id_, error = message.get("id"), message.get("error")
    if "result" not in message and "error" not in message:
        return _no_message("without a method")
    has_id = isinstance(id_, str | int) and not isinstance(id_, bool)
    if has_id and isinstance(message.get("result"), dict):
        return None
    if isinstance(error, dict) and isinstance(error.get("message"), str) and type(error.get("code")) is int:
        return None if has_id or id_ is None else _no_message("an answer to an id that no request can have")
    return _no_message("an answer without an id, or without an object as its result or error")


def _no_message(was: str) -> str:
    return (
        f"the request's body is {was}; expected one JSON-RPC 2.0 message, its params an object (MCP specification, "
        "Base protocol); send one message per request"
    )


def request_id(message: Any) -> Any:
    """The `id` of a JSON-RPC request; `_NO_ID` for anything else (it has its own answers)."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _NO_ID
    found = message.get("id", _NO_ID)
    if found is None and message["method"].startswith("notifications/"):
        return _NO_ID  # a harmless habit of some clients
    return found


class BodyTooLarge(Exception):
    """The body is over the limit; it was not read to its end."""


async def read_body(scope: Any, receive: Any, max_bytes: int) -> bytes | None:
    """The whole body, or None when the client left before its end. Raises BodyTooLarge."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if declared.isdigit() and (len(declared) > 18 or int(declared) > max_bytes):
        raise BodyTooLarge
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise BodyTooLarge
        if not message.get("more_body", False):
            return bytes(body)


class Replay:
    """An ASGI `receive` that gives a body that was read already, and then what `receive` gives."""

    def __init__(self, body: bytes, receive: Any) -> None:
        self._body: bytes | None = body
        self._receive = receive

    def hold(self) -> None:
        """After the body, give nothing: the app must not notice that its client leaves."""
        self._receive = _never

    async def __call__(self) -> Any:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _never() -> Any:
    return await asyncio.get_running_loop().create_future()


class Client:
    """An ASGI `send` for an app that may outlive its client."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self.gone = False
        self.begun = False
        self.answered = False

    async def __call__(self, message: Any) -> None:
        if not self.gone:
            self.begun = True
            await self._send(message)
        self.answered = message["type"] == "http.response.body" and not message.get("more_body", False)


class InFlight:
    """ASGI app around `app`. `session_of(scope)` says whose ids are compared; without a session nothing is.

    The text of an id is the key, as in the SDK: there, 1 and "1" get each other's answers too.
    """

    def __init__(self, app: AsgiApp, session_of: SessionOf, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._session_of = session_of
        self._max_body_bytes = max_body_bytes
        self._ids: dict[tuple[str, str], None] = {}
        self._running: dict[asyncio.Task[None], Client] = {}

    def claim(self, session_id: str, call_id: str) -> bool:
        """Put an id in flight; False when it is already."""
        if (session_id, call_id) in self._ids:
            return False
        self._ids[(session_id, call_id)] = None
        return True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            body = await read_body(scope, receive, self._max_body_bytes)
        except BodyTooLarge:
            await refuse(send, 413, "body_too_large", self._too_large())
            return
        if body is None:
            return  # the client left in the middle of its request: nobody is there to be told
        session_id = self._session_of(scope)
        message = parse(body)
        if message is not _NOT_JSON and (problem := flaw(message)) is not None:
            await refuse(send, 400, "bad_message", problem)
            return
        found = request_id(message) if session_id is not None else _NO_ID
        if session_id is None or found is _NO_ID:
            await self._app(scope, Replay(body, receive), send)
        elif isinstance(found, bool) or not isinstance(found, str | int):
            await refuse(send, 400, "bad_request_id", BAD_ID)
        elif not self.claim(session_id, str(found)):
            await refuse(send, 409, "duplicate_request_id", DUPLICATE_ID)
        else:
            await self._one_call(scope, Replay(body, receive), Client(send), (session_id, str(found)))

    async def aclose(self) -> None:
        """The server stops: end the calls that are not answered, and tell the clients that are still there."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _one_call(self, scope: Any, replay: Replay, client: Client, key: tuple[str, str]) -> None:
        """Run the app in a task of its own: the id stays taken until the call is answered, even if its client leaves.

        Otherwise a new call with this id would be given the old call's late answer.
        """
        replay.hold()

        async def call() -> None:
            try:
                await self._app(scope, replay, client)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                # The session was deleted under the request: the SDK answers, then trips over the stream it has closed.
                if not client.answered:
                    raise
            finally:
                self._ids.pop(key, None)

        task = asyncio.get_running_loop().create_task(call())
        self._running[task] = client
        task.add_done_callback(self._ended)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and not _is_cancelled():
                if not client.begun:
                    await refuse(client, 503, "stopping", errors.STOPPING)
                return
            client.gone = True
            raise

    def _ended(self, task: asyncio.Task[None]) -> None:
        client = self._running.pop(task)
        if client.gone and not task.cancelled() and (failure := task.exception()) is not None:
            log.error("a call whose client had left failed", exc_info=failure)

    def _too_large(self) -> str:
        return (
            f"the request's body is too large; expected at most {self._max_body_bytes} bytes (contract hostagent, "
            "Bad input); send a smaller one"
        )


def _is_cancelled() -> bool:
    """Whether it is the current task that was cancelled, not one that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def refuse(send: Any, status: int, reason: str, message: str) -> None:
    """One JSON-RPC error without an id: with the id, a client could take it for the answer of the call in flight."""
    error = {"code": INVALID_REQUEST, "message": message, "data": {"reason": reason}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}, separators=(",", ":")).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
