"""Has a decoded JSON value the shape that the contract gives it? The first thing that is wrong, with its path.

Everything that strangers send is read with these few functions, so that "no other members" and "a number is no boolean"
mean the same in a frame, a card and a result. Source: contract lineup C-1 ("payloads are strict"), C-2, C-3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lasttick.model.errors import shown

ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Of an action and of a field."""


class ShapeError(ValueError):
    """`path: problem`; the path is that of the member in the payload."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)


def members(value: Any, path: str, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    """An object with these members and no others."""
    found = an_object(value, path)
    for name in found:
        if name not in required and name not in optional:
            raise ShapeError(inside(path, shown(name)), "unknown member")
    for name in required:
        if name not in found:
            raise ShapeError(inside(path, name), "missing")
    return found


def told(value: Any) -> str:
    """A stranger's value as it may stand in a reason: as JSON, on one line, not long."""
    return shown(json.dumps(value, ensure_ascii=False, default=repr))


def inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def an_object(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ShapeError(path, f"{told(value)} is no object")
    return value


def an_array(value: Any, path: str, least: int, most: int) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ShapeError(path, f"{told(value)} is no array")
    if not least <= len(value) <= most:
        raise ShapeError(path, f"{len(value)} items; expected {least} to {most}")
    return value


def a_string(value: Any, path: str, least: int = 0, most: int | None = None) -> str:
    """Lengths in characters."""
    if not isinstance(value, str):
        raise ShapeError(path, f"{told(value)} is no string")
    if len(value) < least or (most is not None and len(value) > most):
        bounds = f"{least} to {most}" if most is not None else f"at least {least}"
        raise ShapeError(path, f"{len(value)} characters; expected {bounds}")
    return value


def a_boolean(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise ShapeError(path, f"{told(value)} is no boolean")
    return value


def an_integer(value: Any, path: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ShapeError(path, f"{told(value)} is no integer")
    if not least <= value <= most:
        raise ShapeError(path, f"{told(value)}; expected {least} to {most}")
    return value


def an_id(value: Any, path: str, taken: Sequence[str] = (), pattern: re.Pattern[str] = ID) -> str:
    """An id that is none of `taken`."""
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise ShapeError(path, f"{told(value)} does not match {pattern.pattern}")
    if value in taken:
        raise ShapeError(path, f"{told(value)} stands there twice")
    return value


def one_of(value: Any, path: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ShapeError(path, f"{told(value)}; expected {' or '.join(allowed)}")
    return value
