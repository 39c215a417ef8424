"""A pair of byte pipes: newline-delimited JSON between two parties in one process, for MCP over stdio in both eras.

These are real bytes with framing, not passed objects: what one side writes is encoded, and what the other reads was
parsed. Source: contract engine, "Transports".
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass


class BytePipe:
    """One direction: bytes in, lines out. Closing the writing end is end of file for the reader."""

    def __init__(self) -> None:
        self.reader = asyncio.StreamReader(limit=2**26)
        self._closed = False

    def write(self, data: bytes) -> None:
        """Hand over bytes as they are; a line may come in several pieces. Raises BrokenPipeError once closed."""
        if self._closed:
            raise BrokenPipeError("write to a closed pipe; expected an open one; open a new pair for a new connection")
        self.reader.feed_data(data)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.reader.feed_eof()

    async def lines(self) -> AsyncIterator[bytes]:
        """Complete lines without their newline, then a last one without newline if the file ends in half a line."""
        while line := await self.reader.readline():
            yield line.rstrip(b"\r\n") if line.endswith(b"\n") else line


@dataclass(frozen=True, slots=True)
class PipeEnd:
    """What one party holds: it reads from `inward` and writes to `outward`."""

    inward: BytePipe
    outward: BytePipe

    @property
    def reader(self) -> asyncio.StreamReader:
        """What comes in, as bytes."""
        return self.inward.reader

    def write(self, data: bytes) -> None:
        self.outward.write(data)

    def lines(self) -> AsyncIterator[bytes]:
        return self.inward.lines()

    def close(self) -> None:
        """Close the writing side; the other party reads end of file."""
        self.outward.close()


def pipe_pair() -> tuple[PipeEnd, PipeEnd]:
    """Two connected ends. Needs a running loop."""
    forth, back = BytePipe(), BytePipe()
    return PipeEnd(back, forth), PipeEnd(forth, back)
