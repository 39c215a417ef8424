"""What did the third party itself see? The log that says whether a call arrived, and how often (GW-07, GW-17).

Every request of the business side is written when it arrives, before anything judges it: also one to a path that does
not exist, and one whose caller leaves. Nothing a gateway says can add an entry or leave one out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lasttick.ports import Clock

RUN_HEADER = "x-correlation-id"
"""In which a caller says for which run it calls."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One request, as it came. `seq` counts from 1; `t_ns` is the third party's monotonic clock at its arrival.

    `headers` are as sent, the caller's credentials included: they are the third party's own. `status` is what was
    answered: None while it is not, 0 when the connection broke instead.
    """

    seq: int
    t_ns: int
    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: str
    status: int | None = None

    def header(self, name: str) -> str | None:
        """The first value of a header, any case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "t_ns": self.t_ns,
            "method": self.method,
            "path": self.path,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
            "status": self.status,
        }


class Log:
    """All requests as they arrived. `on_event(kind, data)` hears of arrivals and answers, and not the headers."""

    def __init__(self, clock: Clock, on_event: Callable[[str, dict[str, Any]], None] | None = None) -> None:
        self._clock = clock
        self._on_event = on_event
        self._entries: dict[int, Seen] = {}
        self._count = 0

    def arrived(self, method: str, path: str, headers: tuple[tuple[str, str], ...], body: str) -> int:
        """Write a request; returns its seq."""
        self._count += 1
        self._entries[self._count] = Seen(self._count, self._clock.now_ns(), method, path, headers, body)
        seen = self._entries[self._count]
        about = {"seq": seen.seq, "method": method, "path": path, "body": body, "run_id": seen.header(RUN_HEADER)}
        self._tell("third.request", about)
        return self._count

    def answered(self, seq: int, status: int) -> None:
        if seq in self._entries:  # it is not after `clear`
            self._entries[seq] = replace(self._entries[seq], status=status)
            self._tell("third.answer", {"seq": seq, "status": status})

    def entries(self, after: int = 0) -> list[Seen]:
        """Those with a larger `seq`."""
        return [seen for seen in self._entries.values() if seen.seq > after]

    def clear(self) -> None:
        """Forget all. Seqs go on, so that an answer of before is nobody's now."""
        self._entries.clear()

    def _tell(self, kind: str, data: dict[str, Any]) -> None:
        if self._on_event is not None:
            self._on_event(kind, data)
