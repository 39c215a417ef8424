"""What does a template give for these inputs? Bindings set values in a copy of its base; all that is missing is named.

Source: contract vaultclaw 16, 21 "Render".
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.bundle import TEMPLATE_PLAN, TEMPLATE_VERB
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import DEPTH_MAX
from lasttick.model.vaultclaw.records import Record

VERB_REQUEST = "VERB_REQUEST"
PLAN = "PLAN"
_KINDS = {TEMPLATE_VERB: VERB_REQUEST, TEMPLATE_PLAN: PLAN}
NULLS_MAX = 10_000
"""By so many elements the arrays of one rendering may grow: an index is not a way to use up the memory."""


class PathError(ValueError):
    """A value that can not be set at its target path."""


def render(entry: Record, inputs: Mapping[str, Any], output_kind: str, cookbook_id: str, version: str) -> Record:
    """The data of template_render. Raises ToolFailure MCP_TEMPLATE_NOT_FOUND, _INPUT_INVALID, _RENDER_UNRESOLVED."""
    template_id = entry["entry_id"]
    kind = _output_kind(entry, output_kind)
    root = Growing(entry.get("base_request" if kind == VERB_REQUEST else "base_plan", {}))
    missing: list[str] = []
    defaults: list[Record] = []
    for binding in entry.get("bindings", ()):
        key, path = binding["input_key"], binding["target_path"]
        if key in inputs:
            value = inputs[key]
        elif "default" in binding:
            value = binding["default"]
            defaults.append({"input_key": key, "target_path": path})
        else:
            if binding.get("required", True):
                missing.append(key)
            continue
        try:
            root.set(path, value)
        except PathError as error:
            details = {"input_key": key, "target_path": path, "cause": str(error)}
            raise _invalid(f"input {key!r} can not be set at {path!r}: {error}", details) from None
    if missing:
        source = {"cookbook_id": cookbook_id, "version": version, "template_id": template_id}
        raise ToolFailure(
            "MCP_TEMPLATE_RENDER_UNRESOLVED",
            f"the template {template_id!r} lacks the inputs {', '.join(missing)}; expected each input that is required "
            "and has no default (contract vaultclaw 16); give them in inputs",
            {**source, "missing_inputs": missing},
        )
    check_shape(kind, root.value)
    return {
        "rendered": root.value,
        "missing_inputs": [],
        "used_defaults": defaults,
        "source_ref": {
            "cookbook_id": cookbook_id,
            "version": version,
            "template_id": template_id,
            "entry_type": entry["entry_type"],
            "output_kind": kind,
        },
    }


class Growing:
    """A JSON value, a copy, in which values are set by path."""

    def __init__(self, value: Any) -> None:
        self.value = copy.deepcopy(value)
        self._nulls = 0

    def set(self, path: str, value: Any) -> None:
        """Make what is missing on the way. Raises PathError."""
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
        if len(steps) + depth(value) > DEPTH_MAX:
            raise PathError(f"nested deeper than {DEPTH_MAX}")
        self.value = self._with(self.value, steps, copy.deepcopy(value))

    def _with(self, node: Any, steps: list[str], value: Any) -> Any:
        if not steps:
            return value
        step, *rest = steps
        if step.isascii() and step.isdigit():
            array = [] if node is None else node
            if not isinstance(array, list):
                raise PathError(f"{step} is an index, but no array is there")
            index = self._grown(array, step)
            array[index] = self._with(array[index], rest, value)
            return array
        members = {} if node is None else node
        if not isinstance(members, dict):
            raise PathError(f"{step!r} is a key, but no object is there")
        members[step] = self._with(members.get(step), rest, value)
        return members

    def _grown(self, array: list[Any], step: str) -> int:
        digits = step.lstrip("0") or "0"
        index = int(digits) if len(digits) <= len(str(NULLS_MAX)) else NULLS_MAX + len(array)
        more = index + 1 - len(array)
        self._nulls += max(0, more)
        if self._nulls > NULLS_MAX:
            raise PathError(f"the index {step[:20]} makes arrays longer by more than {NULLS_MAX}")
        array.extend([None] * more)
        return index


def depth(value: Any) -> int:
    """How deep arrays and objects nest; 0 for a scalar."""
    level, count = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
        count += 1
    return count


def check_shape(kind: str, rendered: Any) -> None:
    """Is it a request, or a plan? Raises ToolFailure MCP_TEMPLATE_INPUT_INVALID."""
    members = rendered if isinstance(rendered, dict) else {}
    if kind == PLAN:
        sound, expected = isinstance(members.get("steps"), list) and bool(members["steps"]), "steps"
    else:
        named = string(members.get("connector_id")) and string(members.get("verb"))
        sound, expected = bool(named) and isinstance(members.get("request"), dict), "connector_id, verb and a request"
    if not sound:
        raise _invalid(f"what was rendered is no {kind}: it lacks {expected}", {})


def _output_kind(entry: Record, asked: str) -> str:
    entry_type = entry["entry_type"]
    own = _KINDS.get(entry_type)
    if own is None:
        raise ToolFailure(
            "MCP_TEMPLATE_NOT_FOUND",
            f"{entry['entry_id']!r} is a {entry_type}; expected a template (contract vaultclaw 16); load it with "
            "vaultclaw_recipe_get",
            {"template_id": entry["entry_id"], "entry_type": entry_type},
        )
    kind = asked.upper()
    if kind in (VERB_REQUEST, PLAN) and kind != own:
        raise _invalid(f"the template renders a {own}, and a {kind} was asked for", {})
    return own


def _invalid(happened: str, details: Mapping[str, Any]) -> ToolFailure:
    expected = "inputs that fit the template (contract vaultclaw 16); look at its bindings with vaultclaw_recipe_get"
    return ToolFailure("MCP_TEMPLATE_INPUT_INVALID", f"{happened}; expected {expected}", details)
