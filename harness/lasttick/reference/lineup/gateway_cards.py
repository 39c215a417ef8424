"""Questions of the agent's own gateway: one card each, or two for an answer in other words, and at most one answer.

What nobody answered is never a yes. While no host is there to show a card, the question is a text, and so is its
answer; a text that does not answer it goes to the agent as any other. The gateway's sessions are not the agent's, so
all its cards stand in the default conversation. Source: contract lineup C-4, C-7, C-10; LU-06, LU-14.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from lasttick.model.lineup import cards, clarify, gateway_events, states
from lasttick.model.lineup.gateway_events import GatewayEvent
from lasttick.model.lineup.records import DEFAULT_CONVERSATION, Card, Result
from lasttick.reference.lineup.cards_open import OpenCard, OpenCards
from lasttick.reference.lineup.ledger import Interaction, Kind
from lasttick.reference.lineup.workshop import Later, Workshop

ASKED: Final = "gateway/question"
ANSWER: Final = "gateway/answer"
GATEWAY_GONE: Final = "recorded, may not have reached the gateway that asked"


class GatewayLink(Protocol):
    """One connection to a gateway."""

    async def answer(self, answer: Mapping[str, Any]) -> None:
        """Raises ConnectionError when the gateway is gone, LookupError for a question that has its answer."""
        ...


class GatewayCards:
    """SourceEvents of one gateway at a time. `attach` its link before it says anything."""

    def __init__(self, shop: Workshop, open_cards: OpenCards, has_host: Callable[[], bool]) -> None:
        self._shop = shop
        self._cards = open_cards
        self._has_host = has_host
        self._link: GatewayLink | None = None
        self._asked: dict[str, GatewayEvent] = {}
        """By call_id, of the cards that are open."""

    def attach(self, link: GatewayLink) -> None:
        self._link = link

    # -- SourceEvents

    def asked(self, event: GatewayEvent, read_ns: int) -> None:
        if self._shop.ended.is_set():
            return
        wall = self._shop.clock.wall()
        card = gateway_events.event_card(event, self._shop.token("call_"), wall)
        with self._shop.writing("gateway card") as later:
            for call_id in gateway_events.superseded(self._asked, event):
                self._close(later, call_id, "superseded")
            seq = self._shop.ledger.message(DEFAULT_CONVERSATION, "in", "gateway", ASKED, _body(event))
            text = None if self._has_host() else gateway_events.fallback_text(event)
            self._emit(later, event, card, cards.deadline_ns(card, wall, read_ns), seq, text)

    def refused(self, what: str, body: Any) -> None:
        if not self._shop.ended.is_set():
            with self._shop.writing("gateway refused"):
                self._shop.ledger.audit("call", "rejected", what, body, conversation_id=DEFAULT_CONVERSATION)

    def source_gone(self) -> None:
        """Its questions end without an answer."""
        self._link = None
        if self._asked and not self._shop.ended.is_set():
            with self._shop.writing("gateway gone") as later:
                for call_id in list(self._asked):
                    self._close(later, call_id, "agent_gone")

    # -- what the person wrote

    def answers(self, conversation_id: str, text: str, later: Later) -> bool:
        """Inside the transition that takes the text: is it the answer to a question that was asked as text?"""
        for shown in self._cards.of(conversation_id, ("gateway",)):
            waiter = shown.waiter
            if not isinstance(waiter, GatewayWaiter) or not waiter.as_text:
                continue
            if not cards.answerable(self._shop.clock.now_ns(), shown.deadline_ns):
                continue
            if gateway_events.text_answer(waiter.event, text) is not None:
                self._cards.close(later, shown, "completed", Result("completed", {"text": text}))
                return True
        return False

    # -- what a waiter does

    def more(self, event: clarify.Clarify) -> None:
        """The person wants to answer in other words."""
        wall, now_ns = self._shop.clock.wall(), self._shop.clock.now_ns()
        card = clarify.clarify_input(event, self._shop.token("call_"), wall)
        with self._shop.writing("gateway card") as later:
            self._emit(later, event, card, cards.deadline_ns(card, wall, now_ns), None, None)

    def send(self, call_id: str, answer: Mapping[str, Any]) -> None:
        link = self._link
        if link is not None:
            self._shop.spawn(self._send(link, call_id, answer))

    def forget(self, call_id: str) -> None:
        del self._asked[call_id]

    async def _send(self, link: GatewayLink, call_id: str, answer: Mapping[str, Any]) -> None:
        self._shop.step(f"before frame: {ANSWER}")
        try:
            await link.answer(answer)
        except (ConnectionError, LookupError):
            with self._shop.writing("gateway answer lost"):
                self._shop.tell(DEFAULT_CONVERSATION, GATEWAY_GONE, call_id=call_id)
            return
        self._shop.step(f"after frame: {ANSWER}")
        with self._shop.writing("gateway answer sent"):
            self._shop.ledger.answer_sent(call_id)

    def _emit(
        self, later: Later, event: GatewayEvent, card: Card, deadline_ns: int, seq: int | None, text: str | None
    ) -> None:
        waiter = GatewayWaiter(self._shop, self, event, card.call_id, text is not None)
        session_key = None if isinstance(event, clarify.Clarify) else event.session_key
        shown = OpenCard(card, DEFAULT_CONVERSATION, deadline_ns, waiter)
        self._cards.emit(later, shown, Interaction(cast(Kind, event.kind), session_key), seq, text)
        later.append(lambda: self._asked.update({card.call_id: event}))

    def _close(self, later: Later, call_id: str, event: states.Event) -> None:
        for shown in self._cards.of(DEFAULT_CONVERSATION, ("gateway",)):
            if shown.card.call_id == call_id:
                self._cards.close(later, shown, event)


@dataclass(frozen=True, slots=True)
class GatewayWaiter:
    """The gateway, waiting for the answer to one card. `as_text`: its question was asked as text."""

    shop: Workshop
    gateway: GatewayCards
    event: GatewayEvent
    call_id: str
    as_text: bool

    def record(self, step: states.Step, result: Result | None) -> str | None:
        answer = self._answer(step, result)
        if answer is None:
            if step.result_status is not None:
                self.shop.ledger.answer_sent(self.call_id)  # nothing is owed, so that no start doubts it
            return step.reason
        self.shop.ledger.message(DEFAULT_CONVERSATION, "out", "gateway", ANSWER, answer)
        return str(answer["answer"])

    def settle(self, step: states.Step, result: Result | None) -> None:
        self.gateway.forget(self.call_id)
        answer = self._answer(step, result)
        if answer is not None:
            self.gateway.send(self.call_id, answer)
        elif isinstance(self.event, clarify.Clarify) and result is not None and clarify.wants_input(result):
            self.gateway.more(self.event)

    def _answer(self, step: states.Step, result: Result | None) -> Mapping[str, Any] | None:
        if step.towards is None:
            return None  # nobody is there to hear it
        if step.result_status is None or result is None:
            return gateway_events.closing_answer(self.event)
        if self.as_text and result.result is not None and "text" in result.result:
            return gateway_events.text_answer(self.event, result.result["text"])
        return gateway_events.event_answer(self.event, result)


def _body(event: GatewayEvent) -> dict[str, Any]:
    if isinstance(event, clarify.Clarify):
        return {"kind": event.kind, "id": event.id, "question": event.question, "choices": list(event.choices)}
    return {"kind": event.kind, "id": event.id, "session_key": event.session_key}
