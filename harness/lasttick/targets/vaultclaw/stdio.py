"""The standard streams of a server as a scenario writes and reads them: bytes, lines and framed messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lasttick.targets.vaultclaw.options import Stdio


class Streams:
    """Bytes in, lines or frames out."""

    def __init__(self, stdio: Stdio) -> None:
        self._stdio = stdio

    def write(self, data: bytes) -> None:
        self._stdio.write(data)

    async def line(self) -> bytes:
        """The next line, without its newline; b"" at the end of file."""
        return (await self._stdio.reader.readline()).rstrip(b"\n")

    async def frame(self) -> bytes:
        """The next message framed by Content-Length; b"" at the end of file."""
        length = 0
        while (line := await self._stdio.reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        return await self._stdio.reader.readexactly(length) if line else b""

    async def rest(self) -> bytes:
        """Everything up to the end of file."""
        return await self._stdio.reader.read()

    def end(self) -> None:
        """End of file on the server's standard input."""
        self._stdio.close()
