"""Does the client show what a server did, however odd, and say "lost" only when nothing came?"""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick_fakes.client import LostTransport, McpClient
from lasttick_fakes.client.headers import edited
from lasttick_fakes.client.reply import SseParser, sse_data


class Chunks(httpx.AsyncByteStream):
    def __init__(self, *chunks, then=None):
        self.chunks, self.then, self.closed = chunks, then, False

    async def __aiter__(self):
        for chunk in self.chunks:
            yield chunk
        if self.then is not None:
            raise self.then

    async def aclose(self):
        self.closed = True


class Answers(httpx.AsyncBaseTransport):
    """A server of fixed answers that keeps the requests."""

    def __init__(self, *answers):
        self.answers, self.requests, self.closed = list(answers), [], False

    async def handle_async_request(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def aclose(self):
        self.closed = True


def answer(status, body, content_type="application/json", **headers):
    stream = body if isinstance(body, Chunks) else Chunks(body)
    return httpx.Response(status, headers={"content-type": content_type, **headers}, stream=stream)


def ask(*answers, do=lambda client: client.call("tap", x=1)):
    transport = Answers(*answers)
    client = McpClient("http://host:1/mcp", token="t", transport=transport)

    async def body():
        reply = await do(client)
        await client.close()
        return reply

    return asyncio.run(body()), transport


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"7", b'{"a": 1}', b'{"error": "invalid token"}', b"\xff\xfe", b"[" * 100_000]
)
def test_an_answer_that_is_not_json_rpc_has_no_message(body):
    reply, _ = ask(answer(401, body))
    assert reply.http_status == 401
    assert reply.message is None
    assert reply.error is None
    assert reply.result is None
    assert not reply.ok
    assert reply.body == body


@pytest.mark.parametrize("error", [7, "x", {}, {"code": "no", "data": 1}])
def test_an_odd_error_object_is_shown_as_it_is(error):
    reply, _ = ask(answer(200, json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()))
    assert not reply.ok
    assert reply.message["error"] == error
    assert (reply.error is None) == (not isinstance(error, dict))


def test_an_error_result_is_not_ok():
    body = b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"Error"}]}}'
    reply, _ = ask(answer(200, body))
    assert not reply.ok
    assert reply.is_error_result
    assert reply.structured is None


def test_sse_answer_among_notifications_and_pings():
    body = Chunks(
        b": ping\r\n\r\nid: 1\r\ndata:\r\n\r\n",
        b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\r',
        b'\n\r\ndata: {"jsonrpc":"2.0","id":1,\ndata: "result":{"structuredContent":{"ok":true}}}\n\n',
    )
    reply, _ = ask(answer(200, body, "text/event-stream; charset=utf-8"))
    assert reply.structured == {"ok": True}
    assert [message.get("method") for message in reply.messages] == ["notifications/progress", None]
    assert any("notifications/progress" in line for line in reply.lines)
    assert body.closed


def test_an_answer_to_another_id_is_shown_not_hidden():
    """Two calls with one id in flight get crossed answers (ruling 10): the client must not repair that."""
    reply, _ = ask(answer(200, b'{"jsonrpc":"2.0","id":99,"result":{}}'))
    assert reply.message["id"] == 99


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"").replace(b"\r", b"")), max_size=5), st.data())
def test_sse_events_do_not_depend_on_where_chunks_are_cut(payloads, data):
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    stream = b"".join(b"data: " + payload + end + end for payload in payloads) + b": end" + end
    whole = sse_data([stream])
    cut = data.draw(st.integers(0, len(stream)))
    parser = SseParser()
    assert parser.feed(stream[:cut]) + parser.feed(stream[cut:]) == whole == payloads


@pytest.mark.parametrize("cause", [httpx.ConnectError("refused"), httpx.ReadError("reset"), ConnectionResetError("x")])
def test_no_answer_is_a_lost_transport(cause):
    with pytest.raises(LostTransport, match="POST http://host:1/mcp got no answer"):
        ask(cause)


def test_an_answer_cut_in_the_middle_is_lost_too():
    body = Chunks(b'{"jsonrpc":"2.0",', then=httpx.RemoteProtocolError("cut"))
    with pytest.raises(LostTransport, match="cut"):
        ask(answer(200, body))
    assert body.closed


def test_our_own_illegal_request_is_not_called_lost():
    with pytest.raises(httpx.LocalProtocolError):
        ask(httpx.LocalProtocolError("illegal header"))


def test_headers_replaced_removed_and_sent_twice():
    own = [(b"accept", b"a"), (b"authorization", b"Bearer t")]
    assert edited(own, None) is own
    assert edited(own, {"Authorization": None}) == [(b"accept", b"a")]
    assert edited(own, {"authorization": ["x", b"y"], "host": "h"})[1:] == [
        (b"authorization", b"x"),
        (b"authorization", b"y"),
        (b"host", b"h"),
    ]
    _, transport = ask(
        answer(401, b""), do=lambda client: client.send("HEAD", headers={"authorization": ["Bearer a", "Bearer b"]})
    )
    request = transport.requests[0]
    assert request.method == "HEAD"
    assert [value for name, value in request.headers.raw if name.lower() == b"authorization"] == [
        b"Bearer a",
        b"Bearer b",
    ]


def test_ids_count_from_one_and_a_shared_transport_stays_open():
    result = b'{"jsonrpc":"2.0","id":%d,"result":{}}'

    async def two(client):
        await client.call("a")
        return await client.request("b", id=1)

    reply, transport = ask(answer(200, result % 1), answer(200, result % 1), do=two)
    bodies = [json.loads(request.content) for request in transport.requests]
    assert [(body["id"], body["method"]) for body in bodies] == [(1, "tools/call"), (1, "b")]
    assert reply.ok
    assert not transport.closed


def test_initialize_comes_as_a_newcomer_and_learns_only_from_success():
    good = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}'
    bad = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'

    async def again(client):
        await client.initialize()
        return await client.initialize(), client.session_id

    (reply, session_id), transport = ask(
        answer(200, good, **{"mcp-session-id": "s1"}), answer(400, bad, **{"mcp-session-id": "phantom"}), do=again
    )
    assert not reply.ok
    assert session_id == "s1"
    assert "mcp-session-id" not in transport.requests[1].headers


def test_a_stream_gives_messages_and_a_refused_one_its_answer():
    events = Chunks(b'data: {"jsonrpc":"2.0","method":"a"}\n\n: ping\n\ndata: {"jsonrpc":"2.0",', b'"method":"b"}\n\n')

    async def read(client):
        stream = await client.open_stream()
        methods = [message["method"] async for message in stream]
        await stream.close()
        second = await client.open_stream()
        return methods, stream.refused, second

    (methods, refused, second), transport = ask(
        answer(200, events, "text/event-stream"),
        answer(409, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"one stream"}}'),
        do=read,
    )
    assert methods == ["a", "b"]
    assert refused is None
    assert events.closed
    assert second.http_status == 409
    assert second.refused.error.code == -32600
    assert transport.requests[0].headers["accept"] == "text/event-stream"


def test_a_stream_that_breaks_is_lost():
    async def read(client):
        stream = await client.open_stream()
        return [message async for message in stream]

    with pytest.raises(LostTransport, match="GET"):
        ask(answer(200, Chunks(then=httpx.ReadError("reset")), "text/event-stream"), do=read)
