"""The cards that somebody may still answer, and everything that can become of one: the table of C-4, once.

Whoever waits for a card is a Waiter: the agent for a permission, the model for a card of its reply, the gateway for a
question of its own. None of them hears anything before the transition is in the ledger.
Source: contract lineup C-3, C-4; LU-08, LU-09.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lasttick.model.lineup import cards, results, states
from lasttick.model.lineup.frames import TOOL_CALL, TOOL_RESULT, TOOL_STATE, ResultFrame
from lasttick.model.lineup.records import Card, Refused, Result, Source
from lasttick.reference.lineup.ledger import CallRow, Interaction
from lasttick.reference.lineup.workshop import Later, Workshop

NS_PER_S = 1_000_000_000


class Waiter(Protocol):
    """Who waits for the answer to one card."""

    def record(self, step: states.Step, result: Result | None) -> str | None:
        """Inside the transition: write what will be sent. The interaction's outcome."""
        ...

    def settle(self, step: states.Step, result: Result | None) -> None:
        """After its commit: do it. Called once for a card."""
        ...


class Watcher(Protocol):
    """Who wants to know whether cards of a session are open, since the response time-out does not run then. A question
    of the gateway belongs to no session."""

    def held(self, conversation_id: str) -> None: ...

    def released(self, conversation_id: str) -> None: ...


@dataclass(eq=False, slots=True)
class OpenCard:
    card: Card
    conversation_id: str
    deadline_ns: int
    waiter: Waiter
    alarm: asyncio.Task[None] | None = None
    is_closing: bool = False

    @property
    def pair(self) -> states.Pair:
        return ("emitted", None if self.card.source == "model" else "pending")


class OpenCards:
    """At most one card for a call_id; all of them are `emitted` in the ledger, and no others are."""

    def __init__(self, shop: Workshop, watcher: Watcher) -> None:
        self._shop = shop
        self._watcher = watcher
        self._open: dict[str, OpenCard] = {}

    def of(self, conversation_id: str, sources: Sequence[Source]) -> list[OpenCard]:
        """In the order in which they were shown."""
        return [
            card
            for card in self._open.values()
            if card.conversation_id == conversation_id and card.card.source in sources and not card.is_closing
        ]

    def emit(
        self,
        later: Later,
        shown: OpenCard,
        waits: Interaction | None,
        seq: int | None,
        text: str | None = None,
    ) -> None:
        """Inside a transition: the card is audited, kept and on its way. `seq`: of the message that asked for it.
        `text`: what goes to the person instead of the card."""
        ledger, card, conversation_id = self._shop.ledger, shown.card, shown.conversation_id
        ledger.audit(
            "call", "accepted", None, card.payload(), call_id=card.call_id, conversation_id=conversation_id, seq=seq
        )
        ledger.opened_card(card, conversation_id, waits)
        if text is None:
            ledger.message(conversation_id, "out", "host", TOOL_CALL, card.payload())
        else:
            self._shop.say(conversation_id, "system", text)
        later.append(lambda: self._opened(shown))

    def close(self, later: Later, shown: OpenCard, event: states.Event, result: Result | None = None) -> None:
        """Inside a transition: what the event does to an open card (C-4)."""
        step = states.after(shown.pair, event, shown.card.source)
        if step is None:
            return
        shown.is_closing = True  # one transition may close for two reasons: the first one counts
        outcome = shown.waiter.record(step, result)
        kept = None if result is None else result.result
        self._shop.ledger.moved(shown.card.call_id, step, kept, outcome)
        self._state(shown.conversation_id, shown.card.call_id, step.call, step.disposition, step.reason)
        later.append(lambda: self._closed(shown, step, result))

    def result(self, frame: ResultFrame, read_ns: int) -> None:
        """A result of the host, judged at the instant at which it was read."""
        shown, row = self._open.get(frame.call_id), self._shop.ledger.call(frame.call_id)
        same = row is not None and row.conversation_id == frame.conversation_id
        is_due = shown is not None and not cards.answerable(read_ns, shown.deadline_ns)
        if shown is not None and same and is_due:
            self.due(shown)
        refusal = states.result_refusal(row.state if row else None, same_conversation=same, is_due=is_due)
        judged = Refused(refusal) if refusal is not None else _judged(row, frame.payload)
        if isinstance(judged, Refused) or shown is None:
            reason = judged.reason if isinstance(judged, Refused) else states.UNKNOWN_CALL
            self._reject(frame, reason, shows_state=same)
        else:
            self._accept(frame, shown, judged)

    def due(self, shown: OpenCard) -> None:
        """Its deadline has passed."""
        if self._open.get(shown.card.call_id) is shown:
            with self._shop.writing("deadline") as later:
                self.close(later, shown, "deadline")

    def _accept(self, frame: ResultFrame, shown: OpenCard, result: Result) -> None:
        with self._shop.writing("result accepted") as later:
            self._heard(frame, "accepted", None)
            self.close(later, shown, "completed" if result.status == "completed" else "cancelled", result)

    def _reject(self, frame: ResultFrame, reason: str, *, shows_state: bool) -> None:
        with self._shop.writing("result rejected"):
            self._heard(frame, "rejected", reason)
            row = self._shop.ledger.call(frame.call_id) if shows_state else None
            self._state(frame.conversation_id, frame.call_id, row.state if row else None, "rejected", reason)

    def _heard(self, frame: ResultFrame, disposition: Any, reason: str | None) -> None:
        ledger, conversation_id = self._shop.ledger, frame.conversation_id
        seq = ledger.message(conversation_id, "in", "host", TOOL_RESULT, frame.payload)
        ledger.audit(
            "result",
            disposition,
            reason,
            frame.payload,
            call_id=frame.call_id,
            conversation_id=conversation_id,
            seq=seq,
        )

    def _state(
        self, conversation_id: str, call_id: str, state: str | None, disposition: str | None, reason: str | None
    ) -> None:
        payload = {"call_id": call_id, "state": state, "disposition": disposition, "reason": reason}
        self._shop.ledger.message(conversation_id, "out", "host", TOOL_STATE, payload)

    def _opened(self, shown: OpenCard) -> None:
        self._open[shown.card.call_id] = shown
        shown.alarm = self._shop.spawn(self._wait(shown))
        if shown.card.source != "gateway":
            self._watcher.held(shown.conversation_id)

    def _closed(self, shown: OpenCard, step: states.Step, result: Result | None) -> None:
        del self._open[shown.card.call_id]
        if shown.alarm is not None and shown.alarm is not asyncio.current_task():
            shown.alarm.cancel()
        shown.waiter.settle(step, result)
        if shown.card.source != "gateway":
            self._watcher.released(shown.conversation_id)

    async def _wait(self, shown: OpenCard) -> None:
        clock = self._shop.clock
        while cards.answerable(now_ns := clock.now_ns(), shown.deadline_ns):
            await clock.sleep((shown.deadline_ns - now_ns) / NS_PER_S)
        self.due(shown)


def _judged(row: CallRow | None, payload: Mapping[str, Any]) -> Result | Refused:
    return Refused(states.UNKNOWN_CALL) if row is None else results.judge_result(row.schema, payload)
