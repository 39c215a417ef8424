"""A wire between a host agent and its lease store that can be made to hold back what comes: a small TCP relay.

So the store has done what it was asked for, and the host does not know it yet, for as long as a scenario likes. One
relay per host, inside the test process; process mode only.
"""

from __future__ import annotations

import asyncio
import contextlib

CHUNK_BYTES = 65_536


class TcpLink:
    """Relays to `host:port`. Listens on loopback, at `port` once started."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._server: asyncio.Server | None = None
        self._open = asyncio.Event()
        self._open.set()
        self._relays: dict[asyncio.Task[None], None] = {}

    @property
    def port(self) -> int:
        assert self._server is not None, "the link has not started"
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def close(self) -> None:
        """Cut every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._relays):
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def hold(self) -> None:
        """What the store sends from now on stays here until `release`; what the host sends goes through."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def _accept(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._relays[task] = None
        there: asyncio.StreamWriter | None = None
        try:
            far, there = await asyncio.open_connection(*self._to)
            ways = [
                asyncio.ensure_future(self._relay(near, there, held=False)),
                asyncio.ensure_future(self._relay(far, back, held=True)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # the near side sees a connection that is cut, and that is all there is to say
        finally:
            for writer in (back, there):
                if writer is not None:
                    writer.close()
            self._relays.pop(task, None)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, held: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                if held:
                    await self._open.wait()
                writer.write(chunk)
                await writer.drain()
