"""What is on the glass right now, and where?

`widgets(state)` is the one answer that the screenshot, the UI tree, `find_text`, `find_icon` and the hit test all start
from, so they cannot disagree about a widget. Bounds are pixels, `(x1, y1, x2, y2)`, the second corner exclusive.
Every device has the same small glass, 180 x 324 px (90 x 162 points at scale 2, 60 x 108 at scale 3): rendering is
cheap, and both sides divide by every scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from lasttick_fakes.devices.apps import SCREENS, Item, Kind
from lasttick_fakes.devices.state import HOME, Effect, Go, State

Bounds: TypeAlias = tuple[int, int, int, int]

WIDTH_PX = 180
HEIGHT_PX = 324
ROW_PX = 32
"""Height of a list row. Lists scroll by whole rows, so no row is ever cut."""
ROWS_VISIBLE = 8

_LEFT, _RIGHT, _TOP = 6, 174, 34
_TILE_PX = 72


@dataclass(frozen=True, slots=True)
class Widget:
    """One visible thing. `effect` is what a tap on it does; None: nothing, and it is not clickable."""

    id: str
    kind: Kind
    text: str
    icon: str
    bounds: Bounds
    effect: Effect | None = None
    focused: bool = False
    children: tuple[Widget, ...] = ()


@lru_cache(maxsize=1024)
def widgets(state: State) -> tuple[Widget, ...]:
    """Everything visible in `state`, top to bottom. Siblings never overlap."""
    screen = SCREENS[state.screen]
    if state.screen == HOME:
        return tuple(_widget(state, item, _tile(n)) for n, item in enumerate(screen.items))
    return (
        Widget(f"{state.screen}/back", "icon", "", "back", (2, 2, 26, 26), Go(screen.back)),
        Widget(f"{state.screen}/title-bar", "label", screen.title, "", (30, 2, 178, 26)),
        *(_widget(state, item, _line(n)) for n, item in enumerate(screen.items)),
        Widget(f"{state.screen}/home", "icon", "", "home", (78, 294, 102, 318), Go(HOME)),
    )


def leaves(state: State) -> tuple[Widget, ...]:
    """The visible widgets in reading order, a list's rows instead of the list."""
    return tuple(leaf for widget in widgets(state) for leaf in (widget.children or (widget,)))


def leaf_at(state: State, x_px: float, y_px: float) -> Widget | None:
    """The widget under a point of the glass; None where there is none."""
    return next((leaf for leaf in leaves(state) if inside(leaf.bounds, x_px, y_px)), None)


def inside(bounds: Bounds, x_px: float, y_px: float) -> bool:
    x1, y1, x2, y2 = bounds
    return x1 <= x_px < x2 and y1 <= y_px < y2


def _widget(state: State, item: Item, bounds: Bounds) -> Widget:
    if item.kind == "list":
        return _list(state, item)
    shown = state.value(item.shows) if item.shows else ""
    if item.kind == "switch":
        shown = shown or "off"
    focused = item.kind == "field" and state.focus == item.id
    return Widget(item.id, item.kind, item.text + shown, item.icon, bounds, item.effect, focused)


def _list(state: State, item: Item) -> Widget:
    first = state.first_row(item.id)
    rows = item.rows[first : first + ROWS_VISIBLE]
    tops = (_TOP + ROW_PX * n for n in range(len(rows)))
    children = tuple(
        _widget(state, row, (_LEFT, top, _RIGHT, top + ROW_PX)) for row, top in zip(rows, tops, strict=True)
    )
    return Widget(item.id, "list", "", "", (_LEFT, _TOP, _RIGHT, _TOP + ROW_PX * ROWS_VISIBLE), children=children)


def _line(n: int) -> Bounds:
    top = _TOP + ROW_PX * n
    return (_LEFT, top, _RIGHT, top + ROW_PX - 4)


def _tile(n: int) -> Bounds:
    left, top = 12 + 84 * (n % 2), 40 + 84 * (n // 2)
    return (left, top, left + _TILE_PX, top + _TILE_PX)
