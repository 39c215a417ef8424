"""One JSON-RPC id, one call: what is refused, what passes, and when an id is free again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from lasttick.reference.hostagent.in_flight import InFlight

from .server_rig import send


def from_header(scope: Any) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"mcp-session-id"), None)


class Guarded:
    """An app that notes the bodies it gets and answers each when told to, or fails."""

    def __init__(self, max_body_bytes: int = 1_000) -> None:
        self.app = InFlight(self.inner, from_header, max_body_bytes)
        self.bodies: list[bytes] = []
        self.go = asyncio.Event()
        self.fail: Exception | None = None

    async def inner(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        self.bodies.append(message["body"])
        await self.go.wait()
        if self.fail is not None:
            raise self.fail
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    def ask(self, message: Any, session: str | None = "s1", method: str = "POST") -> asyncio.Task[Any]:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        headers = {"mcp-session-id": session} if session else {}
        return asyncio.get_running_loop().create_task(send(self.app, method, headers=headers, body=body))


def call(request_id: Any, method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method}


async def soon() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        (1, 1, 409),
        ("a", "a", 409),
        (1, "1", 409),
        ("", "", 409),
        (10**300, 10**300, 409),
        (1, 2, 200),
        ("1", "01", 200),
        ("a", "A", 200),
        (0, "", 200),
    ],
)
def test_ids_of_one_session(first: Any, second: Any, status: int) -> None:
    async def body() -> None:
        guarded = Guarded()
        one = guarded.ask(call(first))
        await soon()
        two = guarded.ask(call(second))
        await soon()
        assert two.done() == (status == 409)
        guarded.go.set()
        assert (await one).json == call(first)
        assert (await two).status == status
        assert (await guarded.ask(call(first))).status == 200

    asyncio.run(body())


def test_the_refusal_is_one_json_rpc_error_without_the_id() -> None:
    async def body() -> None:
        guarded = Guarded()
        one = guarded.ask(call(7))
        await soon()
        answer = await guarded.ask(call(7))
        assert answer.headers["content-type"] == "application/json"
        assert (answer.json["jsonrpc"], answer.json["id"], answer.json["error"]["code"]) == ("2.0", None, -32600)
        assert answer.json["error"]["data"] == {"reason": "duplicate_request_id"}
        assert "expected" in answer.json["error"]["message"]
        assert guarded.bodies == [json.dumps(call(7)).encode()]
        one.cancel()

    asyncio.run(body())


@pytest.mark.parametrize("request_id", [None, True, 1.0, 1.5, [], {}])
def test_an_id_that_the_sdk_would_not_answer_is_refused(request_id: Any) -> None:
    async def body() -> None:
        guarded = Guarded()
        answer = await guarded.ask(call(request_id))
        assert (answer.status, answer.json["error"]["data"]["reason"]) == (400, "bad_request_id")
        assert guarded.bodies == []

    asyncio.run(body())


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"not json",
        b"\xff",
        b"[" * 900,
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}).encode(),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": None, "method": "notifications/initialized"}).encode(),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized", "params": None}).encode(),
    ],
)
def test_everything_else_passes_to_the_sdks_own_answer(frame: bytes) -> None:
    async def body() -> None:
        guarded = Guarded()
        two = [guarded.ask(frame), guarded.ask(frame)]
        await soon()
        assert guarded.bodies == [frame, frame]
        guarded.go.set()
        assert [(await one).status for one in two] == [200, 200]

    asyncio.run(body())


@pytest.mark.parametrize("session", ["s1", None])
@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (b"[]", "a batch"),
        (b"7", "a JSON int"),
        (b"null", "a JSON NoneType"),
        (b'{"id":' + b"9" * 990 + b"}", '"jsonrpc": "2.0"'),
        (json.dumps([call(1), call(1)]).encode(), "a batch"),
        (b'{"jsonrpc":"2.0","id":1}', "without a method"),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "a method of type int"),
        (b'{"jsonrpc":"2.0","id":{},"result":{}}', "an answer without an id"),
        (b'{"jsonrpc":"2.0","id":1,"result":1}', "an answer without an id, or without an object as its result"),
        (b'{"jsonrpc":"2.0","id":1,"error":1}', "an answer without an id, or without an object as its result"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":""}}', "an answer without an id"),
        (b'{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":""}}', "an answer to an id that no request can have"),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', "params of type list"),
    ],
)
def test_json_that_is_no_message_is_refused_in_one_sentence(frame: bytes, says: str, session: str | None) -> None:
    async def body() -> None:
        guarded = Guarded()
        answer = await guarded.ask(frame, session)
        error = answer.json["error"]
        assert (answer.status, error["code"], error["data"]["reason"]) == (400, -32600, "bad_message")
        assert says in error["message"]
        assert guarded.bodies == []

    asyncio.run(body())


def test_other_sessions_no_session_and_other_methods_are_apart() -> None:
    async def body() -> None:
        guarded = Guarded()
        asked = [guarded.ask(call(1), session) for session in ("s1", "s2", None, None)]
        asked.append(guarded.ask(call(1), "s1", "DELETE"))
        await soon()
        assert len(guarded.bodies) == 5
        guarded.go.set()
        for one in asked:
            assert (await one).status == 200

    asyncio.run(body())


def test_the_id_is_free_after_a_failure() -> None:
    async def body() -> None:
        guarded = Guarded()
        guarded.go.set()
        guarded.fail = RuntimeError("boom")
        with pytest.raises(RuntimeError, match="boom"):
            await guarded.ask(call(1))
        guarded.fail = None
        assert (await guarded.ask(call(1))).status == 200

    asyncio.run(body())


@pytest.mark.parametrize("fails", [False, True])
def test_a_client_that_leaves_keeps_its_id_taken_until_the_answer(
    fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        guarded = Guarded()
        one = guarded.ask(call(1))
        await soon()
        one.cancel()
        await soon()
        assert one.cancelled()
        assert (await guarded.ask(call(1))).status == 409
        guarded.fail = RuntimeError("late") if fails else None
        guarded.go.set()
        await soon()
        guarded.fail = None
        assert (await guarded.ask(call(1))).status == 200
        assert guarded.app._ids == {}
        assert guarded.app._running == {}

    asyncio.run(body())
    assert ("late" in caplog.text) == fails


def test_httpx_over_asgi_may_drop_its_request_too() -> None:
    async def body() -> None:
        guarded = Guarded()
        transport = httpx.ASGITransport(guarded.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
            ask = asyncio.create_task(client.post("/mcp", json=call(1), headers={"mcp-session-id": "s1"}))
            await soon()
            ask.cancel()
            await soon()
            second = await client.post("/mcp", json=call(1), headers={"mcp-session-id": "s1"})
            assert second.status_code == 409
            guarded.go.set()
            await soon()
            third = await client.post("/mcp", json=call(1), headers={"mcp-session-id": "s1"})
            assert third.json() == call(1)

    asyncio.run(body())


@pytest.mark.parametrize(
    ("size", "declared", "status"),
    [(1_000, None, 200), (1_001, None, 413), (5, b"1001", 413), (5, b"9" * 40, 413), (5, b"-1", 200), (5, b"x", 200)],
)
def test_bodies_have_a_bound(size: int, declared: bytes | None, status: int) -> None:
    async def body() -> None:
        guarded = Guarded()
        guarded.go.set()
        headers = [(b"content-length", declared)] if declared is not None else []
        answer = await send(guarded.app, "POST", headers=headers, body=b"x" * size)
        assert answer.status == status
        if status == 413:
            assert answer.json["error"]["data"]["reason"] == "body_too_large"
            assert guarded.bodies == []

    asyncio.run(body())


def test_a_body_in_pieces_is_put_together_and_bounded() -> None:
    async def body() -> None:
        guarded = Guarded()
        guarded.go.set()
        for pieces, expected in [([b"ab", b"", b"cd"], 200), ([b"x" * 600, b"x" * 600], 413)]:
            messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
            messages[-1]["more_body"] = expected == 413
            sent: list[Any] = []

            async def receive(messages: Any = messages) -> Any:
                return messages.pop(0)

            async def collect(message: Any, sent: Any = sent) -> None:
                sent.append(message)

            await guarded.app({"type": "http", "method": "POST", "headers": []}, receive, collect)
            assert sent[0]["status"] == expected
        assert guarded.bodies == [b"abcd"]

    asyncio.run(body())


def test_closing_ends_calls_whose_clients_left() -> None:
    async def body() -> None:
        guarded = Guarded()
        one = guarded.ask(call(1))
        await soon()
        one.cancel()
        await soon()
        await guarded.app.aclose()
        assert guarded.app._running == {}

    asyncio.run(body())


def test_closing_tells_the_clients_that_wait() -> None:
    async def body() -> None:
        guarded = Guarded()
        one = guarded.ask(call(1))
        await soon()
        await guarded.app.aclose()
        answer = await one
        assert answer.status == 503
        assert answer.json["error"]["data"]["reason"] == "stopping"
        assert guarded.app._running == {}

    asyncio.run(body())
