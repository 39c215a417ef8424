"""When a session has ended, by what the wire says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lasttick.reference.hostagent.session_watch import Sessions, SessionWatch

from .server_rig import send


def from_header(scope: Any) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"mcp-session-id"), None)


class Watched:
    """An app that answers what it is told to, and the ends that were reported."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.answer: tuple[int, dict[str, str]] = (200, {})
        self.sessions = Sessions(self.on_end)
        self.app = SessionWatch(self.inner, from_header, self.sessions)
        self.at_answer: list[str] = []

    async def on_end(self, session_id: str) -> None:
        await asyncio.sleep(0)
        self.ended.append(session_id)

    async def inner(self, scope: Any, receive: Any, send: Any) -> None:
        status, headers = self.answer
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        self.at_answer = list(self.ended)
        await send({"type": "http.response.body", "body": b""})

    async def ask(self, method: str, status: int, session: str | None = None, gives: str | None = None) -> None:
        self.answer = (status, {"mcp-session-id": gives} if gives else {})
        await send(self.app, method, headers={"mcp-session-id": session} if session else {})


@pytest.mark.parametrize(
    ("method", "status", "ends"),
    [
        ("DELETE", 200, True),
        ("DELETE", 204, True),
        ("DELETE", 404, True),
        ("DELETE", 500, False),
        ("DELETE", 405, False),
        ("POST", 404, True),
        ("GET", 404, True),
        ("POST", 200, False),
        ("POST", 400, False),
        ("POST", 409, False),
        ("POST", 500, False),
        ("GET", 200, False),
    ],
)
def test_which_answers_end_a_session(method: str, status: int, ends: bool) -> None:
    async def body() -> None:
        watched = Watched()
        await watched.ask("POST", 200, gives="s1")
        await watched.ask(method, status, session="s1")
        assert watched.ended == (["s1"] if ends else [])
        assert watched.at_answer == watched.ended

    asyncio.run(body())


def test_each_session_ends_once_and_only_if_it_was_opened_here() -> None:
    async def body() -> None:
        watched = Watched()
        await watched.ask("POST", 404, session="never-opened")
        await watched.ask("POST", 400, gives="refused")
        await watched.ask("DELETE", 200, session="refused")
        await watched.ask("POST", 200, gives="s1")
        await watched.ask("POST", 200, gives="s2")
        await watched.ask("DELETE", 200, session="s1")
        await watched.ask("POST", 404, session="s1")
        await watched.sessions.ended("s1")
        assert watched.ended == ["s1"]
        assert len(watched.sessions) == 1

    asyncio.run(body())


def test_other_scopes_pass() -> None:
    async def body() -> None:
        reached: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            reached.append(scope["type"])

        await SessionWatch(app, from_header, Sessions(lambda _: asyncio.sleep(0)))({"type": "lifespan"}, None, None)
        assert reached == ["lifespan"]

    asyncio.run(body())
