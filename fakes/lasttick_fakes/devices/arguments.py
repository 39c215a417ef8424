"""May this action start at all? Which tools a fake device has, and what arguments each takes.

An action with an unknown tool or unreadable arguments never starts and leaves no line in the device's log; what only
this device in its present state cannot do (a point off the glass, an unknown app) is the device's own failure, and is
logged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.ports import DriverError

TEXT_CHARS_MAX = 10_000
COORDINATE_MAX = 1_000_000
DURATION_MS_MAX = 60_000


class BadAction(DriverError):
    """The tool does not exist, or its arguments cannot be read. Nothing was started."""


def _number(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -COORDINATE_MAX <= value <= COORDINATE_MAX:
        return f"a finite number of at most {COORDINATE_MAX}"
    return None


def _duration(value: object) -> str | None:
    if _number(value) or not 0 <= value <= DURATION_MS_MAX:  # type: ignore[operator]
        return f"a number of milliseconds from 0 to {DURATION_MS_MAX}"
    return None


def _text(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > TEXT_CHARS_MAX or any("\ud800" <= char <= "\udfff" for char in value):
        return f"text of at most {TEXT_CHARS_MAX} characters, without lone surrogates"
    return None


def _words(value: object) -> str | None:
    return _text(value) or ("text that is not empty" if value == "" else None)


_Checks = Mapping[str, Callable[[object], str | None]]

_REQUIRED: dict[str, _Checks] = {
    "take_screenshot": {},
    "tap": {"x": _number, "y": _number},
    "swipe": {"x1": _number, "y1": _number, "x2": _number, "y2": _number},
    "input_text": {"text": _text},
    "launch_app": {"app": _words},
    "find_text": {"text": _words},
    "find_icon": {"icon": _words},
    "get_ui_tree": {},
    "describe_screen": {},
}
_OPTIONAL: dict[str, _Checks] = {"swipe": {"duration_ms": _duration}}

TOOLS: tuple[str, ...] = tuple(_REQUIRED)
"""The nine leased tools, in the contract's order. `list_devices` and `device_status` never reach a device."""


def check(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `arguments` that `actions.act` can use. Raises BadAction."""
    if tool not in _REQUIRED:
        raise BadAction(f"unknown tool {short(tool)}; a device has {', '.join(TOOLS)}; call one of these")
    required, checks = _REQUIRED[tool], {**_REQUIRED[tool], **_OPTIONAL.get(tool, {})}
    takes = ", ".join(name if name in required else f"{name}?" for name in checks) or "none"
    for name in arguments:
        if name not in checks:
            raise BadAction(f"{tool} was given an argument {short(name)}; it takes {takes}; leave it out")
    for name in required:
        if name not in arguments:
            raise BadAction(f"{tool} was called without {name!r}; it takes {takes}; add it")
    for name, value in arguments.items():
        if expected := checks[name](value):
            raise BadAction(f"{tool} was given {name} = {short(value)}; expected {expected}; correct the argument")
    return dict(arguments)


def short(value: object) -> str:
    """A value as it may stand in an error message: printable, never long."""
    if isinstance(value, int) and not -(10**30) < value < 10**30:
        return "a huge integer"
    text = ascii(value[:60] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:77] + "..."
