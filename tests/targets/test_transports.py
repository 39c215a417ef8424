"""The in-memory network under httpx and under httpx2: bytes, streams, and what a broken connection becomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.targets.transports import memory_transport

LIBRARIES = [httpx, httpx2]


async def echo(request: Request) -> Response:
    body = await request.body()
    told = {
        "method": request.method,
        "path": request.url.path,
        "raw_path": request.scope["raw_path"].decode(),
        "query": request.url.query,
        "host": request.headers["host"],
        "x": request.headers.getlist("x"),
        "body": body.decode("latin-1"),
    }
    return JSONResponse(told, 201, {"x-answer": "yes"})


async def ticks(request: Request) -> Response:
    async def words() -> Any:
        for word in ("one", "two", "three"):
            yield word
            await asyncio.sleep(10)

    return StreamingResponse(words(), media_type="text/event-stream")


async def never(request: Request) -> Response:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


async def fails(request: Request) -> Response:
    raise ValueError("a defect")


APP = Starlette(
    routes=[
        Route("/echo/{rest:path}", echo, methods=["GET", "POST", "DELETE"]),
        Route("/ticks", ticks),
        Route("/never", never),
        Route("/fails", fails),
    ]
)

Story = Callable[[Any, Any, VirtualLoop], Awaitable[None]]


def play(library: Any, story: Story) -> None:
    async def main(loop: VirtualLoop) -> None:
        network = Network()
        site = network.serve("host:8765", APP)
        async with library.AsyncClient(
            transport=memory_transport(network, library), base_url="http://host:8765", timeout=None
        ) as client:
            await story(client, site, loop)

    run_virtual(main)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_request_arrives_as_it_was_sent(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        answer = await client.post(
            "/echo/a%2Fb%20c?q=1&q=%C3%BC", content=b"\x00\xff{", headers=[("x", "1"), ("X", "2")]
        )
        assert (answer.status_code, answer.headers["x-answer"]) == (201, "yes")
        assert answer.json() == {
            "method": "POST",
            "path": "/echo/a/b c",
            "raw_path": "/echo/a%2Fb%20c",
            "query": "q=1&q=%C3%BC",
            "host": "host:8765",
            "x": ["1", "2"],
            "body": "\x00\xff{",
        }

    play(library, story)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_stream_arrives_piece_by_piece(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        got = []
        async with client.stream("GET", "/ticks") as answer:
            async for text in answer.aiter_text():
                got.append((loop.time(), text))
        assert got == [(0.0, "one"), (10.0, "two"), (20.0, "three")]

    play(library, story)


@pytest.mark.parametrize("library", LIBRARIES)
def test_nobody_there(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        with pytest.raises(library.ConnectError, match="connection refused by other:80"):
            await client.get("http://other/echo/")
        site.up = False
        with pytest.raises(library.ConnectError, match="connection refused by host:8765"):
            await client.get("/echo/")

    play(library, story)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_server_goes_before_its_answer(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        call = asyncio.ensure_future(client.get("/never"))
        await loop.advance(1)
        site.cut()
        with pytest.raises(library.ConnectError, match="the server is gone"):
            await call

    play(library, story)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_server_goes_in_the_middle_of_its_answer(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        async with client.stream("GET", "/ticks") as answer:
            pieces = answer.aiter_text()
            assert await anext(pieces) == "one"
            site.cut()
            with pytest.raises(library.ReadError, match="the server is gone"):
                await anext(pieces)

    play(library, story)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_client_goes_and_the_application_is_told(library: Any) -> None:
    gone: list[float] = []

    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        async def listens(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            assert (await receive())["type"] == "http.disconnect"
            gone.append(loop.time())

        site.app = listens
        async with client.stream("GET", "/") as answer:
            pieces = answer.aiter_bytes()
            assert await anext(pieces) == b"first"
            await loop.advance(5)
        await loop.settle()

    play(library, story)
    assert gone == [5.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_defect_of_the_application_is_a_500(library: Any) -> None:
    async def story(client: Any, site: Any, loop: VirtualLoop) -> None:
        answer = await client.get("/fails")
        assert answer.status_code == 500

    play(library, story)
