"""Ids that nobody has keep the shape of those that somebody has; answers are compared but for what changes anyway."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.judges.alike import absent_like, absent_names, differences
from lasttick.laws.reply import Reply
from lasttick.laws.said import Said

from ..sayings import said as said_of


def shape(text: str) -> str:
    return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "0", text)))


@given(st.from_regex(r"[ -~]{0,20}[A-Za-z0-9][^A-Za-z0-9]{0,3}", fullmatch=True))
def test_what_is_not_there_has_the_same_shape(value: str) -> None:
    made = absent_like(value, [])
    assert made not in (None, value)
    assert shape(made) == shape(value)
    assert absent_like(value, [made]) not in (value, made)


def test_a_uuid_stays_one() -> None:
    made = absent_like("3f2b8c1e-9a4d-4e6f-8a1b-0c9d8e7f6a5b", [])
    assert re.fullmatch(r"3f2b8c1e-9a4d-4e6f-8a1b-[0-9a-f]{12}", made)


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, "", "--", "\N{CJK UNIFIED IDEOGRAPH-4E00}"])
def test_of_some_values_none_can_be_made(value: Any) -> None:
    assert absent_like(value, []) is None


def test_a_number_stays_one_of_as_many_digits() -> None:
    made = absent_like(57, [])
    assert isinstance(made, int)
    assert len(str(made)) == 2
    assert made != 57


def test_a_resource_is_not_hidden() -> None:
    assert absent_names({"resource": "r1"}, []) is None
    made = absent_names({"resource": "r1", "lease": "lease-7"}, ["lease-2"])
    assert made is not None
    assert made["resource"] == "r1"
    assert made["lease"] not in ("lease-7", "lease-2")


def answer(number: int, status: int = 404, headers: dict[str, str] | None = None, **body: Any) -> Said:
    reply = Reply(False, status, headers or {}, body, lines=(str(body),))
    return replace(said_of(number, outcome="denied"), reply=reply)


def places(foreign: Said, first: Said, second: Said, *volatile: str) -> list[str]:
    return differences(foreign, (first, second), (["a-1"], ["a-6"], ["a-6"]), volatile)


def test_what_an_answer_repeats_is_no_difference() -> None:
    assert places(answer(1, why="no a-1"), answer(2, why="no a-6"), answer(3, why="no a-6")) == []
    assert places(answer(1, why="no a-12"), answer(2, why="no a-62"), answer(3, why="no a-62")) == ["/body/why"]


def test_what_changes_anyway_is_no_difference() -> None:
    assert places(answer(1, request="x"), answer(2, request="y"), answer(3, request="z")) == []
    assert places(answer(1, headers={"date": "now"}), answer(2, headers={"date": "then"}), answer(3)) == []
    same = {"x-by": "b"}
    assert places(answer(1, headers={"x-by": "a"}), answer(2, headers=same), answer(3, headers=same)) == [
        "/headers/x-by"
    ]
    assert places(answer(1, headers={"x-by": "a"}), answer(2, headers=same), answer(3, headers=same), "/headers") == []


def test_a_member_more_or_less_is_a_difference() -> None:
    assert places(answer(1, why="no", owner=None), answer(2, why="no"), answer(3, why="no")) == ["/body/owner"]
    assert places(answer(1), answer(2, why="no"), answer(3, why="no")) == ["/body", "/body/why"]
    assert places(answer(1, status=403), answer(2), answer(3)) == ["/status"]
