"""The agent's own gateway as a source of questions: JSON lines in, at most one answer to each out.

What a question means and what answers it is in `model.lineup.gateway_events`; what becomes of its card is the core's.
Here is kept that an answer goes to a question that was asked and has none yet. Source: contract lineup C-10.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from lasttick.model.errors import sendable, shown
from lasttick.model.lineup.frames import FRAME_BYTES_MAX, strict_json
from lasttick.model.lineup.gateway_events import GatewayEvent, read_event
from lasttick.model.lineup.records import Refused
from lasttick.ports import Clock, LineStream
from lasttick.reference.lineup.streams import excerpt, whole_lines

TOO_LONG = f"a line is too long; expected at most {FRAME_BYTES_MAX} bytes"


class SourceEvents(Protocol):
    """What the core hears from the source, in the order of reading."""

    def asked(self, event: GatewayEvent, read_ns: int) -> None: ...

    def refused(self, what: str, body: Any) -> None:
        """A line that no card is made of; nobody answers it."""
        ...

    def source_gone(self) -> None:
        """No answer can be sent any more."""
        ...


class EventSource:
    """One connection to a gateway. An id is asked once: a second question under it could be answered by the first."""

    def __init__(self, stream: LineStream, events: SourceEvents, clock: Clock) -> None:
        self._stream = stream
        self._events = events
        self._clock = clock
        self._is_open: dict[tuple[str, str], bool] = {}
        """By kind and id, of every question so far."""

    async def run(self) -> None:
        """Hand on every question to the end of file."""
        try:
            async for line in whole_lines(self._stream, lambda: self._events.refused(TOO_LONG, None)):
                self._hear(line, self._clock.now_ns())
        finally:
            self._events.source_gone()
            self._stream.close()

    async def answer(self, answer: Mapping[str, Any]) -> None:
        """`{kind, id, answer}`. Raises ConnectionError when the gateway is gone, and LookupError for a question that
        was never asked or has its answer: an answer that may have arrived is not repeated."""
        key = (answer["kind"], answer["id"])
        if not self._is_open.get(key, False):
            raise LookupError(
                f"{shown(key[0])} {shown(key[1])} is not open; expected a question that waits for its first answer "
                "(contract lineup C-10); look at who answered it before"
            )
        self._is_open[key] = False
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        self._stream.write(sendable(text).encode() + b"\n")

    def _hear(self, line: bytes, read_ns: int) -> None:
        event = _read(line)
        if not isinstance(event, Refused):
            key = (event.kind, event.id)
            if key not in self._is_open:
                self._is_open[key] = True
                self._events.asked(event, read_ns)
                return
            event = Refused(f"{event.kind} {shown(event.id)} was asked before")
        self._events.refused(event.reason, excerpt(line))


def _read(line: bytes) -> GatewayEvent | Refused:
    if len(line) > FRAME_BYTES_MAX:
        return Refused(TOO_LONG)
    try:
        return read_event(strict_json(line.decode("utf-8")))
    except UnicodeDecodeError:
        return Refused("not UTF-8")
    except ValueError as error:
        return Refused(str(error))
