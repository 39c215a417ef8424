"""What an entry shows, what was promised: the pure part of the laws of approvals."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.laws.judges.approvals import changed, promises, shows
from lasttick.laws.profiles.profile import Outcome
from lasttick.laws.said import Said

from ..sayings import mark, said

MARK = "lt-t1-1"


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (f"Deploy {MARK} now", True),
        ({"args": [{"text": MARK}]}, True),
        (f'{{"mark": "{MARK}"}}', True),
        ({"x": 1.001}, True),
        (f"{MARK}2", False),
        ({MARK: "a name is no value"}, False),
        (None, False),
        ([], False),
    ],
)
def test_a_mark_is_found_in_a_value_of_any_shape(value: Any, holds: bool) -> None:
    assert shows(mark(1), value) is holds


@pytest.mark.parametrize(
    ("shown", "ran", "differs"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": (2, 3)}),
        ('{"a": "x"}', {"a": "y", "more": 1}, {"a": ("x", "y")}),
        ({"tool": "deploy", "args": {"a": "x"}}, {"a": "y"}, {"a": ("x", "y")}),
        ({"a": "1"}, {"a": 1}, {}),
        ({"a": "long te…", "b": 1}, {"a": "long text", "b": 1}, {}),
        ({"token": "***"}, {"token": "abc"}, None),
        ({"a": 1}, {"b": 1}, None),
        ("deploy a", {"a": 1}, None),
        ({"a": 1}, None, None),
    ],
)
def test_what_ran_is_compared_with_what_was_shown(shown: Any, ran: Any, differs: Any) -> None:
    assert changed(shown, ran) == differs


def test_a_yes_that_was_accepted_promises_that_it_runs() -> None:
    yes, no = say(2), say(3)
    assert told([("approve", yes), ("deny", no)]) == [yes]
    assert told([("approve", say(2, "denied")), ("approve", say(3, "lost"))]) == []


def test_where_the_asker_goes_on_a_yes_promises_nothing_before_that() -> None:
    yes, refused, late = say(2), say(4, "denied", "approval.resume"), say(9, "denied", "approval.resume")
    assert told([("approve", yes)], resumes=True) == []
    assert told([("approve", yes)], [refused], resumes=True) == [yes]
    assert told([("approve", yes)], [late], resumes=True, open_until_s=5) == []
    assert told([("approve", yes)], [say(4, "lost", "approval.resume")], resumes=True) == []
    assert told([("approve", yes)], [say(1, "denied", "approval.resume")], resumes=True) == []
    ran = say(4, "ok", "approval.resume")
    assert told([], [ran], resumes=True) == [ran]


def test_an_asker_who_is_told_ok_after_a_yes_is_promised_it_and_one_told_before_is_not() -> None:
    yes = say(2, "denied")
    assert told([("approve", yes)], answer=say(3, verb="approval.request")) == [say(3, verb="approval.request")]
    assert told([("approve", yes)], answer=say(1, verb="approval.request")) == []
    assert told([], answer=say(3, verb="approval.request")) == []


def say(number: int, outcome: Outcome = "ok", verb: str = "approval.decide") -> Said:
    return said(number, verb, outcome)


def told(
    decided: list[tuple[str, Said]], resumed: list[Said] | None = None, answer: Said | None = None, **more: Any
) -> Any:
    return promises(decided, resumed or [], answer, **{"resumes": False, **more})
