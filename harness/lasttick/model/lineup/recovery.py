"""What does a new adapter owe for a call that an older one left in the ledger?

Nothing is answered twice and nothing is assumed to have arrived: where the ledger cannot say, the person is told.
Source: contract lineup C-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lasttick.model.lineup.records import CallState, Source

Recovery: TypeAlias = Literal["abort", "may not have reached", "send result", "not repeated", "nothing"]


@dataclass(frozen=True, slots=True)
class Left:
    """One call as it stands in the ledger. `sent`: the interaction's `sent_at` is set; the other two are columns of
    tool_calls."""

    source: Source
    state: CallState
    sent: bool = False
    prompt_started: bool = False
    delivered: bool = False


def recover(left: Left) -> Recovery:
    """`abort`: close it and say so. `may not have reached`, `not repeated`: tell the person, send nothing.
    `send result`: it becomes the first prompt of the new session, once."""
    if left.state == "emitted":
        return "abort"
    if left.state != "completed":
        return "nothing"
    if left.source != "model":
        return "nothing" if left.sent else "may not have reached"
    if not left.prompt_started:
        return "send result"
    return "nothing" if left.delivered else "not repeated"
