"""A chat host on a stream of lines: this process's stdin and stdout, or pipes within one process.

A line that is too long is a frame like any other, and refused like any other: the link stays open.
Source: contract lineup C-1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.errors import sendable
from lasttick.model.lineup.frames import FRAME_BYTES_MAX
from lasttick.ports import Clock, LineStream
from lasttick.reference.lineup.links import HostEvents, HostLink
from lasttick.reference.lineup.streams import whole_lines

TOO_LONG = b"x" * (FRAME_BYTES_MAX + 1)
"""What stands for a line that the stream itself did not hand over."""
Attach = Callable[[HostLink], None]


def frame_text(frame: Mapping[str, Any]) -> str:
    """One frame as it goes out, on one line."""
    return sendable(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))


class HostLines:
    """`links.HostLink`, one for the whole life of the stream."""

    def __init__(self, stream: LineStream, events: HostEvents, attach: Attach, clock: Clock) -> None:
        self._stream = stream
        self._events = events
        self._attach = attach
        self._clock = clock

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Raises ConnectionError when the host is gone."""
        self._stream.write(frame_text(frame).encode() + b"\n")

    async def run(self) -> None:
        """Attach, hand on every line, and say that the host is gone at the end of file."""
        self._attach(self)
        try:
            async for line in whole_lines(self._stream, lambda: self._events.frame(TOO_LONG, self._clock.now_ns())):
                self._events.frame(line, self._clock.now_ns())
        finally:
            self._events.host_gone()
            self._stream.close()
