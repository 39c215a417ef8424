"""Is what only the gateway asks one card and at most one answer, and silence never a yes? LU-06, LU-07, LU-14."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup.cards import deadline_ns, model_card
from lasttick.model.lineup.clarify import Clarify, clarify_answer, clarify_input, wants_input
from lasttick.model.lineup.gateway_events import (
    GatewayEvent,
    SlashConfirm,
    UpdatePrompt,
    closing_answer,
    event_answer,
    event_card,
    fallback_text,
    read_event,
    superseded,
    text_answer,
)
from lasttick.model.lineup.records import Card, Inventory, Refused, Result
from lasttick.model.lineup.results import judge_result

WALL = datetime(2026, 8, 7, 5, 0, tzinfo=UTC)
SLASH = {"kind": "slash_confirm", "session_key": "s", "confirm_id": "7", "title": "/new", "message": "Lose it?"}
UPDATE = {"kind": "update_prompt", "session_key": "s", "id": "u", "prompt": "Keep config?", "default": "y"}
CLARIFY = {"clarify_id": "q", "question": "Which?", "choices": ["focus", "rest"]}
OPEN_QUESTION = {"clarify_id": "q", "question": "What?", "choices": []}


def event(raw: dict[str, Any]) -> GatewayEvent:
    found = read_event(raw)
    assert not isinstance(found, Refused)
    return found


def answered(raw: dict[str, Any], result: dict[str, Any]) -> Any:
    """As the adapter does it: the card's own schema judges the result, the event says what goes back."""
    asked = event(raw)
    judged = judge_result(
        event_card(asked, "c", WALL).schema, {"call_id": "c", "status": "completed", "result": result}
    )
    return event_answer(asked, judged) if isinstance(judged, Result) else judged


CANCELLED = Result("cancelled", None)


def test_a_confirmation_has_three_answers_and_300_s() -> None:
    card = event_card(event(SLASH), "c", WALL)
    assert [action["id"] for action in card.data["action_group"]["actions"]] == ["once", "always", "cancel"]
    assert (card.title, card.prompt, card.source) == ("/new", "Lose it?", "gateway")
    assert deadline_ns(card, WALL, 5) == 5 + 300_000_000_000
    for answer in ("once", "always", "cancel"):
        assert answered(SLASH, {"action_id": answer}) == {"kind": "slash_confirm", "id": "7", "answer": answer}
    assert isinstance(answered(SLASH, {"action_id": "yes"}), Refused)


def test_a_confirmation_without_an_answer_is_cancel() -> None:
    cancel = {"kind": "slash_confirm", "id": "7", "answer": "cancel"}
    assert closing_answer(event(SLASH)) == event_answer(event(SLASH), CANCELLED) == cancel


def test_a_newer_confirmation_closes_the_older_of_its_session_and_nothing_else() -> None:
    others = {"b": event({**SLASH, "session_key": "t"}), "u": event(UPDATE), "q": event(CLARIFY)}
    open_events = {"a": event(SLASH), **others}
    assert superseded(open_events, event({**SLASH, "confirm_id": "8"})) == ("a",)
    assert superseded(open_events, event(UPDATE)) == ()
    assert superseded(others, event(SLASH)) == ()


def test_an_updates_default_counts_only_for_a_field_that_was_sent_empty() -> None:
    def answer(text: str) -> dict[str, Any]:
        return {"kind": "update_prompt", "id": "u", "answer": text}

    card = event_card(event(UPDATE), "c", WALL)
    assert [field["required"] for field in card.data["fields"]] == [False]
    assert answered(UPDATE, {"text": "n"}) == answer("n")
    assert answered(UPDATE, {"text": ""}) == answered(UPDATE, {"values": {}}) == answer("y")
    assert answered(UPDATE, {"text": " "}) == answer(" ")
    assert closing_answer(event(UPDATE)) is None
    assert event_answer(event(UPDATE), CANCELLED) is None


def test_a_question_with_choices_gets_other_and_one_more_card_for_it() -> None:
    asked = event(CLARIFY)
    assert isinstance(asked, Clarify)
    card = event_card(asked, "c", WALL)
    labels = [action["label"] for action in card.data["action_group"]["actions"]]
    assert (card.tool, labels) == ("choice", ["focus", "rest", "Other"])
    assert answered(CLARIFY, {"action_id": "choice_02"}) == {"kind": "clarify", "id": "q", "answer": "rest"}
    other = Result("completed", {"action_ids": ["other"]})
    assert wants_input(other)
    assert not wants_input(CANCELLED)
    assert event_answer(asked, other) is clarify_answer(asked, CANCELLED) is closing_answer(asked) is None
    second = clarify_input(asked, "c2", WALL)
    judged = judge_result(second.schema, {"call_id": "c2", "status": "completed", "result": {"text": "sleep"}})
    assert isinstance(judged, Result)
    assert event_answer(asked, judged) == {"kind": "clarify", "id": "q", "answer": "sleep"}


def test_a_choice_named_other_is_not_the_way_out() -> None:
    raw = {**CLARIFY, "choices": ["other"]}
    assert answered(raw, {"action_id": "choice_01"}) == {"kind": "clarify", "id": "q", "answer": "other"}


@pytest.mark.parametrize("choices", [[], None])
def test_an_open_question_is_an_input_card_at_once(choices: Any) -> None:
    raw = {**OPEN_QUESTION, "choices": choices}
    assert event_card(event(raw), "c", WALL).tool == "input"
    assert answered(raw, {"text": "work"}) == {"kind": "clarify", "id": "q", "answer": "work"}
    assert isinstance(answered(raw, {"text": " "}), Refused)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({**CLARIFY, "multi_select": True}, "multi-choice not supported"),
        ({**CLARIFY, "multi_select": "no"}, 'multi_select: "no" is no boolean'),
        ({**CLARIFY, "choices": ["x"] * 20}, "choices: 20 items; expected 0 to 19"),
        ({**CLARIFY, "choices": [7]}, "choices[0]: 7 is no string"),
        ({**CLARIFY, "question": ""}, "question: 0 characters; expected 1 to 4000"),
        ({**CLARIFY, "command": "ls"}, "command: unknown member"),
        ({**SLASH, "kind": "exec"}, 'kind: "exec"; expected slash_confirm or update_prompt or clarify'),
        ({**SLASH, "confirm_id": 7}, "confirm_id: 7 is no string"),
        ({**SLASH, "answer": "once"}, "answer: unknown member"),
        ({k: v for k, v in UPDATE.items() if k != "default"}, "default: missing"),
        ([], "[] is no object"),
    ],
)
def test_what_is_no_event_makes_no_card(raw: Any, reason: str) -> None:
    assert read_event(raw) == Refused(reason)


@pytest.mark.parametrize("text", ["", " ", "\n"])
@pytest.mark.parametrize("raw", [SLASH, UPDATE, CLARIFY, OPEN_QUESTION])
def test_no_text_is_no_answer_to_the_question_as_text(raw: dict[str, Any], text: str) -> None:
    assert text_answer(event(raw), text) is None


@given(st.text())
def test_as_text_a_confirmation_takes_only_its_own_words(text: str) -> None:
    word = text.strip().lower()
    answer = text_answer(event(SLASH), text)
    assert (answer is not None) == (word in ("once", "always", "cancel"))


def test_the_question_as_text_says_what_it_takes() -> None:
    assert fallback_text(event(SLASH)) == "/new\nLose it?\nAnswer with one word: once, always, cancel."
    assert fallback_text(event(UPDATE)) == "Keep config?"
    assert fallback_text(event(CLARIFY)) == "Which?\n- focus\n- rest"
    assert text_answer(event(SLASH), " Once ") == {"kind": "slash_confirm", "id": "7", "answer": "once"}
    assert text_answer(event(UPDATE), "n") == {"kind": "update_prompt", "id": "u", "answer": "n"}


@pytest.mark.parametrize(
    "asked",
    [SlashConfirm("s", "7", "t" * 999, "m" * 9_999), UpdatePrompt("s", "u", "p" * 9_999, "d" * 999)],
)
def test_every_card_of_an_event_keeps_the_rules_of_cards(asked: GatewayEvent) -> None:
    card = event_card(asked, "c", WALL)
    assert isinstance(model_card(card.payload(), Inventory(), WALL), Card)
