"""Questions of the agent's own gateway as cards: confirmations, update prompts, clarifications. One answer at most.

A question is shown in the conversation that its session key names; a clarification, which names none, in the default
one. What ends without a person's answer never becomes a yes: a confirmation is answered `cancel`, an update prompt not
at all. Source: contract lineup C-7 (event source), C-10; LU-06, LU-07, LU-14.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from lasttick.model.lineup import cards, instructions, states
from lasttick.model.lineup.clarify import Clarify, clarify_input, wants_input
from lasttick.model.lineup.frames import CONVERSATION_CHARS_MAX
from lasttick.model.lineup.gateway_events import GatewayEvent, closing_answer, event_answer, event_card, superseded
from lasttick.model.lineup.records import DEFAULT_CONVERSATION, Card, Result
from lasttick.reference.lineup.cards_open import OpenCard, OpenCards
from lasttick.reference.lineup.event_source import EventSource
from lasttick.reference.lineup.ledger import Interaction, Kind
from lasttick.reference.lineup.workshop import Later, Workshop

LONG_KEY = f"session_key: expected at most {CONVERSATION_CHARS_MAX} characters, since it names a conversation"


class GatewayQuestions:
    """`event_source.SourceEvents` of one connection; `source` is set before the first event."""

    source: EventSource

    def __init__(self, shop: Workshop, open_cards: OpenCards) -> None:
        self._shop = shop
        self._cards = open_cards
        self._open: dict[str, OpenCard] = {}
        self._events: dict[str, GatewayEvent] = {}

    def asked(self, event: GatewayEvent, read_ns: int) -> None:
        if self._shop.ended.is_set():
            return
        conversation_id = conversation_of(event)
        if len(conversation_id) > CONVERSATION_CHARS_MAX:
            self.refused(LONG_KEY, asdict(event))
            return
        wall = self._shop.clock.wall()
        card = event_card(event, self._shop.token("call_"), wall)
        shown = self._shown(event, card, cards.deadline_ns(card, wall, read_ns))
        with self._shop.writing("gateway question") as later:
            for call_id in superseded(self._events, event):
                self._cards.close(later, self._open[call_id], "superseded")
            seq = self._shop.ledger.message(conversation_id, "in", "agent", event.kind, asdict(event))
            self._emit(later, event, shown, seq)

    def refused(self, what: str, body: Any) -> None:
        if not self._shop.ended.is_set():
            with self._shop.writing("gateway refused"):
                self._shop.ledger.audit("call", "rejected", what, body, conversation_id=DEFAULT_CONVERSATION)

    def source_gone(self) -> None:
        """Nobody is left to hear an answer."""
        if self._shop.ended.is_set() or not self._open:
            return
        with self._shop.writing("gateway gone") as later:
            for shown in list(self._open.values()):
                self._cards.close(later, shown, "agent_gone")

    # -- for its waiters

    def ask_in_words(self, event: Clarify) -> None:
        """The second card of a clarification, after `other`."""
        now_ns, wall = self._shop.clock.now_ns(), self._shop.clock.wall()
        card = clarify_input(event, self._shop.token("call_"), wall)
        shown = self._shown(event, card, cards.deadline_ns(card, wall, now_ns))
        with self._shop.writing("gateway question in words") as later:
            self._emit(later, event, shown, None)

    def closed(self, call_id: str) -> None:
        self._open.pop(call_id, None)
        self._events.pop(call_id, None)

    def send(self, call_id: str, answer: Mapping[str, Any], conversation_id: str, *, is_persons: bool) -> None:
        """Once. Of a person's answer that may be lost, the person is told."""
        self._shop.spawn(self._send(call_id, answer, conversation_id, is_persons))

    async def _send(self, call_id: str, answer: Mapping[str, Any], conversation_id: str, is_persons: bool) -> None:
        self._shop.step(f"before frame: gateway {answer['kind']}")
        try:
            await self.source.answer(answer)
        except (ConnectionError, LookupError):
            if is_persons:
                with self._shop.writing("gateway answer lost"):
                    self._shop.tell(conversation_id, instructions.MAY_NOT_HAVE_REACHED, call_id=call_id)
            return
        self._shop.step(f"after frame: gateway {answer['kind']}")
        with self._shop.writing("gateway answer sent"):
            self._shop.ledger.answer_sent(call_id)

    def _shown(self, event: GatewayEvent, card: Card, deadline_ns: int) -> OpenCard:
        conversation_id = conversation_of(event)
        waiter = GatewayWaiter(self._shop, self, event, conversation_id, card.call_id)
        return OpenCard(card, conversation_id, deadline_ns, waiter)

    def _emit(self, later: Later, event: GatewayEvent, shown: OpenCard, seq: int | None) -> None:
        session = None if isinstance(event, Clarify) else event.session_key
        self._cards.emit(later, shown, Interaction(cast(Kind, event.kind), session), seq)
        later.append(lambda: self._open.update({shown.card.call_id: shown}))
        later.append(lambda: self._events.update({shown.card.call_id: event}))


@dataclass(frozen=True, slots=True)
class GatewayWaiter:
    """The gateway, waiting for the answer to one question."""

    shop: Workshop
    questions: GatewayQuestions
    event: GatewayEvent
    conversation_id: str
    call_id: str

    def record(self, step: states.Step, result: Result | None) -> str | None:
        answer = self._answer(step, result)
        if answer is not None:
            self.shop.ledger.message(self.conversation_id, "out", "agent", self.event.kind, answer)
            return str(answer["answer"])
        if step.result_status is not None:
            # Nothing is owed to the gateway now, so the next start must not say that something may be missing.
            self.shop.ledger.answer_sent(self.call_id)
        return step.result_status or step.reason

    def settle(self, step: states.Step, result: Result | None) -> None:
        self.questions.closed(self.call_id)
        answer = self._answer(step, result)
        if answer is not None:
            is_persons = step.result_status is not None
            self.questions.send(self.call_id, answer, self.conversation_id, is_persons=is_persons)
        elif isinstance(self.event, Clarify) and result is not None and wants_input(result):
            self.questions.ask_in_words(self.event)

    def _answer(self, step: states.Step, result: Result | None) -> dict[str, Any] | None:
        if step.towards is None:
            return None
        return closing_answer(self.event) if result is None else event_answer(self.event, result)


def conversation_of(event: GatewayEvent) -> str:
    return DEFAULT_CONVERSATION if isinstance(event, Clarify) else event.session_key
