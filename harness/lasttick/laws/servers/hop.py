"""What if something stands between caller and target? A small reverse proxy with the habits of real ones.

It passes each request on to one of its replicas, in turn, and streams both ways. On request it adds and drops request
headers, cuts what is idle, keeps event streams back until they are whole, and delays answers. A request is sent once:
what cannot be reached is a 502, and no second replica is tried. When the client leaves, its request is given up.
It knows of no sessions, unless it is told to keep each at its replica.
Path and query are passed on as they came; Host is the replica's. Source: issue 4, Hop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import httpx

from lasttick.laws.servers.hop_options import OF_ONE_CONNECTION, HopOptions

T = TypeVar("T")
Header = tuple[bytes, bytes]
Sleep = Callable[[float], Awaitable[object]]

CONNECT_S = 10.0
SESSION = b"mcp-session-id"
SESSIONS_MAX = 10_000
BUFFER_BYTES_MAX = 16 * 1024 * 1024
"""What is kept of an event stream that is to be answered as a whole."""


def hop_app(
    options: HopOptions, transport: httpx.AsyncBaseTransport | None = None, sleep: Sleep = asyncio.sleep
) -> Hop:
    """An ASGI application; `aclose` it in the end. `transport` is the caller's to close. Raises HopError."""
    return Hop(options, transport, sleep)


class Hop:
    """One hop, an ASGI application."""

    def __init__(self, options: HopOptions, transport: httpx.AsyncBaseTransport | None, sleep: Sleep) -> None:
        options.check()
        self._options = options
        self._replicas = [httpx.URL(url) for url in options.to]
        self._dropped = [name.lower().encode("latin-1") for name in options.drop_headers]
        self._added = [(name.lower().encode(), value.encode("latin-1")) for name, value in options.add_headers]
        self._turn = 0
        self._homes: dict[bytes, httpx.URL] = {}
        """Where each session was opened, the oldest first; empty unless sticky."""
        self._sleep = sleep
        self._own = transport is None
        # A kept connection may be closed by the replica just when it is used again, and nothing is sent twice.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._transport = transport or httpx.AsyncHTTPTransport(trust_env=False, limits=limits)

    async def aclose(self) -> None:
        if self._own:
            await self._transport.aclose()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
        if scope["type"] != "http":
            return
        incoming = _Incoming(receive)
        watch = asyncio.ensure_future(incoming.read())
        work = asyncio.ensure_future(self._pass_on(scope, incoming, send))
        try:
            # Whichever ends first: the answer is complete, or the client has left.
            await asyncio.wait([work, watch], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watch, work):
                if not task.done():
                    task.cancel()
            results = await asyncio.gather(work, watch, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _pass_on(self, scope: Any, incoming: _Incoming, send: Any) -> None:
        replica = self._replica(scope)
        try:
            request = self._request(scope, incoming, replica)
        except (httpx.InvalidURL, UnicodeDecodeError) as error:
            path = _raw_path(scope)[:100].decode("latin-1")
            await self._fail(send, 400, f"{path!r} cannot be asked for: {error}; expected a path; correct the request")
            return
        try:
            response = await self._in_time(self._transport.handle_async_request(request))
        except httpx.TransportError as error:
            await self._fail(send, 502, self._no_answer(replica, error))
            return
        except _Idle:
            await self._fail(send, 504, self._idle(replica))
            return
        try:
            await self._answer(response, replica, send)
        finally:
            await response.aclose()

    def _replica(self, scope: Any) -> httpx.URL:
        session = next((value for name, value in scope["headers"] if name == SESSION), b"")
        if session in self._homes:
            return self._homes[session]
        self._turn += 1
        return self._replicas[(self._turn - 1) % len(self._replicas)]

    def _remember(self, headers: list[Header], replica: httpx.URL) -> None:
        for name, value in headers:
            if name == SESSION and value not in self._homes:
                self._homes[value] = replica
                if len(self._homes) > SESSIONS_MAX:
                    del self._homes[next(iter(self._homes))]

    async def _answer(self, response: httpx.Response, replica: httpx.URL, send: Any) -> None:
        chunks = self._chunks(response)
        headers = _passed_on(response.headers.raw)
        if self._options.sticky:
            self._remember(headers, replica)
        kind = response.headers.get("content-type", "").lower()
        if self._options.buffer_sse and kind.startswith("text/event-stream"):
            whole = await self._whole(chunks, replica, send)
            if whole is not None:
                headers = [header for header in headers if header[0] != b"content-length"]
                await self._begin(send, response.status_code, [*headers, _length(whole)])
                await send({"type": "http.response.body", "body": whole})
            return
        await self._begin(send, response.status_code, headers)
        try:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except (httpx.TransportError, _Idle):
            return  # without an end: the server cuts the connection, as it was cut here
        await send({"type": "http.response.body", "body": b""})

    async def _whole(self, chunks: AsyncIterator[bytes], replica: httpx.URL, send: Any) -> bytes | None:
        """An event stream to its end; None when the client was told that there is none."""
        whole = bytearray()
        try:
            async for chunk in chunks:
                whole += chunk
                if len(whole) > BUFFER_BYTES_MAX:
                    await self._fail(
                        send,
                        502,
                        f"the event stream of {replica} is over {BUFFER_BYTES_MAX} bytes; expected its end before, as "
                        "it is kept here (--buffer-sse); serve without it",
                    )
                    return None
        except _Idle:
            await self._fail(send, 504, self._idle(replica))
            return None
        except httpx.TransportError as error:
            await self._fail(send, 502, self._no_answer(replica, error))
            return None
        return bytes(whole)

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The body as it comes, encoded as it is. Raises _Idle."""
        assert isinstance(response.stream, httpx.AsyncByteStream)
        parts = aiter(response.stream)

        async def following() -> bytes | None:
            return await anext(parts, None)

        while (chunk := await self._in_time(following())) is not None:
            yield chunk

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives, unless it stays silent for too long. Raises _Idle."""
        try:
            async with asyncio.timeout(self._options.cut_idle_s) as limit:
                return await work
        except TimeoutError:
            if limit.expired():
                raise _Idle from None
            raise

    def _request(self, scope: Any, incoming: _Incoming, replica: httpx.URL) -> httpx.Request:
        """Raises httpx.InvalidURL or UnicodeDecodeError for a path that is none."""
        query = scope["query_string"]
        target = _raw_path(scope) + (b"?" + query if query else b"")
        url = replica.copy_with(raw_path=target)
        headers = [
            (name, value)
            for name, value in _passed_on(scope["headers"])
            if name not in (b"host", b"expect") and name not in self._dropped
        ]
        names = [name for name, _ in scope["headers"]]
        chunked = b"transfer-encoding" in names
        if chunked:
            headers.append((b"transfer-encoding", b"chunked"))
        if not any(name == b"host" for name, _ in self._added):
            headers.insert(0, (b"host", replica.netloc))
        headers += self._added
        stream = incoming if chunked or b"content-length" in names else httpx.ByteStream(b"")
        extensions = {
            "timeout": {"connect": CONNECT_S, "read": None, "write": None, "pool": None},
            "target": target,  # as it came: the URL takes /../ out
        }
        return httpx.Request(scope["method"], url, headers=headers, stream=stream, extensions=extensions)

    def _no_answer(self, replica: httpx.URL, error: httpx.TransportError) -> str:
        return (
            f"{replica} gave no whole answer: {type(error).__name__}: {error}; expected a replica that answers (--to); "
            "look there before repeating a call: it may have happened"
        )

    def _idle(self, replica: httpx.URL) -> str:
        return (
            f"{replica} sent nothing for {self._options.cut_idle_s} s; expected a byte within that time (--cut-idle); "
            "look there before repeating a call: it may have happened"
        )

    async def _fail(self, send: Any, status: int, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        await self._begin(send, status, [(b"content-type", b"application/json"), _length(body)])
        await send({"type": "http.response.body", "body": body})

    async def _begin(self, send: Any, status: int, headers: list[Header]) -> None:
        if self._options.delay_s:
            await self._sleep(self._options.delay_s)
        await send({"type": "http.response.start", "status": status, "headers": headers})


class _Idle(Exception):
    """Nothing came for too long."""


class _Incoming(httpx.AsyncByteStream):
    """The request's body for the replica, and the news that the client has left."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)

    async def read(self) -> None:
        """Take the body as fast as the replica does; ends when the client leaves."""
        more = True
        while (message := await self._receive())["type"] == "http.request":
            if message.get("body"):
                await self._chunks.put(message["body"])
            if more and not (more := message.get("more_body", False)):
                await self._chunks.put(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            yield chunk


def _raw_path(scope: Any) -> bytes:
    return bytes(scope["raw_path"])


def _passed_on(headers: list[Header]) -> list[Header]:
    """Without those of one connection, and those that `Connection` names."""
    lower = [(name.lower(), value) for name, value in headers]
    lists = [value for name, value in lower if name == b"connection"]
    named = [part.strip().lower() for value in lists for part in value.split(b",")]
    return [(name, value) for name, value in lower if name not in OF_ONE_CONNECTION and name not in named]


def _length(body: bytes) -> Header:
    return b"content-length", str(len(body)).encode()
