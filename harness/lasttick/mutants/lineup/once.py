"""Wrong adapters that answer for nobody, twice, or for somebody else. Source: contract lineup, rules 4, 7; C-3, C-4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lasttick.model.lineup import states
from lasttick.mutants import Mutant
from lasttick.reference.lineup import replies
from lasttick.reference.lineup.agent_process import AgentProcess
from lasttick.reference.lineup.ledger import Ledger
from lasttick.reference.lineup.permissions import PermissionWaiter
from lasttick.reference.lineup.turns import Turns

ANY_ORDER = "lineup/once/any-order-of-answers-ends-in-one"
TURN_OVER = "lineup/once/a-card-does-not-outlive-its-turn"
CLICKS = "lineup/once/a-click-counts-once-and-only-from-its-own-conversation"
CANCELLED = "lineup/once/a-cancel-answers-every-question-of-the-turn"
EQUAL_IDS = "lineup/many/equal-ids-are-different-cards"


def but_for(event: str) -> Callable[[Any], Any]:
    """Open cards stay as they are when this happens."""

    def wrong(right: Any) -> Any:
        def close(self: Turns, later: Any, conversation: Any, what: str, sources: Any) -> None:
            if what != event:
                right(self, later, conversation, what, sources)

        return close

    return wrong


def first_option_at_expiry(right: Any) -> Any:
    """A permission that nobody answered gets the first option that the agent offers."""

    def option_id(self: PermissionWaiter, step: states.Step, result: Any) -> Any:
        return self.asked.options[0].option_id if step.call == "expired" else right(self, step, result)

    return option_id


def first_option_at_a_cancel(right: Any) -> Any:
    def option_id(self: PermissionWaiter, step: states.Step, result: Any) -> Any:
        is_cancel = step.reason == "cancelled by the user"
        return self.asked.options[0].option_id if is_cancel else right(self, step, result)

    return option_id


def answers_twice(right: Any) -> Any:
    """Whoever sends is not sure that it was sent, and sends it again."""

    def answer(self: AgentProcess, rpc_id: Any, option_id: Any, **done: Any) -> None:
        right(self, rpc_id, option_id, **done)
        outcome = {"outcome": "cancelled"} if option_id is None else {"outcome": "selected", "optionId": option_id}
        link: Any = self._link
        transport = link._connected.transport
        transport._write({"jsonrpc": "2.0", "id": rpc_id, "result": {"outcome": outcome}})

    return answer


def whoever_says_so(right: Any) -> Any:
    """A result counts from whatever conversation it comes."""
    return lambda state, *, same_conversation, is_due: right(state, same_conversation=True, is_due=is_due)


def any_new_card(right: Any) -> Any:
    """The card of another conversation with that id is no obstacle: the new one is given an id of its own."""

    def card(shop: Any, turns: Any, later: Any, conversation: Any, block: Any, seq: int) -> None:
        taken = shop.ledger.call(block.get("call_id")) is not None
        right(shop, turns, later, conversation, {**block, "call_id": shop.token("call_")} if taken else block, seq)

    return card


def same_epoch(self: Ledger) -> None:
    """A new agent process is taken for the old one."""
    if self.epoch:
        return
    with self.writing("epoch"):
        self._db.execute("UPDATE meta SET epoch = epoch + 1")
        begun = self._epoch_there()
    self.epoch = begun


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/pending-outlives-turn",
        breaks="LU-08",
        text="a permission's card stays open after its prompt has ended",
        killed_by=TURN_OVER,
        patch=lambda seam: seam.wrap(Turns, "_close", but_for("turn_ended")),
    ),
    Mutant(
        "lineup/expiry-approves",
        breaks="LU-08",
        text="a card that expires answers with the first option that the agent offers",
        killed_by=ANY_ORDER,
        patch=lambda seam: seam.wrap(PermissionWaiter, "_option_id", first_option_at_expiry),
    ),
    Mutant(
        "lineup/cancel-approves",
        breaks="LU-08",
        text="a card that the person takes back answers with the first option that the agent offers",
        killed_by=CANCELLED,
        patch=lambda seam: seam.wrap(PermissionWaiter, "_option_id", first_option_at_a_cancel),
    ),
    Mutant(
        "lineup/cancel-leaves-questions-open",
        breaks="LU-08",
        text="a cancel stops the turn and leaves its permissions without an answer",
        killed_by=CANCELLED,
        patch=lambda seam: seam.wrap(Turns, "_close", but_for("user_cancel")),
    ),
    Mutant(
        "lineup/answers-twice",
        breaks="LU-08",
        text="each answer is sent to the agent twice",
        killed_by=CLICKS,
        patch=lambda seam: seam.wrap(AgentProcess, "answer", answers_twice),
    ),
    Mutant(
        "lineup/foreign-conversation-resolves",
        breaks="LU-08",
        text="a result from another conversation resolves the card",
        killed_by=CLICKS,
        patch=lambda seam: seam.wrap(states, "result_refusal", whoever_says_so),
    ),
    Mutant(
        "lineup/equal-call-id-is-another-card",
        breaks="LU-15",
        text="a second card of the same call_id is shown under another one, which its model does not know",
        killed_by=EQUAL_IDS,
        patch=lambda seam: seam.wrap(replies, "_card", any_new_card),
    ),
    Mutant(
        "lineup/dead-agents-cards-stay-open",
        breaks="LU-15",
        text="cards of an agent process that is dead can still be answered",
        killed_by=EQUAL_IDS,
        patch=lambda seam: seam.wrap(Turns, "_close", but_for("agent_gone")),
    ),
    Mutant(
        "lineup/one-epoch-for-all",
        breaks="LU-15",
        text="a new agent process counts its permissions in the epoch of the old one",
        killed_by=EQUAL_IDS,
        patch=lambda seam: seam.replace(Ledger, "begin_epoch", same_epoch),
    ),
]
