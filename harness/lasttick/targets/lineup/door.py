"""Where do people and the agent's gateway come in, when an adapter is served? Standard streams, WebSocket, a socket.

All of it is on loopback: whoever connects may approve.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator

from lasttick.engine.clock import SystemClock
from lasttick.model.lineup.frames import FRAME_BYTES_MAX
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.config import LineupConfig
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.host_lines import HostLines
from lasttick.reference.lineup.host_websocket import HostWebsocket
from lasttick.reference.lineup.ledger import LedgerLost
from lasttick.reference.lineup.streams import StdioStream
from lasttick.targets.lineup.native import hear_gateway

LOOPBACK = "127.0.0.1"


class Door:
    """A `program.HostDoor` that says on standard error when it is open. `is_over`: nobody can come any more."""

    def __init__(self, config: LineupConfig, events_port: int | None) -> None:
        self._config = config
        self._events_port = events_port
        self.is_over = False

    async def serve(self, adapter: Adapter) -> None:
        """Raises StartError when it cannot listen."""
        async with contextlib.AsyncExitStack() as stack:
            events = {} if self._events_port is None else {"events": await self._listen(adapter, stack)}
            address, host_events = self._config.websocket, Ending(adapter)
            if address is None:
                stream = StdioStream(FRAME_BYTES_MAX)
                await stream.open()
                stack.callback(stream.close)
                _ready("stdio", events)
                await HostLines(stream, host_events, adapter.attach, SystemClock()).run()
            else:
                host, port = address
                server = HostWebsocket(host_events, adapter.attach, SystemClock(), host=host, port=port)
                with _refused(host, port):
                    port = await server.start()
                stack.push_async_callback(server.stop)
                _ready(f"ws://{host}:{port}", events)
                await asyncio.Event().wait()
        self.is_over = True

    async def _listen(self, adapter: Adapter, stack: contextlib.AsyncExitStack) -> str:
        """The address at which the agent's gateway may ask: one at a time, as with hosts."""
        one = asyncio.Lock()

        async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if one.locked():
                writer.close()
                return
            async with one:
                await hear_gateway(adapter, SocketLines(reader, writer), SystemClock())

        port = self._events_port or 0
        with _refused(LOOPBACK, port):
            server = await asyncio.start_server(joined, LOOPBACK, port, limit=FRAME_BYTES_MAX)
        stack.callback(server.close)
        return f"tcp://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"


class Ending:
    """`links.HostEvents` of an adapter that may end at a frame which it cannot record. The link is not to blame."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def frame(self, data: bytes, read_ns: int) -> None:
        try:
            self._adapter.frame(data, read_ns)
        except (LedgerLost, sqlite3.Error) as error:
            logging.getLogger(__name__).error("%s", error)

    def host_gone(self) -> None:
        self._adapter.host_gone()


class SocketLines:
    """A `ports.LineStream` over a socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Raises BrokenPipeError when the other side is gone."""
        if self._writer.is_closing():
            raise BrokenPipeError("the socket is closed; expected an open one; connect again")
        self._writer.write(data)

    async def lines(self) -> AsyncIterator[bytes]:
        while line := await self._reader.readline():
            yield line.rstrip(b"\r\n")

    def close(self) -> None:
        self._writer.close()


def _ready(url: str, more: dict[str, str]) -> None:
    print(json.dumps({"name": "lineup", "url": url, "pid": os.getpid(), **more}), file=sys.stderr, flush=True)


@contextlib.contextmanager
def _refused(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            "a free port of this machine",
            "choose another one, or 0 for a free one",
        ) from error
