"""One call to the vault, byte for byte, and everything that can go wrong with it. Source: contract vaultclaw 8, 9."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lasttick.engine.chance import Chance
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw import sender
from lasttick.reference.vaultclaw.dialer import Dialer
from lasttick.reference.vaultclaw.sender import HttpSender
from lasttick.reference.vaultclaw.vault import VaultSession

from .core_rig import TOKEN, Answer, FakeVault, refusal

BASE = "http://vault.test:8080"


class Sent:
    """What one send led to: its answer or failure, the requests, the sockets dialled, the seconds."""

    def __init__(self, answer: Answer, base_url: str = BASE, token: str = TOKEN, **options: Any) -> None:
        self.vault = FakeVault(answer)
        self.dialled: list[str | None] = []
        timeout_ms = options.pop("timeout_ms", 20_000)
        socket_path = options.pop("socket_path", None)
        method, path = options.pop("method", "GET"), options.pop("path", "/v0/connectors")

        async def main(loop: VirtualLoop) -> None:
            http = HttpSender(
                VaultSession(token, base_url, timeout_ms),
                Dialer(self._dial),
                Chance(1),
                socket_path=socket_path,
                home="/home/me",
            )
            try:
                self.answer: Any = await http.send(method, path, **options)
            except ToolFailure as failure:
                self.answer = failure
            self.took_s = loop.time()

        run_virtual(main)

    def _dial(self, socket_path: str | None) -> httpx.AsyncBaseTransport:
        self.dialled.append(socket_path)
        return self.vault

    @property
    def request(self) -> httpx.Request:
        [request] = self.vault.asked
        return request


def test_the_headers_of_a_get() -> None:
    sent = Sent(lambda request: {"items": []})
    request_id = sent.answer.request_id
    assert (sent.answer.status, sent.answer.body) == (200, {"items": []})
    assert len(request_id) == 32
    assert int(request_id, 16) >= 0
    assert dict(sent.request.headers) == {
        "host": "vault.test:8080",
        "x-request-id": request_id,
        "user-agent": "accords-mcp/0.1.0",
        "authorization": f"Bearer {TOKEN}",
    }


def test_the_headers_and_body_of_a_post() -> None:
    sent = Sent(lambda request: {}, method="POST", path="/v0/x", body={"é": 1, "n": None}, idempotency_key="random")
    headers = sent.request.headers
    assert headers["content-type"] == "application/json"
    assert len(headers["idempotency-key"]) == 32
    assert headers["idempotency-key"] != headers["x-request-id"]
    assert json.loads(sent.request.content) == {"é": 1, "n": None}


def test_idempotency_keys_fixed_and_none() -> None:
    fixed = Sent(lambda request: {}, method="POST", body={}, idempotency_key="mcp-unbounded-profile-8042d5b7fd92")
    assert fixed.request.headers["idempotency-key"] == "mcp-unbounded-profile-8042d5b7fd92"
    assert "idempotency-key" not in Sent(lambda request: {}, method="POST", body={}).request.headers


def test_a_query_is_sorted_and_form_encoded() -> None:
    sent = Sent(lambda request: {}, query={"states": "WAITING,READY", "limit": "5", "connector_id": "a b&c=é/~*"})
    assert sent.vault.calls == [
        "GET /v0/connectors?connector_id=a+b%26c%3D%C3%A9%2F~%2A&limit=5&states=WAITING%2CREADY",
    ]


@pytest.mark.parametrize("base", [f" {BASE}// ", BASE])
def test_slashes_at_the_end_of_the_base_url(base: str) -> None:
    assert str(Sent(lambda request: {}, base).request.url) == f"{BASE}/v0/connectors"


def test_a_base_url_with_a_path() -> None:
    assert str(Sent(lambda request: {}, f"{BASE}/vault/").request.url) == f"{BASE}/vault/v0/connectors"


@pytest.mark.parametrize(
    ("base", "variable", "dialled", "host"),
    [
        (BASE, None, None, "vault.test:8080"),
        (
            BASE,
            "/run/v.sock",
            "/run/v.sock",
            "vault.test:8080",
        ),  # the variable wins, the Host header still shows the URL
        (BASE, "~/v.sock", "/home/me/v.sock", "vault.test:8080"),
        ("unix:///tmp/a.sock", "/run/v.sock", "/tmp/a.sock", "localhost"),
        ("unix://~/a.sock", None, "/home/me/a.sock", "localhost"),
        ("http+unix://%2Ftmp%2Fa%20b.sock/", None, "/tmp/a b.sock", "localhost"),
    ],
)
def test_who_is_dialled(base: str, variable: str | None, dialled: str | None, host: str) -> None:
    sent = Sent(lambda request: {}, base, socket_path=variable)
    assert sent.dialled == [dialled]
    assert sent.request.headers["host"] == host


@pytest.mark.parametrize("body", [b"", b"text", b"[1]", b"{", b"1", b"\xff", b"[" * 5000])
def test_a_body_that_is_no_object_is_a_success_without_data(body: bytes) -> None:
    assert Sent(lambda request: body).answer.body is None


def test_numbers_are_64_bit_floats() -> None:
    answer = Sent(lambda request: b'{"a":1.0,"b":12345678901234567890}').answer
    assert json.dumps(answer.body) == '{"a": 1, "b": 12345678901234567000}'


def test_an_error_answer_is_mapped() -> None:
    failure = Sent(refusal(403, "INSUFFICIENT_SCOPE", "no")).answer
    assert (failure.code, failure.message, failure.vault_code) == ("MCP_AUTH_FORBIDDEN", "no", "INSUFFICIENT_SCOPE")
    assert failure.details["vault_http_status"] == 403
    assert len(failure.details["request_id"]) == 32


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(status: int) -> None:
    sent = Sent(lambda request: httpx.Response(status, headers={"location": "http://elsewhere.test/"}))
    assert len(sent.vault.asked) == 1
    assert (sent.answer.code, sent.answer.vault_code, sent.answer.retryable) == ("MCP_INTERNAL", "HTTP_ERROR", False)


def test_no_cookie_goes_from_one_call_to_the_next() -> None:
    async def main(loop: VirtualLoop) -> list[httpx.Request]:
        vault = FakeVault(lambda request: httpx.Response(200, headers={"set-cookie": "who=acme"}, json={}))
        dialer = Dialer(lambda path: vault)
        for token in ("token-of-acme", "token-of-bolt"):
            await HttpSender(VaultSession(token, BASE, 1000), dialer, Chance(1), socket_path=None, home="").send(
                "GET", "/x"
            )
        return vault.asked

    assert not [request for request in run_virtual(main) if "cookie" in request.headers]


def never(failure: Any) -> None:
    """The shape of every failure without a whole answer."""
    assert (failure.code, failure.category, failure.retryable) == ("MCP_INTERNAL", "internal", True)
    assert failure.as_json()["meta"]["vault_code"] == "NETWORK_ERROR"
    assert failure.details["vault_http_status"] == 0
    assert failure.message.count(";") >= 2
    assert TOKEN not in str(failure.error())


def raising(error: Exception) -> Answer:
    def answer(request: httpx.Request) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("cut"),
        httpx.ReadError(""),
        OSError("AF_UNIX path too long"),
        UnicodeError("label too long"),
    ],
)
def test_a_vault_that_is_not_there(error: Exception) -> None:
    never(Sent(raising(error)).answer)


@pytest.mark.parametrize(
    "base",
    [
        "",
        "vault",
        "ftp://vault",
        "http://",
        "http://a:b",
        "unix://",
        "http+unix:///",
        "://",
        "http://a\x00b",
    ],
)
def test_an_unusable_url_is_a_network_failure_and_no_call(base: str) -> None:
    sent = Sent(lambda request: {}, base)
    never(sent.answer)
    assert not sent.vault.asked


def test_a_token_that_would_smuggle_a_header_is_never_sent() -> None:
    sent = Sent(lambda request: {}, token="abc\r\nX-Admin: 1")
    never(sent.answer)
    assert not sent.vault.asked


class Slow(httpx.AsyncByteStream):
    """A body whose second half never comes."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"a":'
        await asyncio.sleep(1e6)


class Cut(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"a":'
        raise httpx.RemoteProtocolError("peer closed connection")


async def hang(request: httpx.Request) -> Any:
    await asyncio.sleep(1e6)


@pytest.mark.parametrize("answer", [hang, lambda request: httpx.Response(200, stream=Slow())])
def test_the_time_out_covers_the_whole_call(answer: Answer) -> None:
    sent = Sent(answer, timeout_ms=1500)
    never(sent.answer)
    assert sent.took_s == 1.5
    assert "1.5 s" in sent.answer.message


def test_a_call_may_get_less_time_than_the_session_but_not_more() -> None:
    assert Sent(hang, timeout_ms=1500, timeout_s=0.5).took_s == 0.5
    assert Sent(hang, timeout_ms=1500, timeout_s=5).took_s == 1.5


def test_half_an_answer_is_none() -> None:
    never(Sent(lambda request: httpx.Response(200, stream=Cut())).answer)


def test_an_endless_body_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "BODY_MAX", 10)
    never(Sent(lambda request: b"{" + b" " * 10 + b"}").answer)


ANSWERS = {
    "whole": b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"ok":1}',
    "cut": b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"ok":1}',
    "none": b"",
}


def over_a_socket(answer: str, unix: Path | None) -> tuple[Any, bytes]:
    """One call over httpx's own transport, to a server that reads a request, writes `answer` and closes."""

    async def main() -> tuple[Any, bytes]:
        heard = b""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal heard
            heard = await reader.readuntil(b"\r\n\r\n")
            writer.write(ANSWERS[answer])
            writer.close()

        if unix is None:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        else:
            server, base_url = await asyncio.start_unix_server(serve, unix), BASE
        dialer = Dialer()
        socket_path = None if unix is None else str(unix)
        http = HttpSender(VaultSession(TOKEN, base_url, 5000), dialer, Chance(1), socket_path=socket_path, home="")
        async with server:
            try:
                got: Any = await http.send("GET", "/v0/connectors")
            except ToolFailure as failure:
                got = failure
        await dialer.aclose()
        return got, heard

    return asyncio.run(main())


@pytest.mark.parametrize("unix", [False, True])
@pytest.mark.parametrize("answer", sorted(ANSWERS))
def test_over_real_sockets(answer: str, unix: bool, tmp_path: Path) -> None:
    got, heard = over_a_socket(answer, tmp_path / "v.sock" if unix else None)
    first, *headers = heard.decode().splitlines()
    assert first == "GET /v0/connectors HTTP/1.1"
    assert not unix or "Host: vault.test:8080" in headers
    if answer == "whole":
        assert got.body == {"ok": 1}
    else:
        never(got)


NOWHERE = [
    "unix:///nowhere/v.sock",
    "unix:///" + "long/" * 50,
    "unix:///a\0b",
    "http://127.0.0.1:1",
    "http://127.0.0.1:99999",
    "http://[",
    "http://" + "a" * 300,
    "http://a..b",
    "http://xn--",
    "https://127.0.0.1:1",
]


@pytest.mark.parametrize("where", NOWHERE)
def test_nobody_listens(where: str) -> None:
    async def main() -> Any:
        http = HttpSender(VaultSession(TOKEN, where, 5000), Dialer(), Chance(1), socket_path=None, home="")
        with pytest.raises(ToolFailure) as failed:
            await http.send("GET", "/v0/connectors")
        return failed.value

    never(asyncio.run(main()))


def test_each_way_to_dial_has_one_pool() -> None:
    dialer = Dialer()
    assert dialer.transport(None) is dialer.transport(None) is not dialer.transport("/tmp/a.sock")
