"""Who comes in at /mcp: the bearer token in its one header, and nothing else; and what is written about it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}'
METHODS = ("HEAD", "GET", "DELETE", "OPTIONS", "POST", "PUT")
TOKEN = "{token}"
SWAPPED = "{swapped}"

Headers = Sequence[tuple[str, str]]


def bearer(*values: str) -> Headers:
    return [("authorization", value) for value in values]


REFUSED: dict[str, Headers] = {
    "no-header": [],
    "empty-value": bearer(""),
    "empty-token": bearer("Bearer "),
    "scheme-only": bearer("Bearer"),
    "no-scheme": bearer(TOKEN),
    "basic-scheme": bearer(f"Basic {TOKEN}"),
    "scheme-glued": bearer(f"Bearer{TOKEN}"),
    "scheme-longer": bearer(f"Bearers {TOKEN}"),
    "wrong-token": bearer("Bearer not-the-token"),
    "token-in-other-case": bearer(f"Bearer {SWAPPED}"),
    "token-and-more": bearer(f"Bearer {TOKEN}A"),
    "token-and-a-word": bearer(f"Bearer {TOKEN} {TOKEN}"),
    "token-in-a-list": bearer(f"Bearer {TOKEN}, Bearer {TOKEN}"),
    "duplicate-same": bearer(f"Bearer {TOKEN}", f"Bearer {TOKEN}"),
    "duplicate-good-first": bearer(f"Bearer {TOKEN}", "Bearer no"),
    "duplicate-good-last": bearer("Bearer no", f"Bearer {TOKEN}"),
    "duplicate-with-empty": bearer(f"Bearer {TOKEN}", ""),
    "byte-ff": bearer(f"Bearer {TOKEN}\xff"),
    "only-byte-ff": bearer("Bearer \xff\xfe"),
    "byte-ff-in-scheme": bearer(f"Bearer\xff {TOKEN}"),
    "cookie-token": [("cookie", f"token={TOKEN}")],
    "cookie-access-token": [("cookie", f"access_token={TOKEN}; mcp_token={TOKEN}; authorization={TOKEN}")],
    "other-header": [("x-authorization", f"Bearer {TOKEN}"), ("x-api-key", TOKEN)],
    "proxy-header": [("proxy-authorization", f"Bearer {TOKEN}")],
}
"""Headers are latin-1 text; `{token}` stands for the host's token."""

QUERIES = (f"access_token={TOKEN}", f"token={TOKEN}", f"authorization=Bearer%20{TOKEN}", f"api_key={TOKEN}")


def filled(text: str, host: Any) -> str:
    return text.replace(TOKEN, host.token).replace(SWAPPED, host.token.swapcase())


async def knock(
    http: httpx.AsyncClient, host: Any, headers: Headers, *, method: str = "POST", path: str = "/mcp"
) -> httpx.Response:
    """One request at the door. A GET that is let in ends at once, since it has no session."""
    raw = [(name.encode(), filled(value, host).encode("latin-1")) for name, value in headers]
    own = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]
    content = PING if method in ("POST", "PUT") else b""
    return await http.request(method, filled(path, host), headers=[*own, *raw], content=content)


def assert_refused(answer: httpx.Response, what: str) -> None:
    assert answer.status_code == 401, f"{what}: expected 401, got {answer.status_code} {answer.text[:100]}"
    assert answer.headers.get("www-authenticate") == "Bearer", f"{what}: the challenge must be exactly `Bearer`"
    if answer.request.method != "HEAD":
        assert answer.json() == {"error": "invalid token"}, f"{what}: {answer.text[:100]}"


def assert_let_in(answer: httpx.Response, what: str) -> None:
    assert answer.status_code not in (401, 403, 500), f"{what}: expected to be let in, got {answer.status_code}"


@scenario("HA-02", rung="memory")
@pytest.mark.parametrize("row", REFUSED)
async def test_a_wrong_header_opens_nothing(world: World, row: str) -> None:
    """Each way of not presenting exactly one bearer token in exactly one header. 401 with the challenge, no line in any
    log; the right header still opens the door."""
    log = world.listen()
    host = await world.hostagent()
    async with host.http() as http:
        before = len(log.lines)
        assert_refused(await knock(http, host, REFUSED[row]), row)
        assert not log.lines[before:], f"{row}: a refused attempt was logged: {log.lines[before:]}"
        assert_let_in(await knock(http, host, bearer(f"Bearer {TOKEN}")), "the right header after it")


@scenario("HA-02")
async def test_every_method_needs_the_token(world: World) -> None:
    """HEAD, GET, DELETE, OPTIONS, POST and PUT at both spellings of the endpoint. Without the token each one gets 401,
    with it none does, whatever else it gets."""
    host = await world.hostagent()
    async with host.http() as http:
        for path in ("/mcp", "/mcp/"):
            for method in METHODS:
                what = f"{method} {path}"
                answer = await knock(http, host, [], method=method, path=path)
                assert_refused(answer, f"{what} without a token")
                answer = await knock(http, host, bearer("Bearer wrong"), method=method, path=path)
                assert_refused(answer, f"{what} with a wrong token")
                answer = await knock(http, host, bearer(f"Bearer {TOKEN}"), method=method, path=path)
                assert_let_in(answer, f"{what} with the token")


@scenario("HA-02")
async def test_the_scheme_has_no_case_and_the_token_has(world: World) -> None:
    """The scheme in four spellings opens the door. The token with its cases swapped does not, in any of them."""
    host = await world.hostagent()
    async with host.http() as http:
        for scheme in ("Bearer", "bearer", "BEARER", "bEaReR"):
            assert_let_in(await knock(http, host, bearer(f"{scheme} {TOKEN}")), scheme)
            assert_refused(await knock(http, host, bearer(f"{scheme} {SWAPPED}")), f"{scheme}, token in other case")


@scenario("HA-02")
async def test_the_query_and_the_body_open_nothing(world: World) -> None:
    """The token in the query under four names, for GET and POST, and in a form. Never let in."""
    host = await world.hostagent()
    async with host.http() as http:
        for query in QUERIES:
            for method in ("GET", "POST"):
                answer = await knock(http, host, [], method=method, path=f"/mcp?{query}")
                assert_refused(answer, f"{method} with the token in the query as {query.partition('=')[0]}")
        form = await http.post("/mcp", data={"access_token": host.token, "token": host.token})
        assert_refused(form, "the token in a form")


# -- header shapes -----------------------------------------------------------------------------------------------------

SCHEMES = ["Bearer", "bearer", "BEARER", "Basic", "Bear", "Bearer:", "Token", "", "Bearer\xa0"]
GAPS = [" ", "  ", "", "\t", ",", "="]
SECRETS = [TOKEN, TOKEN, TOKEN, SWAPPED, "", f"{TOKEN}\x80", f'"{TOKEN}"', f"{TOKEN};", f"{TOKEN}%20", f"{TOKEN},"]
NAMES = ["authorization", "Authorization", "AUTHORIZATION", "authorisation", "authorization-token"]


@st.composite
def headers_of_a_request(draw: st.DrawFn) -> list[tuple[str, str]]:
    def value() -> str:
        kept = st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f")
        shape = draw(st.sampled_from(["good", "parts", "parts", "text"]))
        if shape == "good":
            return f"Bearer {TOKEN}"
        if shape == "text":
            return draw(st.text(kept, max_size=20))
        parts = (draw(st.sampled_from(SCHEMES)), draw(st.sampled_from(GAPS)), draw(st.sampled_from(SECRETS)))
        # Blanks at the ends of a value are no part of it (RFC 9110, 5.5), and HTTP clients refuse to send them.
        return "".join(parts).strip(" \t")

    return [(draw(st.sampled_from(NAMES[:3] * 3 + NAMES[3:])), value()) for _ in range(draw(st.integers(0, 3)))]


def opens(headers: Headers, host: Any) -> bool:
    """RFC 6750, 2.1 and RFC 9110, 11.4: one header; the scheme in any case; blanks; the token as it is."""
    values = [filled(value, host) for name, value in headers if name.lower() == "authorization"]
    return len(values) == 1 and bool(re.fullmatch(f"(?i:bearer) +{re.escape(host.token)}", values[0], re.ASCII))


ROWS_FOR_ANY_CLIENT = [list(headers) for headers in REFUSED.values() if not any(v.endswith(" ") for _, v in headers)]


@scenario("HA-02", sees=("let-in", "refused"))
@settings(max_examples=6)
@given(requests=st.lists(headers_of_a_request(), min_size=6, max_size=12))
@example(requests=[*ROWS_FOR_ANY_CLIENT, list(bearer(f"bEARER   {TOKEN}")), list(bearer(f"Bearer {TOKEN}"))])
async def test_only_one_shape_of_header_opens(world: World, requests: list[list[tuple[str, str]]]) -> None:
    """Requests with any mixture of Authorization headers. Let in exactly if there is one, of scheme bearer, with the
    token and nothing else; every other gets 401 and leaves no line in any log."""
    log = world.listen()
    host = await world.hostagent()
    async with host.http() as http:
        for headers in requests:
            await world.settle()
            before = len(log.lines)
            answer = await knock(http, host, headers)
            if opens(headers, host):
                world.saw("let-in")
                assert_let_in(answer, repr(headers))
            else:
                world.saw("refused")
                assert_refused(answer, repr(headers))
                await world.settle()
                assert not log.lines[before:], f"{headers}: a refused attempt was logged: {log.lines[before:]}"


# -- what is written ---------------------------------------------------------------------------------------------------


def counted(lines: Sequence[Any]) -> Counter[tuple[str, str]]:
    """Lines by level and text; ids that differ from request to request are masked."""
    return Counter((line.level, re.sub(r"[0-9a-f]{8,}", "ID", line.text)) for line in lines)


@scenario("HA-02")
async def test_refusals_are_silent_and_the_first_success_is_told_once(world: World) -> None:
    """Forty refused attempts, then three times one that is let in. The refusals leave no line in any logger; the first
    success leaves exactly one more line than the later ones, at INFO."""
    log = world.listen()
    host = await world.hostagent()
    async with host.http() as http:
        await world.settle()
        begin = len(log.lines)
        for number in range(40):
            assert_refused(await knock(http, host, bearer(f"Bearer guess-{number}")), f"guess {number}")
        await world.settle()
        assert not log.lines[begin:], f"refused attempts were logged: {log.lines[begin:]}"
        told: list[Counter[tuple[str, str]]] = []
        for _ in range(3):
            before = len(log.lines)
            assert_let_in(await knock(http, host, bearer(f"Bearer {TOKEN}")), "the right token")
            await world.settle()
            told.append(counted(log.lines[before:]))
    extra = told[0] - told[1]
    assert sum(extra.values()) == 1, f"the first success must be told by one line of its own, got {dict(extra)}"
    assert next(iter(extra))[0] == "INFO", f"the first success must be told at INFO, got {dict(extra)}"
    assert told[1] == told[2], f"later successes must all look alike: {dict(told[1])}, then {dict(told[2])}"


@scenario("HA-02", "HA-15")
async def test_the_first_success_is_told_once_per_process(world: World) -> None:
    """Two agents come in, the host restarts, two come in again. The line about the first success comes once before the
    restart and once after it."""
    log = world.listen()
    host = await world.hostagent()
    token = host.token
    told: list[Counter[tuple[str, str]]] = []
    for _ in range(2):
        for _ in range(2):
            async with host.http() as http:
                before = len(log.lines)
                answer = await knock(http, host, bearer(f"Bearer {token}"))
                assert_let_in(answer, "the token from before the restart")
                await world.settle()
                told.append(counted(log.lines[before:]))
        await host.restart()
        await world.settle()
    first = told[0] - told[1]
    assert sum(first.values()) == 1, f"expected one line about the first success, got {dict(first)}"
    assert told[2] - told[3] == first, f"expected the same line once after the restart, got {dict(told[2] - told[3])}"


@scenario("HA-02")
async def test_cookie_and_token_never_stand_in_for_each_other(world: World) -> None:
    """The console's cookie at /mcp, the MCP token at the console in every place it could be put. Neither opens what is
    not its own."""
    host = await world.hostagent()
    console = await host.console()
    assert (await console.get("/api/status")).status_code == 200, "the cookie opens the console"
    for method in METHODS:
        assert_refused(await knock(console, host, [], method=method), f"{method} /mcp with the console's cookie")
    cookies = list(console.cookies.keys())
    assert cookies, "the console's login sets a cookie"
    async with host.http() as http:
        as_bearer = {"authorization": f"Bearer {host.token}"}
        assert (await http.get("/api/status", headers=as_bearer)).status_code == 401, "the token as bearer header"
        for name in cookies:
            as_cookie = {"cookie": f"{name}={host.token}"}
            assert (await http.get("/api/status", headers=as_cookie)).status_code == 401, "the token as the cookie"
        login = await http.post("/login", json={"password": host.token})
        assert login.status_code == 401, "the token as the console's password"
        assert "set-cookie" not in login.headers, "a refused login opens no session"


@scenario("HA-02")
async def test_secrets_are_written_nowhere(world: World) -> None:
    """Sessions open, call, are refused, end and come back, with a cloud listening. The token and whole session ids are
    in no log, heartbeat, status, page, error or trace."""
    log = world.listen()
    cloud = await world.cloud()
    host = await world.hostagent(devices=["phone-1", "phone-2"])
    alice, bob, eve = [await host.client(name) for name in ("alice", "bob", "eve")]
    answers = [await alice.tap("phone-1"), await bob.tap("phone-2"), await eve.tap("phone-1")]
    assert not answers[2].ok, "eve must be refused, so that an owner is shown to her"
    await world.advance(host.heartbeat_s * 1.2)
    shown = {
        "status": json.dumps(await host.status()),
        "answers": repr(answers),
        "device status": repr((await eve.call("device_status", device_id="phone-1")).value),
    }
    async with host.http() as http:
        for path in ("/", "/login", "/api/status", "/mcp", "/docs", "/openapi.json"):
            page = await http.get(path)
            shown[f"page {path}"] = f"{page.headers} {page.text}"
    secrets = {"token": host.token} | {c.name: str(c.raw.session_id) for c in (alice, bob, eve)}
    stream = await bob.raw.open_stream()
    await stream.close()
    await bob.end()
    again = await bob.tap("phone-2")
    assert again.http_status == 404, f"an ended session answers 404, got {again.http_status}"
    shown["answer to an ended session"] = repr(again)
    told = await world.get(f"{cloud.url}/v1/log")
    assert any(request["path"].endswith("/heartbeat") for request in told["requests"]), "heartbeats were sent"
    shown["requests to the cloud"] = cloud_bytes(told["requests"])
    await world.settle()
    await host.stop()
    assert len(log.lines) > 3, "the host agent logs something"
    shown["log"] = "\n".join(f"{line.logger} {line.text}" for line in log.lines)
    shown["trace"] = json.dumps([event.as_json() for event in world.trace.events], default=str)
    for place, text in shown.items():
        for name, secret in secrets.items():
            assert secret not in text, f"{place} shows the {'token' if name == 'token' else f'session id of {name}'}"


def cloud_bytes(requests: list[dict[str, Any]]) -> str:
    import base64

    return "\n".join(f"{r['path']} {base64.b64decode(r['body_base64']).decode('latin-1')}" for r in requests)
