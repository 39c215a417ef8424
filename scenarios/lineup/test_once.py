"""Is each permission answered once, and yes only when a person said so? Source: contract lineup, rule 7, LU-08."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_once import FILES, INVALID, KITCHEN, LIFE_S, OFFICE, VALID, Table

Act: TypeAlias = tuple[Any, ...]

_NUMBERS = st.integers(0, sum(map(len, FILES.values())) - 1)
_HOW = st.one_of(st.sampled_from(list(VALID)), st.sampled_from(list(INVALID)))
ACTS: st.SearchStrategy[Act] = st.one_of(
    st.tuples(st.just("answer"), _NUMBERS, _HOW),
    st.tuples(st.just("foreign"), _NUMBERS, st.sampled_from(list(VALID))),
    st.tuples(st.just("nobody")),
    st.tuples(st.just("cancel"), st.sampled_from(list(FILES))),
    st.tuples(st.just("wait"), st.sampled_from([0.001, 3.5, 31.0, LIFE_S - 0.001, LIFE_S])),
)
TWICE: list[Act] = [("answer", 0, "allow"), ("answer", 0, "allow"), ("answer", 0, "deny")]
BY_OTHERS: list[Act] = [("foreign", 0, "allow"), ("nobody",), *(("answer", 0, how) for how in INVALID)]
AT_THE_DEADLINE: list[Act] = [("wait", LIFE_S - 0.001), ("answer", 0, "allow"), ("wait", 0.001), ("answer", 1, "allow")]
CANCELLED: list[Act] = [("answer", 1, "allow"), ("cancel", KITCHEN), ("answer", 0, "allow"), ("answer", 2, "deny")]
TURN_OVER: list[Act] = [("wait", 31.0), ("answer", 0, "allow"), ("answer", 2, "allow")]


@scenario("LU-08", needs=("scale",))
@given(acts=st.lists(ACTS, max_size=10), is_impatient=st.booleans())
@settings(max_examples=6)
@example(acts=TWICE, is_impatient=False)
@example(acts=BY_OTHERS, is_impatient=False)
@example(acts=AT_THE_DEADLINE, is_impatient=False)
@example(acts=CANCELLED, is_impatient=False)
@example(acts=TURN_OVER, is_impatient=True)
async def test_any_order_of_answers_ends_in_one(world: World, acts: list[Act], is_impatient: bool) -> None:
    """Three permissions of two conversations are open; valid, invalid, repeated, late and foreign results, expiry,
    cancels and ends of turns come in any order. The agent hears one answer to each, the first that counted, and none
    where its own turn ended before; each result has its audit row; and a file is there where a person allowed it."""
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
