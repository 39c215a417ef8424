"""Questions of the agent's gateway as plain text, while no host is there that a card could be sent to.

The text waits for the next host like every other message. A confirmation is answered by one of its words and nothing
else; who says nothing, or anything else, has not agreed. Source: contract lineup C-10 (a failing send); LU-14.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from lasttick.model.lineup.cards import MODEL_LIFE
from lasttick.model.lineup.frames import MESSAGE, Message
from lasttick.model.lineup.gateway_events import (
    SLASH_CONFIRM_LIFE,
    GatewayEvent,
    SlashConfirm,
    closing_answer,
    fallback_text,
    superseded,
    text_answer,
)
from lasttick.reference.lineup.ledger import TOLD
from lasttick.reference.lineup.workshop import Workshop

ANSWERED = "the text answered a question of the agent's gateway"


class Send(Protocol):
    """Takes the answer to one question. `is_persons`: somebody gave it."""

    def __call__(self, answer: Mapping[str, Any], conversation_id: str, /, *, is_persons: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Asked:
    event: GatewayEvent
    alarm: asyncio.Task[None]


class GatewayWords:
    """The open questions of one connection, at most one in each conversation."""

    def __init__(self, shop: Workshop, send: Send) -> None:
        self._shop = shop
        self._send = send
        self._open: dict[str, Asked] = {}

    def ask(self, event: GatewayEvent, conversation_id: str) -> None:
        if conversation_id in self._open:
            self._end(conversation_id, "gateway question superseded")
        with self._shop.writing("gateway question in text") as later:
            self._shop.ledger.message(conversation_id, "in", "agent", event.kind, asdict(event))
            self._shop.say(conversation_id, "system", fallback_text(event))
            later.append(lambda: self._opened(event, conversation_id))

    def supersede(self, newer: GatewayEvent) -> None:
        """A newer confirmation of the session closes the older one."""
        for conversation_id in superseded({id_: asked.event for id_, asked in self._open.items()}, newer):
            self._end(conversation_id, "gateway question superseded")

    def said(self, message: Message, taken: set[str]) -> bool:
        """Whether a person's text was the answer to a question; otherwise it is a text like any other. `taken`: the
        message ids of this conversation so far."""
        asked = self._open.get(message.conversation_id)
        answer = None if asked is None else text_answer(asked.event, message.text)
        if answer is None or message.message_id in taken:
            return False
        ledger, conversation_id = self._shop.ledger, message.conversation_id
        with self._shop.writing("gateway answered in text") as later:
            payload = {"message_id": message.message_id, "text": message.text}
            seq = ledger.message(conversation_id, "in", "host", MESSAGE, payload)
            # It begins no turn, so the next start must not say that one was lost.
            ledger.message(conversation_id, "in", "adapter", TOLD, {"turn": seq, "text": ANSWERED})
            ledger.message(conversation_id, "out", "agent", answer["kind"], answer)
            later.append(lambda: taken.add(message.message_id))
            later.append(lambda: self._close(conversation_id))
            later.append(lambda: self._send(answer, conversation_id, is_persons=True))
        return True

    def gone(self) -> None:
        """Nobody is left to hear an answer."""
        for conversation_id in list(self._open):
            self._close(conversation_id)

    def _opened(self, event: GatewayEvent, conversation_id: str) -> None:
        self._open[conversation_id] = Asked(event, self._shop.spawn(self._expire(event, conversation_id)))

    async def _expire(self, event: GatewayEvent, conversation_id: str) -> None:
        life = SLASH_CONFIRM_LIFE if isinstance(event, SlashConfirm) else MODEL_LIFE
        await self._shop.clock.sleep(life.total_seconds())
        self._end(conversation_id, "gateway question expired")

    def _end(self, conversation_id: str, name: str) -> None:
        """Without an answer of a person."""
        answer = closing_answer(self._open[conversation_id].event)
        with self._shop.writing(name) as later:
            if answer is not None:
                self._shop.ledger.message(conversation_id, "out", "agent", answer["kind"], answer)
            later.append(lambda: self._close(conversation_id))
            if answer is not None:
                later.append(lambda: self._send(answer, conversation_id, is_persons=False))

    def _close(self, conversation_id: str) -> None:
        alarm = self._open.pop(conversation_id).alarm
        if alarm is not asyncio.current_task():
            alarm.cancel()
