"""What becomes of a card when something happens to it, and what goes out then?

The table is the contract's, as data: a closed card never opens again, and the only way to an option of the agent is a
valid completed result on a card that is still open. Silence, errors and restarts end in `cancelled` or in nothing.
Source: contract lineup C-3 (order of checks), C-4, C-5 (response time-out), C-8, C-10 (superseded).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from lasttick.model.lineup.records import CallState, Disposition, InteractionState, Source

Pair: TypeAlias = tuple[CallState, InteractionState | None]
"""Of a tool_calls row and its interaction; a model card has none."""
Event: TypeAlias = Literal[
    "completed",
    "cancelled",
    "rejected",
    "deadline",
    "user_cancel",
    "response_timeout",
    "turn_ended",
    "agent_gone",
    "superseded",
    "older_epoch",
]
"""The first three are results, as they were judged. `agent_gone`: also a session that was replaced."""
Towards: TypeAlias = Literal["option", "cancelled", "result prompt", "notice"]

LEGAL: Final[Mapping[CallState, InteractionState]] = {
    "emitted": "pending",
    "completed": "resolved",
    "expired": "expired",
    "aborted": "aborted",
}
RESULTS: Final = ("completed", "cancelled", "rejected")
CLOSED_REASONS: Final[Mapping[CallState, str]] = {
    "completed": "already resolved",
    "expired": "expired",
    "aborted": "aborted",
}
"""Why a result comes too late."""
UNKNOWN_CALL: Final = "unknown call"
WRONG_CONVERSATION: Final = "wrong conversation"


@dataclass(frozen=True, slots=True)
class Step:
    """What one event does. `towards`: what the agent gets; `option` is the one behind the action of the result.
    `disposition` and `reason` are those of the state frame, the reason also of the audit or the outcome. A rejected
    result keeps the reason that it was judged with. `tells`: the host also gets a system message."""

    call: CallState
    interaction: InteractionState | None
    result_status: Literal["completed", "cancelled"] | None = None
    towards: Towards | None = None
    disposition: Disposition | None = None
    reason: str | None = None
    cancels_session: bool = False
    tells: bool = False


TRANSITIONS: Final[Mapping[Event, Step]] = {
    "completed": Step("completed", "resolved", "completed", "option", "accepted"),
    "cancelled": Step("completed", "resolved", "cancelled", "cancelled", "accepted"),
    "rejected": Step("emitted", "pending", disposition="rejected"),
    "deadline": Step("expired", "expired", towards="cancelled", reason="expired"),
    "user_cancel": Step(
        "aborted", "aborted", towards="cancelled", reason="cancelled by the user", cancels_session=True
    ),
    "response_timeout": Step(
        "aborted", "aborted", towards="cancelled", reason="response timeout", cancels_session=True, tells=True
    ),
    "turn_ended": Step("aborted", "aborted", reason="turn ended"),
    "agent_gone": Step("aborted", "aborted", reason="agent gone"),
    "superseded": Step("aborted", "aborted", towards="cancelled", reason="superseded"),
    "older_epoch": Step("aborted", "aborted", reason="adapter restarted", tells=True),
}
"""Of an open card with an interaction."""


def after(pair: Pair, event: Event, source: Source = "permission") -> Step | None:
    """What the event does to a card in this state; None: it does not concern the card, and nothing goes out.

    Raises ValueError for a pair that is not legal: the ledger is broken, and no guess may come of it.
    """
    call, interaction = pair
    if interaction != (None if source == "model" else LEGAL[call]):
        raise ValueError(
            f"a {source} card is {call}/{interaction}; expected one of {legal_pairs(source)} (contract lineup C-4); "
            "look at the ledger before the adapter is started again"
        )
    if call != "emitted":
        return _late(pair) if event in RESULTS else None
    if event == "turn_ended" and source != "permission":
        return None
    step = TRANSITIONS[event]
    return _of_model(step) if source == "model" else step


def legal_pairs(source: Source) -> list[str]:
    return [f"{call}/{None if source == 'model' else LEGAL[call]}" for call in LEGAL]


def result_refusal(state: CallState | None, *, same_conversation: bool, is_due: bool) -> str | None:
    """Why a result is rejected before its shape is looked at, in the order of C-3; None: judge it.

    `state` None: there is no such call. `is_due`: its deadline has passed, whether or not a timer has run.
    """
    if state is None:
        return UNKNOWN_CALL
    if not same_conversation:
        return WRONG_CONVERSATION
    if state != "emitted":
        return CLOSED_REASONS[state]
    return CLOSED_REASONS["expired"] if is_due else None


def _late(pair: Pair) -> Step:
    call, interaction = pair
    return Step(call, interaction, disposition="rejected", reason=CLOSED_REASONS[call])


def _of_model(step: Step) -> Step:
    """A model card has nobody who waits: its result comes as a prompt, its end without one as a notice (C-4)."""
    towards: Towards | None = "result prompt" if step.result_status else None if step.call == "emitted" else "notice"
    return replace(step, interaction=None, towards=towards)
