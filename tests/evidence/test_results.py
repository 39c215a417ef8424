"""verdicts.json has exactly the documented shape, and comes back as what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lasttick.evidence import EvidenceError, Examples, Falsified, RunVerdicts, ScenarioResult, Verdict, read_verdicts


def result(id_: str, verdict: Any = "pass", ids: tuple[str, ...] = ("HA-06",), **more: Any) -> ScenarioResult:
    return ScenarioResult(id_, ids, (), verdict, "", 0.25, 60.0, **more)


FULL = result(
    "hostagent/lease/free-exactly-at-ttl",
    "fail",
    trace_sha256="ab" * 32,
    checks=(Verdict("HA-05", "pass", ""), Verdict("HA-13", "fail", "overlap", 9.0)),
    examples=Examples(25, 1),
    falsified=Falsified({"ticks": "-1"}, "lasttick replay 20260102T120000Z-ab hostagent/lease/x"),
    trace="traces/hostagent/lease/free-exactly-at-ttl.jsonl",
    text="A phone last used at t is held until t + TTL.",
)


def test_a_result_travels_as_json() -> None:
    law = result("laws/a/b", cases=0, judged="effects", replies=("  [0.1-0.2 s] alice lease.use -> ok: HTTP 200",))
    for sent in (FULL, result("a/b/c"), law):
        assert ScenarioResult.from_json(json.loads(json.dumps(sent.as_json()))) == sent


def test_a_result_of_an_older_lasttick_has_no_text() -> None:
    older = FULL.as_json()
    del older["text"]
    assert ScenarioResult.from_json(older).text == ""


def test_only_a_law_tells_what_it_judged() -> None:
    assert "cases" not in FULL.as_json()
    law = result("laws/a/b", cases=3, judged="effects", replies=("one",)).as_json()
    assert {name: law[name] for name in ("cases", "judged", "replies")} == {
        "cases": 3,
        "judged": "effects",
        "replies": ["one"],
    }


def test_the_documented_shape() -> None:
    document = RunVerdicts.of([result("z/z/z"), FULL], seed=7, mode="virtual").as_json()
    assert list(document) == ["version", "seed", "mode", "scenarios", "requirements", "laws", "counts"]
    assert [entry["id"] for entry in document["scenarios"]] == [FULL.id, "z/z/z"]
    assert document["scenarios"][0] == {
        "id": FULL.id,
        "requirements": ["HA-06"],
        "laws": [],
        "verdict": "fail",
        "reason": "",
        "duration_s": 0.25,
        "virtual_s": 60.0,
        "trace_sha256": "ab" * 32,
        "checks": [
            {"id": "HA-05", "verdict": "pass", "reason": "", "t_s": None},
            {"id": "HA-13", "verdict": "fail", "reason": "overlap", "t_s": 9.0},
        ],
        "examples": {"run": 25, "failed": 1},
        "falsified": {"args": {"ticks": "-1"}, "replay": "lasttick replay 20260102T120000Z-ab hostagent/lease/x"},
        "trace": "traces/hostagent/lease/free-exactly-at-ttl.jsonl",
        "text": "A phone last used at t is held until t + TTL.",
    }
    assert document["counts"] == {"pass": 1, "fail": 1, "inconclusive": 0, "not_applicable": 0}


def test_an_id_has_the_worst_of_its_claimants() -> None:
    run = RunVerdicts.of(
        [
            result("a", "pass", ("HA-01", "HA-02")),
            result("b", "inconclusive", ("HA-02",)),
            result("c", "not_applicable", ("HA-01", "HA-03")),
        ],
        seed=1,
        mode="virtual",
    )
    assert run.requirements == {"HA-01": "pass", "HA-02": "inconclusive", "HA-03": "not_applicable"}


def test_a_check_that_found_something_speaks_for_its_own_id() -> None:
    checks = (Verdict("HA-05", "fail", "two holders"), Verdict("HA-13", "pass", ""), Verdict("lease/x", "fail", ""))
    run = RunVerdicts.of([result("a", "fail", ("HA-06",), checks=checks)], seed=1, mode="virtual")
    assert run.requirements == {"HA-05": "fail", "HA-06": "fail"}
    assert run.laws == {"lease/x": "fail"}


def test_read_back(tmp_path: Path) -> None:
    run = RunVerdicts.of([FULL], seed=7, mode="process")
    (tmp_path / "verdicts.json").write_text(json.dumps(run.as_json()))
    assert read_verdicts(tmp_path) == run
    assert read_verdicts(tmp_path / "verdicts.json") == run


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "does not exist"),
        ("{", "is not JSON"),
        ("[]", "has version None"),
        ('{"version": 2}', "has version 2"),
        ('{"version": 1, "seed": 1, "mode": "virtual"}', "has another shape: KeyError('scenarios')"),
        ('{"version": 1, "seed": 1, "mode": "virtual", "scenarios": [3]}', "has another shape"),
        (
            json.dumps(RunVerdicts.of([FULL], seed=1, mode="virtual").as_json()).replace('"fail"', '"maybe"'),
            "'maybe' is no verdict",
        ),
    ],
)
def test_what_can_not_be_read_says_so(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "verdicts.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EvidenceError) as caught:
        read_verdicts(path)
    message = str(caught.value)
    assert says in message
    assert "\n  expected: the verdicts.json of a run" in message
    assert "\n  next: " in message


def test_what_was_left_behind_travels_and_is_silent_when_there_is_nothing() -> None:
    assert "artifacts" not in FULL.as_json()
    left = result("a/b/c", artifacts=("artifacts/a/b/c/board.png",))
    assert ScenarioResult.from_json(left.as_json()) == left
