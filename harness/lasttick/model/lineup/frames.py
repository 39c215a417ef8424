"""What does a line of the chat host say?

A frame that cannot be read is refused as a whole and with a reason; nothing in it is believed, the link stays open.
A result is only looked at as far as its `call_id`: what is wrong with the rest of it is judged after the call is known,
in the order of C-3, by `results.judge_result`. Source: contract lineup C-1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lasttick.model.errors import shown
from lasttick.model.lineup.records import DEFAULT_CONVERSATION, Inventory, Refused, Tool
from lasttick.model.lineup.shape import (
    ShapeError,
    a_boolean,
    a_string,
    an_array,
    an_object,
    inside,
    members,
    one_of,
    told,
)

MESSAGE: Final = "lineup.v1.message"
TOOL_CALL: Final = "lineup.v1.tool.call"
TOOL_RESULT: Final = "lineup.v1.tool.result"
TOOL_STATE: Final = "lineup.v1.tool.state"
INVENTORY: Final = "lineup.v1.client.inventory"
INVENTORY_BARE: Final = "client.inventory"
CANCEL: Final = "lineup.v1.cancel"

FRAME_BYTES_MAX = 1 << 20
DEPTH_MAX = 32
DIGITS_MAX = 1_000
"""Of an integer: far below the interpreter's own limit, which can be set to anything."""
CONVERSATION_CHARS_MAX = 128
TEXT_CHARS_MAX = 32_768
CAPABILITIES_MAX = 1_000
NO_REVISION = "none"
"""What is told of a link on which nothing was published; a host that publishes just this has published nothing."""

# A whole string or one bracket. A string that never ends is one token as well, so any text takes one pass.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.?)*+"?|[\[{]|[\]}]', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Message:
    """A user's text. `message_id` tells a repeated one."""

    conversation_id: str
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ResultFrame:
    """A result, of which only `call_id` is read: `payload` is as it came."""

    conversation_id: str
    call_id: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the running turn of this conversation."""

    conversation_id: str


Frame = Message | ResultFrame | Inventory | Cancel


def read_frame(data: bytes) -> Frame | Refused:
    """One frame as it came, without its line feed. An inventory belongs to the link, whatever conversation it names."""
    if len(data) > FRAME_BYTES_MAX:
        return Refused(f"{len(data)} bytes; expected at most {FRAME_BYTES_MAX}")
    try:
        envelope = an_object(strict_json(data.decode("utf-8")), "")
        return _read(envelope)
    except UnicodeDecodeError:
        return Refused("not UTF-8")
    except ValueError as error:
        return Refused(str(error))


def out_frame(type_: str, payload: Mapping[str, Any], conversation_id: str) -> dict[str, Any]:
    """An envelope to the host; the default conversation is not named (C-1)."""
    envelope: dict[str, Any] = {"v": 1, "type": type_, "payload": dict(payload)}
    if conversation_id != DEFAULT_CONVERSATION:
        envelope["conversation_id"] = conversation_id
    return envelope


def strict_json(text: str) -> Any:
    """One JSON value in the one way in which everybody reads it. Raises ValueError with the reason: no JSON, a repeated
    key, no finite number, deeper than 32, a string that is no Unicode text (half of a pair)."""
    if too_deep(text):
        raise ValueError(f"deeper than {DEPTH_MAX}")
    try:
        value = json.loads(
            text, object_pairs_hook=_distinct, parse_constant=_no_constant, parse_float=_finite, parse_int=_short
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from None
    if _SURROGATE_ESCAPE.search(text):
        _whole_characters(value)
    return value


def too_deep(text: str) -> bool:
    """Asked before the text is decoded: a decoder that recurses has a limit of its own, which is nobody's contract."""
    now = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        now += (token[0] in "[{") - (token[0] in "]}")
        if now > DEPTH_MAX:
            return True
    return False


def object_end(text: str, start: int, end: int) -> int | None:
    """Where the object that begins at `start` is closed, one past its bracket; None: not before `end`."""
    open_ = 0
    for token in _STRING_OR_BRACKET.finditer(text, start, end):
        open_ += (token[0] in "[{") - (token[0] in "]}")
        if open_ == 0:
            return token.end()
    return None


def check_version(envelope: Mapping[str, Any]) -> None:
    """`v` is the integer 1: neither `true` nor `1.0`, which other languages would take for it. Raises ShapeError."""
    version = envelope.get("v")
    if type(version) is not int or version != 1:
        raise ShapeError("v", f"{told(version)}; expected 1")


def _read(envelope: Mapping[str, Any]) -> Frame:
    check_version(envelope)
    type_ = one_of(envelope.get("type"), "type", tuple(_READERS))
    given = envelope.get("conversation_id", DEFAULT_CONVERSATION)
    conversation_id = a_string(given, "conversation_id", 1, CONVERSATION_CHARS_MAX)
    return _READERS[type_](conversation_id, an_object(envelope.get("payload"), "payload"))


def _message(conversation_id: str, payload: Mapping[str, Any]) -> Message:
    members(payload, "payload", ("message_id", "text"))
    message_id = a_string(payload["message_id"], "payload.message_id")
    return Message(conversation_id, message_id, a_string(payload["text"], "payload.text", 1, TEXT_CHARS_MAX))


def _result(conversation_id: str, payload: Mapping[str, Any]) -> ResultFrame:
    return ResultFrame(conversation_id, a_string(payload.get("call_id"), "payload.call_id"), payload)


def _cancel(conversation_id: str, payload: Mapping[str, Any]) -> Cancel:
    members(payload, "payload", ())
    return Cancel(conversation_id)


def _inventory(_conversation_id: str, payload: Mapping[str, Any]) -> Inventory:
    members(payload, "payload", ("revision", "capabilities"))
    revision = a_string(payload["revision"], "payload.revision")
    tools: dict[str, Tool] = {}
    for i, given in enumerate(an_array(payload["capabilities"], "payload.capabilities", 0, CAPABILITIES_MAX)):
        tool = _tool(given, f"payload.capabilities[{i}]")
        if tool.name in tools:
            raise ShapeError(f"payload.capabilities[{i}].tool", f"{told(tool.name)} stands there twice")
        tools[tool.name] = tool
    return Inventory() if revision == NO_REVISION else Inventory(revision, tools)


def _tool(given: Any, path: str) -> Tool:
    members(given, path, ("tool", "arguments"))
    arguments: dict[str, Any] = {}
    for name, rule in an_object(given["arguments"], f"{path}.arguments").items():
        at = inside(f"{path}.arguments", shown(name))
        members(rule, at, ("type", "required"))
        type_ = one_of(rule["type"], f"{at}.type", ("string", "number", "boolean"))
        arguments[name] = (type_, a_boolean(rule["required"], f"{at}.required"))
    return Tool(a_string(given["tool"], f"{path}.tool", 1), arguments)


_READERS: Mapping[str, Callable[[str, Mapping[str, Any]], Frame]] = {
    MESSAGE: _message,
    TOOL_RESULT: _result,
    INVENTORY: _inventory,
    INVENTORY_BARE: _inventory,
    CANCEL: _cancel,
}


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"repeated key {told(name)}")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{shown(digits)} is no finite number")
    return number


def _short(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise ValueError(f"an integer of {len(digits)} characters; expected at most {DIGITS_MAX}")
    return int(digits)


def _whole_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a string with half of a surrogate pair is no text") from None
