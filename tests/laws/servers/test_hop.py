"""The hop: bytes as they came, headers as asked, one request per request, and an end for what is idle, cut or left."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.engine.loop import run_virtual
from lasttick.engine.network import Network
from lasttick.laws.servers import hop
from lasttick.laws.servers.hop_options import HopError, HopOptions
from lasttick.targets.transports import memory_transport

HOP, ONE, TWO = "127.0.0.1:7004", "127.0.0.1:1001", "127.0.0.1:1002"


class Target:
    """A replica: keeps what it got, and answers as the test says."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.bodies: list[bytes] = []
        self.left = 0
        self.status = 200
        self.headers: list[tuple[bytes, bytes]] = [(b"content-type", b"text/event-stream")]
        self.chunks: list[bytes] = [b"data: 1\n\n", b"data: 2\n\n"]
        self.before_s = 0.0
        self.between_s = 0.0
        self.cuts = False

    def header(self, name: str) -> list[str]:
        return [value.decode() for key, value in self.scopes[-1]["headers"] if key == name.encode()]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        self.bodies.append((await receive())["body"])
        answer = asyncio.ensure_future(self.answer(send))
        gone = asyncio.ensure_future(receive())
        await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            self.left += 1
        for task in (answer, gone):
            task.cancel()

    async def answer(self, send: Any) -> None:
        await asyncio.sleep(self.before_s)
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        for chunk in self.chunks:
            await asyncio.sleep(self.between_s)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if not self.cuts:
            await send({"type": "http.response.body", "body": b""})


class Rig:
    """A hop before two replicas, in memory and in virtual time."""

    def __init__(self, **options: Any) -> None:
        self.network = Network()
        self.one, self.two = Target(), Target()
        self.network.serve(ONE, self.one)
        self.network.serve(TWO, self.two)
        self.transport = memory_transport(self.network)
        self.hop = hop.hop_app(HopOptions(**{"to": (f"http://{ONE}",), **options}), self.transport)
        self.network.serve(HOP, self.hop)

    async def send(self, method: str = "GET", target: str = "/x", **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self.transport) as client:
            return await client.request(method, f"http://{HOP}{target}", **more)

    async def arrivals(self, target: str = "/x") -> tuple[int, list[tuple[float, bytes]]]:
        """Status, and each chunk with the virtual time at which it came."""
        loop = asyncio.get_running_loop()
        async with (
            httpx.AsyncClient(transport=self.transport) as client,
            client.stream("GET", f"http://{HOP}{target}") as answer,
        ):
            return answer.status_code, [(loop.time(), chunk) async for chunk in answer.aiter_raw()]


def play(body: Callable[[Rig], Awaitable[None]], **options: Any) -> None:
    async def main(_: Any) -> None:
        await body(Rig(**options))

    run_virtual(main)


def test_a_request_goes_through_as_it_came() -> None:
    async def body(rig: Rig) -> None:
        rig.one.status = 418
        rig.one.headers = [(b"x-a", b"1"), (b"x-a", b"2"), (b"content-length", b"3"), (b"set-cookie", b"k=\xe9")]
        rig.one.chunks = [b"\x00\xffz"]
        more = [(b"x-more", "caf\u00e9".encode())]
        answer = await rig.send("PATCH", "/a%2Fb//c?q=%20+&r", content=b"\x00\x01", headers=more)
        assert (answer.status_code, answer.content) == (418, b"\x00\xffz")
        assert answer.headers.raw == rig.one.headers
        scope = rig.one.scopes[0]
        assert (scope["method"], scope["raw_path"], scope["query_string"]) == ("PATCH", b"/a%2Fb//c", b"q=%20+&r")
        assert rig.one.bodies == [b"\x00\x01"]
        assert rig.one.header("host") == [ONE]
        assert dict(scope["headers"])[b"x-more"].decode() == "caf\u00e9"

    play(body)


@settings(max_examples=25, deadline=None)
@given(content=st.binary(max_size=300), chunks=st.lists(st.binary(min_size=1, max_size=50), max_size=5))
def test_any_body_goes_through_both_ways(content: bytes, chunks: list[bytes]) -> None:
    async def body(rig: Rig) -> None:
        rig.one.chunks = chunks
        answer = await rig.send("POST", content=content)
        assert (rig.one.bodies, answer.content) == ([content], b"".join(chunks))

    play(body)


def test_headers_of_one_connection_stay_there() -> None:
    async def body(rig: Rig) -> None:
        rig.one.headers = [(b"connection", b"x-hop"), (b"x-hop", b"1"), (b"keep-alive", b"5"), (b"x-kept", b"1")]
        answer = await rig.send(
            headers={"connection": "x-mine, close", "x-mine": "1", "te": "trailers", "upgrade": "h2c", "x-kept": "1"}
        )
        names = [name for name, _ in rig.one.scopes[0]["headers"]]
        for name in (b"connection", b"x-mine", b"te", b"upgrade"):
            assert name not in names
        assert rig.one.header("x-kept") == ["1"]
        assert answer.headers.raw == [(b"x-kept", b"1")]

    play(body)


def test_headers_are_dropped_and_then_added() -> None:
    async def body(rig: Rig) -> None:
        await rig.send(headers={"authorization": "Bearer a", "x-gone": "1", "x-more": "1"})
        assert rig.one.header("authorization") == ["Bearer b"]
        assert rig.one.header("x-gone") == []
        assert rig.one.header("x-more") == ["1", "2"]
        assert rig.one.header("host") == ["elsewhere"]

    play(
        body,
        drop_headers=("Authorization", "X-Gone"),
        add_headers=(("Authorization", "Bearer b"), ("x-more", "2"), ("Host", "elsewhere")),
    )


def test_replicas_take_turns_per_request() -> None:
    async def body(rig: Rig) -> None:
        for _ in range(5):
            await rig.send()
        assert (len(rig.one.scopes), len(rig.two.scopes)) == (3, 2)

    play(body, to=(f"http://{ONE}", f"http://{TWO}"))


def test_a_sticky_hop_keeps_a_session_at_the_replica_that_opened_it() -> None:
    async def body(rig: Rig) -> None:
        rig.one.headers = [(b"mcp-session-id", b"s1")]
        rig.two.headers = [(b"mcp-session-id", b"s2")]
        for _ in range(2):
            await rig.send()
        for session in ("s2", "s2", "s1", "unknown"):
            await rig.send(headers={"mcp-session-id": session})
        assert rig.one.header("mcp-session-id") == ["unknown"], "whom nobody knows takes turns like a new one"
        assert (len(rig.one.scopes), len(rig.two.scopes)) == (3, 3)

    play(body, to=(f"http://{ONE}", f"http://{TWO}"), sticky=True)


def test_a_stream_comes_chunk_by_chunk() -> None:
    async def body(rig: Rig) -> None:
        rig.one.between_s = 10
        assert await rig.arrivals() == (200, [(10, b"data: 1\n\n"), (20, b"data: 2\n\n")])

    play(body)


def test_a_buffered_stream_comes_whole_at_its_end() -> None:
    async def body(rig: Rig) -> None:
        rig.one.between_s = 10
        rig.one.headers = [(b"content-type", b"Text/Event-Stream; charset=utf-8")]
        assert await rig.arrivals() == (200, [(20, b"data: 1\n\ndata: 2\n\n")])
        rig.one.headers = [(b"content-type", b"application/json")]
        status, chunks = await rig.arrivals()
        assert (status, len(chunks)) == (200, 2), "other answers are not kept back"

    play(body, buffer_sse=True)


def test_each_answer_begins_later() -> None:
    async def body(rig: Rig) -> None:
        loop = asyncio.get_running_loop()
        await rig.send()
        assert loop.time() == 7
        rig.network.serve(ONE, rig.one).cut()
        assert (await rig.send()).status_code == 502
        assert loop.time() == 14

    play(body, delay_s=7.0)


# -- idle


def test_a_stream_that_is_idle_is_cut() -> None:
    async def body(rig: Rig) -> None:
        rig.one.between_s = 9
        assert len((await rig.arrivals())[1]) == 2, "slow is not idle"
        rig.one.between_s = 11
        with pytest.raises(httpx.ReadError):
            await rig.arrivals()
        await asyncio.sleep(0)
        assert rig.one.left == 1, "the replica is told"

    play(body, cut_idle_s=10.0)


def test_an_answer_that_does_not_begin_is_a_504() -> None:
    async def body(rig: Rig) -> None:
        rig.one.before_s = 11
        answer = await rig.send()
        assert (answer.status_code, asyncio.get_running_loop().time()) == (504, 10)
        assert f"http://{ONE} sent nothing for 10.0 s; expected a byte" in answer.json()["error"]
        await asyncio.sleep(1)
        assert (len(rig.one.scopes), rig.one.left) == (1, 1)

    play(body, cut_idle_s=10.0)


def test_a_buffered_stream_that_is_idle_is_a_504() -> None:
    async def body(rig: Rig) -> None:
        rig.one.between_s = 11
        assert (await rig.send()).status_code == 504

    play(body, cut_idle_s=10.0, buffer_sse=True)


# -- trouble of the replica and of the client


def test_a_replica_that_is_not_there_is_a_502_and_nobody_else_is_tried() -> None:
    async def body(rig: Rig) -> None:
        rig.network.serve(ONE, rig.one).cut()
        answer = await rig.send("POST", content=b"once")
        assert answer.status_code == 502
        said = answer.json()["error"]
        assert said.startswith(f"http://{ONE} gave no whole answer: ConnectError: ")
        assert said.count(";") >= 2
        assert rig.two.scopes == []
        assert (await rig.send()).status_code == 200

    play(body, to=(f"http://{ONE}", f"http://{TWO}"))


def test_an_answer_that_is_cut_is_cut() -> None:
    async def body(rig: Rig) -> None:
        rig.one.cuts = True
        with pytest.raises(httpx.ReadError):
            await rig.arrivals()

    play(body)


def test_a_buffered_stream_that_is_cut_or_too_long_is_a_502(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(rig: Rig) -> None:
        rig.one.cuts = True
        answer = await rig.send()
        assert (answer.status_code, "gave no whole answer" in answer.text) == (502, True)
        rig.one.cuts = False
        monkeypatch.setattr(hop, "BUFFER_BYTES_MAX", 9)
        answer = await rig.send()
        assert (answer.status_code, "is over 9 bytes" in answer.text) == (502, True)

    play(body, buffer_sse=True)


@pytest.mark.parametrize(("before_s", "between_s"), [(60.0, 0.0), (0.0, 60.0)])
@pytest.mark.parametrize("options", [{}, {"cut_idle_s": 90.0}, {"buffer_sse": True}])
def test_a_client_that_leaves_takes_its_request_with_it(
    before_s: float, between_s: float, options: dict[str, Any]
) -> None:
    async def body(rig: Rig) -> None:
        rig.one.before_s, rig.one.between_s = before_s, between_s
        call = asyncio.ensure_future(rig.arrivals())
        await asyncio.sleep(30)
        call.cancel()
        await asyncio.wait([call])
        await asyncio.sleep(1)
        assert rig.one.left == 1

    play(body, **options)


def test_a_path_that_is_none() -> None:
    """A proxy's request (`GET http://elsewhere/`) reaches nothing."""

    async def body(rig: Rig) -> None:
        for raw_path in (b"http://elsewhere/x", b"*", b"/\xff"):
            sent: list[Any] = []

            async def receive() -> Any:
                return {"type": "http.request", "body": b""}

            async def send(message: Any, sent: list[Any] = sent) -> None:
                sent.append(message)

            scope = {"type": "http", "method": "GET", "raw_path": raw_path, "query_string": b"", "headers": []}
            gone = asyncio.get_running_loop().create_future()
            await rig.hop(scope, once(receive, gone), send)
            assert sent[0]["status"] == 400
            assert b"cannot be asked for" in sent[1]["body"]
        assert rig.one.scopes == []

    play(body)


def once(receive: Callable[[], Awaitable[Any]], gone: asyncio.Future[None]) -> Callable[[], Awaitable[Any]]:
    """`receive` for a client that stays."""
    messages = [receive]

    async def next_one() -> Any:
        if messages:
            return await messages.pop()()
        return await gone

    return next_one


# -- options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"to": ()}, "no replica is named"),
        ({"to": ("127.0.0.1:1",)}, "--to is '127.0.0.1:1'"),
        ({"to": ("ftp://a",)}, "--to is 'ftp://a'"),
        ({"to": ("http://",)}, "--to is 'http://'"),
        ({"to": ("http://a:99999",)}, "--to is 'http://a:99999'"),
        ({"to": ("http://[::1",)}, "--to is 'http://[::1'"),
        ({"to": ("http://a/mcp",)}, "leave the path out"),
        ({"to": ("http://me:pw@a",)}, "--to is"),
        ({"to": ("http://a/?q",)}, "--to is"),
        ({"to": ("http://a", "")}, "--to is ''"),
        ({"drop_headers": ("a b",)}, "'a b' is no header name"),
        ({"add_headers": (("", "x"),)}, "'' is no header name"),
        ({"drop_headers": ("Content-Length",)}, "'Content-Length' frames the message"),
        ({"add_headers": (("Transfer-Encoding", "x"),)}, "'Transfer-Encoding' frames the message"),
        ({"drop_headers": ("Host",)}, "host cannot be dropped"),
        ({"add_headers": (("x", "a\r\nb: c"),)}, "the value of x is"),
        ({"add_headers": (("x", "\u20ac"),)}, "the value of x is"),
        ({"add_headers": (("x", " a"),)}, "the value of x is"),
    ],
)
def test_options_that_no_hop_can_have(options: dict[str, Any], says: str) -> None:
    with pytest.raises(HopError) as refused:
        hop.hop_app(HopOptions(**{"to": ("http://a",), **options}), httpx.MockTransport(lambda _: httpx.Response(200)))
    assert says in str(refused.value)
    assert str(refused.value).count(";") >= 2


# -- real sockets


@contextlib.asynccontextmanager
async def listening(answer: bytes, got: list[bytes]) -> AsyncIterator[str]:
    """A server that says `answer` to each connection and hangs up; what it was sent is added to `got`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"", 502),
        (b"HTTP/1.1 200 OK\r\ncontent-le", 502),
        (b"SSH-2.0-x\r\n", 502),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", 200),
    ],
)
def test_one_request_is_sent_once_whatever_comes_back(answer: bytes, status: int) -> None:
    async def main() -> None:
        got: list[bytes] = []
        async with asyncio.timeout(20), listening(answer, got) as url:
            app = hop.hop_app(HopOptions(to=(url,)))
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:  # type: ignore[arg-type]
                reply = await client.post("http://hop/a/../b?c", content=b"x")
            await app.aclose()
        assert reply.status_code == status
        assert len(got) == 1

    asyncio.run(main())


def test_the_path_on_the_wire_is_as_it_came() -> None:
    async def main() -> None:
        got: list[bytes] = []
        ok = b"HTTP/1.1 204 No Content\r\n\r\n"
        async with asyncio.timeout(20), listening(ok, got) as url:
            app = hop.hop_app(HopOptions(to=(url,)))
            sent: list[Any] = []

            async def receive() -> Any:
                return {"type": "http.request", "body": b""}

            async def send(message: Any) -> None:
                sent.append(message)

            scope = {"type": "http", "method": "GET", "raw_path": b"/a/../%2e/b", "query_string": b"c", "headers": []}
            await app(scope, once(receive, asyncio.get_running_loop().create_future()), send)
            await app.aclose()
        assert got[0].startswith(b"GET /a/../%2e/b?c HTTP/1.1\r\nhost: 127.0.0.1:")
        assert [message.get("status") for message in sent] == [204, None]

    asyncio.run(main())


def test_nobody_listens() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = hop.hop_app(HopOptions(to=(url,)))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:  # type: ignore[arg-type]
            reply = await client.post("http://hop/", content=b"x")
        await app.aclose()
        assert reply.status_code == 502
        assert "ConnectError" in reply.json()["error"]

    asyncio.run(main())
