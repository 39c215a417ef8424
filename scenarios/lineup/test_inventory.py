"""What may the model show? Choices and inputs always, any other tool while this host says that it has it.

Source: contract lineup, C-1 (inventory), C-2, C-5 (instructions), C-8 (restart).
"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model.cards import card, choice, inputs

from .steps_cards import answers, heard, prompts, wants_to_write

NAV = "navigate.to"
TOOLS: dict[str, Any] = {
    NAV: {"place": {"type": "string", "required": True}, "zoom": {"type": "number", "required": False}}
}
REFUSED = "not in inventory"
WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "place"),
    ({"zoom": 2}, "place"),
    ({"place": 7}, "place"),
    ({"place": None}, "place"),
    ({"place": ["Rome"]}, "place"),
    ({"place": "Rome", "zoom": "2"}, "zoom"),
    ({"place": "Rome", "zoom": True}, "zoom"),
    ({"place": "Rome", "speed": 3}, "speed"),
]


@scenario("LU-13")
@pytest.mark.parametrize("none", ["never published", "published as none", "link is new"])
async def test_cards_at_no_inventory(world: World, none: str) -> None:
    """Nothing is published, or revision none: a choice, an input and a permission work all the same, and any other tool
    is refused with its reason."""
    lineup = await world.lineup()
    person = lineup.person()
    if none == "published as none":
        await person.inventory("none", TOOLS)
    elif none == "link is new":
        await person.inventory("7", TOOLS)
        await lineup.leave()
        await lineup.come()
    await _is_refused(lineup, "map-0")

    await lineup.model.script("choose", choice("pick-1", [("a", "A")]))
    await lineup.model.script("pick-1", inputs("fill-1", [{"id": "x", "label": "X"}]))
    await lineup.model.script("fill-1", "Thanks.")
    await person.say("let me choose")
    await person.click(await person.card(), "a")
    await person.type(await person.card(), "words")
    assert await heard(lineup) == "Thanks."
    await wants_to_write(lineup)
    await person.say("now write")
    await person.click(await person.card(), "Allow edit")
    assert await heard(lineup) == "Well."
    assert answers(lineup) == [(0, "allow_once")]
    assert [row["call_id"] for row in lineup.ledger.calls][:2] == ["pick-1", "fill-1"]
    assert lineup.problems == []


@scenario("LU-13")
async def test_a_tool_is_there_while_it_is_published(world: World) -> None:
    """Refused before; shown, answered and told after; refused when a newer inventory is without it, and again on a new
    link and after a restart until it is published once more. A restart forgets inventories, and keeps what was done."""
    lineup = await world.lineup()
    person = lineup.person()
    await _is_refused(lineup, "map-0")
    await person.inventory("1", TOOLS)
    await _is_shown(lineup, "map-1")
    await person.inventory("2", {"other.tool": {}})
    await _is_refused(lineup, "map-2")
    await person.inventory("3", TOOLS, "client.inventory")
    await _is_shown(lineup, "map-3")
    await lineup.leave()
    await lineup.come()
    await _is_refused(lineup, "map-4")
    await person.inventory("3", TOOLS)
    await _is_shown(lineup, "map-5")
    await lineup.restart()
    await _is_refused(lineup, "map-6")
    await person.inventory("3", TOOLS)
    await _is_shown(lineup, "map-7")
    assert [row["call_id"] for row in lineup.ledger.calls] == ["map-1", "map-3", "map-5", "map-7"]
    assert all(row["state"] == "completed" for row in lineup.ledger.calls)
    assert lineup.problems == []


@scenario("LU-13")
async def test_arguments_are_those_of_the_inventory(world: World) -> None:
    """A required argument that is missing, another type, one that was not published: no card, and the reason names the
    argument."""
    lineup = await world.lineup()
    await lineup.person().inventory("1", TOOLS)
    for number, (arguments, named) in enumerate(WRONG):
        reason = await _refusal(lineup, f"map-{number}", arguments)
        assert reason.startswith("data.arguments"), reason
        assert named in reason
    assert lineup.person().cards == []


@scenario("LU-13")
async def test_the_model_is_told_what_there_is(world: World) -> None:
    """The first prompt of a session says revision none, the first after a change the new revision with its tools; in
    between nothing is repeated. The person's words are in a block of their own."""
    lineup = await world.lineup()
    person = lineup.person()
    await lineup.model.script("*", "Yes.")

    async def told(text: str) -> str:
        await person.say(text)
        assert await heard(lineup) == "Yes."
        return (await prompts(lineup))[-1]

    first = await told("one")
    assert "Inventory revision: none" in first
    assert NAV not in first
    assert "ingle choice only" in first
    assert first.endswith("one")
    assert await told("two") == "two"
    await person.inventory("r-9", TOOLS)
    changed = await told("three")
    assert "Inventory revision: r-9" in changed
    assert NAV in changed
    assert await told("four") == "four"
    await lineup.leave()
    await lineup.come()
    assert "Inventory revision: none" in await told("five")
    await lineup.restart()
    assert "Inventory revision: none" in await told("six")


async def _wants(lineup: Any, call_id: str, arguments: dict[str, Any]) -> None:
    """The model asks for the host's tool."""
    block = card(call_id, NAV, "Go", "Shall I go there?", {"arguments": arguments})
    await lineup.model.script("go", block)
    await lineup.person().say("please go")


async def _is_shown(lineup: Any, call_id: str) -> None:
    await lineup.model.script(call_id, "Arrived.")
    await _wants(lineup, call_id, {"place": "Rome"})
    person = lineup.person()
    shown = await person.card()
    assert (shown.call_id, shown.tool, shown.data) == (call_id, NAV, {"arguments": {"place": "Rome"}})
    await person.give(shown, {"reached": True})
    assert await heard(lineup) == "Arrived."
    assert lineup.ledger.call(call_id)["result"] == {"output": {"reached": True}}


async def _is_refused(lineup: Any, call_id: str) -> None:
    assert await _refusal(lineup, call_id, {"place": "Rome"}) == REFUSED


async def _refusal(lineup: Any, call_id: str, arguments: dict[str, Any]) -> str:
    """The reason why there is no card; the person is told it, and there is neither card nor row."""
    await _wants(lineup, call_id, arguments)
    person = lineup.person()
    said = await person.text("system")
    (row,) = lineup.ledger.audit(call_id)
    assert (row["phase"], row["disposition"]) == ("call", "rejected")
    assert row["reason"] in said
    assert call_id not in [shown.call_id for shown in person.cards]
    assert lineup.ledger.rows("tool_calls", call_id=call_id) == []
    return str(row["reason"])
