"""How is the body of an answer taken in, so that neither many bytes nor few that unfold to many use up the memory?

Source: ruling VC-8.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

_GZIP = 31
"""zlib's way of saying: with the header and the sum of gzip."""


class BodyRefused(ValueError):
    """A body that is too long, or packed in a way that can not be undone. The text goes on after "the body ..."."""


async def inflated(chunks: AsyncIterator[bytes], encoding: str, bytes_max: int) -> bytes:
    """The body, unpacked as it comes, at most `bytes_max` before and after unpacking. Raises BodyRefused."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise BodyRefused(f"is packed as {encoding[:40]!r}, which was not asked for")
    packed = encoding.endswith("gzip")
    came = 0
    body = bytearray()
    members = _Members(bytes_max)
    async for chunk in chunks:
        came += len(chunk)
        body += members.unpacked(chunk, len(body)) if packed else chunk
        if max(came, len(body)) > bytes_max:
            raise BodyRefused(f"is longer than {bytes_max} bytes")
    if packed and members.open:
        raise BodyRefused("ends within its gzip packing")
    return bytes(body)


class _Members:
    """The members of a gzip stream, one after another."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._member = zlib.decompressobj(_GZIP)
        self.open = False

    def unpacked(self, chunk: bytes, before: int) -> bytes:
        """What `chunk` unfolds to, cut one byte past the bound."""
        out = bytearray()
        rest = chunk
        try:
            while rest and before + len(out) <= self._bytes_max:
                self.open = True
                out += self._member.decompress(rest, self._bytes_max - before - len(out) + 1)
                rest = self._member.unconsumed_tail
                if self._member.eof:
                    rest = self._member.unused_data
                    self._member = zlib.decompressobj(_GZIP)
                    self.open = False
        except zlib.error as error:
            raise BodyRefused(f"is no gzip: {error}") from None
        return bytes(out)
