"""The console's door: a password for a cookie, a cookie for the status, and nothing else for either (HA-02)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import httpx
import pytest
from fastapi import FastAPI

from lasttick.model import same_origin
from lasttick.model.lease import Holder, LeaseView
from lasttick.reference.hostagent import console_sessions
from lasttick.reference.hostagent.console import COOKIE, Console
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.status_board import Look, mcp_busy_rows

HOUR_NS = 3_600 * 10**9


class Clock:
    ns = 0

    def now_ns(self) -> int:
        return self.ns

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None: ...


class Counting:
    n = 0

    def token_bytes(self, n: int) -> bytes:
        self.n += 1
        return self.n.to_bytes(n, "big")


Body = Callable[[httpx.AsyncClient, Console, Clock], Awaitable[None]]


def run(body: Body, password: str | None = "correct horse") -> None:
    async def main() -> None:
        async def sight() -> Sight:
            return Sight({"host_id": "host-1"}, "key", clock.ns, None)

        clock = Clock()
        here = same_origin.served(8765, None)
        console = Console(sight=sight, here=here, clock=clock, entropy=Counting())
        console.password = password
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        console.add_routes(app)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as http:
            await body(http, console, clock)

    asyncio.run(main())


def test_log_in_and_look() -> None:
    async def body(http: httpx.AsyncClient, _: Console, __: Clock) -> None:
        refused = await http.get("/api/status")
        assert refused.status_code == 401
        assert "host_id" not in refused.text
        answer = await http.post("/login", json={"password": "correct horse"})
        assert (answer.status_code, answer.json()) == (200, {"ok": True})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}=")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert (await http.get("/api/status")).json() == {"host_id": "host-1"}

    run(body)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'"correct horse"', 400),
        (b"{}", 400),
        (b'{"password": 7}', 400),
        (b'{"password": null}', 400),
        (b"\xff\xfe", 400),
        (b"[" * 4_000, 400),
        (b"password=correct+horse", 400),
        (b'{"password": ""}', 401),
        (b'{"password": "correct"}', 401),
        (b'{"password": "Correct horse"}', 401),
        (b'{"password": "correct horse "}', 401),
        (b'{"password": "\\ud800"}', 401),
        ('{"password": "é"}'.encode(), 401),
        (b'{"password": "' + b"x" * 5_000 + b'"}', 413),
    ],
)
def test_what_does_not_log_in(content: bytes, status: int) -> None:
    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        answer = await http.post("/login", content=content)
        assert answer.status_code == status
        assert "; expected " in answer.json()["error"]
        assert "set-cookie" not in answer.headers
        assert (await http.get("/api/status")).status_code == 401

    run(body)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"password=correct+horse", 303),
        (b"password=correct%20horse&go=1", 303),
        (b"password=", 401),
        (b"password=correct", 401),
        (b"", 400),
        (b"word=correct+horse", 400),
        (b"password=correct+horse&password=correct+horse", 400),
        (b"&" * 4_000, 400),
        (b"password=%ff", 401),
        (b"\xff", 400),
        (b"password=" + b"x" * 5_000, 413),
    ],
)
def test_the_form(content: bytes, status: int) -> None:
    """Says its refusals as a page, which says nothing of what was typed."""

    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        headers = {
            "content-type": "application/x-www-form-urlencoded; charset=utf-8",
            "origin": "http://127.0.0.1:8765",
        }
        answer = await http.post("/login", content=content, headers=headers)
        assert answer.status_code == status
        assert ("set-cookie" in answer.headers) is (status == 303)
        if status != 303:
            assert answer.headers["content-type"].startswith("text/html")
            assert "horse" not in answer.text

    run(body)


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_what_a_form_of_any_page_could_send_must_say_where_it_is_from(kind: str) -> None:
    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        answer = await http.post("/login", content=b'{"password": "correct horse"}', headers={"content-type": kind})
        assert answer.status_code == 403

    run(body)


def test_before_the_start_nobody_gets_in() -> None:
    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        for password in ("", "None", "correct horse"):
            assert (await http.post("/login", json={"password": password})).status_code == 401

    run(body, password=None)


def test_a_password_beyond_ascii_opens() -> None:
    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        assert (await http.post("/login", json={"password": "pässwörd ✓"})).status_code == 200

    run(body, password="pässwörd ✓")


def test_only_the_cookie_opens_the_status() -> None:
    async def body(http: httpx.AsyncClient, console: Console, __: Clock) -> None:
        for headers in (
            {"authorization": "Bearer the-mcp-token"},
            {"cookie": f"{COOKIE}="},
            {"cookie": f"{COOKIE}=made-up"},
            {"cookie": "other=1"},
        ):
            assert (await http.get("/api/status", headers=headers)).status_code == 401

    run(body)


def test_a_session_ends_after_half_a_day() -> None:
    async def body(http: httpx.AsyncClient, console: Console, clock: Clock) -> None:
        await http.post("/login", json={"password": "correct horse"})
        clock.ns = 12 * HOUR_NS - 1
        assert (await http.get("/api/status")).status_code == 200
        clock.ns += 1
        assert (await http.get("/api/status")).status_code == 401

    run(body)


def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_sessions, "SESSIONS_MAX", 3)

    async def body(http: httpx.AsyncClient, console: Console, clock: Clock) -> None:
        cookies = []
        for _ in range(4):
            http.cookies.clear()
            answer = await http.post("/login", json={"password": "correct horse"})
            cookies.append(answer.cookies[COOKIE])
        http.cookies.clear()
        got = [(await http.get("/api/status", headers={"cookie": f"{COOKIE}={c}"})).status_code for c in cookies]
        assert got == [401, 200, 200, 200]

    run(body)


def test_no_pages_that_nobody_asked_for() -> None:
    async def body(http: httpx.AsyncClient, console: Console, clock: Clock) -> None:
        for path in ("/docs", "/redoc", "/openapi.json", "/console.html", "/login.html", "/api"):
            assert (await http.get(path)).status_code == 404
        assert (await http.get("/logout")).status_code == 405

    run(body)


def test_the_rows_of_mcp_leases() -> None:
    """Idle leases count down, a call in flight stops the count, and one sees eight characters of the session."""
    s = 10**9
    whole = "0123456789abcdef0123456789abcdef"
    leases = [
        LeaseView("a", Holder("mcp", whole), 10 * s, 40 * s, 0, False),
        LeaseView("b", Holder("cloud", "assignment-1"), 10 * s, 10 * s, 1, False),
        LeaseView("c", Holder("mcp", "short"), 0, 0, 2, False),
    ]
    rows = mcp_busy_rows(Look([], leases, 50 * s), 60.0)
    assert rows == [
        {"device_id": "a", "session": "01234567", "held_s": 40.0, "ttl_left_s": 50.0, "in_flight": 0},
        {"device_id": "c", "session": "short", "held_s": 50.0, "ttl_left_s": 60.0, "in_flight": 2},
    ]
    assert whole not in repr(rows)


def test_a_refused_form_leaves_no_dead_end() -> None:
    """The browser stands at /login then; who loads that address anew sees the form, not an error."""

    async def body(http: httpx.AsyncClient, _: Console, __: Clock) -> None:
        answer = await http.get("/login")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")

    run(body)


def test_what_is_not_here_is_said_in_three_parts() -> None:
    async def body(http: httpx.AsyncClient, _: Console, __: Clock) -> None:
        for method, path, status in (("GET", "/nowhere", 404), ("GET", "//login", 404), ("PUT", "/", 405)):
            answer = await http.request(method, f"http://127.0.0.1:8765{path}")
            assert answer.status_code == status
            assert answer.json()["error"].startswith(f"nothing here for {method} ({status}); expected ")
            assert answer.headers.get("x-frame-options") == "DENY"
            assert ("allow" in answer.headers) == (status == 405)
        assert (await http.get("/nowhere", headers={"host": "evil.example:8765"})).status_code == 421

    run(body)
