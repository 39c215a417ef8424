"""What a scenario mark accepts, and how a test's place becomes its id."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.marks import NEEDS_PROCESS, NEEDS_VIRTUAL, ScenarioSpec, not_applicable, scenario, scenario_id


def test_the_mark_carries_what_was_said() -> None:
    mark = scenario("HA-04", "HA-06", needs=["wall-clock"], rung="memory", sees=["hand-over"])
    assert mark.mark.args == (ScenarioSpec(("HA-04", "HA-06"), ("wall-clock",), "memory", ("hand-over",)),)


@pytest.mark.parametrize(
    ("claims", "options", "says"),
    [
        (
            (),
            {},
            r"expected 1 to 3 requirement or law ids .*; split the test, or write @scenario\(\"HA-06\"\)",
        ),
        (("HA-01", "HA-02", "HA-03", "HA-04"), {}, "expected 1 to 3"),
        ((test_the_mark_carries_what_was_said,), {}, "expected 1 to 3"),
        (
            ("HA-04",),
            {"needs": ["luck"]},
            "needs='luck' is unknown; expected one of every-await, .*kill-process",
        ),
        (("HA-04",), {"needs": "wall-clock"}, r"needs='wall-clock', .*; write needs=\[\"wall-clock\"\]"),
        (("HA-04",), {"sees": "hand-over"}, "sees='hand-over'; expected sequences of texts"),
        (
            ("HA-04",),
            {"rung": "ladder"},
            "rung='ladder' is unknown; expected one of model, memory, http",
        ),
    ],
)
def test_a_wrong_mark_says_what_is_right(claims: tuple[Any, ...], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        scenario(*claims, **options)


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("scenarios/hostagent/test_lease.py::test_free_exactly_at_ttl", "hostagent/lease/free-exactly-at-ttl"),
        ("scenarios/hostagent/test_lease.py::test_x[a_b::c]", "hostagent/lease/x[a_b::c]"),
        ("lib/lasttick/scenarios/hostagent/test_lease.py::test_x", "hostagent/lease/x"),
        ("scenarios/old/scenarios/hostagent/test_lease.py::test_x", "hostagent/lease/x"),
        ("own/test_story.py::test_x", "own/story/x"),
        ("test_story.py::test_x", "story/x"),
    ],
)
def test_the_id_comes_from_the_place(nodeid: str, expected: str) -> None:
    assert scenario_id(nodeid) == expected


@pytest.mark.parametrize("need", NEEDS_VIRTUAL)
def test_what_only_virtual_time_has(need: str) -> None:
    spec = ScenarioSpec(("HA-04",), (need,))
    assert not_applicable(spec, "virtual") is None
    assert not_applicable(spec, "process") == f"needs {need}; process mode has none"


@pytest.mark.parametrize("need", NEEDS_PROCESS)
def test_what_only_processes_have(need: str) -> None:
    spec = ScenarioSpec(("HA-04",), (need,))
    assert not_applicable(spec, "virtual") == f"needs {need}; virtual mode has none"
    assert not_applicable(spec, "process") is None


@pytest.mark.parametrize("rung", ["model", "memory"])
def test_the_low_rungs_are_virtual(rung: str) -> None:
    spec = ScenarioSpec(("HA-04",), rung=rung)
    assert not_applicable(spec, "virtual") is None
    assert not_applicable(spec, "process") == f"runs on the {rung} rung; process mode has only processes"
