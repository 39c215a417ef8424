"""Is the arithmetic right, and is a report what machines were promised?"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.bench.figures import Target, figure, jain, percentile, report, stable

SHARES = st.lists(st.integers(0, 1_000), min_size=1, max_size=50)


@pytest.mark.parametrize(
    ("shares", "index"),
    [([5, 5, 5, 5], 1.0), ([9, 0, 0], 1 / 3), ([0, 0], 0.0), ([7], 1.0), ([1, 3], 0.8)],
)
def test_jain(shares: list[int], index: float) -> None:
    assert jain(shares) == pytest.approx(index)


@given(SHARES)
def test_jain_lies_between_one_of_n_and_one(shares: list[int]) -> None:
    if any(shares):
        assert 1 / len(shares) - 1e-9 <= jain(shares) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 1), (1, 1), (50, 50), (50.1, 51), (99, 99), (99.5, 100), (100, 100)]
)
def test_percentile_is_nearest_rank(percent: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), percent) == value


def test_percentile_of_nothing_and_of_one() -> None:
    assert percentile([], 50) == 0
    assert percentile([3], 1) == percentile([3], 99) == 3


@given(SHARES, st.integers(1, 100))
def test_so_many_percent_are_not_above_it(values: list[int], percent: int) -> None:
    value = percentile(values, percent)
    assert value in values
    assert sum(one <= value for one in values) >= percent / 100 * len(values)


def test_stable_looks_at_running_medians() -> None:
    assert not stable([1.0, 1.0, 1.0, 1.0])  # too few
    assert stable([1.0] * 5)
    assert stable([9.0, 1.0, 1.02, 0.99, 1.01, 1.0, 1.0])  # one outlier moves no median
    assert not stable([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
    assert stable([0.0] * 6)


def test_the_ratio_is_the_median_of_each_rounds_own() -> None:
    """A slow spell hits a part and its floor alike; the ratio of their medians would be 1 here."""
    one = figure("x", "us", [2.0, 30.0, 4.0], [1.0, 10.0, 4.0])
    assert (one.n, one.min, one.median, one.max, one.floor, one.ratio) == (3, 2.0, 4.0, 30.0, 4.0, 2.0)
    assert figure("x", "us", [2.0], [0.0]).ratio is None


@pytest.mark.parametrize(
    ("target", "ok"),
    [
        (Target("ratio", "at most", 2.0), True),
        (Target("ratio", "at most", 1.9), False),
        (Target("ratio", "at least", 2.0), True),
        (Target("median", "at least", 4.1), False),
        (Target("max", "at most", 29), False),
        (None, None),
    ],
)
def test_targets_stand_beside(target: Target | None, ok: bool | None) -> None:
    assert figure("x", "us", [2.0, 30.0, 4.0], [1.0, 10.0, 4.0], target).ok is ok


def test_a_target_on_a_ratio_that_there_is_not_says_nothing() -> None:
    assert figure("x", "us", [1.0], target=Target("ratio", "at most", 1)).ok is None


def test_the_json() -> None:
    one = figure("a/b", "us", [1.0, 3.0], [2.0, 2.0], Target("ratio", "at most", 1))
    told = report("leases", {"python": "3"}, [one])
    assert json.loads(json.dumps(told, allow_nan=False)) == {
        "version": 1,
        "benchmark": "leases",
        "conditions": {"python": "3"},
        "figures": [
            {
                "id": "a/b",
                "unit": "us",
                "n": 2,
                "min": 1.0,
                "median": 2.0,
                "max": 3.0,
                "floor": 2.0,
                "ratio": 1.0,
                "target": "ratio at most 1",
                "stable": False,
                "ok": True,
            }
        ],
    }
