"""What a text holds, and how much of it a person is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.wire.answers import deeper_than, failure_of, lines_of, shortened, text_of, value_of

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        (" \n", None),
        ('{"a": 1}', {"a": 1}),
        (" [1]\n", [1]),
        ("12", 12),
        ("true", True),
        ('"x"', "x"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("1.50", "1.50"),
        ("NaN", float("nan")),
        ("lease-1", "lease-1"),
        ("{broken", "{broken"),
        ("9" * 5_000, "9" * 5_000),
    ],
)
def test_json_if_it_is_json_and_else_the_text(text: str, value: Any) -> None:
    assert repr(value_of(text)) == repr(value)


def test_what_is_said_to_be_json_is_read_as_json() -> None:
    assert value_of("1e5", is_json=True) == 100_000.0
    assert value_of("{broken", is_json=True) == "{broken"


@given(JSON)
def test_every_json_document_comes_back(value: Any) -> None:
    text = json.dumps(value)
    assert value_of(text, is_json=True) == (value if text != "null" else None)


@given(st.text())
def test_no_text_makes_an_exception(text: str) -> None:
    value_of(text)
    lines_of(text)
    assert text_of(text.encode("utf-8", "surrogatepass")) is not None


def test_depth() -> None:
    for depth, deep in [(100, False), (101, True), (900, True)]:
        text = "[" * depth + "]" * depth
        value = json.loads(text)
        assert deeper_than(value, text) is deep
        assert (value_of(text) == text) is deep
    wide = json.dumps([[1]] * 500)
    assert not deeper_than(json.loads(wide), wide)
    exact = "[" * 100 + "]" * 99 + ", []]"
    assert not deeper_than(json.loads(exact), exact)
    objects = '{"a":' * 101 + "1" + "}" * 101
    assert deeper_than(json.loads(objects), objects)


def test_lines() -> None:
    assert lines_of("") == ()
    assert lines_of("a") == ("a",)
    assert lines_of("a\r\nb\n") == ("a", "b")
    assert lines_of("a\n\nb \x0b c\u2028d") == ("a", "", "b \x0b c\u2028d")


def test_a_byte_order_mark_is_no_text() -> None:
    assert text_of(b"\xef\xbb\xbf{}") == "{}"


def test_short_text_is_left_alone() -> None:
    assert shortened("a" * 2_000) == "a" * 2_000
    assert shortened("") == ""


def test_a_cut_never_leaves_half_a_word() -> None:
    """Who redacts looks for whole secrets: the first half of one would be shown."""
    text = '{"a": "' + "x" * 30 + '", "token": "s3cr3t-s3cr3t-s3cr3t"}'
    for limit in range(len(text)):
        kept = shortened(text, limit).partition("... (")[0]
        assert "s3cr3t-s3cr3t-s3cr3t" in kept or "s3c" not in kept
        assert text.startswith(kept)
        assert len(kept) <= limit
    assert shortened("x" * 3_000) == "... (3000 characters)"


def test_an_exception_in_one_line() -> None:
    assert failure_of(ValueError("a\n  b")) == "ValueError: a b"
    assert failure_of(KeyError()) == "KeyError"
    assert len(failure_of(ValueError("ab " * 500))) < 400
