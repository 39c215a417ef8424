"""Questions that only the agent's own gateway asks: a slash command to confirm, an update that wants to know something.

Each is one card and at most one answer. What nobody answered is never a yes: a confirmation that ends without an answer
is `cancel`, an update gets nothing, and its default counts only when a person sent the field empty.
Source: contract lineup C-10; hermes.md 5.2, 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias

from lasttick.model.lineup.cards import (
    LABEL_CHARS_MAX,
    MODEL_LIFE,
    PROMPT_CHARS_MAX,
    TITLE_CHARS_MAX,
    choice_card,
    input_card,
    time_text,
)
from lasttick.model.lineup.clarify import Clarify, answer_text, clarify_answer, clarify_card, read_clarify
from lasttick.model.lineup.records import Card, Refused, Result
from lasttick.model.lineup.shape import ShapeError, a_string, an_object, members, one_of
from lasttick.model.lineup.subjects import cut

SLASH_CONFIRM_LIFE = timedelta(seconds=300)
CONFIRM_ANSWERS: Final = {"once": "Once", "always": "Always", "cancel": "Cancel"}
CANCEL: Final = "cancel"


@dataclass(frozen=True, slots=True)
class SlashConfirm:
    """One per session: a newer one takes the place of the older."""

    kind: ClassVar = "slash_confirm"
    session_key: str
    id: str
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class UpdatePrompt:
    """The updater waits for one text; `default` is what an empty one means."""

    kind: ClassVar = "update_prompt"
    session_key: str
    id: str
    prompt: str
    default: str


GatewayEvent: TypeAlias = SlashConfirm | UpdatePrompt | Clarify


def read_event(event: Any) -> GatewayEvent | Refused:
    """One decoded line of the source. An event without `kind` is a clarify (C-7)."""
    try:
        kind = an_object(event, "").get("kind", "clarify")
        return _READERS[one_of(kind, "kind", tuple(_READERS))](event)
    except ShapeError as error:
        return Refused(str(error))


def event_card(event: GatewayEvent, call_id: str, wall: datetime) -> Card:
    """The first card of an event."""
    if isinstance(event, Clarify):
        return clarify_card(event, call_id, wall)
    if isinstance(event, SlashConfirm):
        title, message = cut(event.title, TITLE_CHARS_MAX)[0], cut(event.message, PROMPT_CHARS_MAX)[0]
        expires_at = time_text(wall + SLASH_CONFIRM_LIFE)
        return choice_card(call_id, title, message, list(CONFIRM_ANSWERS.items()), expires_at, source="gateway")
    label = cut(f"Answer (empty: {event.default})" if event.default else "Answer", LABEL_CHARS_MAX)[0]
    prompt = cut(event.prompt, PROMPT_CHARS_MAX)[0]
    return input_card(call_id, "Update", prompt, label, time_text(wall + MODEL_LIFE), required=False)


def event_answer(event: GatewayEvent, result: Result) -> dict[str, Any] | None:
    """What goes back after a valid result; None: nothing (yet)."""
    if isinstance(event, Clarify):
        text = clarify_answer(event, result)
        return None if text is None else _answer(event, text)
    if result.result is None:
        return closing_answer(event)
    if isinstance(event, SlashConfirm):
        return _answer(event, answer_text(result.result, {name: name for name in CONFIRM_ANSWERS}))
    return _answer(event, answer_text(result.result, {}) or event.default)


def closing_answer(event: GatewayEvent) -> dict[str, Any] | None:
    """What goes back when the card ends without an answer: expired, aborted or cancelled."""
    return _answer(event, CANCEL) if isinstance(event, SlashConfirm) else None


def superseded(open_events: Mapping[str, GatewayEvent], newer: GatewayEvent) -> tuple[str, ...]:
    """The call_ids, in order, that a newer event closes: the older confirmations of its session."""
    if not isinstance(newer, SlashConfirm):
        return ()
    return tuple(
        call_id
        for call_id, event in open_events.items()
        if isinstance(event, SlashConfirm) and event.session_key == newer.session_key
    )


def fallback_text(event: GatewayEvent) -> str:
    """The question as text, when its card cannot be sent."""
    if isinstance(event, SlashConfirm):
        return f"{event.title}\n{event.message}\nAnswer with one word: {', '.join(CONFIRM_ANSWERS)}."
    if isinstance(event, UpdatePrompt):
        return event.prompt
    return "\n".join([event.question, *(f"- {text}" for text in event.choices)])


def text_answer(event: GatewayEvent, text: str) -> dict[str, Any] | None:
    """What a person's text answers to `fallback_text`; None: nothing that this question knows. No text is no answer,
    so a default never comes of it."""
    if isinstance(event, SlashConfirm):
        word = text.strip().lower()
        return _answer(event, word) if word in CONFIRM_ANSWERS else None
    return _answer(event, text) if text.strip() else None


def _answer(event: GatewayEvent, answer: str) -> dict[str, Any]:
    return {"kind": event.kind, "id": event.id, "answer": answer}


def _slash_confirm(event: Mapping[str, Any]) -> SlashConfirm:
    names = ("session_key", "confirm_id", "title", "message")
    members(event, "", ("kind", *names))
    return SlashConfirm(*(a_string(event[name], name, 1) for name in names))


def _update_prompt(event: Mapping[str, Any]) -> UpdatePrompt:
    members(event, "", ("kind", "session_key", "id", "prompt", "default"))
    session_key, id_, prompt = (a_string(event[name], name, 1) for name in ("session_key", "id", "prompt"))
    return UpdatePrompt(session_key, id_, prompt, a_string(event["default"], "default"))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], GatewayEvent | Refused]] = {
    SlashConfirm.kind: _slash_confirm,
    UpdatePrompt.kind: _update_prompt,
    Clarify.kind: read_clarify,
}
