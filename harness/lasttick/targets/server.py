"""How does a part become a server on this machine? One listener, one ready line, one clean stop.

The ready line goes to standard error; SIGTERM and SIGINT stop within 5 s. What is served and why is `serve`'s business.
Source: DESIGN "What machines read", contract world (ready line).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn

from lasttick.model.address import is_loopback

STOP_S = 1
"""What connections may take that are still open when the part behind them has ended."""
HEADER_BYTES_MAX = 64 * 1024
BACKLOG = 2048


class ServeError(Exception):
    """A part cannot be served as asked: three-part message, exit code 2."""


def listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts: a taken port must be one clear message. Raises ServeError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # Named, or asyncio leaves Nagle's algorithm on for every accepted connection: 40 ms on each answer.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Until somebody listens, others may bind the same port and would fail only when they are up.
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        raise ServeError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}; expected a "
            "free port of this machine (contract world, host agent's surface); choose another --port, or 0 for a free "
            "one"
        ) from error
    return listener


def listen_on_loopback(host: str, port: int) -> socket.socket:
    """A fake has no door of its own, so it is for this machine only. Raises ServeError."""
    if not is_loopback(host):
        raise ServeError(
            f"host {host!r} can be reached from other machines; expected a loopback address, since a fake asks nobody "
            "for a password (DESIGN, serve); use 127.0.0.1"
        )
    return listen(host, port)


def ready_line(name: str, listener: socket.socket, path: str = "") -> str:
    """What a part says on standard error when it can be called. With a `path`, `url` is that endpoint."""
    host, port = listener.getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    ready = {"name": name, "url": base + path, "pid": os.getpid()}
    if path:
        ready["console"] = base
    return json.dumps(ready)


def on_signals(stop: Callable[[], object]) -> None:
    """SIGTERM and SIGINT call `stop`, from now on."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


@contextlib.asynccontextmanager
async def serving(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    """The application at a listener, beside whatever else this process does; signals stay its business."""
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


async def serve_app(
    name: str,
    app: Any,
    listener: socket.socket,
    *,
    path: str = "",
    on_stop: Callable[[], Awaitable[None]] | None = None,
    own_headers: bool = True,
) -> None:
    """Serve until a signal, saying on standard error when ready. `on_stop` ends the application's open streams.

    `own_headers`: answers get the server's Date and Server; a proxy passes on those of the server behind it.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http="h11",
            lifespan="off",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=STOP_S,
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
            date_header=own_headers,
            server_header=own_headers,
        )
    )
    server.ready = ready_line(name, listener, path)
    server.on_stop = on_stop
    on_signals(server.stop)
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which re-raise SIGTERM after the stop: `serve` must end with 0."""

    ready = ""
    on_stop: Callable[[], Awaitable[None]] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.ready, file=sys.stderr, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody new, then the application ends its streams; uvicorn would wait for them first, to no avail."""
        for server in self.servers:
            server.close()
        if self.on_stop is not None:
            await self.on_stop()
        # Requests that are still coming in will not come to their end: their handlers are told so, not cancelled.
        asyncio.get_running_loop().call_later(STOP_S / 2, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.close()

    def stop(self) -> None:
        self.should_exit = True
