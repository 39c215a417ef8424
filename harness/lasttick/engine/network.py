"""An in-memory network: ASGI applications reached without sockets, streaming both ways, with seeded trouble.

The bytes are those that would cross a socket: request line, headers, body, and each response chunk as it is sent. A
client that goes away is an `http.disconnect` for the application, which is left running, as a server leaves it.
Adapters for HTTP client libraries live in `lasttick.targets`. Source: contract engine, "Transports".
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

AsgiApp = Callable[[dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
Headers = Sequence[tuple[bytes, bytes]]


class NetworkError(Exception):
    """The connection could not be made, or broke before the answer began (a lost transport)."""


@dataclass(slots=True)
class Delay:
    """Seeded message delay: every request and every answer waits a draw from [low_s, high_s]."""

    stream: random.Random
    low_s: float = 0.0
    high_s: float = 0.0

    def draw(self) -> float:
        return 0.0 if self.high_s <= 0 else self.stream.uniform(self.low_s, self.high_s)


@dataclass(slots=True)
class Site:
    """One origin of the network. `up = False`: connections are refused and open ones are cut."""

    app: AsgiApp
    up: bool = True
    tasks: dict[asyncio.Task[None], Exchange] = field(default_factory=dict)

    def cut(self) -> None:
        """The process behind this origin is gone: refuse new connections, break open ones, stop its handlers."""
        self.up = False
        for task, exchange in list(self.tasks.items()):
            exchange.break_off()
            task.cancel()


class Network:
    """Origins by `host:port`. One per world."""

    def __init__(self, delay: Delay | None = None) -> None:
        self._sites: dict[str, Site] = {}
        self.delay = delay

    def serve(self, origin: str, app: AsgiApp) -> Site:
        """Put an application at `host:port`, replacing what was there."""
        site = self._sites[origin] = Site(app)
        return site

    async def request(
        self, method: str, origin: str, target: str, headers: Headers, body: bytes, *, client: str = "127.0.0.1"
    ) -> Exchange:
        """Send one request and wait for the head of its answer. Raises NetworkError.

        `target` is path and query as on the request line. Cancelling the caller drops the connection.
        """
        await self._pass_time()
        site = self._sites.get(origin)
        if site is None or not site.up:
            raise NetworkError(f"connection refused by {origin}: nothing listens there")
        exchange = Exchange(self)
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in headers],
            "client": (client, 40000),
            "server": _server(origin),
            "state": {},
        }
        task = asyncio.get_running_loop().create_task(exchange.serve(site.app, scope, body), name=f"{method} {target}")
        site.tasks[task] = exchange
        task.add_done_callback(lambda done: site.tasks.pop(done, None))
        try:
            await exchange.head
        except BaseException:
            exchange.disconnect()
            raise
        await self._pass_time()
        return exchange

    async def _pass_time(self) -> None:
        if self.delay is not None and (wait_s := self.delay.draw()) > 0:
            await asyncio.sleep(wait_s)


class Exchange:
    """One request and its answer, from both ends."""

    def __init__(self, network: Network) -> None:
        loop = asyncio.get_running_loop()
        self.head: asyncio.Future[None] = loop.create_future()
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._network = network
        self._chunks: asyncio.Queue[bytes | NetworkError | None] = asyncio.Queue()
        self._gone: asyncio.Future[None] = loop.create_future()
        self._complete = False

    # -- the client's end

    async def body(self) -> AsyncIterator[bytes]:
        """Chunks as the application sends them. Raises NetworkError when the answer breaks off."""
        while (chunk := await self._chunks.get()) is not None:
            if isinstance(chunk, NetworkError):
                raise chunk
            yield chunk

    def disconnect(self) -> None:
        """The client is gone."""
        if not self._gone.done():
            self._gone.set_result(None)

    def break_off(self) -> None:
        """The server is gone: no more bytes will come."""
        broken = NetworkError("the connection broke: the server is gone")
        if not self.head.done():
            self.head.set_exception(broken)
            self.head.exception()  # the client may have left already: nobody need retrieve it
        elif not self._complete:
            self._chunks.put_nowait(broken)
        self.disconnect()

    # -- the application's end

    async def serve(self, app: AsgiApp, scope: dict[str, Any], body: bytes) -> None:
        pending = [body]

        async def receive() -> dict[str, Any]:
            if pending:
                return {"type": "http.request", "body": pending.pop(), "more_body": False}
            await asyncio.shield(self._gone)
            return {"type": "http.disconnect"}

        try:
            await app(scope, receive, self._send)
        except asyncio.CancelledError:
            self.break_off()
            raise
        except Exception as error:
            # A real server logs the traceback and answers 500; here the client sees the reason.
            self._fail(error)
        finally:
            if not self.head.done():
                self._fail(RuntimeError("the application ended without an answer"))
            if not self._complete:
                self.break_off()
            self.disconnect()

    async def _send(self, message: Any) -> None:
        if self._gone.done():
            return
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message.get("headers", []))
            if not self.head.done():
                self.head.set_result(None)
        elif message["type"] == "http.response.body":
            if message.get("body"):
                self._chunks.put_nowait(message["body"])
            if not message.get("more_body", False):
                self._complete = True
                self._chunks.put_nowait(None)

    def _fail(self, error: Exception) -> None:
        if not self.head.done() and not self._gone.done():
            self.status, self.headers = 500, [(b"content-type", b"text/plain; charset=utf-8")]
            self.head.set_result(None)
            self._chunks.put_nowait(f"Internal Server Error: {type(error).__name__}: {error}".encode())
            self._complete = True
            self._chunks.put_nowait(None)


def _server(origin: str) -> tuple[str, int]:
    host, _, port = origin.rpartition(":")
    return host, int(port)
