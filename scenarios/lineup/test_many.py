"""Do many conversations of one adapter keep apart, whatever ids their models and agents choose? Source: LU-15."""

from __future__ import annotations

from lasttick import World, scenario
from lasttick_fakes.model import Call, cards

from .steps_once import ALLOW, DENY, OPTIONS, VALID, answers

MANY = 200
ACTIONS = [("focus", "Focus"), ("rest", "Rest")]
WRITE = Call.one("write_file", path="note.txt", content="a note")


@scenario("LU-15", "LU-08", needs=("scale",))
async def test_two_hundred_open_cards_are_answered_once_each(world: World) -> None:
    """200 conversations have a permission open at once; their people answer in random order, some twice and with
    another choice, and some a neighbour's card. Each agent hears the first answer of its own person and no other."""
    lineup = await world.lineup()
    await lineup.model.script("note", WRITE, "Done.")
    people = [lineup.person(f"room-{number}") for number in range(MANY)]
    for person in people:
        await person.say("Please write the note.")
    shown = [await person.card() for person in people]
    assert all(card.state == "emitted" for card in shown)

    chance = world.random("order")
    expected = ["" for _ in people]
    acts = [(number, nth) for number in range(MANY) for nth in range(chance.choice([1, 1, 2, 3]))]
    chance.shuffle(acts)
    for number, _ in acts:
        status, result, heard = VALID[chance.choice(list(VALID))]
        if chance.random() < 0.2:
            await people[number - 1].answer(shown[number].call_id, status, result)
        await people[number].answer(shown[number].call_id, status, result)
        expected[number] = expected[number] or heard
    await world.settle()

    rooms = {row["call_id"]: row["conversation_id"] for row in lineup.ledger.calls}
    owner = {row["rpc_id"]: rooms[row["call_id"]] for row in lineup.ledger.interactions}
    assert {owner[rpc_id]: told for rpc_id, told in answers(lineup).items()} == {
        person.conversation_id: [option] for person, option in zip(people, expected, strict=True)
    }
    assert [(row["state"], row["result_status"] is None) for row in lineup.ledger.calls] == [
        ("completed", False)
    ] * MANY
    assert [row["state"] for row in lineup.ledger.interactions] == ["resolved"] * MANY
    accepted = lineup.ledger.rows("tool_audit", phase="result", disposition="accepted")
    assert sorted(row["call_id"] for row in accepted) == sorted(card.call_id for card in shown)
    assert lineup.problems == []


@scenario("LU-15")
async def test_equal_ids_are_different_cards(world: World) -> None:
    """Two models choose the same call_id, and two agent processes count their permissions from 0. The second card of
    that id is refused, nobody answers a card of another conversation, and a late yes to the dead process's permission
    0 is no answer to the living one's."""
    lineup = await world.lineup()
    kitchen, office = lineup.person("kitchen"), lineup.person("office")
    await lineup.model.script("choose", cards.choice("day-1", ACTIONS))
    await lineup.model.script("day-1", "As you wish.")
    await kitchen.say("Let me choose.")
    chosen = await kitchen.card()
    await office.say("Let me choose.")
    assert "duplicate call_id" in await office.text("system")
    await office.answer("day-1", "completed", {"action_id": "focus"})
    assert (await office.refusal()).reason == "wrong conversation"
    assert chosen.state == "emitted"
    await kitchen.click(chosen, "Rest")
    assert await kitchen.text("agent") == "As you wish."
    assert lineup.ledger.call("day-1")["result"] == {"action_ids": ["rest"]}
    assert office.cards == []

    await lineup.model.script("note", WRITE, "Done.")
    await kitchen.say("Please write the note.")
    dead = await kitchen.card()
    await lineup.kill_agent()
    await kitchen.closed(dead)
    await office.say("Please write the note.")
    alive = await office.card()
    await kitchen.answer(dead.call_id, "completed", {"action_id": ALLOW})
    await office.answer(dead.call_id, "completed", {"action_id": ALLOW})
    assert (await kitchen.told(dead, 2)).reason == "aborted"
    assert (await office.refusal()).reason == "wrong conversation"
    await office.click(alive, "Deny")
    await office.text("agent")
    old, new = lineup.ledger.interaction(dead.call_id), lineup.ledger.interaction(alive.call_id)
    assert (old["rpc_id"], new["rpc_id"]) == (0, 0)
    assert old["epoch"] < new["epoch"]
    assert (old["state"], new["state"]) == ("aborted", "resolved")
    assert answers(lineup) == {0: [OPTIONS[DENY]]}
    assert not (lineup.files / "note.txt").exists()
    assert lineup.problems == []
