"""What came back from a part, and requests whose headers no client library would send."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from lasttick.targets.gateway.wire import ChatAnswer, Reply, as_it_stands, encoded, reply_of


def reply(status: int, content: bytes) -> Reply:
    return reply_of(httpx.Response(status, content=content))


def test_an_answer_and_a_refusal() -> None:
    answer = reply(200, b'{"ok":true,"result":{"x":1}}')
    assert (answer.ok, answer.code, answer.result) == (True, None, {"x": 1})
    refusal = reply(403, b'{"code":"POLICY_DENIED","message":"m"}')
    assert (refusal.ok, refusal.code) == (False, "POLICY_DENIED")
    with pytest.raises(AssertionError, match="expected a result, got HTTP 403"):
        _ = refusal.result


@pytest.mark.parametrize(("content", "body"), [(b"<p>", "<p>"), (b"", ""), (b"\xff", "\ufffd"), (b"[1]", [1])])
def test_a_body_that_is_no_object(content: bytes, body: object) -> None:
    answer = reply(500, content)
    assert (answer.body, answer.code) == (body, None)
    assert ChatAnswer.of(answer).run_id is None


def test_a_chat_without_an_answer_says_what_came() -> None:
    assert ChatAnswer.of(reply(200, b'{"run_id":"r","answer":"hi"}')).text == "hi"
    with pytest.raises(AssertionError, match="HTTP 502"):
        _ = ChatAnswer.of(reply(502, b"{}")).text
    with pytest.raises(AssertionError, match="expected an answer, got"):
        _ = ChatAnswer.of(reply(200, b"{}")).text


def test_header_values_are_latin_1_or_bytes() -> None:
    assert encoded(("x-a", "\xe9")) == (b"x-a", b"\xe9")
    assert encoded(("x-a", b"\xc3\xa9")) == (b"x-a", b"\xc3\xa9")


def answered_by(said: bytes, headers: list[tuple[bytes, bytes]], content: bytes = b"{}") -> tuple[list[bytes], Reply]:
    """What a server got on its socket, and what was read of its answer."""
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readuntil(b"\r\n\r\n"))
        got.append(await reader.readexactly(len(content)))
        writer.write(said)
        writer.close()

    async def main() -> Reply:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            return await as_it_stands("POST", f"http://127.0.0.1:{port}/x?y=1", headers, content)

    return got, asyncio.run(main())


def test_headers_go_out_as_they_stand() -> None:
    said = b'HTTP/1.1 401 Unauthorized\r\ncontent-length: 12\r\nx-twice: 1\r\nx-twice: 2\r\n\r\n{"code":"U"}'
    got, answer = answered_by(said, [(b"x-agent-secret", b" "), (b"x-agent-secret", b"a\x01b"), (b"X-B", b"")])
    assert got[0].startswith(b"POST /x?y=1 HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"\r\nx-agent-secret:  \r\nx-agent-secret: a\x01b\r\nX-B: \r\n" in got[0]
    assert got[1] == b"{}"
    assert (answer.http_status, answer.code) == (401, "U")
    assert [value for name, value in answer.headers if name == "x-twice"] == ["1", "2"]


@pytest.mark.parametrize("said", [b"", b"no http at all\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
def test_no_answer_is_a_lost_connection(said: bytes) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        answered_by(said, [])
