"""What does the host show? Texts and cards of each conversation, as they stand after every frame of the adapter.

A card is a live object: the person who holds it sees its state change. Source: contract lineup C-1, C-2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lasttick_fakes.host.shown import BUILT_IN, CardSent, Said, Sent, StateSent


@dataclass(slots=True)
class Answer:
    """What a person sent about a card. `told`: what the adapter said to it; None: nothing yet."""

    payload: Mapping[str, Any]
    told: StateSent | None = None


@dataclass(slots=True)
class CardView:
    """A card on the screen. `enabled`: it can be answered: not after a click until the adapter rejects it, and not once
    it is closed. `states` are all that was said of it, in order."""

    conversation_id: str
    call_id: str
    tool: str
    title: str
    prompt: str
    expires_at: str
    data: Mapping[str, Any]
    state: str = "emitted"
    enabled: bool = True
    states: list[StateSent] = field(default_factory=list)
    accepted: Mapping[str, Any] | None = None
    """The answer that the adapter took."""

    @property
    def outcome(self) -> str | None:
        """How it ended: the action of a choice, else its last state, or `cancelled`; None while it is open."""
        if self.state == "emitted":
            return None
        answer = self.accepted or {}
        if answer.get("status") == "cancelled":
            return "cancelled"
        result = answer.get("result")
        chosen = result if isinstance(result, Mapping) else {}
        ids = chosen.get("action_ids") or [chosen.get("action_id")]
        return ids[0] or self.state

    @property
    def actions(self) -> dict[str, str]:
        """id -> label of a choice."""
        actions = self.data.get("action_group", {}).get("actions", ())
        return {action["id"]: action["label"] for action in actions}

    @property
    def fields(self) -> list[str]:
        """The ids of the fields of an input."""
        return [one["id"] for one in self.data.get("fields", ())]

    @property
    def disposition(self) -> str | None:
        """Of the newest state frame."""
        return self.states[-1].disposition if self.states else None

    @property
    def reason(self) -> str | None:
        """Of the newest state frame."""
        return self.states[-1].reason if self.states else None

    def action_id(self, choice: str) -> str:
        """The id of the action that is called so, by its id or its label. Raises ValueError."""
        if choice in self.actions:
            return choice
        found = [action_id for action_id, label in self.actions.items() if label == choice]
        if len(found) != 1:
            raise ValueError(
                f"{choice!r} is {'several actions' if found else 'no action'} of the card {self.title!r}; "
                f"expected one of {self.actions}; choose by id"
            )
        return found[0]


class Screen:
    """All conversations of one host. `loose`: what was said of calls that are not on the screen."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.cards: dict[str, CardView] = {}
        self.loose: list[StateSent] = []
        self._links: dict[Said | str, int] = {}
        """By which link a text or card came first."""
        self._foreign: dict[tuple[str, str], None] = {}
        """Conversation and call of answers to what that conversation does not show."""
        self._unheard: dict[tuple[str, str], list[Answer]] = {}
        """By conversation and call, the answers to which this link's adapter has said nothing yet, in order."""

    def joined(self) -> None:
        """A new link begins: what was answered by the last one and not heard of is heard of no more."""
        self._unheard.clear()

    def show(self, sent: Sent, tools: Sequence[str], link: int) -> None:
        """`tools`: what this host has published; `link`: the number of the link by which it came. An adapter that
        cannot know whether the last link took a frame sends it again. Raises ValueError for what may not be shown.
        """
        if isinstance(sent, Said):
            if self._is_again(sent, link, sent in self.said):
                return
            if any(one.message_id == sent.message_id for one in self.said_in(sent.conversation_id)):
                raise ValueError(f"message_id {sent.message_id!r} was shown before")
            self.said.append(sent)
        elif isinstance(sent, CardSent):
            there = self.cards.get(sent.call_id)
            if not self._is_again(sent.call_id, link, there is not None and _shows(there, sent)):
                self._show_card(sent, tools)
        else:
            self._show_state(sent)

    def _is_again(self, what: Said | str, link: int, is_same: bool) -> bool:
        first = self._links.setdefault(what, link)
        return is_same and link > first

    def answered(self, conversation_id: str, call_id: str, payload: Mapping[str, Any]) -> Answer:
        """A person is about to answer: the card goes grey until the adapter says otherwise."""
        answer = Answer(payload)
        self._unheard.setdefault((conversation_id, call_id), []).append(answer)
        card = self.cards.get(call_id)
        if card is not None and card.conversation_id == conversation_id:
            card.enabled = False
        else:
            self._foreign[conversation_id, call_id] = None
        return answer

    def said_in(self, conversation_id: str) -> list[Said]:
        return [one for one in self.said if one.conversation_id == conversation_id]

    def cards_in(self, conversation_id: str) -> list[CardView]:
        return [card for card in self.cards.values() if card.conversation_id == conversation_id]

    def _show_card(self, sent: CardSent, tools: Sequence[str]) -> None:
        if sent.call_id in self.cards:
            raise ValueError(f"call_id {sent.call_id!r} was shown before")
        if sent.tool not in BUILT_IN and sent.tool not in tools:
            raise ValueError(f"tool {sent.tool!r} is not in this host's inventory")
        self.cards[sent.call_id] = CardView(*(getattr(sent, name) for name in _SHOWN))

    def _show_state(self, sent: StateSent) -> None:
        answer = self._heard(sent)
        card = self.cards.get(sent.call_id)
        if card is None or card.conversation_id != sent.conversation_id:
            # Of a call that this conversation does not show, so nobody's card changes.
            if sent.disposition == "accepted" and (sent.conversation_id, sent.call_id) in self._foreign:
                raise ValueError(f"an answer to {sent.call_id!r} was accepted, which this conversation does not show")
            self.loose.append(sent)
            return
        if sent.state is None:
            raise ValueError(f"the card {sent.call_id!r} has no state")
        if card.state not in ("emitted", sent.state):
            raise ValueError(f"the card {sent.call_id!r} was {card.state} and is now {sent.state}")
        if answer is not None and sent.disposition == "accepted":
            card.accepted = answer.payload
        card.states.append(sent)
        card.state = sent.state
        card.enabled = sent.state == "emitted"

    def _heard(self, sent: StateSent) -> Answer | None:
        """Which answer it is about: the adapter judges them in the order in which they were sent."""
        waiting = self._unheard.get((sent.conversation_id, sent.call_id))
        if sent.disposition is None or not waiting:
            return None
        answer = waiting.pop(0)
        answer.told = sent
        return answer


_SHOWN = ("conversation_id", "call_id", "tool", "title", "prompt", "expires_at", "data")


def _shows(card: CardView, sent: CardSent) -> bool:
    return all(getattr(card, name) == getattr(sent, name) for name in _SHOWN)
