"""What can a person do in a conversation? Say something, look at cards, click, type, close, change their mind.

A person may be clumsy: click twice, answer a card that is grey, or one of another conversation. What is never done by
itself is an answer. Source: contract lineup C-1, C-3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasttick.model.lineup.frames import CANCEL, MESSAGE, TOOL_RESULT, out_frame
from lasttick_fakes.host.screen import Answer, CardView
from lasttick_fakes.host.shown import Said, StateSent

if TYPE_CHECKING:
    from lasttick_fakes.host.host import ChatHost

PATIENCE_S = 30.0


class Person:
    """One conversation's person. Whatever sends raises ConnectionError while the host is away."""

    def __init__(self, host: ChatHost, conversation_id: str) -> None:
        self.conversation_id = conversation_id
        self._host = host
        self._cards_seen = 0
        self._said_seen = 0
        self._loose_seen = 0

    # -- looking

    @property
    def cards(self) -> list[CardView]:
        """All cards of this conversation so far."""
        return self._host.screen.cards_in(self.conversation_id)

    @property
    def said(self) -> list[Said]:
        """All texts of this conversation so far, of the agent and of the system."""
        return self._host.screen.said_in(self.conversation_id)

    async def card(self, within_s: float = PATIENCE_S) -> CardView:
        """The next card that this person has not looked at. Raises NotSeen."""
        found = await self._host.seen(
            lambda: next(iter(self.cards[self._cards_seen :]), None), f"card in {self.conversation_id}", within_s
        )
        self._cards_seen += 1
        return found

    async def text(self, role: str | None = None, within_s: float = PATIENCE_S) -> str:
        """The next text not read yet; with a `role` those of others are passed over. Raises NotSeen."""

        def find() -> tuple[int, Said] | None:
            unread = enumerate(self.said[self._said_seen :], self._said_seen + 1)
            return next((one for one in unread if role in (None, one[1].role)), None)

        self._said_seen, said = await self._host.seen(find, f"text in {self.conversation_id}", within_s)
        return said.text

    async def closed(self, card: CardView, within_s: float = PATIENCE_S) -> CardView:
        """The card once it is no longer open. Raises NotSeen."""
        await self._host.seen(
            lambda: card if card.state != "emitted" else None, f"end of the card {card.title!r}", within_s
        )
        return card

    async def told(self, card: CardView, count: int, within_s: float = PATIENCE_S) -> StateSent:
        """What was said of the card for the `count`-th time. Raises NotSeen."""
        return await self._host.seen(
            lambda: card.states[count - 1] if len(card.states) >= count else None,
            f"{count}. word about the card {card.title!r}",
            within_s,
        )

    async def heard(self, answer: Answer, within_s: float = PATIENCE_S) -> StateSent:
        """What the adapter says to an answer. Raises NotSeen."""
        return await self._host.seen(lambda: answer.told, f"word about an answer in {self.conversation_id}", within_s)

    async def refusal(self, within_s: float = PATIENCE_S) -> StateSent:
        """The next word about a call that this conversation does not have. Raises NotSeen."""

        def find() -> StateSent | None:
            mine = [one for one in self._host.screen.loose if one.conversation_id == self.conversation_id]
            return next(iter(mine[self._loose_seen :]), None)

        found = await self._host.seen(find, f"refusal in {self.conversation_id}", within_s)
        self._loose_seen += 1
        return found

    # -- doing

    async def say(self, text: str, message_id: str | None = None) -> str:
        """Send a text; its message_id, a new one if none is given."""
        message_id = self._host.next_message_id() if message_id is None else message_id
        await self._send(MESSAGE, {"message_id": message_id, "text": text})
        return message_id

    async def click(self, card: CardView, choice: str, *, times: int = 1, as_list: bool = False) -> None:
        """Click an action, by its id or label; twice is a double-click. `as_list`: as a host that says `action_ids`.

        Raises ValueError when the card has no such action.
        """
        action_id = card.action_id(choice)
        result: dict[str, Any] = {"action_ids": [action_id]} if as_list else {"action_id": action_id}
        for _ in range(times):
            await self.answer(card.call_id, "completed", result)

    async def type(self, card: CardView, what: str | Mapping[str, Any], *, times: int = 1) -> None:
        """Fill an input: a text for its one field, or the values of all."""
        result = {"text": what} if isinstance(what, str) else {"values": dict(what)}
        for _ in range(times):
            await self.answer(card.call_id, "completed", result)

    async def give(self, card: CardView, output: Mapping[str, Any]) -> None:
        """Answer a card of a tool of this host's inventory."""
        await self.answer(card.call_id, "completed", {"output": dict(output)})

    async def dismiss(self, card: CardView) -> None:
        """Close the card without an answer."""
        await self.answer(card.call_id, "cancelled", None)

    async def answer(self, call_id: str, status: str, result: Any) -> Answer:
        """A result as given, from this conversation, whatever the call is."""
        payload = {"call_id": call_id, "status": status, "result": result}
        answer = self._host.answered(self.conversation_id, call_id, payload)
        await self._send(TOOL_RESULT, payload)
        return answer

    async def cancel(self) -> None:
        """Stop the running turn."""
        await self._send(CANCEL, {})

    async def inventory(
        self, revision: str, tools: Mapping[str, Mapping[str, Mapping[str, Any]]], type_: str = ""
    ) -> None:
        """Publish what the host can do: tool -> argument -> `{type, required}`. It belongs to the link."""
        await self._host.publish(revision, tools, type_)

    async def raw(self, frame: bytes | str | Mapping[str, Any]) -> None:
        """A frame as given."""
        if isinstance(frame, Mapping):
            await self._host.send(frame)
        else:
            await self._host.send_raw(frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else frame)

    async def _send(self, type_: str, payload: Mapping[str, Any]) -> None:
        await self._host.send(out_frame(type_, payload, self.conversation_id))
