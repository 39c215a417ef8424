"""Kind http against an ordinary application in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.laws.reply import Reply
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place
from lasttick.targets.transports import memory_transport


async def echo(request: Request) -> Response:
    told = {
        "method": request.method,
        "path": request.scope["raw_path"].decode(),
        "query": request.query_params.multi_items(),
        "headers": dict(request.headers),
        "body": (await request.body()).decode(),
    }
    return JSONResponse(told, 201, {"Location": "/v1/leases/7", "X-Two": "a"})


async def says(request: Request) -> Response:
    text = (await request.body()).decode()
    return PlainTextResponse(text, int(request.path_params["status"]))


async def counts(request: Request) -> Response:
    async def words() -> Any:
        for word in ("queued", '{"state": "granted"}'):
            yield f"event: state\ndata: {word}\n\n"
            await asyncio.sleep(10)

    return StreamingResponse(words(), media_type="text/event-stream")


async def slow(request: Request) -> Response:
    await asyncio.sleep(30)
    return JSONResponse({})


async def login(request: Request) -> Response:
    answer = JSONResponse(dict(request.cookies))
    answer.set_cookie("sid", "s-1")
    return answer


APP = Starlette(
    routes=[
        Route("/echo/{rest:path}", echo, methods=["GET", "POST", "DELETE", "PUT"]),
        Route("/says/{status}", says, methods=["POST"]),
        Route("/counts", counts),
        Route("/slow", slow),
        Route("/login", login),
    ]
)
BASE = Place("http://127.0.0.1:4700/mcp")


def play(story: Callable[[CallerWire, VirtualLoop], Awaitable[Any]], place: Place = BASE, **more: Any) -> Any:
    async def main(loop: VirtualLoop) -> Any:
        network = Network()
        network.serve("127.0.0.1:4700", APP)
        wire = CallerWire(place, transport=memory_transport(network), name="alice", **more)
        try:
            return await story(wire, loop)
        finally:
            await wire.close()

    return run_virtual(main)


def ask(message: Message, place: Place = BASE, **more: Any) -> Reply:
    return play(lambda wire, loop: wire.send(message), place, **more)


def test_a_request_and_its_reply() -> None:
    reply = ask(
        Message(
            "http",
            "POST /echo/a%2Fb?wait=2",
            query={"n": 1, "on": True, "tag": ["x", "y z"], "no": None},
            headers={"X-Mine": "1"},
            json={"platform": "android", "ttlMs": 2000},
        ),
        headers={"Authorization": "Bearer alice"},
    )
    body = reply.body
    assert (body["method"], body["path"]) == ("POST", "/echo/a%2Fb")
    assert body["query"] == [["wait", "2"], ["n", "1"], ["on", "true"], ["tag", "x"], ["tag", "y z"]]
    assert body["body"] == '{"platform":"android","ttlMs":2000}'
    assert body["headers"]["content-type"] == "application/json"
    assert body["headers"]["authorization"] == "Bearer alice"
    assert body["headers"]["x-mine"] == "1"
    assert (reply.ok, reply.status, reply.error, reply.lost) == (True, 201, None, None)
    assert reply.headers["location"] == "/v1/leases/7"
    assert reply.headers["x-two"] == "a"
    assert reply.raw.startswith('HTTP 201 (location: /v1/leases/7) {"method":"POST"')


def test_a_form() -> None:
    body = ask(Message("http", "PUT /echo/x", form={"message": "Deploy a&b", "stream": False, "n": [1, 2]})).body
    assert body["body"] == "message=Deploy+a%26b&stream=false&n=1&n=2"
    assert body["headers"]["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("value", [[], {}, "", 0, False])
def test_json_that_is_empty_is_sent(value: Any) -> None:
    assert ask(Message("http", "POST /echo/x", json=value)).body["headers"]["content-type"] == "application/json"


def test_no_body_is_no_body() -> None:
    body = ask(Message("http", "GET /echo/x")).body
    assert body["body"] == ""
    assert "content-type" not in body["headers"]
    assert body["headers"]["user-agent"] == "lasttick"


def test_a_header_of_the_message_wins_over_the_callers() -> None:
    message = Message("http", "GET /echo/x", headers={"authorization": "Bearer bob", "Accept": "text/plain"})
    headers = ask(message, headers={"Authorization": "Bearer alice"}).body["headers"]
    assert headers["authorization"] == "Bearer bob"
    assert headers["accept"] == "text/plain"


@pytest.mark.parametrize(("status", "ok"), [(200, True), (299, True), (304, False), (400, False), (503, False)])
def test_ok_is_what_http_says(status: int, ok: bool) -> None:
    reply = ask(Message("http", f"POST /says/{status}", json="x"))
    assert (reply.ok, reply.status, reply.error) == (ok, status, None)


def test_text_and_its_lines() -> None:
    reply = ask(Message("http", "POST /says/200", json=["a"]))
    assert reply.body == ["a"]  # JSON under the name of text
    text = ask(Message("http", "POST /says/200", form={"a": "b"}))
    assert (text.body, text.lines) == ("a=b", ("a=b",))


def test_a_stream_of_events_is_read_to_its_end() -> None:
    async def story(wire: CallerWire, loop: VirtualLoop) -> None:
        reply = await wire.send(Message("http", "GET /counts", timeout_s=30))
        assert loop.time() == 20.0
        assert reply.events == ("queued", {"state": "granted"})
        assert reply.body == {"state": "granted"}

    play(story)


def test_a_stream_of_events_that_is_too_slow_counts_as_far_as_it_came() -> None:
    async def story(wire: CallerWire, loop: VirtualLoop) -> None:
        reply = await wire.send(Message("http", "GET /counts", timeout_s=5))
        assert loop.time() == 5.0
        assert (reply.ok, reply.events, reply.body) == (True, ("queued",), "queued")

    play(story)


def test_time_out_in_virtual_time() -> None:
    async def story(wire: CallerWire, loop: VirtualLoop) -> None:
        reply = await wire.send(Message("http", "GET /slow", timeout_s=29.5))
        assert (reply.lost, loop.time()) == ("no whole answer within 29.5 s", 29.5)
        assert (await wire.send(Message("http", "GET /slow", timeout_s=30.5))).ok

    play(story)


def test_cookies_belong_to_the_callers_session() -> None:
    async def story(wire: CallerWire, loop: VirtualLoop) -> None:
        assert (await wire.send(Message("http", "GET /login"))).body == {}
        assert (await wire.send(Message("http", "GET /login"))).body == {"sid": "s-1"}

    play(story)
    play(story)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (Message("http", "GET http://evil.example/x"), "the host 'evil.example'"),
        (Message("http", "GET x"), "expected a method in capitals"),
        (Message("http", "POST /x", json={"at": date(2026, 1, 1)}), "cannot be written as JSON: TypeError"),
        (Message("http", "POST /x", json=float("nan")), "cannot be written as JSON: ValueError"),
        (Message("http", "POST /x", form={"at": {"day": date(2026, 1, 1)}}), "cannot be written as JSON"),
        (Message("http", "GET /x", headers={"X": "a\nb"}), "the value of the header 'X'"),
    ],
)
def test_what_cannot_be_sent(message: Message, said: str) -> None:
    with pytest.raises(WireError, match=said) as caught:
        ask(message)
    assert "; expected " in str(caught.value)


def test_a_path_needs_a_target_with_a_url() -> None:
    with pytest.raises(WireError, match="needs the target's URL"):
        ask(Message("http", "GET /x"), Place(command=("x",)))
    assert ask(Message("http", "GET http://127.0.0.1:4700/echo/x"), Place(command=("x",))).ok


def test_an_application_that_fails_in_memory() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise httpx.ReadError("the cable")

    async def body() -> Reply:
        return await CallerWire(BASE, transport=httpx.ASGITransport(app=broken)).send(Message("http", "GET /"))

    assert asyncio.run(body()).lost == "ReadError: the cable"
