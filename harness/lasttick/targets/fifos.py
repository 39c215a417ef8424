"""A child's standard input and output as two named pipes, which a forked child can open by their names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, BinaryIO

LINE_BYTES_MAX = 2**26


class Fifos:
    """What the parent holds: it writes to the child's input and reads its output. A `ports.LineStream`."""

    def __init__(self, folder: Path, write: BinaryIO, reader: asyncio.StreamReader, transport: Any) -> None:
        self.in_path, self.out_path = folder / "in", folder / "out"
        self.reader = reader
        self._write: BinaryIO | None = write
        self._transport = transport

    @classmethod
    async def made(cls, folder: Path) -> Fifos:
        """Two pipes in a new folder."""
        os.mkdir(folder)
        for name in ("in", "out"):
            os.mkfifo(folder / name)
        # Both ends at once, so that nobody waits for the other to open; closing ours is end of file for the child.
        write = os.fdopen(os.open(folder / "in", os.O_RDWR), "wb", buffering=0)
        reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        read = os.fdopen(os.open(folder / "out", os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), read)
        return cls(folder, write, reader, transport)

    def write(self, data: bytes) -> None:
        """Raises BrokenPipeError once closed."""
        if self._write is None:
            raise BrokenPipeError("the child's standard input is closed; expected an open one; start it again")
        rest = memoryview(data)
        while rest:
            rest = rest[self._write.write(rest) :]

    async def lines(self) -> AsyncIterator[bytes]:
        while line := await self.reader.readline():
            yield line.rstrip(b"\r\n")

    def close(self) -> None:
        """End of file on the child's standard input."""
        if self._write is not None:
            self._write.close()
            self._write = None

    def end(self) -> None:
        """Both directions."""
        self.close()
        self._transport.close()
