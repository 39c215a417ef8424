"""The agent's own gateway asks for a clarification: the adapter makes the cards, and one text comes back.

Source: contract lineup, C-7 (event source), C-10 (answers).
"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

CHOICES = ["Now", "Tomorrow", "在周末"]
QUESTION = "When shall I do it?"


@scenario("LU-06")
async def test_other_is_followed_by_an_input(world: World) -> None:
    """Choices become a choice card with `other` as its last action. Who chooses it gets an input card with the same
    question, and only its text is the answer: the gateway hears nothing before."""
    lineup = await world.lineup()
    native, person = await lineup.native(), lineup.person()
    await native.clarify("c-1", QUESTION, CHOICES)
    first = await person.card()
    assert (first.tool, first.prompt) == ("choice", QUESTION)
    assert list(first.actions.values())[:-1] == CHOICES
    assert list(first.actions)[-1] == "other"
    await person.click(first, "other")
    second = await person.card()
    assert (second.tool, second.prompt, len(second.fields)) == ("input", QUESTION, 1)
    assert native.answers == []
    await person.type(second, "when it rains")
    assert await _answers(world, native) == [{"kind": "clarify", "id": "c-1", "answer": "when it rains"}]
    _are_closed(lineup, first, second)


@scenario("LU-06")
async def test_a_chosen_text_is_the_answer(world: World) -> None:
    """One of the choices: its text goes back, and there is no second card; a click more is rejected."""
    lineup = await world.lineup()
    native, person = await lineup.native(), lineup.person()
    await native.clarify("c-1", QUESTION, CHOICES)
    card = await person.card()
    await person.click(card, "在周末", times=2)
    assert await _answers(world, native) == [{"kind": "clarify", "id": "c-1", "answer": "在周末"}]
    assert (await person.told(card, 2)).reason == "already resolved"
    assert len(person.cards) == 1
    _are_closed(lineup, card)


@scenario("LU-07")
@pytest.mark.parametrize("text", ["Zoë", "  two words \n"])
async def test_a_question_without_choices_is_an_input(world: World, text: str) -> None:
    """Nothing to choose from: an input card at once. What was typed is the answer, as it was typed."""
    lineup = await world.lineup()
    native, person = await lineup.native(), lineup.person()
    await native.clarify("c-1", QUESTION)
    card = await person.card()
    assert (card.tool, card.prompt, len(card.fields)) == ("input", QUESTION, 1)
    await person.type(card, text)
    assert await _answers(world, native) == [{"kind": "clarify", "id": "c-1", "answer": text}]
    _are_closed(lineup, card)


@scenario("LU-07")
async def test_a_question_for_several_answers_is_refused(world: World) -> None:
    """`multi_select`: no card at all, not one for a single choice either, and the audit says why."""
    lineup = await world.lineup()
    native, person = await lineup.native(), lineup.person()
    await native.clarify("c-1", QUESTION, CHOICES, multi_select=True)
    await native.clarify("c-2", QUESTION, CHOICES, multi_select=False)
    card = await person.card()
    await person.click(card, "Now")
    assert await _answers(world, native) == [{"kind": "clarify", "id": "c-2", "answer": "Now"}]
    assert len(person.cards) == 1
    refused = [row["reason"] for row in lineup.ledger.audit() if row["disposition"] == "rejected"]
    assert refused == ["multi-choice not supported"]


async def _answers(world: World, native: Any) -> list[Any]:
    """All that the gateway heard, when nothing more can come."""
    await world.settle()
    return list(native.answers)


def _are_closed(lineup: Any, *cards: Any) -> None:
    ledger = lineup.ledger
    assert [row["call_id"] for row in ledger.calls] == [card.call_id for card in cards]
    for card in cards:
        assert ledger.pair(card.call_id) == "completed/resolved"
        assert ledger.interaction(card.call_id)["kind"] == "clarify"
        assert ledger.verdicts(card.call_id)[:2] == ["call/accepted", "result/accepted"]
    assert lineup.problems == []
