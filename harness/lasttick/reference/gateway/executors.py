"""How does a tool call reach the third party that does the work? One bounded HTTP request, and an answer or a code.

The third party is a stranger: slow, down, broken, or answering something else. None of its words but a result that is
a JSON object go on to the caller: an error page may repeat the credentials it was sent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from lasttick.model.tool_call import Refusal
from lasttick.reference.gateway import http_json
from lasttick.reference.gateway.http_json import Refused

CONNECT_S = 5.0
WHERE = "(contract gateway, Answers to bad requests)"

TIMEOUT = httpx.Timeout(None, connect=CONNECT_S).as_dict()
"""Each step is bounded by the whole: a third party that drips bytes would keep every bound of one step."""
URLS_MAX = 1_000
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=64)
HEADERS = (
    ("content-type", "application/json"),
    ("accept", "application/json"),
    ("accept-encoding", "identity"),
    ("user-agent", "lasttick-gateway"),
)

NO_CREDENTIALS: Mapping[str, str] = {}


class Executors:
    """The executors by `kind` of a registry entry; `http` is the one there is. Whoever makes it closes it.

    `url` None: there is no third party, and every call is refused as if it were down.
    """

    def __init__(self, url: str | None, *, transport: httpx.AsyncBaseTransport | None, timeout_s: float) -> None:
        self._url = None if url is None else url.rstrip("/")
        self._timeout_s = timeout_s
        self._urls: dict[str, httpx.URL] = {}
        # A client above the transport would only add what must not happen here: redirects, cookies, proxies.
        self._transport = transport or httpx.AsyncHTTPTransport(limits=LIMITS, trust_env=False)

    async def run(
        self,
        entry: Mapping[str, Any],
        slug: str,
        action: str,
        input: Mapping[str, Any],
        *,
        credentials: Mapping[str, str] = NO_CREDENTIALS,
        run_id: str,
    ) -> dict[str, Any]:
        """The third party's result, a JSON object. Raises Refused with a code `UPSTREAM_*` (502, 504)."""
        if self._url is None:
            raise upstream(502, "UPSTREAM_UNREACHABLE", "no third party is configured")
        request = self._request(path_of(entry, slug), action, input, credentials, run_id)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._result(request)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise upstream(504, "UPSTREAM_TIMEOUT", "the third party did not answer in time") from error
        except httpx.HTTPError as error:
            raise upstream(502, "UPSTREAM_UNREACHABLE", "the third party can not be reached") from error

    async def aclose(self) -> None:
        await self._transport.aclose()

    def _request(
        self, path: str, action: str, input: Mapping[str, Any], credentials: Mapping[str, str], run_id: str
    ) -> httpx.Request:
        """Its parts by hand: httpx would parse the URL and guess at the headers again for every call."""
        text = f"{self._url}{path}/{quote(action, safe='')}"
        url = self._urls.get(text)
        if url is None:
            if len(self._urls) >= URLS_MAX:
                self._urls.clear()
            url = self._urls[text] = httpx.URL(text)
        content = json.dumps(input, ensure_ascii=True, separators=(",", ":")).encode("ascii")
        headers = [
            ("host", url.netloc.decode("ascii")),
            ("content-length", str(len(content))),
            *HEADERS,
            ("x-correlation-id", run_id),
            *((header_of(name), value) for name, value in credentials.items()),
        ]
        stream = httpx.ByteStream(content)
        return httpx.Request("POST", url, headers=headers, stream=stream, extensions={"timeout": TIMEOUT})

    async def _result(self, request: httpx.Request) -> dict[str, Any]:
        answer = await self._transport.handle_async_request(request)
        try:
            if answer.status_code >= 500:
                raise upstream(502, "UPSTREAM_ERROR", f"the third party answered HTTP {answer.status_code}")
            if answer.status_code >= 400:
                raise upstream(502, "UPSTREAM_REJECTED", f"the third party answered HTTP {answer.status_code}")
            content = await _content(answer) if answer.status_code == 200 else None
            result = None if content is None else http_json.parse_object(content)
            if result is None:
                raise upstream(502, "UPSTREAM_GARBAGE", "the third party's answer is no result")
            return result
        finally:
            await answer.aclose()


def path_of(entry: Mapping[str, Any], slug: str) -> str:
    """Where a tool lives at the third party: its entry's `path`, else its slug."""
    return entry.get("path") or f"/{quote(slug, safe='')}"


def header_of(credential: str) -> str:
    """`api_key` travels as `X-Api-Key`."""
    return "x-" + credential.replace("_", "-").lower()


async def _content(answer: httpx.Response) -> bytes | None:
    """The body; None when it is too long, or packed although nobody asked for that: a bomb is small until unpacked."""
    if answer.headers.get("content-encoding", "identity") != "identity":
        return None
    content = bytearray()
    async for chunk in answer.aiter_bytes():
        content += chunk
        if len(content) > http_json.BODY_MAX:
            return None
    return bytes(content)


def upstream(status: int, code: str, happened: str) -> Refused:
    return Refused(Refusal(status, code, f"{happened}; expected a JSON object, with 200 {WHERE}; try again later"))
