"""Where does a binding of a plan step take its value from, and where does it put it?

Pointers walk through objects only: a numeric segment is an ordinary key, and elements of arrays cannot be reached.
Nothing that is given is changed, and what is set is a copy, so that no binding writes into the plan input.
Source: contract vaultclaw 13 ("Reference", "Pointers"); worked examples 21.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.json_text import DEPTH_MAX

LITERAL_SOURCES = ("literal", "value", "const")
PLAN_INPUT = "plan_input"


class MalformedBindingError(ValueError):
    """A binding that no value can be set by. The message says which, and what was expected."""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reference without a value now. `plan_input_path`: where the plan input would have to hold it, "" if nowhere."""

    reason: str
    plan_input_path: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What a reference stands for; null is a value."""

    value: Any


def look_up(ref: Mapping[str, Any], plan_input: Any) -> Value | Unresolved:
    """The value of a reference, or why it cannot be had before the plan runs."""
    source, path = string(ref.get("source")), string(ref.get("path"))
    if not source or source in LITERAL_SOURCES:
        if "value" in ref:
            return Value(ref["value"])
        return Unresolved("ref:literal_missing_value" if source else "ref:missing_source")
    if source == PLAN_INPUT:
        if not path:
            return Unresolved("ref:plan_input_missing_path")
        return get(plan_input, path) or Unresolved(f"{PLAN_INPUT}:{path}", path)
    if source == "runtime" or source.startswith("step"):
        return Unresolved(f"{source}:{path}")
    return Unresolved(f"ref:unsupported_source:{source}")


def get(document: Any, pointer: str) -> Value | None:
    """What is at `pointer`; None when there is nothing, or the pointer does not start with a slash."""
    if not pointer.startswith("/"):
        return None
    node = document
    for key in _keys(pointer):
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    return Value(node)


def apply(request: dict[str, Any], pointer: str, value: Any) -> None:
    """Set a copy of `value` at `pointer` in `request`, in place. Raises MalformedBindingError: not through objects."""
    *parents, last = _keys(pointer)
    node = request
    for key in parents:
        child = node.setdefault(key, {})
        if not isinstance(child, dict):
            raise MalformedBindingError(
                f"the binding's path {pointer[:200]!r} leads through {key[:80]!r}, which is no object; expected a path "
                "through objects only; correct this binding's path or the step's request_base"
            )
        node = child
    node[last] = copy.deepcopy(value)


def read(binding: Any) -> tuple[str, dict[str, Any]]:
    """A binding's path and reference. Raises MalformedBindingError."""
    path, ref = (string(binding.get("path")), binding.get("ref")) if isinstance(binding, dict) else ("", None)
    if not path.startswith("/") or not isinstance(ref, dict):
        raise MalformedBindingError(
            f"a binding with path {path[:200]!r} cannot be read; expected an object with a path that starts with / and "
            "an object as its ref; correct this item of request_bindings"
        )
    if path.count("/") > DEPTH_MAX:
        raise MalformedBindingError(
            f"a binding's path has {path.count('/')} segments; expected at most {DEPTH_MAX}; shorten it"
        )
    return path, ref


def _keys(pointer: str) -> list[str]:
    return [segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:]]
