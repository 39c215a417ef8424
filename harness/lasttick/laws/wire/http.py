"""Kind `http`: one request, one Reply. A redirect is an answer like any other, and nothing is sent where it points.

Source: contract laws, "Binding". Cookies that the target sets are kept for this caller's session, as a browser does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from lasttick.laws.reply import Reply, lost
from lasttick.laws.wire.answers import BODY_MAX, TooLarge, failure_of, http_raw, lines_of, text_of, value_of
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place, address, encoded
from lasttick_fakes.client.reply import SseParser

_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_OWN_HEADERS = {"user-agent": b"lasttick", "accept": b"*/*", "accept-encoding": b"identity"}
OUR_MISTAKE = (httpx.LocalProtocolError, httpx.UnsupportedProtocol)
"""Raised before anything is sent."""


class HttpWire:
    """`transport` is shared, and closed by whoever made it.

    It is asked directly: httpx's client reads where a redirect points even if it must not follow it, and raises when it
    can make nothing of that.
    """

    def __init__(self, place: Place, headers: Mapping[str, str], transport: httpx.AsyncBaseTransport) -> None:
        self._place = place
        self._headers = headers
        self._transport = transport
        self._cookies = httpx.Cookies()

    async def send(self, message: Message) -> Reply:
        """The whole answer; of an event stream that has not ended in time, what it said so far. Raises WireError."""
        request = self._request(message)
        answer = _Answer()
        try:
            async with asyncio.timeout(message.timeout_s):
                await self._exchange(request, answer)
        except TimeoutError:
            if not answer.events:
                return lost(f"no whole answer within {message.timeout_s:g} s", answer.raw())
            return answer.reply(f" (the stream had not ended after {message.timeout_s:g} s)")
        except TooLarge as error:
            return answer.unreadable(str(error))
        except httpx.DecodingError as error:
            return answer.unreadable(f"the answer cannot be decoded: {failure_of(error)}")
        except OUR_MISTAKE as error:
            raise WireError(
                f"http = {message.what!r} cannot be sent: {failure_of(error)}; expected a request that HTTP can carry; "
                "correct the binding, or the headers of the caller"
            ) from error
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            return lost(failure_of(error), answer.raw())
        return answer.reply()

    def _request(self, message: Message) -> httpx.Request:
        method, url = address(self._place, message.what)
        if message.query:
            pairs = httpx.QueryParams(_pairs(message.query))
            url = url.copy_with(query=b"&".join(part for part in (url.query, str(pairs).encode("ascii")) if part))
        headers = {**_OWN_HEADERS, **encoded(self._headers), **encoded(message.headers)}
        content: bytes | None = None
        if message.json is not None:
            content = json_bytes(message.json)
            headers.setdefault("content-type", b"application/json")
        elif message.form is not None:
            content = urlencode(_pairs(message.form)).encode("ascii")
            headers.setdefault("content-type", b"application/x-www-form-urlencoded")
        raw = [(name.encode("ascii"), value) for name, value in headers.items()]
        request = httpx.Request(method, url, headers=raw, content=content)
        self._cookies.set_cookie_header(request)
        return request

    async def _exchange(self, request: httpx.Request, answer: _Answer) -> None:
        response = await self._transport.handle_async_request(request)
        response.request = request
        try:
            self._cookies.extract_cookies(response)
            answer.begin(response)
            async for chunk in response.aiter_bytes():
                answer.feed(chunk)
        finally:
            await response.aclose()


class _Answer:
    """What has come so far of one answer."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._status: int | None = None
        self._headers: dict[str, str] = {}
        self._charset: str | None = None
        self._sse: SseParser | None = None
        self._data = bytearray()

    def begin(self, response: httpx.Response) -> None:
        self._status = response.status_code
        self._headers = lower(response.headers)
        self._charset = response.charset_encoding
        if self._type().startswith("text/event-stream"):
            self._sse = SseParser()

    def feed(self, chunk: bytes) -> None:
        """Raises TooLarge."""
        self._data += chunk
        if len(self._data) > BODY_MAX:
            raise TooLarge
        if self._sse is not None:
            self.events += [value_of(text_of(data)) for data in self._sse.feed(chunk)]

    def reply(self, note: str = "") -> Reply:
        text = text_of(bytes(self._data), self._charset)
        if self._sse is not None:
            body = self.events[-1] if self.events else None
        else:
            body = value_of(text, is_json="json" in self._type())
        assert self._status is not None
        ok = 200 <= self._status < 300
        raw = self.raw() + note
        return Reply(ok, self._status, self._headers, body, None, None, lines_of(text), tuple(self.events), raw=raw)

    def unreadable(self, why: str) -> Reply:
        return Reply(False, self._status, self._headers, error={"message": why}, raw=f"HTTP {self._status} ({why})")

    def raw(self) -> str:
        """As a person is shown it; nothing while not even a status has come."""
        if self._status is None:
            return ""
        return http_raw(self._status, self._headers, text_of(bytes(self._data), self._charset))

    def _type(self) -> str:
        return self._headers.get("content-type", "").lower()


def lower(headers: httpx.Headers) -> dict[str, str]:
    """Names in lower case; values of a name that came several times, joined by commas."""
    return {name.lower(): value for name, value in headers.items()}


def json_bytes(value: Any) -> bytes:
    """Raises WireError for what JSON cannot say: a date of the profile, NaN."""
    try:
        return _ENCODER.encode(value).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise WireError(
            f"the body cannot be written as JSON: {failure_of(error)}; expected text, numbers, true, false, lists and "
            "tables (docs/check.md, 'Binding'); correct `json` or `args` of the binding"
        ) from error


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A list is sent as its name several times; a table, as its JSON; nothing for None."""
    pairs = []
    for name, value in values.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if item is not None:
                pairs.append((name, _plain(item)))
    return pairs


def _plain(value: Any) -> str:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else json_bytes(value).decode()
