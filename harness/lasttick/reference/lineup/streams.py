"""How do lines come in when a stranger writes them, and how long may one be?

A line that is longer than it may be costs no more memory than the limit, and the lines behind it still count.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from typing import Any

from lasttick.ports import LineStream

CHUNK_BYTES = 1 << 16
BURST_LINES = 64
EXCERPT_BYTES_MAX = 4_096
UNREAD_BYTES_MAX = 1 << 26
"""Of what the other side does not read: with more it counts as gone. To wait for it would hold up answers."""


async def whole_lines(stream: LineStream, overrun: Callable[[], None]) -> AsyncIterator[bytes]:
    """The lines of a stream to its end. A stream that has a limit of its own says so with ValueError, drops what it
    holds and can be read on; `overrun` is told each time, and a rest of such a line is a line."""
    count = 0
    while True:
        try:
            async for line in stream.lines():
                yield line
                # Reading what is there already waits for nothing, and a flood would keep everybody else from working.
                count += 1
                if count % BURST_LINES == 0:
                    await asyncio.sleep(0)
            return
        except ValueError:
            overrun()


def excerpt(line: bytes) -> str:
    """As much of a refused line as is recorded of it."""
    return line[:EXCERPT_BYTES_MAX].decode("utf-8", "backslashreplace")


class LineCutter:
    """Bytes in, lines out, of each at most `limit` + 1 bytes: enough for its reader to see that it is too long."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk ends, without their line feed."""
        *ended, rest = chunk.split(b"\n")
        lines = []
        for piece in ended:
            self._keep(piece)
            lines.append(bytes(self._kept))
            self._kept.clear()
        self._keep(rest)
        return lines

    def end(self) -> list[bytes]:
        """Half a line, if the file ends in one."""
        rest, self._kept = bytes(self._kept), bytearray()
        return [rest] if rest else []

    def _keep(self, piece: bytes) -> None:
        self._kept += piece[: self._limit + 1 - len(self._kept)]


class StdioStream:
    """A `ports.LineStream` over two file descriptors, such as this process's 0 and 1: pipes, a terminal, files, or two
    sockets. One socket for both ways does not do: asyncio takes what comes in at an output for its end. Lines come cut
    at `limit` + 1 bytes. Needs a running loop."""

    def __init__(self, limit: int, read_fd: int = 0, write_fd: int = 1) -> None:
        self._cutter = LineCutter(limit)
        self._fds = (os.dup(read_fd), os.dup(write_fd))
        self._blocking = (os.get_blocking(read_fd), os.get_blocking(write_fd))
        self._reader: asyncio.StreamReader | None = None
        self._input: asyncio.ReadTransport | None = None
        self._output: asyncio.WriteTransport | None = None
        self._closed = False
        self._is_over = False

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        if _can_wait(self._fds[0]):
            reader = self._reader = asyncio.StreamReader()
            self._input, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(self._fds[0]), "rb", buffering=0)
            )
        if _can_wait(self._fds[1]):
            pipe: Any = os.fdopen(os.dup(self._fds[1]), "wb", buffering=0)
            self._output, _ = await loop.connect_write_pipe(lambda: _AtEnd(self._leave), pipe)

    async def lines(self) -> AsyncIterator[bytes]:
        while chunk := await self._read():
            for line in self._cutter.feed(chunk):
                yield line
        for line in self._cutter.end():
            yield line

    def write(self, data: bytes) -> None:
        """Never waits. Raises BrokenPipeError when the other side is gone, or reads nothing any more."""
        if self._closed or (self._output is not None and self._output.is_closing()):
            raise BrokenPipeError("the output is closed; expected a reader at its other end; start the host again")
        if self._output is None:
            _write_all(self._fds[1], data)
            return
        self._output.write(data)
        if (unread := self._output.get_write_buffer_size()) > UNREAD_BYTES_MAX:
            self._output.abort()
            raise BrokenPipeError(f"{unread} bytes are unread; expected a host that reads; start it again")

    def close(self) -> None:
        """Both directions; what was written still goes out. The descriptors are left as they were found."""
        if self._closed:
            return
        self._closed = True
        if self._input is not None:
            self._input.close()
        if self._output is None or self._is_over:
            self._leave()
        else:
            self._output.close()

    def _leave(self) -> None:
        """When the output is over. Of a terminal both descriptors are one thing: a rest that waits to be written would
        block everybody if the input was put back earlier."""
        if self._closed:
            for fd, blocking in zip(self._fds, self._blocking, strict=True):
                os.set_blocking(fd, blocking)
                os.close(fd)
        self._is_over = True

    async def _read(self) -> bytes:
        if self._reader is not None:
            return await self._reader.read(CHUNK_BYTES)
        # A file is always ready; whoever else has something to do must not wait for its end.
        await asyncio.sleep(0)
        return b"" if self._closed else os.read(self._fds[0], CHUNK_BYTES)


class _AtEnd(asyncio.BaseProtocol):
    """Of a pipe that is written to: tells when it is over."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def connection_lost(self, exc: Exception | None) -> None:
        self._tell()


def _can_wait(fd: int) -> bool:
    """Whether the operating system can say when it is ready. Of files and /dev/null it cannot."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
