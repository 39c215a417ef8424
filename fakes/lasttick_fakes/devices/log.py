"""What did the devices themselves see? The log that judges mutual exclusion (HA-05).

Only a device writes here, when a call starts on it and when that call ends on it; nothing a host says can add a line,
move one or leave one out. Source: contract world, "Devices are a part of their own, and the judge".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from lasttick.ports import Clock

OK = "ok"
STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line. `call` counts the calls of one device from 1 and ties "start" to "end"; `seq` counts the rack's lines
    from 1.

    `t_ns` is the rack's monotonic clock. `outcome` is None at the start; at the end "ok", "stopped" (the rack was
    closed under the call) or "error: " and the message. A "refused" line is a call that never started, because its
    fencing token was older than the device's; it has call number 0, and the outcome says both tokens.
    """

    seq: int
    t_ns: int
    device_id: str
    kind: Literal["start", "end", "refused"]
    call: int
    tool: str
    arguments: Mapping[str, Any]
    outcome: str | None

    def as_json(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "t_ns": self.t_ns,
            "device_id": self.device_id,
            "kind": self.kind,
            "call": self.call,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "outcome": self.outcome,
        }


class Log:
    """The lines of one rack, in the order in which they happened.

    `entries_max` bounds what is kept for a long soak; the oldest lines go first and `dropped` counts them, so that a
    judge knows when it has not seen everything. `on_log` is called with every line, synchronously, and misses none.
    """

    def __init__(
        self, clock: Clock, on_log: Callable[[LogEntry], None] | None = None, entries_max: int | None = None
    ) -> None:
        self._clock = clock
        self._on_log = on_log
        self._entries: deque[LogEntry] = deque(maxlen=entries_max)
        self._count = 0

    def write(
        self,
        device_id: str,
        kind: Literal["start", "end", "refused"],
        call: int,
        tool: str,
        arguments: Mapping[str, Any],
        outcome: str | None = None,
    ) -> LogEntry:
        self._count += 1
        entry = LogEntry(self._count, self._clock.now_ns(), device_id, kind, call, tool, arguments, outcome)
        self._entries.append(entry)
        if self._on_log is not None:
            self._on_log(entry)
        return entry

    def clear(self) -> None:
        """Forget all lines and count from 1 again."""
        self._entries.clear()
        self._count = 0

    def entries(self, after_seq: int = 0) -> list[LogEntry]:
        """The kept lines with a larger `seq`."""
        skip = max(0, after_seq - self.dropped)
        return list(islice(self._entries, skip, None))

    @property
    def dropped(self) -> int:
        return self._count - len(self._entries)
