"""What a run of the suite left, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lasttick.conformance.results import Check, judge, read

GOOD, BAD, NOTE = Check("a", "SUCCESS"), Check("b", "FAILURE", "it broke"), Check("c", "INFO")


def left(folder: Path, name: str, *rows: dict[str, object]) -> None:
    place = folder / f"server-{name}-2026-11-30T23-57-39-706Z"
    place.mkdir(parents=True)
    (place / "checks.json").write_text(json.dumps(rows))


def test_the_name_is_found_in_the_folder(tmp_path: Path) -> None:
    left(tmp_path, "server-initialize", {"id": "a", "status": "SUCCESS"})
    left(tmp_path, "sep-2164-resource-not-found", {"id": "b", "status": "FAILURE", "errorMessage": "it\n  broke"})
    (tmp_path / "something-else").mkdir()
    assert read(tmp_path) == {"server-initialize": (GOOD,), "sep-2164-resource-not-found": (BAD,)}


@pytest.mark.parametrize(
    ("checks", "known", "verdict", "ok"),
    [
        ([GOOD], {}, "pass", True),
        ([GOOD, BAD], {}, "fail", False),
        ([NOTE], {}, "nothing", False),
        ([], {}, "nothing", False),
        ([GOOD, BAD], {"one": "so it is"}, "known", True),
        ([GOOD, BAD], {"one:b": "so it is"}, "known", True),
        ([GOOD, BAD], {"one:x": "so it is"}, "stale", False),
        ([GOOD], {"one": "so it is"}, "stale", False),
        ([GOOD], {"one:b": "so it is"}, "stale", False),
        ([BAD, Check("d", "FAILURE")], {"one:b": "so it is"}, "fail", False),
    ],
)
def test_a_scenarios_verdict(checks: list[Check], known: dict[str, str], verdict: str, ok: bool) -> None:
    (outcome,) = judge({"one": checks}, ["one"], known, ["one"])
    assert (outcome.verdict, outcome.ok) == (verdict, ok), outcome


def test_what_was_required_and_not_played_is_absent() -> None:
    assert [(one.name, one.verdict, one.ok) for one in judge({}, ["one"], {}, ["one"])] == [("one", "absent", False)]


def test_what_is_not_required_may_fail_but_a_stale_baseline_may_not() -> None:
    assert [one.ok for one in judge({"one": [BAD]}, [], {}, ["one"])] == [True]
    assert [one.ok for one in judge({"one": [GOOD]}, [], {"one": "so it was"}, ["one"])] == [False]
    (gone,) = judge({}, [], {"gone:b": "so it was"}, ["one"])
    assert (gone.name, gone.verdict, gone.ok) == ("gone:b", "stale", False)


def test_what_a_machine_reads() -> None:
    (outcome,) = judge({"one": [GOOD, BAD, BAD]}, ["one"], {}, ["one"])
    assert outcome.as_json() == {
        "name": "one",
        "required": True,
        "verdict": "fail",
        "reason": "b: it broke",
        "checks": {"FAILURE": 2, "SUCCESS": 1},
        "failures": [{"id": "b", "status": "FAILURE", "message": "it broke"}] * 2,
    }
