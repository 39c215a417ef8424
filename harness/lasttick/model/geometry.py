"""Where must an agent tap to hit what it saw? Bounds are pixels, taps are tap units: the whole conversion is here.

Tap units are pixels on Android (scale 1) and points on iOS (scale 2 or 3). Source: contract hostagent, ruling 14.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def tap_point(bounds_px: Sequence[float], scale: int) -> tuple[float, float]:
    """The middle of `bounds_px` (x1, y1, x2, y2 in pixels) in tap units.

    Raises ValueError for anything that is not four finite numbers in order, or a scale below 1.
    """
    if len(bounds_px) != 4 or not all(_is_number(edge) for edge in bounds_px):
        raise ValueError(f"bounds {bounds_px!r} are no rectangle; expected 4 numbers x1, y1, x2, y2 in pixels")
    x1, y1, x2, y2 = bounds_px
    if x2 < x1 or y2 < y1 or scale < 1:
        raise ValueError(f"bounds {bounds_px!r} at scale {scale}: expected x1 <= x2, y1 <= y2 and a scale of 1 or more")
    return _plain((x1 + x2) / 2 / scale), _plain((y1 + y2) / 2 / scale)


def with_tap_points(result: Any, scale: int) -> Any:
    """A copy of a tool's result in which everything with `bounds` also has `tap_point: {x, y}`, at any depth."""
    if isinstance(result, Mapping):
        copy = {key: with_tap_points(value, scale) for key, value in result.items()}
        if "bounds" in copy:
            x, y = tap_point(copy["bounds"], scale)
            copy["tap_point"] = {"x": x, "y": y}
        return copy
    if isinstance(result, list | tuple):
        return [with_tap_points(item, scale) for item in result]
    return result


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _plain(value: float) -> float:
    """2.0 becomes 2, so that an integer pixel stays an integer on the wire."""
    return int(value) if value == int(value) else value
