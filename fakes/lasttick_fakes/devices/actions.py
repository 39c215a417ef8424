"""What does each tool do to the state of a fake phone, and what does it answer?

Nine pure functions, one per leased tool, over `State`; `act` finds the one by name. Coordinates arrive in tap units
(pixels on Android, points on iOS) and are multiplied by the scale exactly once, here. Bounds leave in pixels.
Source: contract hostagent, ruling 14 and HA-22.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from lasttick.ports import DeviceInfo, DriverError
from lasttick_fakes.devices import layout, render
from lasttick_fakes.devices.apps import APPS, SCREENS
from lasttick_fakes.devices.arguments import short
from lasttick_fakes.devices.layout import ROW_PX, ROWS_VISIBLE, Widget
from lasttick_fakes.devices.state import HOME, State, apply

Outcome: TypeAlias = tuple[State, dict[str, Any]]

FIELD_CHARS_MAX = 120
"""A text field keeps the newest characters, so that a device that is typed into for days stays small."""


def act(state: State, info: DeviceInfo, tool: str, arguments: Mapping[str, Any]) -> Outcome:
    """The state after the action and the tool's result (JSON-able). `arguments` have been checked by `arguments.check`.

    Raises DriverError when this device, in this state, cannot do it.
    """
    return _ACTIONS[tool](state, info, arguments)


def tap(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """`hit` is the id of the widget under the point, None beside all; only a clickable one changes anything."""
    hit = layout.leaf_at(state, *_point_px(info, "tap", arguments["x"], arguments["y"]))
    if hit is not None and hit.effect is not None:
        state = apply(state, hit.effect)
    return state, {"ok": True, "hit": hit.id if hit else None, "screen": state.screen}


def swipe(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """Scrolls the list under the start of the swipe by whole rows; elsewhere nothing moves."""
    x_px, y1_px = _point_px(info, "swipe from", arguments["x1"], arguments["y1"])
    _, y2_px = _point_px(info, "swipe to", arguments["x2"], arguments["y2"])
    scrolled = 0
    for widget in layout.widgets(state):
        if widget.kind == "list" and layout.inside(widget.bounds, x_px, y1_px):
            before = state.first_row(widget.id)
            last = max(0, _row_count(state, widget) - ROWS_VISIBLE)
            after = min(last, max(0, before + math.floor((y1_px - y2_px) / ROW_PX + 0.5)))
            state, scrolled = state.with_first_row(widget.id, after), after - before
    return state, {"ok": True, "scrolled_rows": scrolled, "screen": state.screen}


def input_text(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """Types at the end of the focused field."""
    if state.focus is None:
        raise DriverError(
            f"no text field has the focus on {info.device_id} (screen {state.screen!r}); input_text types into the "
            "focused field; tap a field or its label first"
        )
    text = (state.value(state.focus) + arguments["text"])[-FIELD_CHARS_MAX:]
    return state.with_value(state.focus, text), {"ok": True, "field": state.focus, "text": text}


def launch_app(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """Opens an app at its first screen; what was typed there before is still there."""
    name = arguments["app"].strip().casefold()
    names = {HOME: HOME} | {label.casefold(): app for app, label in APPS.items()} | {app: app for app in APPS}
    if name not in names:
        raise DriverError(
            f"no app {short(arguments['app'])} on {info.device_id}; "
            f"it has {', '.join([HOME, *APPS])}; launch one of these"
        )
    return replace(state, screen=names[name], focus=None), {"ok": True, "app": names[name], "screen": names[name]}


def find_text(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """Widgets whose text contains the words, in any case: equal ones first, then in reading order."""
    wanted = arguments["text"].casefold()
    found = [leaf for leaf in layout.leaves(state) if wanted in leaf.text.casefold()]
    found.sort(key=lambda leaf: leaf.text.casefold() != wanted)
    return state, {"matches": [{"text": leaf.text, "id": leaf.id, "bounds": list(leaf.bounds)} for leaf in found]}


def find_icon(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """Widgets with exactly this icon, in reading order."""
    found = [leaf for leaf in layout.leaves(state) if leaf.icon == arguments["icon"]]
    return state, {"matches": [{"icon": leaf.icon, "id": leaf.id, "bounds": list(leaf.bounds)} for leaf in found]}


def get_ui_tree(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    names = CLASSES[info.platform]
    root = {
        "class": names["screen"],
        "id": state.screen,
        "text": "",
        "icon": "",
        "bounds": [0, 0, info.width_px, info.height_px],
        "clickable": False,
        "focused": False,
        "children": [_node(names, widget) for widget in layout.widgets(state)],
    }
    return state, {"root": root}


def describe_screen(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    """The visible texts, one a line; no model looks at the picture."""
    texts = [leaf.text for leaf in layout.leaves(state) if leaf.text]
    return state, {"screen": state.screen, "text": "\n".join(texts)}


def take_screenshot(state: State, info: DeviceInfo, arguments: Mapping[str, Any]) -> Outcome:
    png = render.png(layout.widgets(state))
    return state, {
        "png_base64": base64.b64encode(png).decode("ascii"),
        "width_px": info.width_px,
        "height_px": info.height_px,
    }


_ACTIONS: dict[str, Callable[[State, DeviceInfo, Mapping[str, Any]], Outcome]] = {
    "take_screenshot": take_screenshot,
    "tap": tap,
    "swipe": swipe,
    "input_text": input_text,
    "launch_app": launch_app,
    "find_text": find_text,
    "find_icon": find_icon,
    "get_ui_tree": get_ui_tree,
    "describe_screen": describe_screen,
}

CLASSES: dict[str, dict[str, str]] = {
    "android": {
        "screen": "android.widget.FrameLayout",
        "label": "android.widget.TextView",
        "button": "android.widget.Button",
        "field": "android.widget.EditText",
        "switch": "android.widget.Switch",
        "icon": "android.widget.ImageButton",
        "list": "android.widget.ListView",
        "row": "android.widget.TextView",
    },
    "ios": {
        "screen": "XCUIElementTypeWindow",
        "label": "XCUIElementTypeStaticText",
        "button": "XCUIElementTypeButton",
        "field": "XCUIElementTypeTextField",
        "switch": "XCUIElementTypeSwitch",
        "icon": "XCUIElementTypeButton",
        "list": "XCUIElementTypeTable",
        "row": "XCUIElementTypeCell",
    },
}
"""What a widget is called in the UI tree of each platform."""


def _node(names: Mapping[str, str], widget: Widget) -> dict[str, Any]:
    return {
        "class": names[widget.kind],
        "id": widget.id,
        "text": widget.text,
        "icon": widget.icon,
        "bounds": list(widget.bounds),
        "clickable": widget.effect is not None,
        "focused": widget.focused,
        "children": [_node(names, child) for child in widget.children],
    }


def _point_px(info: DeviceInfo, what: str, x: float, y: float) -> tuple[float, float]:
    """A point in tap units as pixels. Raises DriverError off the glass, as the real drivers do."""
    width, height = info.width_px // info.scale, info.height_px // info.scale
    if not (0 <= x < width and 0 <= y < height):
        unit = "pixels" if info.platform == "android" else f"points (scale {info.scale})"
        raise DriverError(
            f"{what} ({x}, {y}) is off the screen of {info.device_id}; expected 0 <= x < {width} and "
            f"0 <= y < {height}, in {unit}; take coordinates from a tap_point"
        )
    return x * info.scale, y * info.scale


def _row_count(state: State, widget: Widget) -> int:
    return next(len(item.rows) for item in SCREENS[state.screen].items if item.id == widget.id)
