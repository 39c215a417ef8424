"""What does a caller of MCP tools put on the wire? A client without an SDK: every byte is the scenario's to choose.

Fidelity. Models: Streamable HTTP of the handshake era (2025-11-25: initialize, Mcp-Session-Id, GET stream, DELETE) and
of 2026-07-28 (no session: the envelope in `params._meta`, mirrored in MCP-Protocol-Version, Mcp-Method and Mcp-Name),
JSON and SSE answers, ids counted from 1, calls abandoned in flight. Does not model: retries, reconnection of streams,
resumption, fallback between eras, answers to requests of the server, `Mcp-Param-*` headers, redirects, cookies, and it
checks no schema: it never hides from a scenario what a server did. An SSE answer is read to the end of its stream, as
the specification lets a client expect one. Shown against a real SDK server by tests/fakes/client.

It is the load generator too, so it talks to an httpx transport directly: one request object per call, and no TLS set-up
for http (a default httpx client costs 40 ms to build, this one some microseconds).
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import ssl
from collections.abc import Coroutine
from typing import Any, Literal

import httpx

from lasttick_fakes.client.headers import HeaderEdits, RawHeaders, edited, mcp_name
from lasttick_fakes.client.reply import LostTransport, Reply, read_reply
from lasttick_fakes.client.stream import EventStream

Era = Literal["handshake", "modern"]
VERSIONS: dict[Era, str] = {"handshake": "2025-11-25", "modern": "2026-07-28"}
_META = "io.modelcontextprotocol/"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NEXT: Any = object()


class McpClient:
    """One caller. `await open()`, then `call`; `delete()` ends its session, `close()` only hangs up.

    `token` None sends no Authorization header. `transport`: an httpx transport, shared with others if you like, never
    closed here; without one the client makes its own. `session_id` and `protocol_version` may be set by a test.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        transport: httpx.AsyncBaseTransport | None = None,
        era: Era = "handshake",
        name: str = "client",
    ) -> None:
        self.url = httpx.URL(url)
        self.token = token
        self.era: Era = era
        self.name = name
        self.session_id: str | None = None
        self.protocol_version: str | None = VERSIONS[era] if era == "modern" else None
        self._own = transport is None
        self._transport = transport or httpx.AsyncHTTPTransport(verify=_tls(self.url.scheme), trust_env=False)
        self._ids = itertools.count(1)
        self._made_of: tuple[str | None, ...] = ()
        self._made: RawHeaders = []

    # -- the usual conversation

    async def open(self) -> Reply:
        """Handshake era: initialize and, if that went well, notifications/initialized. Modern era: server/discover."""
        if self.era == "modern":
            return await self.request("server/discover", {})
        reply = await self.initialize()
        if reply.ok:
            await self.notify("notifications/initialized")
        return reply

    async def initialize(self, protocol_version: str = VERSIONS["handshake"]) -> Reply:
        """Only the request, sent as a newcomer. Only a 200 with a result gives the client its session id and version.

        (The 400 for a missing session carries a session id too, which is nobody's.)
        """
        params = {
            "protocolVersion": protocol_version,
            "capabilities": {},
            "clientInfo": {"name": self.name, "version": "1"},
        }
        newcomer: HeaderEdits = {"mcp-session-id": None, "mcp-protocol-version": None}
        reply = await self.request("initialize", params, headers=newcomer)
        if reply.http_status == 200 and isinstance(reply.result, dict):
            agreed = reply.result.get("protocolVersion")
            self.session_id = reply.headers.get("mcp-session-id")
            self.protocol_version = agreed if isinstance(agreed, str) else None
        return reply

    async def call(self, tool: str, /, **arguments: Any) -> Reply:
        """One tools/call. Raises LostTransport; every answer, also an odd one, is a Reply."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    def start_call(self, tool: str, /, **arguments: Any) -> InFlight:
        """The same, in flight: await it, cancel it by its `request_id`, or drop its connection."""
        request_id = self.next_id()
        return InFlight(request_id, self.request("tools/call", {"name": tool, "arguments": arguments}, id=request_id))

    async def list_tools(self, cursor: str | None = None) -> Reply:
        return await self.request("tools/list", {} if cursor is None else {"cursor": cursor})

    async def ping(self) -> Reply:
        """The handshake era's; 2026-07-28 has no ping and answers 404."""
        return await self.request("ping", {})

    async def cancel(self, request_id: Any, reason: str = "cancelled by the scenario") -> Reply:
        """notifications/cancelled. The modern era ignores it over HTTP: there, dropping the request cancels it."""
        return await self.notify("notifications/cancelled", {"requestId": request_id, "reason": reason})

    async def delete(self, headers: HeaderEdits | None = None) -> Reply:
        """End the session. The id is kept, so that a test can go on using the dead one."""
        return await self.send("DELETE", headers=headers)

    async def close(self) -> None:
        """Hang up, without a word to the server."""
        if self._own:
            await self._transport.aclose()

    # -- any message, any bytes

    def next_id(self) -> int:
        return next(self._ids)

    async def request(
        self, method: str, params: dict[str, Any] | None = None, *, id: Any = _NEXT, headers: HeaderEdits | None = None
    ) -> Reply:
        """One JSON-RPC request. `id`: any JSON value (also None, or one in use); the next number if left out."""
        request_id = self.next_id() if id is _NEXT else id
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        return await self._post(message, method, params, headers, request_id)

    async def notify(
        self, method: str, params: dict[str, Any] | None = None, *, headers: HeaderEdits | None = None
    ) -> Reply:
        return await self._post({"jsonrpc": "2.0", "method": method}, method, params, headers, None)

    async def post(self, body: bytes, headers: HeaderEdits | None = None) -> Reply:
        """Any bytes, with our headers as `headers` change them. The answer found is the last one in the body."""
        return await self.send("POST", body, headers)

    async def send(
        self, http_method: str, body: bytes = b"", headers: HeaderEdits | None = None, request_id: Any = None
    ) -> Reply:
        """One HTTP exchange of any method, read to its end. Raises LostTransport."""
        response: httpx.Response | None = None
        try:
            response = await self._exchange(http_method, body, headers)
            chunks = [chunk async for chunk in response.stream]  # type: ignore[union-attr]
        except (httpx.TransportError, OSError) as cause:
            if isinstance(cause, (httpx.LocalProtocolError, httpx.UnsupportedProtocol)):
                raise  # our own mistake: nothing was sent
            raise LostTransport(http_method, str(self.url), cause) from cause
        finally:
            if response is not None:
                await response.aclose()
        return read_reply(response.status_code, response.headers, b"".join(chunks), request_id)

    async def open_stream(self, headers: HeaderEdits | None = None) -> EventStream:
        """GET: the stream of what the server says on its own. Raises LostTransport."""
        own: HeaderEdits = {"accept": "text/event-stream", "content-type": None}
        try:
            response = await self._exchange("GET", b"", {**own, **(headers or {})})
            refused: Reply | None = None
            if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                body = b"".join([chunk async for chunk in response.stream])  # type: ignore[union-attr]
                await response.aclose()
                refused = read_reply(response.status_code, response.headers, body, None)
        except (httpx.TransportError, OSError) as cause:
            raise LostTransport("GET", str(self.url), cause) from cause
        return EventStream(response, refused, str(self.url))

    # -- inside

    async def _post(
        self,
        message: dict[str, Any],
        method: str,
        params: dict[str, Any] | None,
        headers: HeaderEdits | None,
        request_id: Any,
    ) -> Reply:
        if self.era == "modern":
            message["params"], stamped = self._envelope(method, params or {})
            headers = {**stamped, **(headers or {})}
        elif params is not None:
            message["params"] = params
        body = json.dumps(message, separators=(",", ":")).encode()
        return await self.send("POST", body, headers, request_id)

    def _envelope(self, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str | bytes]]:
        """2026-07-28: what a request says of its sender, and the headers that repeat it. Given `_meta` keys win."""
        meta = {
            f"{_META}protocolVersion": self.protocol_version,
            f"{_META}clientInfo": {"name": self.name, "version": "1"},
            f"{_META}clientCapabilities": {},
            **params.get("_meta", {}),
        }
        headers: dict[str, str | bytes] = {"mcp-method": method}
        named = params.get(_NAMED_BY.get(method, ""))
        if isinstance(named, str):
            headers["mcp-name"] = mcp_name(named)
        return {**params, "_meta": meta}, headers

    def _headers(self) -> RawHeaders:
        made_of = (self.token, self.session_id, self.protocol_version)
        if made_of != self._made_of:
            self._made_of = made_of
            edits = {
                "accept": "application/json, text/event-stream",
                "content-type": "application/json",
                "authorization": None if self.token is None else f"Bearer {self.token}",
                "mcp-session-id": self.session_id,
                "mcp-protocol-version": self.protocol_version,
            }
            self._made = edited([], edits)
        return self._made

    async def _exchange(self, http_method: str, body: bytes, headers: HeaderEdits | None) -> httpx.Response:
        raw = edited(self._headers(), headers)
        request = httpx.Request(http_method, self.url, headers=raw, content=body)
        return await self._transport.handle_async_request(request)


class InFlight:
    """A call that was started. Its request is under way from the next step of the event loop on."""

    def __init__(self, request_id: int, call: Coroutine[Any, Any, Reply]) -> None:
        self.request_id = request_id
        self.task = asyncio.create_task(call)

    def __await__(self) -> Any:
        return self.task.__await__()

    async def drop(self) -> None:
        """Abandon it: the connection is closed, the answer is nobody's. Nothing is said to the server."""
        self.task.cancel()
        await asyncio.wait([self.task])


@functools.cache
def _tls(scheme: str) -> ssl.SSLContext:
    """One context for all clients. For http it is never used, so it is an empty one (the usual one takes 40 ms)."""
    return ssl.create_default_context() if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
