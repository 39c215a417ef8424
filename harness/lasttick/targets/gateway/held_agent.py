"""A stand-in for the trusted agent: it takes the platform's wire, and answers when somebody else says so.

| request | answer |
|---|---|
| `POST /v1/chat` the wire | 200 `{"answer"}` as soon as the turn was ended |
| `POST /turns/wait` `{text}` | 200 the wire of the turn with that text, when it is there |
| `POST /turns/end` `{text, answer}` | 200; that turn is over |

It does no checks of its own: what it stands for is the time that a turn takes.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class HeldAgent:
    """An ASGI app. `wires` is every wire it got, in order."""

    def __init__(self) -> None:
        self.wires: list[dict[str, Any]] = []
        self._came: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._said: dict[str, asyncio.Future[str]] = {}
        self._app = Starlette(
            routes=[
                Route("/v1/chat", self._chat, methods=["POST"]),
                Route("/turns/wait", self._wait, methods=["POST"]),
                Route("/turns/end", self._end, methods=["POST"]),
            ]
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    async def _chat(self, request: Request) -> Response:
        wire = await request.json()
        self.wires.append(wire)
        text = wire["text"]
        came = _slot(self._came, text)
        if not came.done():
            came.set_result(wire)
        return JSONResponse({"answer": await asyncio.shield(_slot(self._said, text))})

    async def _wait(self, request: Request) -> Response:
        return JSONResponse(await asyncio.shield(_slot(self._came, (await request.json())["text"])))

    async def _end(self, request: Request) -> Response:
        body = await request.json()
        said = _slot(self._said, body["text"])
        if not said.done():
            said.set_result(body["answer"])
        return JSONResponse({})


def _slot(slots: dict[str, asyncio.Future[Any]], text: str) -> asyncio.Future[Any]:
    return slots.setdefault(text, asyncio.get_running_loop().create_future())
