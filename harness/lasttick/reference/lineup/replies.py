"""A reply of the model, judged once, at the end of its prompt: a text, perhaps one card, perhaps a refusal.

Source: contract lineup C-2, C-4 (model cards), C-6, C-7 (reply blocks).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lasttick.model.lineup import blocks, cards, instructions, states
from lasttick.model.lineup.records import PromptEnd, Refused, Result
from lasttick.reference.lineup.cards_open import OpenCard
from lasttick.reference.lineup.conversation import Conversation, ResultItem
from lasttick.reference.lineup.workshop import Later, Workshop

if TYPE_CHECKING:
    from lasttick.reference.lineup.turns import Turns

DUPLICATE: Final = "duplicate call_id"
NO_ANSWER: Final = "the agent gave no answer ({why}); send the message again"


def answer(
    shop: Workshop, turns: Turns, later: Later, conversation: Conversation, end: PromptEnd, text: str, seq: int
) -> None:
    """Inside the transition that ends the turn: everything that the person gets of it. `seq`: of its message."""
    reply = blocks.read_reply(text, end.stop_reason)
    for reason in reply.audits:
        shop.ledger.audit("call", "rejected", reason, {"text": text}, conversation_id=conversation.id, seq=seq)
    if reply.shown:
        shop.say(conversation.id, "agent", reply.shown)
    if reply.refusal is not None:
        _refuse(shop, later, conversation, reply.refusal)
    if reply.block is not None:
        _card(shop, turns, later, conversation, reply.block, seq)
    elif end.error_code is not None or (end.stop_reason not in (blocks.END_TURN, "cancelled") and not reply.shown):
        why = f"error {end.error_code}" if end.error_code is not None else str(end.stop_reason)
        shop.say(conversation.id, "system", NO_ANSWER.format(why=why))


def _card(
    shop: Workshop, turns: Turns, later: Later, conversation: Conversation, block: Mapping[str, Any], seq: int
) -> None:
    wall, now_ns = shop.clock.wall(), shop.clock.now_ns()
    card = cards.model_card(block, turns.inventory, wall)
    if not isinstance(card, Refused) and shop.ledger.call(card.call_id) is not None:
        card = Refused(DUPLICATE)
    if isinstance(card, Refused):
        call_id = block.get("call_id")
        shop.ledger.audit(
            "call",
            "rejected",
            card.reason,
            block,
            call_id=call_id if isinstance(call_id, str) else None,
            conversation_id=conversation.id,
            seq=seq,
        )
        _refuse(shop, later, conversation, card.reason)
        return
    waiter = ModelWaiter(turns, conversation, card.call_id)
    shown = OpenCard(card, conversation.id, cards.deadline_ns(card, wall, now_ns), waiter)
    turns.cards.emit(later, shown, None, seq)


def _refuse(shop: Workshop, later: Later, conversation: Conversation, reason: str) -> None:
    """The person is asked for text; the model hears of it in front of the next prompt, and is not asked again."""
    shop.say(conversation.id, "system", instructions.refusal_message(reason))
    later.append(lambda: conversation.notices.append(instructions.refusal_notice(reason)))


@dataclass(frozen=True, slots=True)
class ModelWaiter:
    """The model waits for nothing: an answer becomes a prompt, no answer becomes a notice (C-4)."""

    turns: Turns
    conversation: Conversation
    call_id: str

    def record(self, step: states.Step, result: Result | None) -> str | None:
        return None

    def settle(self, step: states.Step, result: Result | None) -> None:
        if step.towards == "result prompt" and result is not None:
            self.turns.enqueue(self.conversation, ResultItem(self.call_id, result))
        elif step.towards == "notice":
            self.conversation.notices.append(instructions.closed_notice(self.call_id, step.call))
