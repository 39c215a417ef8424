"""The baseline: which failures are known, and every way to write it wrong."""

from __future__ import annotations

import contextlib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.gate.baseline import Known, parse_baseline, read_baseline
from lasttick.laws.gate.errors import GateError

LAWS = ("lease/exclusive", "lease/clock-proof")
ENTRY = '[[known]]\nlaw = "lease/clock-proof"\nverdict = "fails"\nuntil = 2026-12-31\nissue = "X-1"\n'


def test_an_entry_is_read_with_a_date_or_its_text() -> None:
    known = Known("lease/clock-proof", "fails", date(2026, 12, 31), "X-1")
    assert parse_baseline(ENTRY, LAWS) == (known,)
    assert parse_baseline(ENTRY.replace("2026-12-31", '"2026-12-31"'), LAWS) == (known,)
    two = parse_baseline(ENTRY + ENTRY + 'case = "step back"\n', LAWS)
    assert [entry.case for entry in two] == [None, "step back"]
    assert parse_baseline("", LAWS) == ()


def test_the_last_day_still_counts() -> None:
    (known,) = parse_baseline(ENTRY, LAWS)
    assert not known.over(date(2026, 12, 31))
    assert known.over(date(2027, 1, 1))


def test_a_case_narrows_it() -> None:
    (known,) = parse_baseline(ENTRY + 'case = "step back"\n', LAWS)
    assert known.covers("freed by a step back of 60 s")
    assert not known.covers("freed by a step of 60 s")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known = 1", "lasttick.baseline.toml: known is no list"),
        ("[other]\n", "lasttick.baseline.toml: other is no list of known failures"),
        ("known = [1]", "lasttick.baseline.toml: [[known]] 1: 1 is no table"),
        ("[[known", "lasttick.baseline.toml: "),
        (ENTRY.replace('law = "lease/clock-proof"\n', ""), "lasttick.baseline.toml: [[known]] 1: law is missing"),
        (ENTRY.replace('issue = "X-1"\n', ""), "lasttick.baseline.toml: [[known]] 1: issue is missing"),
        (ENTRY.replace("until = 2026-12-31\n", ""), "lasttick.baseline.toml: [[known]] 1: until is missing"),
        (ENTRY.replace("fails", "perhaps"), "lasttick.baseline.toml: [[known]] 1: verdict is 'perhaps'"),
        (ENTRY.replace("2026-12-31", "2026-12-31T10:00:00"), "lasttick.baseline.toml: [[known]] 1: until is "),
        (ENTRY.replace("2026-12-31", '"tomorrow"'), "lasttick.baseline.toml: [[known]] 1: until is 'tomorrow'"),
        (ENTRY + "why = 1\n", "lasttick.baseline.toml: [[known]] 1: unknown key 'why'"),
        (ENTRY + 'case = " "\n', "lasttick.baseline.toml: [[known]] 1: case is ' '"),
        (ENTRY + ENTRY.replace("clock-proof", "clock-prof"), "lasttick.baseline.toml: [[known]] 2: there is no law"),
    ],
)
def test_what_is_wrong_is_named_with_its_entry(text: str, said: str) -> None:
    with pytest.raises(GateError) as raised:
        parse_baseline(text, LAWS)
    assert str(raised.value).startswith(said)
    assert "\n  next: " in str(raised.value)


def test_a_law_that_is_near_is_offered() -> None:
    with pytest.raises(GateError, match="next: try lease/clock-proof"):
        parse_baseline(ENTRY.replace("clock-proof", "clock-prof"), LAWS)


@given(st.text())
def test_no_text_is_more_than_a_message(text: str) -> None:
    for written in (text, f"{ENTRY}{text}", ENTRY.replace("X-1", text)):
        with contextlib.suppress(GateError):
            parse_baseline(written, LAWS)


def test_numbers_and_nesting_that_python_refuses() -> None:
    for text in (f"known = {'9' * 5000}", "known = " + "[" * 5000):
        with pytest.raises(GateError, match=r"lasttick\.baseline\.toml"):
            parse_baseline(text, LAWS)


def test_no_file_is_nothing_and_an_unreadable_one_is_a_message(tmp_path: Path) -> None:
    assert read_baseline(tmp_path / "lasttick.baseline.toml", LAWS) == ()
    (tmp_path / "lasttick.baseline.toml").write_bytes(b"\xff")
    with pytest.raises(GateError, match=r"lasttick\.baseline\.toml cannot be read"):
        read_baseline(tmp_path / "lasttick.baseline.toml", LAWS)
