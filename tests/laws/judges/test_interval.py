"""The interval rule: no delay makes a wrong verdict, and without delay the verdict is a decisive one."""

import itertools
import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.judges.interval import (
    DRIFT,
    Interval,
    Probe,
    Span,
    at_most,
    compare,
    declared,
    measured,
    next_probe_s,
    told,
)

TTL_S, TOLERANCE_S, LAG_S = 20.0, 0.25, 1.0
EXPECTED = declared(TTL_S, tolerance_s=TOLERANCE_S, lag_s=LAG_S)
STEP_S = TOLERANCE_S / 5
DELAYS = st.lists(st.floats(0, 3), min_size=1, max_size=60)


def look(true_s: float, delays: Iterator[float], *, began_s: float = 0.0) -> tuple[Span, list[Probe]]:
    """What a prober sees of something that truly lasts `true_s`, when every message and every sleep is late."""
    decided_s = began_s + next(delays)
    began = Span(began_s, decided_s + next(delays))
    probes: list[Probe] = []
    now_s, last_s = began.answered_s, None
    while (planned_s := next_probe_s(began, EXPECTED, now_s, last_s, step_s=STEP_S)) is not None:
        assert planned_s >= now_s
        last_s = planned_s + next(delays)
        looked_s = last_s + next(delays)
        now_s = looked_s + next(delays)
        probes.append(Probe(last_s, now_s, looked_s >= decided_s + true_s))
        assert len(probes) < 200, "probing has no end"
        if probes[-1].over:
            break
    return began, probes


def none() -> Iterator[float]:
    return itertools.repeat(0.0)


def test_declared_has_room_for_clocks_that_drift_for_tolerance_and_for_the_sweeper() -> None:
    assert Interval(20 * (1 - DRIFT) - 0.25, 20 * (1 + DRIFT) + 1.25) == EXPECTED


def test_measured_runs_from_the_last_look_that_saw_it_to_the_first_that_did_not() -> None:
    began = Span(10.0, 11.0)
    probes = [Probe(20, 21, False), Probe(29, 30, False), Probe(31, 32, True), Probe(33, 34, False)]
    assert measured(began, probes) == Interval(29 - 11, 32 - 10), "after it was over nothing counts any more"


@pytest.mark.parametrize(
    ("probes", "found"),
    [
        ([], Interval(-math.inf, math.inf)),
        ([Probe(5, 6, False)], Interval(4, math.inf)),
        ([Probe(5, 6, True)], Interval(-math.inf, 6)),
    ],
)
def test_what_was_not_seen_has_no_bound(probes: list[Probe], found: Interval) -> None:
    assert measured(Span(0, 1), probes) == found


@pytest.mark.parametrize(
    ("low_s", "high_s", "verdict"),
    [
        (19.8, 21.0, "inside"),
        (19.73, 21.27, "inside"),
        (19.5, 21.0, "overlapping"),
        (19.8, 21.5, "overlapping"),
        (0.0, 19.73, "overlapping"),
        (21.27, 30.0, "overlapping"),
        (0.0, 19.7, "disjoint"),
        (21.3, math.inf, "disjoint"),
        (-math.inf, math.inf, "overlapping"),
    ],
)
def test_the_rule(low_s: float, high_s: float, verdict: str) -> None:
    assert compare(Interval(low_s, high_s), EXPECTED) == verdict


def test_at_most_lets_it_be_over_at_any_time_before() -> None:
    expected = at_most(20.0, tolerance_s=0.25)
    assert expected == Interval(-math.inf, 20 * (1 + DRIFT) + 0.25)
    assert compare(Interval(-math.inf, 0.5), expected) == "inside"
    assert compare(Interval(-math.inf, 20.5), expected) == "overlapping"
    assert compare(Interval(20.5, math.inf), expected) == "disjoint"


def test_the_reason_has_both_intervals() -> None:
    text = told("alice's lease", Interval(21.5, math.inf), EXPECTED)
    assert text == "alice's lease lasted more than 21.500 s; declared: 19.730 to 21.270 s (docs/check.md, Time)"
    assert "at most 3.000 s" in told("it", Interval(-math.inf, 3.0), EXPECTED)
    assert "an unknown time" in told("it", Interval(-math.inf, math.inf), EXPECTED)


@given(true_s=st.floats(EXPECTED.low_s, EXPECTED.high_s), delays=DELAYS, began_s=st.floats(0, 1e5))
def test_what_is_as_declared_never_fails(true_s: float, delays: list[float], began_s: float) -> None:
    began, probes = look(true_s, itertools.cycle(delays), began_s=began_s)
    assert compare(measured(began, probes), EXPECTED) != "disjoint"


@given(
    true_s=st.one_of(
        st.floats(0, EXPECTED.low_s, exclude_max=True), st.floats(EXPECTED.high_s, 60.0, exclude_min=True)
    ).filter(lambda true_s: min(abs(true_s - EXPECTED.low_s), abs(true_s - EXPECTED.high_s)) > 1e-5),
    delays=DELAYS,
    began_s=st.floats(0, 1e5),
)
def test_what_is_not_as_declared_never_passes(true_s: float, delays: list[float], began_s: float) -> None:
    began, probes = look(true_s, itertools.cycle(delays), began_s=began_s)
    assert compare(measured(began, probes), EXPECTED) != "inside"


@given(true_s=st.floats(0.01, 60.0), delays=DELAYS)
def test_the_truth_is_always_within_what_was_measured(true_s: float, delays: list[float]) -> None:
    began, probes = look(true_s, itertools.cycle(delays))
    found = measured(began, probes)
    assert found.low_s - 1e-9 <= true_s <= found.high_s + 1e-9


def test_ten_thousand_noisy_runs_give_no_false_red() -> None:
    chance = random.Random(1)
    verdicts = []
    for _ in range(10_000):
        began, probes = look(TTL_S, iter(lambda: chance.uniform(0, 3), None))
        verdicts.append(compare(measured(began, probes), EXPECTED))
    assert verdicts.count("disjoint") == 0


@pytest.mark.parametrize(
    ("true_s", "verdict"),
    [
        (0.0, "disjoint"),
        (9.0, "disjoint"),
        (19.0, "disjoint"),
        (19.6, "disjoint"),
        (19.8, "inside"),
        (20.0, "inside"),
        (21.0, "inside"),
        (21.2, "inside"),
        (21.4, "disjoint"),
        (60.0, "disjoint"),
        (math.inf, "disjoint"),
    ],
)
def test_without_delay_every_verdict_is_decisive(true_s: float, verdict: str) -> None:
    began, probes = look(true_s, none())
    assert compare(measured(began, probes), EXPECTED) == verdict
    assert len(probes) < 40


def test_probes_are_planned_around_what_is_declared() -> None:
    began = Span(100.0, 101.0)

    def following(now_s: float, last_s: float | None) -> float | None:
        return next_probe_s(began, EXPECTED, now_s, last_s, step_s=0.05, round_trip_s=0.2)

    assert following(101.0, None) == 100 + EXPECTED.low_s / 2
    assert following(112.0, 110.0) == 100 + EXPECTED.low_s - 0.25, "before its start, answered and all"
    assert following(120.0, 119.4) == 101 + EXPECTED.low_s
    assert following(121.0, 119.4) == 121.0, "late: at once"
    assert following(121.01, 121.0) == pytest.approx(121.05)
    assert following(122.31, 122.3) == pytest.approx(101 + EXPECTED.high_s + 0.05), "the last one: after its end"
    assert following(122.5, 101 + EXPECTED.high_s + 0.05) is None


def test_an_end_at_once_is_looked_for_at_once() -> None:
    expected = Interval(0.0, 1.25)
    assert next_probe_s(Span(5.0, 5.0), expected, 5.0, None, step_s=0.05) == 5.0
    assert next_probe_s(Span(5.0, 5.0), expected, 5.0, 5.0, step_s=0.05) == 5.05
