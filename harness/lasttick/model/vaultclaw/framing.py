"""Where does one message end on a stream of bytes? Two framings, told apart message by message.

A line that begins with `{` or `[` is a message; anything else begins a header block with a Content-Length, and that
many bytes follow it. The answer goes back in the framing of its message. Source: contract vaultclaw 3, "Framing".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MESSAGE_MAX = 64 << 20
HEADERS_MAX = 64 << 10
_BLANK = b" \t\r\n\v\f"
_LENGTH = re.compile(rb"(?i)content-length[ \t]*:[ \t]*([0-9]{1,12})[ \t]*")


class FramingError(Exception):
    """The bytes can not be cut into messages any more: the stream is of no use from here on."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `headed`: it came with a Content-Length."""

    body: bytes
    headed: bool

    def wrapped(self, answer: bytes) -> bytes:
        """An answer in the same framing."""
        return b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer) if self.headed else answer + b"\n"


class Framer:
    """Cuts a stream into messages, however its bytes are dealt out."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False
        self._headers: list[bytes] | None = None
        self._headers_size = 0
        self._length: int | None = None

    @property
    def held(self) -> int:
        """How many bytes wait here."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def end(self) -> None:
        """No more bytes will come."""
        self._ended = True

    def next(self) -> Frame | None:
        """The next whole message; None when more bytes are needed, or none are left. Raises FramingError."""
        while True:
            if self._length is not None:
                return self._body(self._length)
            line = self._line()
            if line is None:
                if self._ended and self._headers is not None:
                    raise FramingError(
                        "the input ended in a header block; expected an empty line after it; send whole messages"
                    )
                return None
            if self._headers is not None:
                self._header(line)
            elif line[:1] in (b"{", b"["):
                return Frame(line, headed=False)
            elif line:
                self._headers, self._headers_size = [line], len(line)

    def _line(self) -> bytes | None:
        """A line without the blanks around it; the last one may have no newline."""
        at = self._buffer.find(b"\n", self._searched)
        limit = MESSAGE_MAX if self._headers is None else HEADERS_MAX
        if max(at, len(self._buffer) if at < 0 else 0) > limit:
            raise FramingError(f"a line is longer than {limit} bytes; expected less; send smaller messages")
        if at < 0:
            self._searched = len(self._buffer)
            if not self._ended or not self._buffer:
                return None
            at = len(self._buffer)
        line = bytes(self._buffer[:at]).strip(_BLANK)
        del self._buffer[: at + 1]
        self._searched = 0
        return line

    def _header(self, line: bytes) -> None:
        headers = self._headers
        assert headers is not None
        if line:
            headers.append(line)
            self._headers_size += len(line)
            if self._headers_size > HEADERS_MAX:
                raise FramingError(f"a header block is longer than {HEADERS_MAX} bytes; expected less; shorten it")
            return
        lengths = [int(found[1]) for header in headers if (found := _LENGTH.fullmatch(header))]
        if not lengths or lengths[-1] > MESSAGE_MAX:
            raise FramingError(
                # No more of it than one byte: what is sent here by mistake may be a header with a token.
                f"a message begins with {headers[0][:1]!r} and has no usable Content-Length; expected JSON on one "
                f"line, or a header Content-Length up to {MESSAGE_MAX}; send one of the two"
            )
        self._headers, self._length = None, lengths[-1]

    def _body(self, length: int) -> Frame | None:
        if len(self._buffer) < length:
            if self._ended:
                raise FramingError(
                    f"the input ended after {len(self._buffer)} of {length} bytes of a message; expected all of "
                    "them; send whole messages"
                )
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._length = None
        return Frame(body, headed=True)
