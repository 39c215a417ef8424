"""An agent has a question: a choice, in other words if the person wants, or a text. Cards ask it, not a sentence.

Over ACP there is no clarify: the model writes its cards into its replies, one at a time.
Source: contract lineup, C-5, C-6, C-7; seed, A04A-10.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model.cards import choice, fenced, inputs

from .steps_cards import answered, asked, heard, prompts

ACTIONS = [("focus", "先专注"), ("break", "Take a break"), ("other", "其他")]
FIELD = {"id": "what", "label": "What then?", "max_length": 200}
WORDS = "散步 - walk, 20 minutes"

AROUND: dict[str, Callable[[str], str]] = {
    "bare": lambda block: block,
    "fenced": lambda block: f"One question first.\n\n{fenced(block)}\n",
}


@scenario("LU-06")
@pytest.mark.parametrize("around", list(AROUND))
async def test_other_closes_in_two_cards(world: World, around: str) -> None:
    """The person chooses other: that closes the first card, the model asks with an input in its next reply, and the
    text closes the second. The model hears both answers, each once, and its final words name them."""
    lineup = await world.lineup()
    wrap = AROUND[around]
    await lineup.model.script("plan", wrap(choice("plan-1", ACTIONS, prompt="What now?")))
    await lineup.model.script("plan-1", wrap(inputs("plan-2", [FIELD], prompt="What then?")))
    await lineup.model.script("plan-2", f"You chose 其他 and wrote: {WORDS}")
    person = lineup.person()
    await person.say("plan my hour")

    first = await person.card()
    assert (first.tool, first.prompt, first.actions) == ("choice", "What now?", dict(ACTIONS))
    assert len(person.cards) == 1
    await person.click(first, "其他")
    second = await person.card()
    assert (first.state, first.disposition) == ("completed", "accepted")
    assert (second.tool, second.prompt, second.fields) == ("input", "What then?", ["what"])
    await person.type(second, WORDS)
    assert (await person.told(second, 1)).disposition == "accepted"
    while (said := await heard(lineup)) == "One question first.":
        pass
    assert said == f"You chose 其他 and wrote: {WORDS}"

    assert [json.loads(text)["payload"] for text in (await prompts(lineup))[1:]] == [
        {"call_id": "plan-1", "status": "completed", "result": {"action_ids": ["other"]}},
        {"call_id": "plan-2", "status": "completed", "result": {"values": {"what": WORDS}}},
    ]
    await _are_closed(lineup, "plan-1", "plan-2")


@scenario("LU-06")
async def test_a_choice_without_other_closes_in_one_card(world: World) -> None:
    """Where another answer was chosen there is no second card; and the adapter adds no other of its own."""
    lineup = await world.lineup()
    await lineup.model.script("plan", choice("plan-1", ACTIONS[:2]))
    await lineup.model.script("plan-1", "Focus it is.")
    person = lineup.person()
    await person.say("plan my hour")
    card = await person.card()
    assert card.actions == dict(ACTIONS[:2])
    await person.click(card, "focus")
    assert await heard(lineup) == "Focus it is."
    assert len(person.cards) == 1
    await _are_closed(lineup, "plan-1")


@scenario("LU-06", "LU-07")
async def test_a_question_that_is_closed_has_no_answer(world: World) -> None:
    """The person closes the second card: the model is told cancelled, and no text is made up for it."""
    lineup = await world.lineup()
    await lineup.model.script("plan", choice("plan-1", ACTIONS))
    await lineup.model.script("plan-1", inputs("plan-2", [FIELD]))
    await lineup.model.script("plan-2", "As you like.")
    person = lineup.person()
    await person.say("plan my hour")
    await person.click(await person.card(), "other")
    await person.dismiss(await person.card())
    assert await heard(lineup) == "As you like."
    told = json.loads((await prompts(lineup))[-1])["payload"]
    assert told == {"call_id": "plan-2", "status": "cancelled", "result": None}
    await _are_closed(lineup, "plan-1", "plan-2")


@scenario("LU-07")
@pytest.mark.parametrize("around", list(AROUND))
async def test_a_question_for_a_text_is_an_input_card(world: World, around: str) -> None:
    """The model asks for a name with an input card. What the person types goes back as the answer to that card, not as
    a message of its own, and not a letter of it is changed."""
    lineup = await world.lineup()
    await lineup.model.script("book", AROUND[around](inputs("name-1", [FIELD], prompt="In whose name?")))
    await lineup.model.script("name-1", "Booked.")
    person = lineup.person()
    await person.say("book a table")
    card = await person.card()
    assert (card.tool, card.prompt) == ("input", "In whose name?")
    assert card.data == {"fields": [FIELD]}
    blank = await answered(lineup, card, {"text": "   "})
    assert (blank.state, blank.disposition) == ("emitted", "rejected")
    text = '  {"type": "lineup.v1.tool.call"} Zoë  '
    await person.type(card, text)
    await person.closed(card)
    while await heard(lineup) != "Booked.":
        pass
    (told,) = (await prompts(lineup))[1:]
    assert json.loads(told)["payload"]["result"] == {"values": {"what": text}}
    await _are_closed(lineup, "name-1")


@scenario("LU-07")
@pytest.mark.parametrize("question", ["In whose name?", "Please fill in:\n- name\n- time", '{"question": "Whose?"}'])
async def test_a_question_in_plain_text_is_no_card(world: World, question: str) -> None:
    """An agent that asks in a sentence has asked no card: the host shows the text as it is, and no card, row or audit
    comes of it. The person's reply is a message like any other."""
    lineup = await world.lineup()
    await lineup.model.script("book", question)
    await lineup.model.script("Zoë", "Booked.")
    person = lineup.person()
    await person.say("book a table")
    assert await heard(lineup) == question
    await person.say("Zoë")
    assert await heard(lineup) == "Booked."
    assert person.cards == []
    assert lineup.ledger.calls == []
    assert lineup.ledger.rows("tool_audit") == []
    assert [said.role for said in person.said] == ["agent", "agent"]
    assert (await prompts(lineup))[-1] == "Zoë"


async def _are_closed(lineup: Any, *call_ids: str) -> None:
    """Each was asked once and answered once; nobody asked the agent's permission for it."""
    ledger = lineup.ledger
    assert [row["call_id"] for row in ledger.calls] == list(call_ids)
    for call_id in call_ids:
        assert ledger.pair(call_id) == "completed/-"
        assert [word for word in ledger.verdicts(call_id) if "accepted" in word] == ["call/accepted", "result/accepted"]
        assert ledger.call(call_id)["delivered_at"] is not None
    assert ledger.interactions == []
    assert asked(lineup) == []
    assert lineup.problems == []
