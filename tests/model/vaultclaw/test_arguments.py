"""An argument of another type counts as absent. Source: contract vaultclaw 1, "String argument" and on."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.json_text import parse, trim

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(ANY_JSON)
def test_each_type_is_itself_or_absent(value: Any) -> None:
    given_so, absent = Arguments({"a": value}), Arguments({})
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    assert given_so.string("a") == (trim(value) if isinstance(value, str) else absent.string("a"))
    assert given_so.integer("a") == (math.trunc(value) if is_number else absent.integer("a"))
    for default in (True, False):
        expected = value if isinstance(value, bool) else absent.boolean("a", default)
        assert given_so.boolean("a", default) is expected
    assert given_so.object("a") == (value if isinstance(value, dict) else absent.object("a"))
    assert given_so.raw("a") == value
    assert given_so.has("a")


@pytest.mark.parametrize("given_none", [None, {}])
def test_what_is_absent(given_none: dict[str, Any] | None) -> None:
    nothing = Arguments(given_none)
    assert nothing.string("a") == ""
    assert nothing.integer("a") == 0
    assert nothing.boolean("a", default=True) is True
    assert nothing.boolean("a", default=False) is False
    assert nothing.object("a") is None
    assert nothing.raw("a") is None
    assert not nothing.has("a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1500.9", 1500),
        ("-1500.9", -1500),
        ("-0.5", 0),
        ("1e3", 1000),
        ("1e300", int(1e300)),
        ('"1500"', 0),
        ("true", 0),
        ("[1]", 0),
        ("null", 0),
    ],
)
def test_an_integer_is_truncated_toward_zero(text: str, value: int) -> None:
    assert Arguments({"n": parse(text)}).integer("n") == value


@pytest.mark.parametrize("odd", [0, 1, "true", "", None, [], {}])
def test_a_boolean_of_another_type_is_the_default(odd: Any) -> None:
    assert Arguments({"b": odd}).boolean("b", default=True) is True
    assert Arguments({"b": odd}).boolean("b", default=False) is False


@pytest.mark.parametrize(
    ("given_so", "found"),
    [
        ({"a": " x ", "b": "y"}, "x"),
        ({"a": " \u2003", "b": "y"}, "y"),
        ({"a": 7, "b": "y"}, "y"),
        ({"b": "\x1cy\x1f"}, "\x1cy\x1f"),
        ({"c": "z"}, ""),
    ],
)
def test_the_first_name_that_is_not_blank_gives_the_text(given_so: dict[str, Any], found: str) -> None:
    assert Arguments(given_so).string("a", "b") == found


def test_an_empty_object_is_given_and_null_is_not() -> None:
    arguments = Arguments({"empty": {}, "null": None, "list": []})
    assert arguments.object("empty") == {}
    assert arguments.object("null") is None
    assert arguments.object("list") is None
    assert arguments.has("null")
