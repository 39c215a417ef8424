"""What goes wrong with heartbeats? Trouble as data: which heartbeats, what happens to them, drawn by whoever adds it.

| kind | the host sees | the cloud does |
|---|---|---|
| ignore | 200 | nothing: lost behind the door |
| refuse | 503 | nothing |
| delay | 200 after `delay_s` | applies it then: a slow road |
| late | 200 at once | applies it `delay_s` later: it may arrive behind its successors |
| duplicate | 200 at once | applies it now and again `delay_s` later |

A connection that breaks is trouble of the network between the two, not of the cloud.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

TroubleKind = Literal["ignore", "refuse", "delay", "late", "duplicate"]
KINDS: tuple[str, ...] = get_args(TroubleKind)


@dataclass(frozen=True, slots=True)
class HeartbeatTrouble:
    """`count` heartbeats, after the next `skip` ones (of `host_id`, or of any host), meet this."""

    kind: TroubleKind
    count: int = 1
    skip: int = 0
    delay_s: float = 0.0
    host_id: str | None = None


class TroubleList:
    """Every entry counts the heartbeats that came since it was added; of those that apply, the oldest entry wins."""

    def __init__(self) -> None:
        self._entries: list[tuple[HeartbeatTrouble, int]] = []

    def add(self, trouble: HeartbeatTrouble) -> None:
        self._entries.append((trouble, 0))

    def clear(self) -> None:
        self._entries.clear()

    def meet(self, host_id: str) -> HeartbeatTrouble | None:
        """Count one heartbeat of `host_id`, and say what happens to it."""
        met: HeartbeatTrouble | None = None
        rest: list[tuple[HeartbeatTrouble, int]] = []
        for trouble, seen in self._entries:
            if trouble.host_id is not None and trouble.host_id != host_id:
                rest.append((trouble, seen))
                continue
            if met is None and seen >= trouble.skip:
                met = trouble
            if seen + 1 < trouble.skip + trouble.count:
                rest.append((trouble, seen + 1))
        self._entries = rest
        return met
