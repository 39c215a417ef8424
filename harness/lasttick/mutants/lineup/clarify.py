"""Wrong versions of a question's two cards, and of a question that is only a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lasttick.model.lineup import blocks, cards, clarify, gateway_events, instructions
from lasttick.model.lineup.records import Card, Refused
from lasttick.model.lineup.shape import ShapeError
from lasttick.mutants import Mutant
from lasttick.reference.lineup import event_source

OTHER = "lineup/clarify/other-closes-in-two-cards"
NATIVE_OTHER = "lineup/clarify-native/other-is-followed-by-an-input"


def other_is_reserved(right: Any) -> Callable[..., Any]:
    """The model may not use the id, since the adapter thinks that it means something."""

    def choice_data(data: Any) -> Any:
        schema = right(data)
        if clarify.OTHER in schema["action_ids"]:
            raise ShapeError("data.action_group.actions", "the id other is reserved")
        return schema

    return choice_data


def other_is_added(right: Any) -> Callable[..., Any]:
    """Every choice of the model gets an other, which the model did not offer."""

    def model_card(*given: Any) -> Any:
        card = right(*given)
        if isinstance(card, Refused) or card.tool != "choice" or clarify.OTHER in card.schema["action_ids"]:
            return card
        return _with_other(card)

    return model_card


def _with_other(card: Card) -> Card:
    group = card.data["action_group"]
    actions = [*group["actions"], {"id": clarify.OTHER, "label": "Other"}]
    schema = {**card.schema, "action_ids": [*card.schema["action_ids"], clarify.OTHER]}
    return replace(card, data={"action_group": {**group, "actions": actions}}, schema=schema)


def as_a_message(right: Any) -> Callable[..., Any]:
    """What was typed into a card comes to the model as if it was said."""

    def result_prompt(call_id: str, result: Any) -> Any:
        values = (result.result or {}).get("values", {})
        return next(iter(values.values())) if len(values) == 1 else right(call_id, result)

    return result_prompt


def sentence_is_a_card(right: Any) -> Callable[..., Any]:
    """A text that ends in a question mark becomes an input card that nobody asked for."""

    def read_reply(text: str, stop_reason: str | None) -> blocks.Reply:
        reply = right(text, stop_reason)
        if reply.block is not None or not reply.shown.strip().endswith("?"):
            return reply
        fields = [{"id": "text", "label": "Answer"}]
        block = {"call_id": "asked", "tool": "input", "title": "Question", "prompt": reply.shown}
        return blocks.Reply("", {**block, "expires_at": "", "data": {"fields": fields}})

    return read_reply


def other_is_the_answer(right: Any) -> Callable[..., Any]:
    def event_answer(event: Any, result: Any) -> Any:
        if isinstance(event, clarify.Clarify) and clarify.wants_input(result):
            return {"kind": event.kind, "id": event.id, "answer": clarify.OTHER}
        return right(event, result)

    return event_answer


def no_choice_needed(right: Any) -> Callable[..., Any]:
    """A question without choices gets a choice with `other` alone: one click more for a text."""

    def clarify_card(asked: Any, call_id: str, wall: Any) -> Card:
        card = right(asked, call_id, wall)
        if asked.choices:
            return card
        actions = [(clarify.OTHER, "Other")]
        return cards.choice_card(call_id, "Question", asked.question, actions, card.expires_at, source="gateway")

    return clarify_card


def several_is_one(right: Any) -> Callable[..., Any]:
    """A question for several answers becomes one for a single answer."""
    return lambda event: right({**event, "multi_select": False})


MUTANTS: list[Mutant] = [
    Mutant(
        "lineup/other-is-reserved",
        breaks="LU-06",
        text="a choice with an action other is refused",
        killed_by=OTHER,
        patch=lambda seam: seam.wrap(cards, "_choice_data", other_is_reserved),
    ),
    Mutant(
        "lineup/other-is-added",
        breaks="LU-06",
        text="every choice gets an action other, also where the model offers none",
        killed_by="lineup/clarify/a-choice-without-other-closes-in-one-card",
        patch=lambda seam: seam.wrap(cards, "model_card", other_is_added),
    ),
    Mutant(
        "lineup/other-is-the-answer",
        breaks="LU-06",
        text="the gateway is answered when the person has only said that it will be other words",
        killed_by=NATIVE_OTHER,
        patch=lambda seam: seam.wrap(gateway_events, "event_answer", other_is_the_answer),
    ),
    Mutant(
        "lineup/typed-text-is-a-message",
        breaks="LU-07",
        text="what was typed into a card reaches the model as a message, not as the answer to its card",
        killed_by="lineup/clarify/a-question-for-a-text-is-an-input-card",
        patch=lambda seam: seam.wrap(instructions, "result_prompt", as_a_message),
    ),
    Mutant(
        "lineup/sentence-is-a-card",
        breaks="LU-07",
        text="a question in plain text becomes an input card",
        killed_by="lineup/clarify/a-question-in-plain-text-is-no-card",
        patch=lambda seam: seam.wrap(blocks, "read_reply", sentence_is_a_card),
    ),
    Mutant(
        "lineup/text-question-is-a-choice",
        breaks="LU-07",
        text="a clarification without choices becomes a choice whose only action is other",
        killed_by="lineup/clarify-native/a-question-without-choices-is-an-input",
        patch=lambda seam: seam.wrap(gateway_events, "clarify_card", no_choice_needed),
    ),
    Mutant(
        "lineup/several-answers-become-one",
        breaks="LU-07",
        text="a clarification that wants several answers is shown as a single choice",
        killed_by="lineup/clarify-native/a-question-for-several-answers-is-refused",
        patch=lambda seam: seam.wrap(event_source, "read_event", several_is_one),
    ),
]
