"""What does a wire make of a server that breaks off, hangs, lies about lengths, or is no server of this kind at all?

Real loopback sockets. Whatever comes: a Reply, never an exception, and one request at the server.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.laws.reply import Reply
from lasttick.laws.wire import answers
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.message import Message
from lasttick.laws.wire.place import Place

from .servers import Answer, Hostile, chunked, hostile, http, reply_of, rpc, says, sent

KINDS = ["http", "tool"]
GOOD = rpc({"content": [], "structuredContent": {"ok": True}})
EVENT = b"data: " + GOOD + b"\n\n"
HTML = b"<!DOCTYPE html><html><body>Sign in</body></html>"


def ask(kind: str, answer: Answer, **more: Any) -> tuple[Reply, Hostile]:
    return asyncio.run(reply_of(kind, answer, **more))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "without sending a response", id="closed before any answer"),
        pytest.param(http(GOOD)[:60], "RemoteProtocolError", id="cut in the head"),
        pytest.param(http(GOOD)[:-5], "RemoteProtocolError", id="cut in the body"),
        pytest.param(http(GOOD, length=len(GOOD) + 1), "RemoteProtocolError", id="length too long"),
        pytest.param(chunked(GOOD, whole=False, kind="application/json"), "RemoteProtocolError", id="chunks cut"),
        pytest.param(chunked(b"data: {}\n\ndata: {", whole=False), "RemoteProtocolError", id="event stream cut"),
        pytest.param(b"SSH-2.0-OpenSSH_9.9\r\n", "RemoteProtocolError", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000, "RemoteProtocolError", id="head without end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}", "RemoteProtocolError", id="length no number"
        ),
        pytest.param(chunked(b"")[:-10] + b"zz\r\n", "RemoteProtocolError", id="chunk size no number"),
    ],
)
def test_half_an_answer_is_lost_and_nothing_is_sent_again(kind: str, data: bytes, reason: str) -> None:
    reply, server = ask(kind, says(data))
    assert reply.lost is not None
    assert reason in reply.lost
    assert not reply.ok
    assert (reply.status, reply.body, reply.error, reply.events) == (None, None, None, ())
    assert len(server.requests) == 1
    assert server.connections == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(http(GOOD)[:40], id="half a head"),
        pytest.param(http(GOOD)[:-5], id="half a body"),
        pytest.param(chunked(b": waiting\n\ndata: {", whole=False), id="half an event"),
    ],
)
def test_a_server_that_hangs_is_lost_at_the_time_out(kind: str, data: bytes) -> None:
    reply, server = ask(kind, says(data, then="hang"), timeout_s=0.15)
    assert reply.lost == "no whole answer within 0.15 s"
    assert len(server.requests) == 1


def test_what_came_of_a_lost_answer_is_shown() -> None:
    reply, _ = ask("http", says(http(b'{"state": "granted"}')[:-2], then="hang"), timeout_s=0.15)
    assert reply.raw == 'HTTP 200 {"state": "granted'


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_listens(kind: str) -> None:
    async def body() -> Reply:
        with socket.create_server(("127.0.0.1", 0)) as free:
            url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
        wire = CallerWire(Place(url))
        try:
            assert (await wire.open()).lost
            return await wire.send(sent(kind))
        finally:
            await wire.close()

    reply = asyncio.run(body())
    assert reply.lost is not None
    assert "ConnectError" in reply.lost


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_connection_that_breaks_is_not_tried_again(kind: str) -> None:
    """HTTP libraries like to repeat a request when a connection they kept turns out to be closed."""

    async def second_is_cut(writer: asyncio.StreamWriter, number: int) -> None:
        if number == 1:
            writer.write(http(GOOD))
        else:
            writer.close()

    async def body() -> None:
        async with hostile(second_is_cut) as server:
            wire = CallerWire(Place(server.url, era="modern"))
            assert (await wire.send(sent(kind))).ok
            reply = await wire.send(sent(kind))
            await wire.close()
            assert reply.lost is not None
            assert (len(server.requests), server.connections) == (2, 1)

    asyncio.run(body())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_redirect_is_an_answer_and_nothing_goes_where_it_points(kind: str, status: str) -> None:
    async def body() -> tuple[Reply, Hostile]:
        async with hostile(says(http(GOOD))) as elsewhere:
            extra = f"Location: {elsewhere.url}\r\n"
            reply, _ = await reply_of(kind, says(http(b"moved", status=status, kind="text/plain", extra=extra)))
            assert reply.headers["location"] == elsewhere.url
            assert elsewhere.url in reply.raw
            return reply, elsewhere

    reply, elsewhere = asyncio.run(body())
    assert elsewhere.requests == []
    assert elsewhere.connections == 0
    assert (reply.ok, reply.status, reply.body, reply.lost) == (False, int(status[:3]), "moved", None)


@pytest.mark.parametrize(
    "where", ["http://[", "//", "http://a:b:c/", "\xff", "http://x/" + "a" * 70_000, "javascript:1", ""]
)
def test_a_redirect_to_nowhere_is_an_answer_too(where: str) -> None:
    answer = http(b"", status="302 Found", extra=f"Location: {where}\r\n".encode().decode("latin-1"))
    for kind in KINDS:
        reply, _ = ask(kind, says(answer))
        assert (reply.ok, reply.status, reply.lost) == (False, 302, None)
        assert len(reply.raw) < 300


def test_a_web_page_is_an_answer_for_http() -> None:
    reply, _ = ask("http", says(http(HTML, kind="text/html")))
    assert (reply.ok, reply.status, reply.body, reply.error) == (True, 200, HTML.decode(), None)


@pytest.mark.parametrize("status", ["200 OK", "401 Unauthorized", "502 Bad Gateway"])
def test_a_web_page_is_no_answer_of_a_tool(status: str) -> None:
    reply, _ = ask("tool", says(http(HTML, kind="text/html", status=status)))
    assert (reply.ok, reply.status, reply.lost) == (False, int(status[:3]), None)
    assert reply.error == {"message": "not JSON-RPC", "body": HTML.decode()}
    assert reply.raw == f"HTTP {status[:3]} {HTML.decode()}"


def test_a_long_page_is_cut_for_a_person() -> None:
    reply, _ = ask("tool", says(http(b"<p>no</p> " * 1_000, kind="text/html")))
    assert len(reply.error["body"]) <= 230
    assert reply.raw.endswith("(10000 characters)")
    assert len(reply.raw) < 2_050


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_goes_on_for_ever_is_not_read_to_its_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("answers", "http", "mcp_http"):
        monkeypatch.setattr(f"lasttick.laws.wire.{module}.BODY_MAX", 1_000_000)

    async def endless(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            writer.write(b": nothing\n" * 1_000)
            await writer.drain()

    reply, server = ask(kind, endless)
    assert (reply.ok, reply.lost) == (False, None)
    assert reply.error == {"message": "answer over 1 MB"}
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_is_given_up_leaves_no_connection(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("http", "mcp_http"):
        monkeypatch.setattr(f"lasttick.laws.wire.{module}.BODY_MAX", 1_000)

    async def body() -> None:
        async with hostile(says(http(b"a" * 2_000, length=3_000), then="hang")) as server:
            wire = CallerWire(Place(server.url, era="modern"))
            assert (await wire.send(sent(kind))).error is not None
            for _ in range(100):
                if server.open == 0:
                    break
                await asyncio.sleep(0.01)
            assert (server.connections, server.open) == (1, 0)
            await wire.close()

    asyncio.run(body())


def test_eight_megabytes_are_the_limit() -> None:
    assert answers.BODY_MAX == 8_000_000
    fits, _ = ask("http", says(http(b"a" * 8_000_000, kind="text/plain")))
    assert len(fits.body) == 8_000_000
    over, _ = ask("http", says(http(b"a" * 8_000_001, kind="text/plain")))
    assert (over.ok, over.status, over.error) == (False, 200, {"message": "answer over 8 MB"})


def test_an_event_stream_that_never_ends_counts_as_far_as_it_came() -> None:
    stream = chunked(b'data: {"n": 1}\n\n', b'data: {"n": 2}\n\ndata: {"n"', whole=False)
    reply, _ = ask("http", says(stream, then="hang"), timeout_s=0.15)
    assert (reply.ok, reply.lost, reply.body) == (True, None, {"n": 2})
    assert reply.events == ({"n": 1}, {"n": 2})
    assert reply.raw.endswith("(the stream had not ended after 0.15 s)")


def test_a_tools_answer_on_a_stream_that_stays_open_is_taken_at_once() -> None:
    notice = b'data: {"jsonrpc": "2.0", "method": "notifications/message"}\n\ndata: ' + rpc("other", id=7) + b"\n\n"
    reply, _ = ask("tool", says(chunked(notice, EVENT[:9], EVENT[9:], whole=False), then="hang"), timeout_s=5)
    assert (reply.ok, reply.body) == (True, {"ok": True})


def test_an_event_stream_that_ends_before_the_tools_answer_is_lost() -> None:
    reply, _ = ask("tool", says(chunked(b'data: {"jsonrpc": "2.0", "method": "notifications/message"}\n\n')))
    assert reply.lost == "the event stream ended before the answer"


@pytest.mark.parametrize("kind", KINDS)
def test_gzip(kind: str) -> None:
    zipped = http(gzip.compress(GOOD), extra="Content-Encoding: gzip\r\n")
    reply, _ = ask(kind, says(zipped))
    assert reply.ok
    assert "structuredContent" in reply.raw
    broken, _ = ask(kind, says(http(GOOD, extra="Content-Encoding: gzip\r\n")))
    assert (broken.ok, broken.lost) == (False, None)
    assert broken.error["message"].startswith("the answer cannot be decoded: DecodingError")


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_text(kind: str) -> None:
    reply, _ = ask(kind, says(http(b"\xff\xfe\x00 caf\xe9", kind="text/plain")))
    assert reply.body == "\ufffd\ufffd\x00 caf\ufffd"
    latin, _ = ask("http", says(http(b"caf\xe9", kind="text/plain; charset=latin-1")))
    assert latin.body == "café"
    for charset in ("no-such", "base64", "\u00e9"):
        odd, _ = ask("http", says(http(b"caf\xe9", kind=f"text/plain; charset={charset}")))
        assert odd.body == "caf\ufffd"


@pytest.mark.parametrize("text", [b'{"a": ', b"[" * 100_000, b'{"a":' * 5_000, b"9" * 5_000, b"\x00"])
def test_broken_json_is_text(text: bytes) -> None:
    reply, _ = ask("http", says(http(text)))
    assert (reply.ok, reply.body) == (True, text.decode())
    tool, _ = ask("tool", says(http(text)))
    assert (tool.ok, tool.error["message"]) == (False, "not JSON-RPC")


def test_a_tools_answer_that_nests_too_deep() -> None:
    deep = (
        b'{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": ' + b"[" * 300 + b"]" * 300 + b"}}"
    )
    reply, _ = ask("tool", says(http(deep)))
    assert (reply.ok, reply.body) == (False, None)
    assert reply.error["message"] == "answer nested deeper than 100 levels"


@pytest.mark.parametrize("number", [2, "1", None, True, 1.0, [1]])
def test_an_answer_to_another_question_is_not_taken(number: Any) -> None:
    reply, _ = ask("tool", says(http(rpc({"content": []}, id=number))))
    assert (reply.ok, reply.body) == (False, None)
    assert reply.error["message"] == f"the answer is for the id {number!r}, not for 1"


def test_an_empty_answer() -> None:
    reply, _ = ask("http", says(b"HTTP/1.1 204 No Content\r\n\r\n", then="hang"))
    assert (reply.ok, reply.status, reply.body, reply.lines) == (True, 204, None, ())
    tool, _ = ask("tool", says(http(b"", status="202 Accepted"), then="hang"))
    assert (tool.ok, tool.status, tool.error) == (False, 202, {"message": "not JSON-RPC", "body": ""})


def test_a_connection_is_kept_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that crosses the server's own time-out of an idle connection would be lost for nothing."""
    monkeypatch.setattr("lasttick.laws.wire.sockets.KEEP_S", 0.1)

    async def body() -> None:
        async with hostile(says(http(b"{}"), then="hang")) as server:
            wire = CallerWire(Place(server.url))
            await wire.send(sent("http"))
            await wire.send(sent("http"))
            assert server.connections == 1
            await asyncio.sleep(0.3)
            await wire.send(sent("http"))
            assert server.connections == 2
            await wire.close()

    asyncio.run(body())


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_does_not_speak_tls(kind: str) -> None:
    async def body() -> None:
        async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(http(GOOD))
            writer.close()

        listener = await asyncio.start_server(greets, "127.0.0.1", 0)
        wire = CallerWire(Place(f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp", era="modern"))
        reply = await wire.send(sent(kind))
        assert reply.lost is not None
        assert "ConnectError" in reply.lost
        await wire.close()
        listener.close()

    asyncio.run(body())


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with hostile(says(http(GOOD))) as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            for kind in KINDS:
                assert (await reply_of(kind, says(http(GOOD))))[0].ok
            assert proxy.connections == 0

    asyncio.run(body())


@pytest.mark.parametrize("kind", KINDS)
def test_vanishing_cuts_every_connection(kind: str) -> None:
    async def body() -> None:
        async with hostile(says(b"", then="hang")) as server:
            wire = CallerWire(Place(server.url, era="modern"), name="alice")
            flights = [asyncio.create_task(wire.send(sent(kind))) for _ in range(2)]
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
            await wire.vanish()
            assert [flight.result().lost for flight in flights] == ["alice has vanished"] * 2
            for _ in range(100):
                if server.open == 0:
                    break
                await asyncio.sleep(0.01)
            assert server.open == 0
            assert len(server.requests) == 2

    asyncio.run(body())


HEADS = st.sampled_from(
    [
        b"",
        b"HTTP/1.1 200 OK\r\nMcp-Session-Id: \xff\xe9 \r\n\r\n"
        b'{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "\\ud800"}}',
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate, gzip\r\nContent-Type: application/json\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: ",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"jsonrpc": "2.0", "id": 1, "result": ',
    ]
)
PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"\r\n\r\n", b"data: ", b"\n\n", b"5\r\nhello\r\n", b"0\r\n\r\n", EVENT, GOOD, b"}", b"[[", b"\xff"]
    ),
)


@settings(max_examples=60, deadline=None)
@given(HEADS, st.lists(PIECES, max_size=6))
def test_no_bytes_make_a_wire_raise(head: bytes, pieces: list[bytes]) -> None:
    async def body() -> None:
        for kind in KINDS:
            reply, server = await reply_of(kind, says(head + b"".join(pieces)))
            assert isinstance(reply, Reply)
            assert (reply.lost is None) or not reply.ok
            assert len(server.requests) == 1
            reply.document()
        async with hostile(says(head + b"".join(pieces))) as server:
            wire = CallerWire(Place(server.url))
            for reply in (await wire.open(), await wire.list_tools(5.0), await wire.end()):
                assert (reply.lost is None) or not reply.ok
            await wire.close()

    asyncio.run(body())


def test_several_messages_are_in_flight_at_once_on_one_wire() -> None:
    async def in_reverse(writer: asyncio.StreamWriter, number: int) -> None:
        await asyncio.sleep(0.05 * (4 - number))
        writer.write(http(b'{"number": %d}' % number))

    async def body() -> None:
        async with hostile(in_reverse) as server:
            wire = CallerWire(Place(server.url))
            replies = await asyncio.gather(*(wire.send(Message("http", f"GET /{n}")) for n in range(3)))
            await wire.close()
            assert [reply.body["number"] for reply in replies] == [1, 2, 3]
            assert server.connections == 3

    asyncio.run(body())
