"""Is each permission answered once, and yes only when a person said so? Source: contract lineup, rule 7, LU-08."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick_fakes.model import Call

from .steps_once import FILES, INVALID, KITCHEN, LIFE_S, OFFICE, VALID, Table, answers

Act: TypeAlias = tuple[Any, ...]

_NUMBERS = st.integers(0, sum(map(len, FILES.values())) - 1)
_HOW = st.one_of(st.sampled_from(list(VALID)), st.sampled_from(list(INVALID)))
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.tuples(st.just("answer"), _NUMBERS, _HOW),
    st.tuples(st.just("foreign"), _NUMBERS, st.sampled_from(list(VALID))),
    st.tuples(st.just("nobody")),
    st.tuples(st.just("cancel"), st.sampled_from(list(FILES))),
    st.tuples(st.just("die"), st.sampled_from(["agent", "adapter"])),
    st.tuples(st.just("wait"), st.sampled_from([0.001, 3.5, 31.0, LIFE_S - 0.001, LIFE_S])),
)
TWICE: list[Act] = [("answer", 0, "allow"), ("answer", 0, "allow"), ("answer", 0, "deny")]
BY_OTHERS: list[Act] = [("foreign", 0, "allow"), ("nobody",), *(("answer", 0, how) for how in INVALID)]
AT_THE_DEADLINE: list[Act] = [("wait", LIFE_S - 0.001), ("answer", 0, "allow"), ("wait", 0.001), ("answer", 1, "allow")]
CANCELLED: list[Act] = [("answer", 1, "allow"), ("cancel", KITCHEN), ("answer", 0, "allow"), ("answer", 2, "deny")]
DEATHS: list[Act] = [
    *[("answer", 0, "allow"), ("die", "adapter"), ("answer", 0, "allow"), ("answer", 1, "allow")],
    *[("die", "agent"), ("answer", 2, "allow")],
]
TURN_OVER: list[Act] = [("wait", 31.0), ("answer", 0, "allow"), ("answer", 2, "allow")]


@scenario("LU-08", needs=("scale",))
@given(acts=st.lists(ACTS, max_size=10), is_impatient=st.booleans())
@settings(max_examples=10)
@example(acts=TWICE, is_impatient=False)
@example(acts=BY_OTHERS, is_impatient=False)
@example(acts=AT_THE_DEADLINE, is_impatient=False)
@example(acts=CANCELLED, is_impatient=False)
@example(acts=TURN_OVER, is_impatient=True)
@example(acts=DEATHS, is_impatient=False)
async def test_any_order_of_answers_ends_in_one(world: World, acts: list[Act], is_impatient: bool) -> None:
    """Three permissions of two conversations are open; valid, invalid, repeated, late and foreign results, expiry,
    cancels, ends of turns and deaths come in any order. The agent hears one answer to each, the first that counted,
    and none where it did not wait any more; each result has its audit row; a file is there where a person allowed it.
    """
    ask_s = 30.0 if is_impatient else 60.0
    table = Table(world, await world.lineup(ask_s=ask_s), ask_s)
    await table.lay()
    for kind, *about in acts:
        if kind == "foreign":
            number, how = about
            stranger = OFFICE if table.asked[number].conversation_id == KITCHEN else KITCHEN
            await table.answer(number, how, by=stranger)
        elif kind == "nobody":
            await table.answer_nobody()
        else:
            await getattr(table, kind)(*about)
    await table.wait(LIFE_S)
    table.judge()


@scenario("LU-08")
async def test_a_click_counts_once_and_only_from_its_own_conversation(world: World) -> None:
    """Two permissions are open at once. A stranger's click, a click on a card that nobody made and answers of every
    wrong shape change nothing; a double-click is one answer; a dismissal is `cancelled`; and later clicks are late."""
    table = Table(world, await world.lineup(), ask_s=60.0)
    await table.lay()
    await table.answer(0, "allow", by=OFFICE)
    await table.answer_nobody()
    for how in INVALID:
        await table.answer(0, how)
    for number, how in ((0, "allow"), (0, "allow"), (1, "dismiss"), (1, "allow"), (2, "deny"), (0, "deny")):
        await table.answer(number, how)
    for where, paths in FILES.items():
        assert "Done." in await table.lineup.person(where).text("agent"), paths
    table.judge()


@scenario("LU-08")
async def test_a_card_does_not_outlive_its_turn(world: World) -> None:
    """The agent waits less long than the card would, denies by itself, and its prompt ends. The card is closed as
    aborted with the reason `turn ended`, a click then is rejected, and the agent hears no answer to what is over."""
    lineup = await world.lineup(ask_s=1.0)
    await lineup.model.script("note", Call.one("write_file", path="note.txt", content="a note"), "Not written.")
    person = lineup.person()
    await person.say("Please write the note.")
    card = await person.card()
    assert "Not written." in await person.text("agent")
    await person.closed(card)
    assert (card.state, card.reason) == ("aborted", "turn ended")
    await person.click(card, "Allow edit")
    assert (await person.told(card, 2)).reason == "aborted"
    await world.settle()
    assert lineup.ledger.pair(card.call_id) == "aborted/aborted"
    assert answers(lineup) == {}
    assert not (lineup.files / "note.txt").exists()
    assert lineup.problems == []


@scenario("LU-08")
async def test_a_cancel_answers_every_question_of_the_turn(world: World) -> None:
    """Two permissions of a turn are open and the person stops it. The agent hears `cancelled` to both, the cards are
    aborted, the person learns how the turn ended (where the session is replaced, that), and a later yes brings nothing
    to the disk."""
    table = Table(world, await world.lineup(), ask_s=60.0)
    await table.lay()
    await table.cancel(KITCHEN)
    person = table.lineup.person(KITCHEN)
    if world.mode == "virtual":
        assert "session was replaced" in await person.text("system")
    else:
        # In real time the agent may have done with its turn, two denials in hand, before it reads the cancel.
        await person.text()
    for number in (0, 1, 0):
        await table.answer(number, "allow")
    await table.answer(2, "allow")
    await table.lineup.person(OFFICE).text("agent")
    table.judge()
