"""Is this a valid answer to that card, and what is its one form?

A host may write the same answer in two ways; the agent's side knows one (A04A-09, A04A-10). A schema that this adapter
did not write, such as a multi-choice row of an older one, takes no answer at all. Source: contract lineup C-3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lasttick.model.lineup.records import Refused, Result
from lasttick.model.lineup.shape import ShapeError, a_string, an_array, an_object, members, one_of

UNSUPPORTED_SCHEMA: Final = "unsupported schema"
INVALID_INTERACTION: Final = "invalid hermes interaction response"
INVALID_TOOL: Final = "invalid tool response"


def choice_schema(action_ids: list[str], *, interaction: bool) -> dict[str, Any]:
    """How the ledger keeps what a choice may be answered with. `interaction`: the card has an interaction row."""
    return {"kind": "choice", "mode": "single-choice", "action_ids": action_ids, "interaction": interaction}


def input_schema(fields: list[dict[str, Any]], *, interaction: bool) -> dict[str, Any]:
    """`fields`: [{id, required, max_length}]."""
    return {"kind": "input", "fields": fields, "interaction": interaction}


def tool_schema() -> dict[str, Any]:
    """Of a card for a tool of the inventory."""
    return {"kind": "tool", "interaction": False}


def judge_result(schema: Mapping[str, Any], payload: Any) -> Result | Refused:
    """The payload of a result, after its call was found, open and not yet due."""
    read = reader(schema)
    if read is None:
        return Refused(UNSUPPORTED_SCHEMA)
    try:
        return _judge(read, schema, payload)
    except ShapeError as error:
        prefix = INVALID_INTERACTION if schema.get("interaction") is True else INVALID_TOOL
        return Refused(f"{prefix}: {error}")


Reader = Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]


def reader(schema: Mapping[str, Any]) -> Reader | None:
    """Who reads the answers to such a card; None: nobody, so that no answer is accepted."""
    if schema.get("kind") == "choice" and schema.get("mode") != "single-choice":
        return None
    return _READERS.get(str(schema.get("kind")))


def one_action(schema: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly one of `action_id` and `action_ids`, with exactly one id that the card has."""
    name = _exactly_one(result, ("action_id", "action_ids"))
    members(result, "result", (name,))
    given, path = result[name], f"result.{name}"
    if name == "action_ids":
        given, path = an_array(given, path, 1, 1)[0], f"{path}[0]"
    return {"action_ids": [one_of(given, path, schema["action_ids"])]}


def field_values(schema: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, or `text` where the card has one field only. What a person wrote is kept as it was sent."""
    fields = {field["id"]: field for field in schema["fields"]}
    names = ("values", "text") if len(fields) == 1 else ("values",)
    name = _exactly_one(result, names)
    members(result, "result", (name,))
    values = an_object(result[name], "result.values") if name == "values" else {next(iter(fields)): result[name]}
    required = [id_ for id_, field in fields.items() if field["required"]]
    for id_, text in members(values, "result.values", required, tuple(fields)).items():
        path = f"result.values.{id_}" if name == "values" else "result.text"
        a_string(text, path, 0, fields[id_]["max_length"])
        if id_ in required and not text.strip():
            raise ShapeError(path, "blank, but required")
    return {"values": dict(values)}


def tool_output(_schema: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    members(result, "result", ("output",))
    return {"output": dict(an_object(result["output"], "result.output"))}


_READERS: Mapping[str, Reader] = {"choice": one_action, "input": field_values, "tool": tool_output}


def _judge(read: Reader, schema: Mapping[str, Any], payload: Any) -> Result:
    members(payload, "", ("call_id", "status"), ("result",))
    status = one_of(payload["status"], "status", ("completed", "cancelled"))
    result = payload.get("result")
    if status == "cancelled":
        if result is not None:
            members(result, "result", ())
        return Result("cancelled", None)
    return Result("completed", read(schema, an_object(result, "result")))


def _exactly_one(result: Mapping[str, Any], names: tuple[str, ...]) -> str:
    there = [name for name in names if name in result]
    if len(there) != 1:
        raise ShapeError("result", f"{' and '.join(there) or 'none'} given; expected exactly one of {', '.join(names)}")
    return there[0]
