"""Wrong consoles: doors that stand open, sessions that do not end, pages that are told too little or too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from starlette.responses import JSONResponse

from lasttick.model import login_limit, same_origin
from lasttick.model.login_limit import Tries
from lasttick.mutants import Mutant, Seam
from lasttick.reference.hostagent import console, console_board, console_events, console_pages, console_tasks
from lasttick.reference.hostagent.console import Console
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.console_events import Events, Stream
from lasttick.reference.hostagent.console_sessions import ConsoleSessions
from lasttick.reference.hostagent.status_board import Look

Patch = Callable[[Seam], AbstractContextManager[None]]


def _replace(owner: Any, name: str, value: Any) -> Patch:
    return lambda seam: seam.replace(owner, name, value)


def _wrap(owner: Any, name: str, wrong: Callable[[Any], Any]) -> Patch:
    return lambda seam: seam.wrap(owner, name, wrong)


# -- who sent it


_is_ours = same_origin.is_ours


def _null_is_nobody(origins: Sequence[str], fetch_sites: Sequence[str], host: str, *, must_say: bool) -> bool:
    """`null` taken for no origin at all."""
    kept = [origin for origin in origins if origin != "null"]
    return _is_ours(kept, fetch_sites, host, must_say=must_say and not origins)


def _same_site_is_ours(origins: Sequence[str], fetch_sites: Sequence[str], host: str, *, must_say: bool) -> bool:
    """Every port of this machine is one site."""
    return _is_ours(
        origins, [site.replace("same-site", "same-origin") for site in fetch_sites], host, must_say=must_say
    )


def _only_origin(origins: Sequence[str], fetch_sites: Sequence[str], host: str, *, must_say: bool) -> bool:
    return _is_ours(origins, [], host, must_say=False) if origins else True


def _prefix(origins: Sequence[str], fetch_sites: Sequence[str], host: str, *, must_say: bool) -> bool:
    name = host.partition(":")[0]
    return all(origin.startswith((f"http://{name}", "http://localhost")) for origin in origins) and _is_ours(
        [], fetch_sites, host, must_say=must_say and not origins
    )


# -- guessing


def _tick_early(right: Any) -> Any:
    return lambda tries, now_ns: 0 if tries.opens_ns - now_ns <= 1_000_000 else right(tries, now_ns)


def _tick_late(right: Any) -> Any:
    return lambda tries, now_ns: right(tries, now_ns) or int(tries.opens_ns > 0 and now_ns == tries.opens_ns)


def _knock_prolongs(tries: Tries, now_ns: int) -> Tries:
    return login_limit.after_failure(tries, now_ns)


def _right_one_opens(right: Any) -> Any:
    """The password is compared even at a shut door."""

    async def login(self: Console, request: Any) -> Any:
        body = await request.body()
        password = console._password(request, body)
        if password is not None and console.opens(password, self.password):
            self._tries = Tries()
        return await right(self, request)

    return login


def _never_forgets(tries: Tries, now_ns: int) -> Tries:
    failed = tries.failed + 1
    return Tries(failed, now_ns, now_ns + login_limit.lock_ns(failed))


def _shut_for_ever(failed: int) -> int:
    return 0 if failed < login_limit.FREE_TRIES else login_limit.FIRST_LOCK_NS << (failed - login_limit.FREE_TRIES)


# -- sessions


def _keeps_presented(right: Any) -> Any:
    def log_in(self: ConsoleSessions, presented: str) -> str:
        """As frameworks do that mark the session there is as logged in."""
        if not presented:
            return str(right(self, presented))
        self._opened_ns[presented] = self._clock.now_ns()
        return presented

    return log_in


def _old_one_stays(right: Any) -> Any:
    return lambda self, presented: right(self, "")


def _cookie_only(self: ConsoleSessions, session: str, why: str) -> None:
    """The logout makes the browser forget."""


def _streams_stay(self: Events, session: str, why: str) -> None:
    """A stream was allowed when it was opened."""


def _cookie(**flags: Any) -> Patch:
    def set_cookie(answer: Any, session: str) -> None:
        usual = {"httponly": True, "samesite": "strict", "path": "/"}
        answer.set_cookie(console.COOKIE, session, **(usual | flags))

    return _replace(console, "set_cookie", set_cookie)


# -- what the page is told


def _for_anybody(right: Any) -> Any:
    async def events(self: Console, request: Any) -> Any:
        return console._Watch(self.watchers, self.sessions.log_in(""), self._clock.now_ns())

    return events


def _only_what_came(before: Sight, now: Sight) -> bool:
    held = {row["device_id"] for row in before.shown["mcp_busy_devices"]}
    return any(row["device_id"] not in held for row in now.shown["mcp_busy_devices"])


def _news_without_calls(seen: Look, tasks_key: object) -> object:
    leases = [(lease.device_id, lease.holder) for lease in seen.leases]
    return ([tuple(row.items()) for row in seen.devices], leases, tasks_key)


def _whole_session(right: Any) -> Any:
    def sight(seen: Look, **known: Any) -> Sight:
        made: Sight = right(seen, **known)
        holders = {lease.device_id: lease.holder.id for lease in seen.leases}
        rows = [{**row, "session": holders[row["device_id"]]} for row in made.shown["mcp_busy_devices"]]
        return replace(made, shown={**made.shown, "mcp_busy_devices": rows})

    return sight


async def _untold(self: Events) -> None:
    """Their connections end with the process."""


async def _never_gone(self: Stream, receive: Any) -> None:
    await asyncio.Event().wait()


async def _as_the_framework_does(self: Console, request: Any, error: Any) -> Any:
    return JSONResponse({"detail": error.detail}, error.status_code)


def _page_for_anybody(right: Any) -> Any:
    async def page(self: Console, request: Any) -> Any:
        return console_pages.dashboard(await self._status())

    return page


def _no_reasons(right: Any) -> Any:
    return lambda self, entry, status, reason: right(self, entry, status, None)


def _no_way_without_json(right: Any) -> Any:
    async def login(self: Console, request: Any) -> Any:
        if console._is_form(request):
            return JSONResponse({"error": "JSON"}, 415)
        return await right(self, request)

    return login


CONSOLE = "hostagent/console/"
IN, HEADERS, CSRF = (
    "a-password-opens-the-page",
    "every-answer-keeps-strangers-out",
    "a-form-on-another-page-does-nothing",
)
SESSION = "a-session-is-made-at-the-login-and-ends-at-the-logout"
SHUT, SLOW = (
    "after-five-wrong-passwords-the-door-is-shut-for-a-second",
    "guessing-gets-slow-and-shuts-nobody-out",
)
LEASE, STREAM = (
    "a-lease-comes-and-goes-while-the-page-is-open",
    "the-stream-is-for-who-is-logged-in-and-ends-with-the-host",
)
SECRETS, TASKS = "the-page-tells-no-whole-session-and-no-secret", "the-page-shows-what-the-cloud-had-done"

_ALL: list[tuple[str, str, Patch, str]] = [
    (
        "csrf-unchecked",
        "Forms of other pages are taken.",
        _replace(same_origin, "is_ours", lambda *asked, must_say: True),
        f"{CSRF}[foreign-origin]",
    ),
    (
        "null-origin-passes",
        "A page that hides its origin counts as none.",
        _replace(same_origin, "is_ours", _null_is_nobody),
        f"{CSRF}[hidden-origin]",
    ),
    (
        "same-site-passes",
        "Another port of this machine counts as the console.",
        _replace(same_origin, "is_ours", _same_site_is_ours),
        f"{CSRF}[same-site]",
    ),
    (
        "fetch-site-ignored",
        "Only the Origin header is looked at, and need not be there.",
        _replace(same_origin, "is_ours", _only_origin),
        f"{CSRF}[cross-site]",
    ),
    (
        "origin-by-prefix",
        "An origin that begins like ours is ours.",
        _replace(same_origin, "is_ours", _prefix),
        f"{CSRF}[another-name-of-this-machine]",
    ),
    (
        "console-host-unchecked",
        "The console answers under any name: a foreign one may point at this machine.",
        _replace(same_origin, "is_served", lambda hosts, here: True),
        HEADERS,
    ),
    (
        "page-may-be-framed",
        "The headers that keep strangers out are missing.",
        _replace(console, "add_headers", lambda answer: None),
        HEADERS,
    ),
    (
        "no-policy-where-nothing-is",
        "What answers for pages that do not exist has none of the headers.",
        _replace(Console, "_nothing_here", _as_the_framework_does),
        HEADERS,
    ),
    (
        "inline-scripts-allowed",
        "The policy lets inline scripts run.",
        _replace(
            console_pages,
            "HEADERS",
            console_pages.HEADERS
            | {"content-security-policy": console_pages.POLICY.replace("script-src", "script-src 'unsafe-inline'")},
        ),
        HEADERS,
    ),
    (
        "pages-are-kept",
        "Browsers may keep what they were shown.",
        _replace(console_pages, "HEADERS", console_pages.HEADERS | {"cache-control": "max-age=600"}),
        HEADERS,
    ),
    (
        "cookie-readable-by-scripts",
        "The cookie is not HttpOnly.",
        _cookie(httponly=False),
        IN,
    ),
    ("cookie-travels-with-links", "The cookie is SameSite=Lax.", _cookie(samesite="lax"), IN),
    ("page-without-login", "The page shows the devices to anybody.", _wrap(Console, "page", _page_for_anybody), IN),
    (
        "no-form",
        "Only JSON logs in, so without scripts nobody does.",
        _wrap(Console, "login", _no_way_without_json),
        IN,
    ),
    (
        "login-keeps-presented-session",
        "The login takes over the session id that the browser brought.",
        _wrap(ConsoleSessions, "log_in", _keeps_presented),
        SESSION,
    ),
    (
        "new-login-leaves-the-old-session",
        "Who logs in anew leaves a session behind.",
        _wrap(ConsoleSessions, "log_in", _old_one_stays),
        SESSION,
    ),
    (
        "logout-leaves-session",
        "The logout only drops the cookie.",
        _replace(ConsoleSessions, "end", _cookie_only),
        SESSION,
    ),
    (
        "logout-leaves-stream",
        "A page that is open goes on after the logout.",
        _replace(Events, "session_ended", _streams_stay),
        SESSION,
    ),
    (
        "no-brute-force-limit",
        "Passwords may be guessed as fast as they come.",
        _replace(login_limit, "lock_ns", lambda failed: 0),
        SHUT,
    ),
    (
        "lock-ends-one-tick-early",
        "The door opens a tick before its time.",
        _wrap(login_limit, "shut_for_ns", _tick_early),
        SHUT,
    ),
    (
        "lock-ends-late",
        "The door is still shut at the end of the second.",
        _wrap(login_limit, "shut_for_ns", _tick_late),
        SHUT,
    ),
    (
        "right-password-opens-a-shut-door",
        "At a shut door the right password is not refused as a wrong one.",
        _wrap(Console, "login", _right_one_opens),
        SHUT,
    ),
    (
        "knocking-keeps-it-shut",
        "A try at a shut door counts, so whoever goes on trying shuts everybody out.",
        _replace(login_limit, "after_knock", _knock_prolongs),
        SLOW,
    ),
    (
        "lock-grows-for-ever",
        "The time the door is shut doubles without an end.",
        _replace(login_limit, "lock_ns", _shut_for_ever),
        SLOW,
    ),
    (
        "lock-does-not-grow",
        "The hundredth wrong password costs a second, as the fifth.",
        _replace(login_limit, "LOCK_NS_MAX", login_limit.FIRST_LOCK_NS),
        SLOW,
    ),
    (
        "slips-are-never-forgotten",
        "Wrong passwords of last week still count.",
        _replace(login_limit, "after_failure", _never_forgets),
        SLOW,
    ),
    (
        "events-without-login",
        "The events are for anybody.",
        _wrap(Console, "events", _for_anybody),
        STREAM,
    ),
    (
        "stop-leaves-pages-waiting",
        "A page that is open is not told of the stop.",
        _replace(Events, "aclose", _untold),
        STREAM,
    ),
    (
        "lease-never-leaves-the-page",
        "Pages are told what came, not what went.",
        _replace(console_events, "is_news", _only_what_came),
        LEASE,
    ),
    (
        "page-hears-of-no-calls",
        "Pages are not told that a lease was used.",
        _replace(console_board, "news", _news_without_calls),
        LEASE,
    ),
    (
        "page-hears-late-of-the-end",
        "Pages hear of a lease's end at the next usual look.",
        _replace(console_board, "next_end_ns", lambda seen, ttl_s: None),
        LEASE,
    ),
    (
        "every-look-is-sent",
        "Pages are sent every look, news or not.",
        _replace(console_events, "is_news", lambda before, now: True),
        LEASE,
    ),
    (
        "any-number-of-streams",
        "A browser may hold any number of streams.",
        _replace(Events, "has_room", lambda self, session: True),
        "so-many-pages-watch-and-no-more",
    ),
    (
        "closed-pages-keep-their-place",
        "A page that was closed counts as one that watches.",
        _replace(Stream, "_until_gone", _never_gone),
        "so-many-pages-watch-and-no-more",
    ),
    (
        "page-shows-whole-session",
        "The page shows whole session ids.",
        _wrap(console_board, "sight", _whole_session),
        SECRETS,
    ),
    (
        "text-becomes-markup",
        "Names and reasons stand in the page as they are.",
        _replace(console_pages, "escape", lambda text: text),
        TASKS,
    ),
    (
        "tasks-without-reason",
        "The page does not say why a task failed.",
        _wrap(console_tasks.TaskLog, "ended", _no_reasons),
        TASKS,
    ),
]
MUTANTS = [Mutant(f"hostagent/{id_}", "HA-17", text, CONSOLE + killer, patch) for id_, text, patch, killer in _ALL]
