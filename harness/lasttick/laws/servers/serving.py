"""Recorder, hop and dummies as servers on loopback, in real time. Source: issue 4; DESIGN "What machines read".

They have no door: whoever reaches one reads what was recorded there, credentials included, or reaches what is behind
it. So they listen on loopback, and answer only to a loopback Host: a page in a browser that has made some name point
here is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import httpx

from lasttick.engine.clock import SystemClock
from lasttick.laws.servers import asgi
from lasttick.laws.servers.asgi import Refused
from lasttick.laws.servers.dummies import Dummy
from lasttick.laws.servers.hop import hop_app
from lasttick.laws.servers.hop_options import HopError, HopOptions
from lasttick.laws.servers.recorder import Recorder
from lasttick.model.address import is_loopback
from lasttick.ports import AsgiApp
from lasttick.targets.server import ServeError, listen_on_loopback, on_signals, ready_line, serve_app


def run_recorder(*, host: str = "127.0.0.1", port: int = 7003) -> None:
    """Serve a recorder until told to stop. Raises ServeError."""

    async def serve() -> None:
        listener = listen_on_loopback(host, port)
        recorder = Recorder(SystemClock())
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(recorder.running())
            await serve_app("recorder", LoopbackHostOnly(recorder.app), listener, on_stop=stack.aclose)

    asyncio.run(serve())


def run_hop(options: HopOptions, *, allow_hosts: Sequence[str] = (), host: str = "127.0.0.1", port: int = 7004) -> None:
    """Serve a hop until told to stop. Raises ServeError, also for a replica off this machine that is not allowed."""
    try:
        options.check()
    except HopError as error:
        raise ServeError(str(error)) from error
    for url in options.to:
        name = httpx.URL(url).host
        if not is_loopback(name) and name not in allow_hosts:
            raise ServeError(
                f"--to is {url!r}, which is not this machine; expected a loopback host, or one that was allowed "
                f"(lasttick serve hop --help); add --allow-host {name} if it is meant"
            )

    async def serve() -> None:
        hop = hop_app(options)
        try:
            listener = listen_on_loopback(host, port)
            await serve_app("hop", LoopbackHostOnly(hop), listener, own_headers=False)
        finally:
            await hop.aclose()

    asyncio.run(serve())


def run_dummy(kind: str, *, host: str = "127.0.0.1", port: int = 7005) -> None:
    """Serve a dummy until told to stop. Raises ServeError."""

    async def serve() -> None:
        listener = listen_on_loopback(host, port)
        if kind == "dead":
            await _dead(listener)
            return
        dummy = Dummy(kind, SystemClock())

        async def stop() -> None:
            dummy.effects.close()

        await serve_app("dummy", LoopbackHostOnly(dummy.app), listener, on_stop=stop)

    asyncio.run(serve())


class LoopbackHostOnly:
    """`app`, for requests that call it by a name of this machine."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not is_loopback(_name(host := asgi.headers_of(scope).get("host", ""))):
            said = f"Host is {host[:100]!r}; expected a loopback name (DESIGN, serve); ask 127.0.0.1"
            await asgi.refuse(send, Refused(421, said))
        else:
            await self._app(scope, receive, send)


def _name(host: str) -> str:
    """A Host header without its port and brackets."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).removeprefix("[").removesuffix("]")


async def _dead(listener: Any) -> None:
    """Take connections and cut them, until told to stop."""
    stopped = asyncio.Event()

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(cut, sock=listener)
    on_signals(stopped.set)
    print(ready_line("dummy", listener), file=sys.stderr, flush=True)
    await stopped.wait()
    server.close()
