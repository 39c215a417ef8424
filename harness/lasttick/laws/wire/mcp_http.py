"""Kind `tool` at a URL: MCP over Streamable HTTP in both eras, on the raw client of the fakes.

Source: contract laws, "Binding"; contract mcp_sdk.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any

import httpx

from lasttick.laws.reply import Reply, lost
from lasttick.laws.wire.answers import BODY_MAX, TooLarge, failure_of, shortened, text_of
from lasttick.laws.wire.http import OUR_MISTAKE, json_bytes, lower
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place, encoded, endpoint
from lasttick.laws.wire.rpc import all_tools, call_params, not_json_rpc, rpc_reply
from lasttick_fakes.client import HeaderEdits, LostTransport, McpClient
from lasttick_fakes.client import Reply as Answer
from lasttick_fakes.client.mcp import VERSIONS
from lasttick_fakes.client.reply import SseParser, json_rpc

_HEADER_TEXT = re.compile(r"[\x21-\x7e]+")


class McpHttp:
    """One session. `transport` is shared, and closed by whoever made it."""

    def __init__(
        self, place: Place, headers: Mapping[str, str], transport: httpx.AsyncBaseTransport, name: str
    ) -> None:
        url = str(endpoint(place))
        self._client = _Client(url, encoded(headers), transport=_Guarded(transport), era=place.era, name=name)

    @property
    def needs_open(self) -> bool:
        """Whether a call needs a session first."""
        return self._client.era == "handshake"

    @property
    def session_id(self) -> str | None:
        return self._client.session_id

    def borrow(self, other: McpHttp, session_id: str | None = None) -> None:
        """Go on in the other's session, or one of this id, as a client of it with headers of its own."""
        self._client.session_id = session_id or other._client.session_id
        self._client.protocol_version = other._client.protocol_version

    async def open(self) -> Reply:
        """initialize and notifications/initialized, or server/discover."""
        return await _told(self._client.open())

    async def list_tools(self) -> Reply:
        return await all_tools(lambda cursor: self._request("tools/list", {} if cursor is None else {"cursor": cursor}))

    async def call(self, message: Message) -> Reply:
        """Headers of the message win over the caller's: so a session can be tried that somebody else opened."""
        params = call_params(message)
        json_bytes(params)
        return await self._request("tools/call", params, encoded(message.headers))

    async def end(self) -> Reply:
        """DELETE. Afterwards calls go on using the ended session."""
        if self._client.session_id is None:
            return Reply(True, raw="the server gave no session id: there is nothing to end")
        try:
            answer = await self._client.delete()
        except LostTransport as error:
            return _lost(error)
        reply = not_json_rpc(answer.http_status, lower(answer.headers), answer.body)
        ok = 200 <= answer.http_status < 300
        return Reply(ok, reply.status, reply.headers, reply.body, None, lines=reply.lines, raw=reply.raw)

    async def _request(self, method: str, params: dict[str, Any], headers: HeaderEdits | None = None) -> Reply:
        number = self._client.next_id()
        return await _told(self._client.request(method, params, id=number, headers=headers), number)


class _Client(McpClient):
    """The raw client with the caller's own headers on every request, those of open and end included."""

    def __init__(self, url: str, headers: Mapping[str, bytes], **rest: Any) -> None:
        super().__init__(url, token=None, **rest)
        self._caller = headers

    async def initialize(self, protocol_version: str = VERSIONS["handshake"]) -> Answer:
        """A version that no header can carry is not taken over: it would spoil every later request."""
        answer = await super().initialize(protocol_version)
        if self.protocol_version is not None and not _HEADER_TEXT.fullmatch(self.protocol_version):
            self.protocol_version = None
        return answer

    async def send(
        self, http_method: str, body: bytes = b"", headers: HeaderEdits | None = None, request_id: Any = None
    ) -> Answer:
        return await super().send(http_method, body, {**self._caller, **(headers or {})}, request_id)


async def _told(exchange: Awaitable[Answer], number: int | None = None) -> Reply:
    """The Reply of one exchange. `number`: the id of the request; None: the answer's own is not questioned."""
    try:
        answer = await exchange
    except LostTransport as error:
        return _lost(error)
    except TooLarge as error:
        return Reply(False, error={"message": str(error)}, raw=str(error))
    except httpx.DecodingError as error:
        why = f"the answer cannot be decoded: {failure_of(error)}"
        return Reply(False, error={"message": why}, raw=why)
    except OUR_MISTAKE as error:
        raise WireError(
            f"the MCP request cannot be sent: {failure_of(error)}; expected a request that HTTP can carry; correct "
            "`url` of [target] or the headers of the caller"
        ) from error
    except (httpx.HTTPError, httpx.StreamError) as error:
        return lost(failure_of(error))
    headers = lower(answer.headers)
    if answer.message is not None:
        return rpc_reply(answer.message, number, answer.body, status=answer.http_status, headers=headers)
    if answer.http_status == 200 and headers.get("content-type", "").lower().startswith("text/event-stream"):
        return lost("the event stream ended before the answer", shortened(text_of(answer.body), 200))
    return not_json_rpc(answer.http_status, headers, answer.body)


def _lost(error: LostTransport) -> Reply:
    """Without the client's own advice, which is for scenarios."""
    return lost(failure_of(error.__cause__ or error))


class _Guarded(httpx.AsyncBaseTransport):
    """Bounds what is read of an answer, decodes it, and leaves an event stream once the answer has come through it."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Body(response.headers, response.stream, request)
        return response


class _Body(httpx.AsyncByteStream):
    def __init__(self, headers: httpx.Headers, stream: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._headers = headers
        self._stream = stream
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises TooLarge, and what the transport raises."""
        size = 0
        is_stream = self._headers.get("content-type", "").lower().startswith("text/event-stream")
        finder = _AnswerFinder(self._request.content) if is_stream else None
        async for chunk in self._decoded():
            size += len(chunk)
            if size > BODY_MAX:
                raise TooLarge
            yield chunk
            if finder is not None and finder.found(chunk):
                return

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _decoded(self) -> AsyncIterator[bytes]:
        if "content-encoding" not in self._headers:
            return aiter(self._stream)
        return httpx.Response(200, headers=self._headers, stream=self._stream).aiter_bytes()


class _AnswerFinder:
    """Watches an event stream for the answer to one request. Some servers leave the stream open after it."""

    def __init__(self, request: bytes) -> None:
        self._id = json.loads(request).get("id") if request else None
        self._events = SseParser()

    def found(self, chunk: bytes) -> bool:
        messages = [message for data in self._events.feed(chunk) for message in json_rpc(data)]
        return self._id is not None and any(
            message.get("id") == self._id and ("result" in message or "error" in message) for message in messages
        )
