"""Is a pair's tool name portable, one to one, and untouched by the agent's folding? Are look-alikes refused by name?"""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lasttick.model.tool_names import (
    ToolNameError,
    decode,
    encode,
    folded,
    joined,
    parted,
    refuse_collisions,
    well_formed,
)

PORTABLE = re.compile(r"[A-Za-z0-9_]+")
# Dense in what the code has to keep apart: its own marks, what folds to them, and any other character.
PARTS = (st.text("aZz5f_-.", min_size=1, max_size=6) | st.text(min_size=1)).filter(well_formed)
PAIRS = st.builds(joined, PARTS, PARTS)


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        ("order_lookup:lookup", "order_lookup__lookup"),
        ("shop:get_order", "shop__get_order"),
        ("a-b:c", "aZ2dZb__c"),
        ("a_b:c", "a_b__c"),
        ("a:b_c", "a__b_c"),
        ("a__b:c", "a_Z5fZb__c"),
        ("_a:b_", "Z5fZa__bZ5fZ"),
        ("Zoo:Zed", "Z5aZoo__Z5aZed"),
        ("a.b/c:d", "aZ2eZbZ2fZc__d"),
        ("bücher:\U0001f4d6", "bZfcZcher__Z1f4d6Z"),
    ],
)
def test_names_of_pairs(pair: str, name: str) -> None:
    assert encode(pair) == name
    assert decode(name) == pair


@given(pair=PAIRS)
def test_a_name_is_portable_and_leads_back(pair: str) -> None:
    name = encode(pair)
    assert PORTABLE.fullmatch(name)
    assert folded(name) == name
    assert decode(name) == pair


@given(one=PAIRS, other=PAIRS)
@example(one="a-b:c", other="a_b:c")
@example(one="a_b:c", other="a:b_c")
@example(one="a_:b", other="a:_b")
def test_two_pairs_never_share_a_name(one: str, other: str) -> None:
    assume(one != other)
    assert encode(one) != encode(other)


@given(pair=st.builds(joined, *[st.text("abcxyz019_", min_size=1, max_size=20).filter(str.isalnum)] * 2))
def test_a_usual_pair_stays_readable_and_short(pair: str) -> None:
    assert encode(pair) == pair.replace(":", "__")
    assert len(encode(pair)) <= 64


@pytest.mark.parametrize("pair", ["a" * 500 + ":b", "a" * 499 + "c:b"])
def test_a_long_name_is_not_cut(pair: str) -> None:
    assert decode(encode(pair)) == pair


@pytest.mark.parametrize(
    "name",
    [
        "",
        "lookup",
        "__",
        "a__",
        "__b",
        "a__b__c",
        "a_b",
        "a___b",
        "_a__b",
        "a__b_",
        "a:b",
        "a-b__c",
        "é__b",
        "Z__b",
        "aZ__b",
        "aZZ__b",
        "aZ2DZ__b",
        "aZ02dZ__b",
        "aZ61Z__b",
        "aZ3aZ__b",
        "aZ2cZ__b",
        "aZ20Z__b",
        "aZ0Z__b",
        "aZd800Z__b",
        "aZ110000Z__b",
        "aZffffffZ__b",
        "aZ1234567Z__b",
    ],
)
def test_a_name_that_no_pair_has_is_refused(name: str) -> None:
    with pytest.raises(ToolNameError, match=r"expected one of tools/list.*list the tools"):
        decode(name)


@given(name=st.text("aZ25df_", max_size=12) | st.text())
def test_every_text_decodes_to_the_one_pair_it_names_or_is_refused(name: str) -> None:
    try:
        pair = decode(name)
    except ToolNameError:
        return
    assert encode(pair) == name


MALFORMED = ["", ":", "a", "a:", ":b", "a:b:c", "a b:c", "a:b,c", "a,b:c", "a:\x00", "a\n:b", "a:b\u2028", "\ud800:b"]


@pytest.mark.parametrize("pair", MALFORMED)
def test_a_text_that_is_no_pair_is_refused(pair: str) -> None:
    for use in (encode, parted):
        with pytest.raises(ToolNameError, match=r"expected a slug and an action joined by `:`.*correct the registry"):
            use(pair)


def test_an_error_can_be_sent_and_shows_only_the_start_of_a_long_text() -> None:
    with pytest.raises(ToolNameError) as refused:
        encode("\ud800\n" + "x" * 10_000)
    assert str(refused.value).encode()
    assert len(str(refused.value)) < 400
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("part", [None, 7, b"a", ["a"], "", "a:", ",", " ", "a b", "\t", "\x7f", "\x85", "\u00a0"])
def test_what_may_be_no_slug_and_no_action(part: object) -> None:
    assert not well_formed(part)


@pytest.mark.parametrize("part", ["a", "order_lookup", "a.b-c/d", "${X}", "ü", "\U0001f4d6", "Z", "_"])
def test_what_may_be_a_slug_or_an_action(part: str) -> None:
    assert well_formed(part)


def test_folding_is_the_agents() -> None:
    assert folded("order_lookup:lookup") == "order_lookup_lookup"
    assert folded("a-b.c/é\U0001f4d6") == "a_b_c___"
    assert folded("AZaz09_") == "AZaz09_"


@pytest.mark.parametrize(
    ("one", "other"), [("a-b:c", "a_b:c"), ("a_b:c", "a:b_c"), ("a:é", "a:ü"), ("order.x:get", "order-x:get")]
)
def test_two_pairs_that_fold_together_are_refused_and_both_named(one: str, other: str) -> None:
    with pytest.raises(ToolNameError) as refused:
        refuse_collisions(["shop:get_order", one, "shop:refund", other])
    assert repr(one) in str(refused.value)
    assert repr(other) in str(refused.value)
    assert "rename one of them" in str(refused.value)


def test_the_same_pair_twice_is_no_collision() -> None:
    refuse_collisions(["a-b:c", "a-b:c", "a-b:d"])
    refuse_collisions([])


@given(pairs=st.lists(PAIRS, max_size=8))
def test_pairs_are_refused_exactly_when_two_fold_together(pairs: list[str]) -> None:
    distinct = set(pairs)
    clash = len({re.sub(r"\W", "_", pair, flags=re.ASCII) for pair in distinct}) < len(distinct)
    if clash:
        with pytest.raises(ToolNameError):
            refuse_collisions(pairs)
    else:
        refuse_collisions(pairs)
