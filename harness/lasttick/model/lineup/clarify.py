"""A question of the agent's own `clarify`, as cards: one, or two when the person wants to answer in other words.

`hermes acp` has no clarify (hermes.md 5.1); these events come from a gateway-native source. Several answers at once are
refused, never made into a single choice that nobody asked for. Source: contract lineup C-7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from lasttick.model.lineup.cards import (
    ACTIONS_MAX,
    LABEL_CHARS_MAX,
    MODEL_LIFE,
    MULTI_CHOICE,
    PROMPT_CHARS_MAX,
    choice_card,
    input_card,
    time_text,
)
from lasttick.model.lineup.records import Card, Refused, Result
from lasttick.model.lineup.shape import ShapeError, a_boolean, a_string, an_array, members

OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Clarify:
    """A question with none or some answers to choose from."""

    kind: ClassVar = "clarify"
    id: str
    question: str
    choices: tuple[str, ...]


def read_clarify(event: Any) -> Clarify | Refused:
    """`{clarify_id, question, choices, multi_select?}`, also with `kind: clarify`. `choices` may be null."""
    try:
        members(event, "", ("clarify_id", "question", "choices"), ("multi_select", "kind"))
        if a_boolean(event.get("multi_select", False), "multi_select"):
            return Refused(MULTI_CHOICE)
        choices = an_array(event["choices"] or [], "choices", 0, ACTIONS_MAX - 1)
        return Clarify(
            a_string(event["clarify_id"], "clarify_id", 1),
            a_string(event["question"], "question", 1, PROMPT_CHARS_MAX),
            tuple(a_string(text, f"choices[{i}]", 1, LABEL_CHARS_MAX) for i, text in enumerate(choices)),
        )
    except ShapeError as error:
        return Refused(str(error))


def clarify_card(asked: Clarify, call_id: str, wall: datetime) -> Card:
    """The first card: a choice with `other`, or at once an input when there is nothing to choose from."""
    if not asked.choices:
        return clarify_input(asked, call_id, wall)
    actions = [*_actions(asked).items(), (OTHER, "Other")]
    return choice_card(call_id, "Question", asked.question, actions, time_text(wall + MODEL_LIFE), source="gateway")


def clarify_input(asked: Clarify, call_id: str, wall: datetime) -> Card:
    """The card for an answer in other words."""
    return input_card(call_id, "Question", asked.question, "Your answer", time_text(wall + MODEL_LIFE), required=True)


def wants_input(result: Result) -> bool:
    """Did the person choose `other`? Then the input card comes next, and there is no answer yet."""
    return result.result is not None and result.result.get("action_ids") == [OTHER]


def clarify_answer(asked: Clarify, result: Result) -> str | None:
    """The text that was chosen or written; None: none yet, or the card was cancelled."""
    if result.result is None or wants_input(result):
        return None
    return answer_text(result.result, _actions(asked))


def answer_text(result: Mapping[str, Any], actions: Mapping[str, str]) -> str:
    """What a valid result says: the text behind its action, or what was written into its one field ("" if nothing)."""
    if "action_ids" in result:
        return actions[result["action_ids"][0]]
    return str(next(iter(result["values"].values()), ""))


def _actions(asked: Clarify) -> dict[str, str]:
    return {f"choice_{i:02}": text for i, text in enumerate(asked.choices, 1)}
