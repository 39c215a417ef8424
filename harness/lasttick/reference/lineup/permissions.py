"""A permission that the agent asks for: one card, one answer, by the id of an option that the agent offered.

Nothing but a valid completed result leads to an option; whatever else happens, the agent hears `cancelled` or has
stopped waiting. Source: contract lineup rules 1, 2, 7; C-4, C-9; LU-01, LU-02, LU-08.
"""

from __future__ import annotations

from dataclasses import dataclass

from lasttick.model.lineup import cards, instructions, states
from lasttick.model.lineup.records import PermissionAsked, Refused, Result
from lasttick.reference.lineup.agent_process import AgentProcess, permission_body
from lasttick.reference.lineup.cards_open import OpenCard, OpenCards
from lasttick.reference.lineup.ledger import PERMISSION, Interaction
from lasttick.reference.lineup.workshop import Workshop

CANCELLED = "cancelled"
NOT_OURS = "unknown session"


def ask(
    shop: Workshop, open_cards: OpenCards, process: AgentProcess, conversation_id: str | None, asked: PermissionAsked
) -> None:
    """The card of a request, or its refusal. `conversation_id` None: the session is none of ours."""
    wall = shop.clock.wall()
    card = (
        cards.permission_card(asked, shop.token("call_"), wall, shop.permission_life)
        if conversation_id
        else Refused(NOT_OURS)
    )
    if conversation_id is None or isinstance(card, Refused):
        _refuse(shop, process, conversation_id, asked, card.reason if isinstance(card, Refused) else NOT_OURS)
        return
    waiter = PermissionWaiter(shop, process, conversation_id, asked, card.call_id)
    shown = OpenCard(card, conversation_id, cards.deadline_ns(card, wall, asked.read_ns), waiter)
    waits = Interaction("exec_approval", asked.session_id, asked.rpc_id, asked.options)
    with shop.writing("permission card") as later:
        seq = shop.ledger.message(conversation_id, "in", "agent", PERMISSION, permission_body(asked))
        open_cards.emit(later, shown, waits, seq)


def _refuse(
    shop: Workshop, process: AgentProcess, conversation_id: str | None, asked: PermissionAsked, reason: str
) -> None:
    with shop.writing("permission refused") as later:
        body = permission_body(asked)
        shop.ledger.audit("call", "rejected", reason, body, conversation_id=conversation_id)
        later.append(lambda: process.answer(asked.rpc_id, None, sent=_nothing, lost=_nothing))


@dataclass(frozen=True, slots=True)
class PermissionWaiter:
    """The agent, waiting for the answer to one request."""

    shop: Workshop
    process: AgentProcess
    conversation_id: str
    asked: PermissionAsked
    call_id: str

    def record(self, step: states.Step, result: Result | None) -> str | None:
        option_id = self._option_id(step, result)
        if step.towards is not None:
            outcome = (
                {"outcome": "selected", "optionId": option_id} if option_id is not None else {"outcome": CANCELLED}
            )
            body = {"rpc_id": self.asked.rpc_id, "session_id": self.asked.session_id, "outcome": outcome}
            self.shop.ledger.message(self.conversation_id, "out", "agent", PERMISSION, body)
        if step.result_status is None:
            return step.reason
        return option_id if option_id is not None else CANCELLED

    def settle(self, step: states.Step, result: Result | None) -> None:
        if step.towards is None:
            return
        lost = self._tell if step.result_status is not None else _nothing
        self.process.answer(self.asked.rpc_id, self._option_id(step, result), sent=self._sent, lost=lost)

    def _option_id(self, step: states.Step, result: Result | None) -> str | None:
        """What the agent gets; None: `cancelled`."""
        if step.towards != "option" or result is None or result.result is None:
            return None
        return cards.option_of(self.asked, result.result["action_ids"][0]).option_id

    def _sent(self) -> None:
        with self.shop.writing("answer sent"):
            self.shop.ledger.answer_sent(self.call_id)

    def _tell(self) -> None:
        with self.shop.writing("answer lost"):
            self.shop.tell(self.conversation_id, instructions.MAY_NOT_HAVE_REACHED, call_id=self.call_id)


def _nothing() -> None:
    return None
