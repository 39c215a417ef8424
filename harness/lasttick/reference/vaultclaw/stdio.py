"""How does the server speak on a pair of streams? Message after message, strictly one at a time, until the input ends.

The input is read ahead while a call runs, since its end cuts a wait that nobody waits for any more (ruling 19).
Source: contract vaultclaw 3, "Framing"; VC-01.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from lasttick.model.vaultclaw.framing import MESSAGE_MAX, Frame, Framer
from lasttick.reference.vaultclaw.rpc import Rpc
from lasttick.reference.vaultclaw.sessions import DEFAULT_SCOPE

CHUNK = 1 << 16
STOP_S = 4.5
"""How long a call in flight may go on after the server was told to stop: it has ended within 5 s (ruling 19)."""


class ByteReader(Protocol):
    """An asyncio.StreamReader, or what reads like one."""

    async def read(self, n: int) -> bytes:
        """Up to `n` bytes, at least one; none at the end of the input."""
        ...


class ByteWriter(Protocol):
    """An asyncio.StreamWriter, or what writes like one."""

    def write(self, data: bytes) -> None: ...

    async def drain(self) -> None: ...


class Stdio:
    """The server on one pair of streams. It serves once."""

    def __init__(self, rpc: Rpc, reader: ByteReader, writer: ByteWriter) -> None:
        self._rpc = rpc
        self._reader = reader
        self._writer = writer
        self._framer = Framer()
        self._news = asyncio.Event()
        self._taken = asyncio.Event()
        self._over = asyncio.Event()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def stop(self) -> None:
        """Answer no further message; waits are cut, another call in flight is finished if it ends in time."""
        self._stopping.set()
        self._over.set()
        self._news.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), STOP_S)

    async def serve(self) -> None:
        """Until the end of the input, `stop`, or a reader that is gone. Raises FramingError: no more messages."""
        self._idle.clear()
        reading = asyncio.ensure_future(self._read())
        try:
            while (frame := await self._next()) is not None:
                answer = await self._answer(frame)
                if answer is not None:
                    self._writer.write(frame.wrapped(answer))
                    await self._writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self._idle.set()

    async def _read(self) -> None:
        """Read ahead, but no further than one message of the largest size."""
        try:
            while data := await self._reader.read(CHUNK):
                self._framer.feed(data)
                self._news.set()
                while self._framer.held > MESSAGE_MAX + CHUNK:
                    self._taken.clear()
                    await self._taken.wait()
        finally:
            self._framer.end()
            self._over.set()
            self._news.set()

    async def _next(self) -> Frame | None:
        """The next message; None at the end of the input and when told to stop."""
        while not self._stopping.is_set():
            self._news.clear()
            over = self._over.is_set()
            frame = self._framer.next()
            self._taken.set()
            if frame is not None or over:
                return frame
            await self._news.wait()
        return None

    async def _answer(self, frame: Frame) -> bytes | None:
        call = asyncio.ensure_future(self._rpc.handle(frame.body, DEFAULT_SCOPE, self._over))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((call, stop), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                await asyncio.wait((call,), timeout=STOP_S)
            return call.result() if call.done() else None
        finally:
            for task in (call, stop):
                task.cancel()
            await asyncio.gather(call, stop, return_exceptions=True)
