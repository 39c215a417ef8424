"""May an adapter send this frame, and what does it show? Each frame read strictly, by the host's own understanding.

A host that shrugs at a wrong frame would hide an adapter's mistake, so every member is checked: the envelope, the three
types, the two built-in cards, and no others. Source: contract lineup C-1 ("out"), C-2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lasttick.model.lineup.frames import FRAME_BYTES_MAX, MESSAGE, TOOL_CALL, TOOL_STATE, check_version, strict_json
from lasttick.model.lineup.records import DEFAULT_CONVERSATION
from lasttick.model.lineup.shape import (
    ShapeError,
    a_boolean,
    a_string,
    an_array,
    an_id,
    an_integer,
    an_object,
    members,
    one_of,
)

CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
EXPIRES_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
STATES = ("emitted", "completed", "expired", "aborted")


@dataclass(frozen=True, slots=True)
class Said:
    """A text in a conversation. `role`: agent or system."""

    conversation_id: str
    message_id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class CardSent:
    """A card as it came."""

    conversation_id: str
    call_id: str
    tool: str
    title: str
    prompt: str
    expires_at: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StateSent:
    """What became of a card, or of an answer to it. `state` None: of a call that nobody knows."""

    conversation_id: str
    call_id: str
    state: str | None
    disposition: str | None
    reason: str | None


Sent: TypeAlias = Said | CardSent | StateSent


def read_sent(data: bytes) -> Sent:
    """One frame of an adapter, without its line feed. Raises ValueError with what is wrong with it."""
    if len(data) > FRAME_BYTES_MAX:
        raise ValueError(f"{len(data)} bytes; expected at most {FRAME_BYTES_MAX}")
    envelope = members(strict_json(data.decode("utf-8")), "", ("v", "type", "payload"), ("conversation_id",))
    check_version(envelope)
    read = _READERS[one_of(envelope["type"], "type", tuple(_READERS))]
    conversation_id = a_string(envelope.get("conversation_id", DEFAULT_CONVERSATION), "conversation_id", 1, 128)
    return read(conversation_id, an_object(envelope["payload"], "payload"))


def _said(conversation_id: str, payload: Mapping[str, Any]) -> Said:
    members(payload, "payload", ("message_id", "role", "text"))
    return Said(
        conversation_id,
        a_string(payload["message_id"], "payload.message_id", 1),
        one_of(payload["role"], "payload.role", ("agent", "system")),
        a_string(payload["text"], "payload.text", 1),
    )


def _card(conversation_id: str, payload: Mapping[str, Any]) -> CardSent:
    members(payload, "payload", ("call_id", "tool", "title", "prompt", "expires_at", "data"))
    expires_at = a_string(payload["expires_at"], "payload.expires_at")
    if EXPIRES_AT.fullmatch(expires_at) is None:
        raise ShapeError("payload.expires_at", f"{expires_at!r} is no RFC 3339 time that ends in Z")
    tool = a_string(payload["tool"], "payload.tool", 1)
    data = an_object(payload["data"], "payload.data")
    _DATA.get(tool, _of_a_tool)(data)
    return CardSent(
        conversation_id,
        an_id(payload["call_id"], "payload.call_id", pattern=CALL_ID),
        tool,
        a_string(payload["title"], "payload.title", 1, 200),
        a_string(payload["prompt"], "payload.prompt", 1, 4000),
        expires_at,
        data,
    )


def _state(conversation_id: str, payload: Mapping[str, Any]) -> StateSent:
    members(payload, "payload", ("call_id", "state", "disposition", "reason"))
    state, disposition, reason = (payload[name] for name in ("state", "disposition", "reason"))
    if state is not None:
        one_of(state, "payload.state", STATES)
    elif disposition != "rejected":
        raise ShapeError("payload.state", f"null with disposition {disposition!r}; only a refused answer has no state")
    if disposition is not None:
        one_of(disposition, "payload.disposition", ("accepted", "rejected"))
    if reason is not None:
        a_string(reason, "payload.reason", 1)
    return StateSent(conversation_id, a_string(payload["call_id"], "payload.call_id"), state, disposition, reason)


def _choice(data: Mapping[str, Any]) -> None:
    members(data, "payload.data", ("action_group",), ("subject",))
    path = "payload.data.action_group"
    group = members(data["action_group"], path, ("mode", "actions"))
    one_of(group["mode"], f"{path}.mode", ("single-choice",))
    taken: list[str] = []
    for number, action in enumerate(an_array(group["actions"], f"{path}.actions", 1, 20)):
        where = f"{path}.actions[{number}]"
        members(action, where, ("id", "label"))
        taken.append(an_id(action["id"], f"{where}.id", taken))
        a_string(action["label"], f"{where}.label", 1)
    if "subject" in data:
        subject = members(data["subject"], "payload.data.subject", ("kind", "text", "truncated"))
        a_string(subject["kind"], "payload.data.subject.kind")
        a_string(subject["text"], "payload.data.subject.text")
        a_boolean(subject["truncated"], "payload.data.subject.truncated")


def _input(data: Mapping[str, Any]) -> None:
    members(data, "payload.data", ("fields",))
    taken: list[str] = []
    for number, field in enumerate(an_array(data["fields"], "payload.data.fields", 1, 10)):
        where = f"payload.data.fields[{number}]"
        members(field, where, ("id", "label"), ("required", "max_length"))
        taken.append(an_id(field["id"], f"{where}.id", taken))
        a_string(field["label"], f"{where}.label", 1)
        a_boolean(field.get("required", True), f"{where}.required")
        an_integer(field.get("max_length", 4000), f"{where}.max_length", 1, 1 << 20)


def _of_a_tool(data: Mapping[str, Any]) -> None:
    members(data, "payload.data", ("arguments",))
    an_object(data["arguments"], "payload.data.arguments")


_READERS: Mapping[str, Callable[[str, Mapping[str, Any]], Sent]] = {
    MESSAGE: _said,
    TOOL_CALL: _card,
    TOOL_STATE: _state,
}
_DATA: Mapping[str, Callable[[Mapping[str, Any]], None]] = {"choice": _choice, "input": _input}
BUILT_IN = tuple(_DATA)
