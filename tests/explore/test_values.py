"""Texts of a trace become the values they were, and never anything else."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.explore.values import NotReadable, value_of


@dataclass(frozen=True)
class Step:
    who: int
    s: float = 0.0


NAMES = {"Step": Step, "print": print, "step": Step(1), "math": math}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.builds(Step, st.integers()),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_what_was_written_is_read_back(value: Any) -> None:
    assert repr(value_of(repr(value), NAMES)) == repr(value)


def test_surrogates_and_long_numbers() -> None:
    for value in ["\ud800", 10**400, -(10**400), -0.0, math.inf, -math.inf, (), {1}, Step(-1, s=math.nan)]:
        assert repr(value_of(repr(value), NAMES)) == repr(value)


@pytest.mark.parametrize(
    "text",
    [
        "print('x')",
        "__import__('os')",
        "Step.__init__(1)",
        "math.inf",
        "step",
        "Step(1)",  # no repr of it: the field s is missing
        "Step(nothing=1)",
        "Step(who=print(1), s=0.0)",
        "Unknown(1)",
        "<object at 0x1>",
        "[1 for _ in ()]",
        "*x",
        "{**{}}",
        "f'{1}'",
        "1 + 1",
        "data(...)",
        "",
        "(" * 500,
        "9" * 5000,
        "{[]: 1}",
        "-'x'",
        " 1",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(NotReadable):
        value_of(text, NAMES)


@given(st.text())
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with suppress(NotReadable):
        assert repr(value_of(text, NAMES)) == text
