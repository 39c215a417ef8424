"""Ruling 14: bounds are pixels, taps are tap units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model import geometry


@pytest.mark.parametrize(
    ("bounds", "scale", "point"),
    [
        ([0, 0, 10, 20], 1, (5, 10)),
        ([0, 0, 11, 21], 1, (5.5, 10.5)),
        ([100, 200, 300, 240], 2, (100, 110)),
        ([99, 0, 201, 6], 3, (50, 1)),
        ((1.5, 1.5, 2.5, 2.5), 1, (2, 2)),
        ([7, 7, 7, 7], 1, (7, 7)),
    ],
)
def test_the_middle_in_tap_units(bounds: list[float], scale: int, point: tuple[float, float]) -> None:
    assert geometry.tap_point(bounds, scale) == point


def test_an_integer_stays_an_integer() -> None:
    assert [type(part) for part in geometry.tap_point([0, 0, 10, 11], 1)] == [int, float]


EDGES = st.integers(0, 4_000)


@given(x=EDGES, y=EDGES, width=st.integers(1, 500), height=st.integers(1, 500), scale=st.sampled_from([1, 2, 3]))
def test_the_point_lies_inside_its_widget(x: int, y: int, width: int, height: int, scale: int) -> None:
    tap_x, tap_y = geometry.tap_point([x, y, x + width, y + height], scale)
    assert x <= tap_x * scale < x + width
    assert y <= tap_y * scale < y + height


@pytest.mark.parametrize(
    ("bounds", "scale"),
    [
        ([1, 2, 3], 1),
        ([1, 2, 3, 4, 5], 1),
        ([1, 2, 3, "4"], 1),
        ([1, 2, 3, True], 1),
        ([1, 2, 3, float("nan")], 1),
        ([1, 2, 3, float("inf")], 1),
        ([3, 2, 1, 4], 1),
        ([1, 4, 3, 2], 1),
        ([1, 2, 3, 4], 0),
    ],
)
def test_no_rectangle_no_point(bounds: list[float], scale: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        geometry.tap_point(bounds, scale)


def test_every_bounds_at_any_depth_gets_its_point_and_the_original_stays() -> None:
    child = {"text": "OK", "bounds": [10, 10, 20, 20], "children": []}
    tree = {"root": {"bounds": [0, 0, 40, 80], "children": [child]}, "n": 1}
    done = geometry.with_tap_points(tree, 2)
    assert done["root"]["tap_point"] == {"x": 10, "y": 20}
    assert done["root"]["children"][0] == {**child, "tap_point": {"x": 7.5, "y": 7.5}}
    assert done["n"] == 1
    assert "tap_point" not in child
