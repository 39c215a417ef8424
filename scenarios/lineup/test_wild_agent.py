"""What does the adapter answer to an agent that asks for what it must not have, or speaks nonsense? Source: LU-11."""

from __future__ import annotations

from lasttick import World, scenario
from lasttick_fakes.hermes.acp.wild import WILD_VARIABLE
from lasttick_fakes.model import Call

from .steps_wild import LINES, answered, expected


@scenario("LU-11")
async def test_every_wrong_line_has_its_one_answer(world: World) -> None:
    """Inside a turn the agent asks for terminals, files and methods that nobody serves, sends permissions that cannot
    be read or shown, unknown updates and nonsense of all kinds. Each request gets -32601, each such permission
    `cancelled`, each line its audit row; no card comes of any; the turn goes on, and a real permission still works."""
    lineup = await world.lineup(agent_environ={WILD_VARIABLE: "1"})
    calls = Call.one("write_lines", lines=[dict(line.line) for line in LINES.values()])
    await lineup.model.script("wild", calls, Call.one("write_file", path="note.txt", content="a note"), "All done.")
    person = lineup.person()
    await person.say("Be wild.")
    card = await person.card()
    assert answered(lineup) == {line.id: [expected(line)] for line in LINES.values() if line.answer != "nothing"}
    rows = lineup.ledger.rows("tool_audit", phase="call", disposition="rejected")
    for (what, line), row in zip(LINES.items(), rows, strict=True):
        assert row["reason"], what
        assert row["reason"].startswith(line.reason), f"{what}: {row['reason']}"
        assert row["call_id"] is None, what
    assert [one["call_id"] for one in lineup.ledger.calls] == [card.call_id]
    assert person.cards == [card]

    await person.click(card, "Allow edit")
    assert "All done." in await person.text("agent")
    assert (lineup.files / "note.txt").read_text() == "a note"
    assert [row["rpc_id"] for row in lineup.ledger.interactions] == [0]
    assert lineup.problems == []
