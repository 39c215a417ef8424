"""Is a reply read as the same answer however it was cut into pieces? Source: contract lineup C-6, LU-19."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick_fakes.model import Say, cards

from .steps_replies import BLOCKS, MARKERS, Kind, expected, reply, seen

REPLIES = st.tuples(
    st.lists(st.sampled_from(["words", *BLOCKS, *(kind for kind in MARKERS if kind != "truncated")]), max_size=3),
    st.lists(st.just("truncated"), max_size=1),
).map(lambda parts: tuple([*parts[0], *parts[1]] or ["words"]))
ROWS: tuple[tuple[Kind, ...], ...] = (
    ("words",),
    ("block",),
    ("words", "fenced"),
    ("words", "block", "words"),
    ("invalid",),
    ("words", "invalid"),
    ("block", "words", "fenced"),
    ("sentence",),
    ("block", "quoted"),
    ("inside", "words"),
    ("words", "truncated"),
)
"""Each row of the table, and each marker."""


async def say_all(lineup: Any, rows: tuple[tuple[Kind, ...], ...], pieces: tuple[int, ...]) -> None:
    """Each reply in pieces of each size, in a conversation of its own, all at once; then each is what it must be."""
    told = [(kinds, size, f"c{row}-{size}") for row, kinds in enumerate(rows) for size in pieces]
    for kinds, size, name in told:
        await lineup.model.script(f"[{name}]", Say(reply(kinds, name), piece_chars=size))
        await lineup.person(name).say(f"Please say [{name}].")
    for kinds, size, name in told:
        want = expected(kinds, name)
        person = lineup.person(name)
        if want.texts:
            await person.text("agent")
        if want.has_card:
            await person.card()
        if want.reasons:
            assert want.reasons[0] in await person.text("system")
        assert seen(lineup, name) == want, f"{kinds} in pieces of {size} characters"
    assert lineup.problems == []


@scenario("LU-19")
async def test_every_row_of_the_table_in_pieces(world: World) -> None:
    """Text alone, one block bare and fenced, an invalid one, several, and markers in a sentence, a quotation, another
    object and at a cut-off end, each sent in small pieces and in one: same text, same card or refusal, same audit."""
    await say_all(await world.lineup(), ROWS, (7, 10_000))


@scenario("LU-19", needs=("scale",))
@given(kinds=REPLIES, size=st.integers(1, 40))
@settings(max_examples=4)
@example(kinds=("words", "block"), size=1)
@example(kinds=("block", "truncated"), size=1)
async def test_any_reply_in_any_pieces(world: World, kinds: tuple[Kind, ...], size: int) -> None:
    """Any parts in any order, cut into pieces of any size: what a person sees and what the audit says is the same as
    for the reply in one piece."""
    await say_all(await world.lineup(), (kinds,), (size, 10_000))


@scenario("LU-19")
async def test_a_reply_that_was_cut_off_shows_no_card(world: World) -> None:
    """The person stops the turn after the model has written a whole block and goes on with words: the prompt ends as
    cancelled, the text is shown as it is, no card comes of it, and the audit says `truncated block`."""
    lineup = await world.lineup()
    block = cards.choice("late", [("a", "A")])
    await lineup.model.script("slowly", Say(f"{block}\n{'And more. ' * 400}", piece_chars=len(block) + 1, every_s=1.0))
    person = lineup.person()
    await person.say("Say it slowly.")
    await world.until(world.now_s + 3.0)
    await person.cancel()
    assert "truncated block" in await person.text("system")
    assert person.cards == []
    (said,) = [one.text for one in person.said if one.role == "agent"]
    assert said.startswith(block)
    assert seen(lineup, "default").reasons == ("truncated block",)
    assert lineup.ledger.calls == []
