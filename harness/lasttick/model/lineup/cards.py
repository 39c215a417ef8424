"""May this card be shown, and until when can it be answered?

A card that a model wrote is taken as it is or refused as a whole: no member is dropped, no mode is turned into another,
because what is not refused is what a person believes to have agreed to. A card for a permission is made here, from the
options that the agent offers and nothing else; its answer goes back by the id that the agent gave, never by kind.
Source: contract lineup rules 1, 2; C-2, C-9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lasttick.model.lineup import results
from lasttick.model.lineup.frames import TEXT_CHARS_MAX
from lasttick.model.lineup.records import Card, Inventory, Option, PermissionAsked, Refused, Source, Tool
from lasttick.model.lineup.shape import (
    ShapeError,
    a_boolean,
    a_string,
    an_array,
    an_id,
    an_integer,
    an_object,
    inside,
    members,
    told,
)
from lasttick.model.lineup.subjects import cut, subject, visible

MULTI_CHOICE: Final = "multi-choice not supported"
NOT_IN_INVENTORY: Final = "not in inventory"
NO_OPTIONS: Final = "no options"

PERMISSION_LIFE = timedelta(seconds=55)
"""The agent denies by itself after 60 s (hermes.md 4.4): our answer must not come into that."""
MODEL_LIFE = timedelta(minutes=10)
MODEL_LIFE_LEAST = timedelta(seconds=30)
MODEL_LIFE_MOST = timedelta(minutes=30)

CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
TITLE_CHARS_MAX = 200
PROMPT_CHARS_MAX = 4_000
LABEL_CHARS_MAX = 200
ACTIONS_MAX = 20
FIELDS_MAX = 10
FIELD_CHARS = 4_000
"""What a field takes when its card does not say."""
BUILT_IN = ("choice", "input")
"""Tools that need no inventory."""
REJECTING = ("reject_once", "reject_always")

_UTC_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)


def model_card(payload: Mapping[str, Any], inventory: Inventory, wall: datetime) -> Card | Refused:
    """The card that a model wrote. Whether its `call_id` was used before, only the ledger knows."""
    if _mode(payload) == "multi-choice":
        return Refused(MULTI_CHOICE)
    try:
        members(payload, "", ("call_id", "tool", "title", "prompt", "expires_at", "data"))
        tool = a_string(payload["tool"], "tool", 1)
        data = an_object(payload["data"], "data")
        found = available(tool, inventory)
        if found is None:
            return Refused(NOT_IN_INVENTORY)
        return Card(
            call_id=an_id(payload["call_id"], "call_id", pattern=CALL_ID),
            tool=tool,
            title=a_string(payload["title"], "title", 1, TITLE_CHARS_MAX),
            prompt=a_string(payload["prompt"], "prompt", 1, PROMPT_CHARS_MAX),
            expires_at=_kept_or_default(payload["expires_at"], wall),
            data=data,
            schema=found(data),
            source="model",
        )
    except ShapeError as error:
        return Refused(str(error))


def permission_card(
    asked: PermissionAsked, call_id: str, wall: datetime, life: timedelta | None = None
) -> Card | Refused:
    """One action for each option that the agent offers, in its order, and none besides (C-2). `life`: for an agent that
    waits longer or shorter than the one that `PERMISSION_LIFE` is for."""
    ids = [option.option_id for option in asked.options]
    if not ids:
        return Refused(NO_OPTIONS)
    if len(ids) > ACTIONS_MAX:
        return Refused(f"{len(ids)} options; expected at most {ACTIONS_MAX}")
    for i, id_ in enumerate(ids):
        if id_ in ids[:i]:
            return Refused(f"repeated optionId {told(id_)}")
    labels = [cut(visible(option.name), LABEL_CHARS_MAX)[0] for option in asked.options]
    return choice_card(
        call_id,
        _title(asked.tool_call),
        "The agent asks before it does this. Nothing is done without your answer.",
        list(zip(action_ids(len(ids)), labels, strict=True)),
        time_text(wall + (life or PERMISSION_LIFE)),
        source="permission",
        more_data={"subject": subject(asked.tool_call)},
    )


def option_of(asked: PermissionAsked, action_id: str) -> Option:
    """The option that the agent offered under this action. Raises KeyError: no action of its card."""
    return dict(zip(action_ids(len(asked.options)), asked.options, strict=True))[action_id]


def reject_option(asked: PermissionAsked) -> Option | None:
    """The agent's own way to say no; None: it offers none, and the answer is `cancelled` (rule 1)."""
    return next((option for option in asked.options if option.kind in REJECTING), None)


def deadline_ns(card: Card, wall: datetime, read_ns: int) -> int:
    """The monotonic instant from which the card cannot be answered. `wall` and `read_ns` are of one moment; from then
    on the wall clock may be set to anything (LU-09)."""
    life = datetime.fromisoformat(card.expires_at) - wall
    return read_ns + life // timedelta(microseconds=1) * 1_000


def answerable(now_ns: int, deadline_ns_: int) -> bool:
    """Not at the deadline itself, whether or not a timer has run (C-2)."""
    return now_ns < deadline_ns_


def available(tool: str, inventory: Inventory) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
    """Who reads the data of such a card and says how it can be answered; None: the tool is not there to be called.
    The built-in tools are there also when nothing was published."""
    if tool in BUILT_IN:
        return _choice_data if tool == "choice" else _input_data
    known = (inventory.tools or {}).get(tool) if inventory.revision is not None else None
    return None if known is None else (lambda data: _tool_data(known, data))


def choice_card(
    call_id: str,
    title: str,
    prompt: str,
    actions: list[tuple[str, str]],
    expires_at: str,
    *,
    source: Source,
    more_data: Mapping[str, Any] | None = None,
) -> Card:
    """A choice of the adapter's own making, with an interaction behind it. `actions`: (id, label)."""
    group = {"mode": "single-choice", "actions": [{"id": id_, "label": label} for id_, label in actions]}
    schema = results.choice_schema([id_ for id_, _ in actions], interaction=True)
    data = {"action_group": group, **(more_data or {})}
    return Card(call_id, "choice", title, prompt, expires_at, data, schema, source)


def input_card(call_id: str, title: str, prompt: str, label: str, expires_at: str, *, required: bool) -> Card:
    """One field of the adapter's own making, for a question that came from the gateway."""
    field = {"id": "text", "label": label, "required": required, "max_length": FIELD_CHARS}
    schema = results.input_schema([{k: v for k, v in field.items() if k != "label"}], interaction=True)
    return Card(call_id, "input", title, prompt, expires_at, {"fields": [field]}, schema, "gateway")


def action_ids(n: int) -> list[str]:
    return [f"action_{i:02}" for i in range(1, n + 1)]


def time_text(moment: datetime) -> str:
    """RFC 3339 in UTC, ending in `Z`, with no more fraction than there is."""
    return moment.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _mode(payload: Mapping[str, Any]) -> Any:
    """Looked at before all else, so that this refusal has one reason, whatever more is wrong with the card."""
    data = payload.get("data") if payload.get("tool") == "choice" else None
    group = data.get("action_group") if isinstance(data, Mapping) else None
    return group.get("mode") if isinstance(group, Mapping) else None


def _title(tool_call: Mapping[str, Any]) -> str:
    title = tool_call.get("title")
    return cut(visible(title), TITLE_CHARS_MAX)[0] if isinstance(title, str) and title.strip() else "Permission"


def _kept_or_default(given: Any, wall: datetime) -> str:
    """A time that a model gives is only kept when it is one, and one that a person can meet."""
    if isinstance(given, str) and _UTC_TEXT.fullmatch(given):
        try:
            ahead = datetime.fromisoformat(given) - wall
        except ValueError:
            ahead = timedelta(0)
        if MODEL_LIFE_LEAST <= ahead <= MODEL_LIFE_MOST:
            return given
    return time_text(wall + MODEL_LIFE)


def _choice_data(data: Mapping[str, Any]) -> dict[str, Any]:
    members(data, "data", ("action_group",))
    group = members(data["action_group"], "data.action_group", ("mode", "actions"))
    if group["mode"] != "single-choice":
        raise ShapeError("data.action_group.mode", f"{told(group['mode'])}; expected single-choice")
    ids: list[str] = []
    for i, action in enumerate(an_array(group["actions"], "data.action_group.actions", 1, ACTIONS_MAX)):
        path = f"data.action_group.actions[{i}]"
        members(action, path, ("id", "label"))
        ids.append(an_id(action["id"], f"{path}.id", ids))
        a_string(action["label"], f"{path}.label", 1, LABEL_CHARS_MAX)
    return results.choice_schema(ids, interaction=False)


def _input_data(data: Mapping[str, Any]) -> dict[str, Any]:
    members(data, "data", ("fields",))
    fields: list[dict[str, Any]] = []
    for i, field in enumerate(an_array(data["fields"], "data.fields", 1, FIELDS_MAX)):
        path = f"data.fields[{i}]"
        members(field, path, ("id", "label"), ("required", "max_length"))
        a_string(field["label"], f"{path}.label", 1, LABEL_CHARS_MAX)
        fields.append(
            {
                "id": an_id(field["id"], f"{path}.id", [other["id"] for other in fields]),
                "required": a_boolean(field.get("required", True), f"{path}.required"),
                "max_length": an_integer(field.get("max_length", FIELD_CHARS), f"{path}.max_length", 1, TEXT_CHARS_MAX),
            }
        )
    return results.input_schema(fields, interaction=False)


def _tool_data(tool: Tool, data: Mapping[str, Any]) -> dict[str, Any]:
    members(data, "data", ("arguments",))
    path = "data.arguments"
    required = [name for name, (_, needed) in tool.arguments.items() if needed]
    given = members(data["arguments"], path, required, tuple(tool.arguments))
    for name, value in given.items():
        type_ = tool.arguments[name][0]
        if not _TYPES[type_](value):
            raise ShapeError(inside(path, name), f"{told(value)} is no {type_}")
    return results.tool_schema()


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
}
