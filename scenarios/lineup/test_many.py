"""Do many conversations of one adapter keep apart, whatever ids their models and agents choose? Source: LU-15."""

from __future__ import annotations

from lasttick import World, scenario
from lasttick_fakes.model import Call, cards

from .steps_once import ALLOW, OPTIONS, VALID, answers

MANY = 200
ACTIONS = [("focus", "Focus"), ("rest", "Rest")]
WRITE = Call.one("write_file", path="note.txt", content="a note")


@scenario("LU-15", "LU-08", needs=("scale",))
async def test_two_hundred_open_cards_are_answered_once_each(world: World) -> None:
    """200 conversations have a permission open at once; their people answer in random order, some twice and with another
    choice, and some in a neighbour's name. Each agent hears the first answer of its own person and no other."""
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
    assert [(row["state"], row["result_status"] is None) for row in lineup.ledger.calls] == [("completed", False)] * MANY
    assert [row["state"] for row in lineup.ledger.interactions] == ["resolved"] * MANY
    accepted = lineup.ledger.rows("tool_audit", phase="result", disposition="accepted")
    assert sorted(row["call_id"] for row in accepted) == sorted(card.call_id for card in shown)
    assert lineup.problems == []
