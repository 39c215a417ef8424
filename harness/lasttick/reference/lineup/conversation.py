"""What the adapter remembers of one conversation, and the two rules that need nothing else: quiet and stuck.

Source: contract lineup C-5.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lasttick.model.lineup.blocks import END_TURN
from lasttick.model.lineup.instructions import sent_alone
from lasttick.model.lineup.records import Inventory, PromptEnd, Result

QUEUED: Final = "Queued for the next turn"
"""How the agent says that a prompt waits behind another (hermes.md 4.5, 4.6)."""


@dataclass(slots=True)
class Quiet:
    """For how long has nothing come of a session while no card of it was open? Monotonic nanoseconds."""

    timeout_ns: int
    holds: int = 0
    since_ns: int = 0

    def frame(self, now_ns: int) -> None:
        """Something came: counted from the start again."""
        self.since_ns = now_ns

    def hold(self) -> None:
        """A card is open, which is a frame too: nothing was counted before it that must be kept."""
        self.holds += 1

    def release(self, now_ns: int) -> None:
        self.holds -= 1
        if self.holds == 0:
            self.since_ns = now_ns

    def left_ns(self, now_ns: int) -> int | None:
        """Until it was too long; None: it does not count now."""
        return None if self.holds else self.timeout_ns - (now_ns - self.since_ns)


@dataclass(frozen=True, slots=True)
class UserText:
    """`seq`: of its message, by which the ledger knows the turn."""

    seq: int
    text: str

    @property
    def about(self) -> dict[str, int]:
        return {"turn": self.seq}


@dataclass(frozen=True, slots=True)
class ResultItem:
    """An answer to a card of the model, on its way to it."""

    call_id: str
    result: Result

    @property
    def about(self) -> dict[str, str]:
        return {"call_id": self.call_id}


Item: TypeAlias = UserText | ResultItem


@dataclass(eq=False, slots=True)
class Turn:
    """One item that is with the agent, or on its way. `chunks`: what the agent has said."""

    item: Item
    chunks: list[str] = field(default_factory=list)
    is_prompted: bool = False
    is_cancelled: bool = False
    is_over: bool = False


@dataclass(eq=False, slots=True)
class Conversation:
    """`taken`: message ids. `told`: the inventory that the session knows; None: it knows nothing yet."""

    id: str
    quiet: Quiet
    taken: set[str]
    queue: deque[Item] = field(default_factory=deque)
    turn: Turn | None = None
    told: Inventory | None = None
    notices: list[str] = field(default_factory=list)
    counts_again: asyncio.Event = field(default_factory=asyncio.Event)


def is_stuck(item: Item, end: PromptEnd, text: str) -> bool:
    """Did a session put a prompt into a queue although nothing was before it? It will never run one again. A command
    is answered without usage too, and `/queue` says the same."""
    is_command = isinstance(item, UserText) and sent_alone(item.text)
    looks_so = end.stop_reason == END_TURN and not end.has_usage and text.lstrip().startswith(QUEUED)
    return looks_so and not is_command
