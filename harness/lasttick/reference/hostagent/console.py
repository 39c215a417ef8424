"""How does a person on this machine look at the host agent? A login with a password, one page, and the status as JSON.

The cookie opens the console and nothing else; the MCP token opens `/mcp` and nothing else (HA-02). Every request must
name this server in its Host header, and what changes something must come from a page of it (`model.same_origin`);
guessing is slow (`model.login_limit`). All endpoints are async: FastAPI runs others in threads, which a virtual clock
cannot see. Source: world, "Host agent's surface"; HA-17.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from lasttick.model import login_limit, same_origin
from lasttick.model.login_limit import Tries
from lasttick.model.same_origin import Served
from lasttick.ports import Clock, Entropy, StoreUnavailable
from lasttick.reference.hostagent import console_pages
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.console_events import Events, Stream
from lasttick.reference.hostagent.console_sessions import ConsoleSessions

COOKIE = "lasttick_console"
BODY_MAX = 4_096
FORM = "application/x-www-form-urlencoded"
OF_FORMS = (FORM, "multipart/form-data", "text/plain")
"""What a form of any page can send here without asking first."""
WRONG = "wrong password; expected the one in host_console.json; log in again"
STORE_AWAY = (
    "the lease store cannot be reached, so nobody knows who holds which device; expected an answer from it "
    "(ports.LeaseStore); ask again later, and see the host agent's log"
)
SHUT = "too many wrong passwords; expected a pause; log in again in {} s"

Endpoint = Callable[[Request], Awaitable[Response]]


class Console:
    """Login, page, status and events. `password` is set when the agent starts; before that nobody gets in.

    `sight` looks at the host; `here` is the names and the port it is served under.
    """

    def __init__(self, *, sight: Callable[[], Awaitable[Sight]], here: Served, clock: Clock, entropy: Entropy) -> None:
        self.password: str | None = None
        self._sight = sight
        self._here = here
        self._clock = clock
        self._tries = Tries()
        self.sessions = ConsoleSessions(clock, entropy, lambda session, why: self.watchers.session_ended(session, why))
        self.watchers = Events(sight=sight, sessions=self.sessions, clock=clock)

    def add_routes(self, app: FastAPI) -> None:
        """As plain routes: FastAPI's own keep what they call in caches of the process, and with it the host agent."""
        routes: list[tuple[str, str, Endpoint]] = [
            ("GET", "/", self.page),
            *[("GET", path, self.part) for path in console_pages.PARTS],
            ("GET", "/api/status", self.status),
            ("GET", "/api/events", self.events),
            ("POST", "/login", self.login),
            ("POST", "/logout", self.logout),
        ]
        for method, path, endpoint in routes:
            app.add_route(path, self._guarded(endpoint), methods=[method])

    def _guarded(self, endpoint: Endpoint) -> Endpoint:
        """Who sent it is asked before anything else is; every answer has the headers of the pages."""

        async def guarded(request: Request) -> Response:
            try:
                answer = self._refusal(request) or await endpoint(request)
            except StoreUnavailable:
                answer = self._store_away(request)
            add_headers(answer)
            return answer

        return guarded

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        hosts = headers.getlist("host")
        if not same_origin.is_served(hosts, self._here):
            return _error(421, f"the Host header is {hosts!r}; expected a name this console is served under; use one")
        must_say = _content_type(request) in OF_FORMS
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        if request.method == "POST" and not same_origin.is_ours(origins, sites, hosts[0], must_say=must_say):
            return self._answer(request, 403, "this came from another page; expected one of the console; open it anew")
        return None

    async def page(self, request: Request) -> Response:
        """The board for who is logged in, else the login form."""
        if not self.sessions.is_open(_presented(request)):
            return console_pages.login_page()
        return console_pages.dashboard(await self._status())

    async def part(self, request: Request) -> Response:
        return console_pages.part(request.url.path)

    async def login(self, request: Request) -> Response:
        """`{password}` as JSON -> 200 `{"ok": true}`, as a form -> 303 to the page, both with a new session's cookie.

        400 malformed, 401 wrong, 403 from another page, 413 too long, 429 too many wrong ones.
        """
        body = await _read(request)
        if body is None:
            said = f"the body is over {BODY_MAX} bytes; expected {{password}}; send only that"
            return self._answer(request, 413, said)
        password = _password(request, body)
        if password is None:
            said = 'the body is not {"password": text}; expected that as JSON or a form; correct it and log in again'
            return self._answer(request, 400, said)
        # No await from here on: tries at once are tries one after the other.
        now_ns = self._clock.now_ns()
        if shut_ns := login_limit.shut_for_ns(self._tries, now_ns):
            self._tries = login_limit.after_knock(self._tries, now_ns)
            return self._shut(request, shut_ns)
        if not opens(password, self.password):
            self._tries = login_limit.after_failure(self._tries, now_ns)
            return self._answer(request, 401, WRONG)
        self._tries = Tries()
        answer: Response = RedirectResponse("/", 303) if _is_form(request) else JSONResponse({"ok": True})
        set_cookie(answer, self.sessions.log_in(_presented(request)))
        return answer

    async def logout(self, request: Request) -> Response:
        """End the session here, for whoever else has its id too; 303 to the login form, for a program 200."""
        self.sessions.end(_presented(request), "logged out")
        answer: Response = RedirectResponse("/", 303) if _is_form(request) else JSONResponse({"ok": True})
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return answer

    async def status(self, request: Request) -> Response:
        """The status object; 401 without a session of this console; 503 when the lease store is away."""
        if not self.sessions.is_open(_presented(request)):
            return _not_logged_in()
        return JSONResponse(await self._status())

    async def events(self, request: Request) -> Response:
        """The status object now and at every change, as server-sent events; 503 when too many watch already."""
        session = _presented(request)
        if not self.sessions.is_open(session):
            return _not_logged_in()
        if request.method == "HEAD":
            return Response(headers={"content-type": "text/event-stream; charset=utf-8"})
        if not self.watchers.has_room(session):
            answer = _error(503, "too many pages watch already; expected fewer; close one and try again")
            answer.headers["retry-after"] = "5"
            return answer
        return _Watch(self.watchers, session, self._clock.now_ns())

    async def aclose(self) -> None:
        """The host stops: every stream ends."""
        await self.watchers.aclose()

    async def _status(self) -> dict[str, Any]:
        return (await self._sight()).shown

    def _store_away(self, request: Request) -> Response:
        if request.url.path == "/":
            return console_pages.problem_page(
                503, "Lease store away", "Nobody knows who holds which device. Try again."
            )
        return _error(503, STORE_AWAY)

    def _shut(self, request: Request, shut_ns: int) -> Response:
        wait_s = login_limit.retry_after_s(shut_ns)
        answer = self._answer(request, 429, SHUT.format(wait_s))
        answer.headers["retry-after"] = str(wait_s)
        return answer

    def _answer(self, request: Request, status: int, message: str) -> Response:
        """A refusal as who asks can read it: a page for a form, else JSON."""
        if not _is_form(request):
            return _error(status, message)
        if status == 403:
            return console_pages.problem_page(status, "Not from here", "This form was sent by another page.")
        if status == 429:
            wait_s = login_limit.retry_after_s(login_limit.shut_for_ns(self._tries, self._clock.now_ns()))
            return console_pages.login_page(status, f"Too many wrong passwords. Try again in {wait_s} s.")
        return console_pages.login_page(status, "That password is not the one. Try again.")


class _Watch(Response):
    """The answer that goes on until the stream is over."""

    def __init__(self, watchers: Events, session: str, opened_ns: int) -> None:
        super().__init__()
        self._watchers = watchers
        self._session = session
        self._opened_ns = opened_ns

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [pair for pair in self.raw_headers if pair[0] not in (b"content-length", b"content-type")]
        try:
            await self._watchers.serve(Stream(self._session, self._opened_ns, headers), receive, send)
        except StoreUnavailable:  # at its first sight, before anything was sent
            answer = _error(503, STORE_AWAY)
            add_headers(answer)
            await answer(scope, receive, send)


def add_headers(answer: Response) -> None:
    """On every answer, errors too: nothing foreign runs in it, frames it or keeps it."""
    for name, value in console_pages.HEADERS.items():
        answer.headers[name] = value


def set_cookie(answer: Response, session: str) -> None:
    """Not for scripts, not with requests from other sites.

    Not `Secure`: the console speaks plain http on loopback, where browsers may drop a Secure cookie; the `__Host-`
    prefix asks for Secure. Without an age it ends with the browser, and here after half a day at most.
    """
    answer.set_cookie(COOKIE, session, httponly=True, samesite="strict", path="/")


def opens(presented: str, password: str | None) -> bool:
    """Whether this is the password, in constant time."""
    if password is None:
        return False
    return hmac.compare_digest(presented.encode("utf-8", "surrogatepass"), password.encode("utf-8", "surrogatepass"))


def _presented(request: Request) -> str:
    return request.cookies.get(COOKIE, "")


def _is_form(request: Request) -> bool:
    return _content_type(request) == FORM


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _password(request: Request, body: bytes) -> str | None:
    try:
        if _is_form(request):
            given = parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=8)
            (password,) = given["password"]
            return password
        document = json.loads(body)
    except (ValueError, KeyError, RecursionError):
        return None
    found = document.get("password") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None


async def _read(request: Request) -> bytes | None:
    """The body, None when it is too long."""
    body = b""
    with suppress(ClientDisconnect):
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_MAX:
                return None
    return body


def _not_logged_in() -> Response:
    return _error(401, "not logged in; expected the cookie of POST /login; log in first")


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status)
