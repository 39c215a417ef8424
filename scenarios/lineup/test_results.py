"""What is an answer to a card? Two ways to write each kind, one form for the agent, and nothing else.

What is right is written here once more, so that a wrong adapter cannot agree with itself.
Source: contract lineup, C-3; seed, A04A-09, A04A-10, A04A-11.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_cards import answered, answers, heard, nothing_ran, prompts, shows_choice, shows_input, wants_to_write

OF_INTERACTION = "invalid hermes interaction response"
OF_TOOL = "invalid tool response"
IDS = ("study", "rest", "other", "action_01", "action_02")
FIELDS = ("task", "when")

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", " ", "Study", *IDS, *FIELDS]))
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*IDS, *FIELDS, "id"]), inner, max_size=2)
    ),
    max_leaves=4,
)
RESULTS = st.one_of(
    JSON,
    st.dictionaries(st.sampled_from(["action_id", "action_ids", "values", "text", "output"]), JSON, max_size=3),
)
"""Among them now and then a right one."""
CHOICE_NEAR_MISSES: list[Any] = [
    None,
    {},
    [],
    "study",
    {"action_id": "study", "action_ids": ["study"]},
    {"action_ids": []},
    {"action_ids": ["study", "rest"]},
    {"action_ids": ["study", "study"]},
    {"action_ids": "study"},
    {"action_id": ["study"]},
    {"action_id": "Study"},
    {"action_id": "STUDY"},
    {"action_id": "study "},
    {"action_id": "action_03"},
    {"action_id": 0},
    {"action_id": None, "action_ids": ["study"]},
    {"action_id": "study", "note": "x"},
    {"actionId": "study"},
    {"values": {"text": "study"}},
]
INPUT_NEAR_MISSES: list[Any] = [
    None,
    {},
    "text",
    {"text": "a", "values": {"task": "a"}},
    {"text": ["a"]},
    {"text": 7},
    {"text": None},
    {"text": ""},
    {"text": " \t"},
    {"text": "x" * 21},
    {"text": "a", "more": 1},
    {"values": "a"},
    {"values": {}},
    {"values": {"task": "a", "else": "b"}},
    {"values": {"when": "a"}},
    {"values": {"task": ["a"]}},
    {"action_id": "task"},
]


def _chosen(result: Any, ids: tuple[str, ...]) -> str | None:
    """The one action that a result names, or None."""
    if not isinstance(result, dict) or len(result) != 1:
        return None
    given = result.get("action_id")
    if isinstance(listed := result.get("action_ids"), list) and len(listed) == 1:
        given = listed[0]
    return given if isinstance(given, str) and given in ids else None


@scenario("LU-03")
@settings(max_examples=8)
@given(results=st.lists(RESULTS, min_size=4, max_size=12))
@example(results=CHOICE_NEAR_MISSES)
async def test_a_choice_takes_one_action_and_nothing_else(world: World, results: list[Any]) -> None:
    """Whatever JSON comes: only one id of the card, as action_id or alone in action_ids, is an answer. The rest is
    rejected with its reason, the card stays open, and the model hears nothing of it."""
    lineup = await world.lineup()
    card = await shows_choice(lineup)
    ids = ("study", "rest", "other")
    wrong = [result for result in results if _chosen(result, ids) is None]
    right = next((result for result in results if _chosen(result, ids) is not None), {"action_ids": ["rest"]})
    await lineup.model.script("pick-1", "Thanks.")
    for result in wrong:
        await _is_rejected(lineup, card, result, OF_TOOL)
    assert lineup.ledger.pair(card.call_id) == "emitted/-"
    assert len(await prompts(lineup)) == 1

    assert (await answered(lineup, card, right)).disposition == "accepted"
    assert await heard(lineup) == "Thanks."
    kept = {"action_ids": [_chosen(right, ids)]}
    assert lineup.ledger.call(card.call_id)["result"] == kept
    assert await _told(lineup) == {"call_id": "pick-1", "status": "completed", "result": kept}
    _every_answer_is_audited(lineup, card, wrong, right)


@scenario("LU-03")
@settings(max_examples=4)
@given(results=st.lists(RESULTS, min_size=4, max_size=12))
@example(results=CHOICE_NEAR_MISSES)
async def test_a_permission_takes_one_action_and_nothing_else(world: World, results: list[Any]) -> None:
    """As with a choice of the model, but here each wrong answer could be taken for a yes: the agent hears nothing until
    there is a right one, and nothing is written."""
    lineup = await world.lineup()
    await wants_to_write(lineup)
    await lineup.person().say("please write")
    card = await lineup.person().card()
    ids = ("action_01", "action_02")
    wrong = [result for result in results if _chosen(result, ids) is None]
    for result in wrong:
        await _is_rejected(lineup, card, result, OF_INTERACTION)
    assert lineup.ledger.pair(card.call_id) == "emitted/pending"
    assert answers(lineup) == []
    assert nothing_ran(lineup)

    right = {"action_ids": ["action_02"]}
    assert (await answered(lineup, card, right)).disposition == "accepted"
    assert await heard(lineup) == "Well."
    assert lineup.ledger.call(card.call_id)["result"] == right
    assert answers(lineup) == [(0, "deny")]
    _every_answer_is_audited(lineup, card, wrong, right)


@scenario("LU-03")
@pytest.mark.parametrize("as_list", [False, True])
async def test_both_ways_to_name_an_action_are_one(world: World, as_list: bool) -> None:
    """A host that says action_id and one that says action_ids: the same is kept, and the agent gets the same option."""
    lineup = await world.lineup()
    await wants_to_write(lineup)
    person = lineup.person()
    await person.say("please write")
    card = await person.card()
    await person.click(card, "Allow edit", as_list=as_list)
    assert await heard(lineup) == "Well."
    assert lineup.ledger.call(card.call_id)["result"] == {"action_ids": ["action_01"]}
    assert answers(lineup) == [(0, "allow_once")]


@scenario("LU-03", "LU-04")
async def test_what_is_around_a_result_is_strict_too(world: World) -> None:
    """Another status, a member too many, a cancel that brings a result: rejected. A cancel brings null or nothing."""
    lineup = await world.lineup()
    card = await shows_choice(lineup)
    for payload in (
        {"status": "done", "result": {"action_id": "study"}},
        {"status": "COMPLETED", "result": {"action_id": "study"}},
        {"status": None, "result": {"action_id": "study"}},
        {"status": "completed"},
        {"status": "completed", "result": {"action_id": "study"}, "option_id": "allow_once"},
        {"status": "cancelled", "result": {"action_id": "study"}},
        {"status": "cancelled", "result": []},
    ):
        told = len(card.states)
        envelope = {"v": 1, "type": "lineup.v1.tool.result", "payload": {"call_id": card.call_id, **payload}}
        await lineup.person().raw(envelope)
        said = await lineup.person().told(card, told + 1)
        assert (said.state, said.disposition) == ("emitted", "rejected"), payload
        assert said.reason is not None
        assert said.reason.startswith(OF_TOOL), said.reason
    assert (await answered(lineup, card, {}, "cancelled")).disposition == "accepted"
    row = lineup.ledger.call(card.call_id)
    assert (row["state"], row["result_status"], row["result"]) == ("completed", "cancelled", None)


@scenario("LU-04")
@settings(max_examples=8)
@given(results=st.lists(RESULTS, min_size=4, max_size=12), text=st.text(min_size=1, max_size=20))
@example(results=INPUT_NEAR_MISSES, text="  两个 words\n")
async def test_an_input_of_one_field_takes_its_text(world: World, results: list[Any], text: str) -> None:
    """For one field text and values mean the same, and are kept as values, letter for letter; a blank, a text that is
    too long, both at once or another shape is rejected and the card stays open."""
    lineup = await world.lineup()
    card = await shows_input(lineup, [{"id": "task", "label": "Task", "max_length": 20}])
    assert card.fields == ["task"]
    wrong = [result for result in results if _text(result) is None]
    await lineup.model.script("fill-1", "Thanks.")
    for result in wrong:
        await _is_rejected(lineup, card, result, OF_TOOL)
    assert len(await prompts(lineup)) == 1

    text = text if text.strip() else "x"
    assert (await answered(lineup, card, {"text": text})).disposition == "accepted"
    assert await heard(lineup) == "Thanks."
    assert lineup.ledger.call(card.call_id)["result"] == {"values": {"task": text}}
    assert (await _told(lineup))["result"] == {"values": {"task": text}}
    _every_answer_is_audited(lineup, card, wrong, {"text": text})


@scenario("LU-04")
async def test_an_input_of_several_fields_takes_values_only(world: World) -> None:
    """A text could mean either field: rejected. Values need every required field, and no other than the card's."""
    lineup = await world.lineup()
    fields: list[Any] = [{"id": "task", "label": "Task"}, {"id": "when", "label": "When", "required": False}]
    card = await shows_input(lineup, fields)
    await lineup.model.script("fill-1", "Thanks.")
    for result in (
        {"text": "a"},
        {"values": {"when": "a"}},
        {"values": {"task": " ", "when": "a"}},
        {"values": {"task": "a", "where": "b"}},
        {"values": ["a", "b"]},
        {"values": {"task": "a"}, "text": "a"},
    ):
        await _is_rejected(lineup, card, result, OF_TOOL)
    values = {"task": " kept as sent ", "when": ""}
    assert (await answered(lineup, card, {"values": values})).disposition == "accepted"
    assert await heard(lineup) == "Thanks."
    assert (await _told(lineup))["result"] == {"values": values}


@scenario("LU-03", "LU-05")
async def test_a_card_of_several_answers_takes_none(world: World) -> None:
    """In the ledger is a multi-choice card of an older adapter, open and on the screen: no answer to it is taken, in
    either way to write it, before a restart and after it, and the model hears nothing of them."""
    lineup = await world.lineup()
    card = await shows_choice(lineup)
    _as_an_older_adapter_left_it(lineup, card)
    for result in ({"action_ids": ["study", "rest"]}, {"action_ids": ["study"]}, {"action_id": "study"}):
        said = await answered(lineup, card, result)
        assert (said.state, said.disposition, said.reason) == ("emitted", "rejected", "unsupported schema")
    await lineup.restart()
    await lineup.person().closed(card)
    said = await answered(lineup, card, {"action_id": "study"})
    assert (said.state, said.disposition, said.reason) == ("aborted", "rejected", "aborted")
    assert lineup.ledger.call(card.call_id)["result"] is None
    assert len(await prompts(lineup)) == 1


def _as_an_older_adapter_left_it(lineup: Any, card: Any) -> None:
    row = lineup.ledger.call(card.call_id)
    row["response_schema"]["mode"] = "multi-choice"
    row["call"]["data"]["action_group"]["mode"] = "multi-choice"
    changed = (json.dumps(row["response_schema"]), json.dumps(row["call"]), card.call_id)
    with closing(sqlite3.connect(lineup.ledger.path)) as db, db:
        db.execute("UPDATE tool_calls SET response_schema = ?, call = ? WHERE call_id = ?", changed)


def _text(result: Any) -> str | None:
    """What a result says for the one field `task` of at most 20 characters, or None."""
    if not isinstance(result, dict) or len(result) != 1:
        return None
    text = result.get("text")
    if isinstance(values := result.get("values"), dict) and list(values) == ["task"]:
        text = values["task"]
    return text if isinstance(text, str) and text.strip() and len(text) <= 20 else None


async def _is_rejected(lineup: Any, card: Any, result: Any, prefix: str) -> None:
    said = await answered(lineup, card, result)
    assert (said.state, said.disposition) == ("emitted", "rejected"), result
    assert said.reason is not None
    assert said.reason.startswith(f"{prefix}: "), said.reason
    assert card.enabled


async def _told(lineup: Any) -> Any:
    """The payload of the newest result prompt, as the model got it."""
    told = json.loads((await prompts(lineup))[-1])
    assert (told["v"], told["type"]) == (1, "lineup.v1.tool.result")
    return told["payload"]


def _every_answer_is_audited(lineup: Any, card: Any, wrong: list[Any], right: Any) -> None:
    rows = [row for row in lineup.ledger.audit(card.call_id) if row["phase"] == "result"]
    assert [row["body"]["result"] for row in rows] == [*wrong, right]
    assert [row["disposition"] for row in rows] == ["rejected"] * len(wrong) + ["accepted"]
    assert lineup.problems == []
