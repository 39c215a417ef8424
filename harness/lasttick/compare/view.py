"""What do rulings look at in an observation? A flat view of it, and patterns over such views. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lasttick.model.vaultclaw.json_text import canonical, sorted_keys

View: TypeAlias = dict[str, Any]
EXECUTING = tuple(f"POST /v0/connectors/{name}" for name in ("execute", "execute-job", "plans/execute"))
_POLL = re.compile("GET /v0/(jobs|connectors/plans/runs)/")
_TIME = "today|tomorrow|tonight|this weekend|this week|next week"
_PLACE = re.compile(rf"\b({_TIME})\b", re.IGNORECASE)
_BODY_PLACE = re.compile(r"\AWeather (?:update )?for (.*?)(?: \([a-z ]+\)|\Z)")


def view(observation: Mapping[str, Any]) -> View:
    """The parts of one observation that patterns name."""
    answer = _object(observation["answer"])
    envelope = _object(_object(answer.get("result")).get("structuredContent"))
    error = _object(envelope.get("error"))
    data = envelope.get("data")
    members = _object(data)
    calls = [one["call"] for one in observation["vault"]]
    guidance = _objects(members.get("missing_input_guidance"))
    facts = [one for one in _objects(members.get("autofilled_inputs")) if one.get("source") == "external_facts"]
    keys = [str(one.get("input_key")) for one in facts]
    return {
        "ok": envelope.get("ok"),
        "code": error.get("code", ""),
        "details": error.get("details", {}),
        "data": data,
        "text": canonical(sorted_keys(envelope)),
        "calls": len(calls),
        "polls": sum(bool(_POLL.match(call)) for call in calls),
        "executing": sum(call.startswith(EXECUTING) for call in calls),
        "escaped": all(_is_escaped(call) for call in calls),
        "elsewhere": observation["remote"][1] if len(observation["remote"]) > 1 else [],
        "started": answer.get("started"),
        "down": answer.get("down", False),
        "answers": len(_objects(answer.get("answers"))),
        "exit": answer.get("exit"),
        "session": members.get("configured", error.get("code") != "MCP_SESSION_NOT_CONFIGURED"),
        "modes": [one.get("resolution_mode") for one in guidance],
        "autofilled": members.get("autofilled_inputs") or [],
        "sorted": keys == sorted(keys),
        "timed": any(_PLACE.search(place) for place in _places_of(members, guidance)),
    }


def matches(pattern: Any, value: Any) -> bool:
    """A mapping is a part of the value's members; a function decides; anything else is equal."""
    if callable(pattern):
        return bool(pattern(value))
    if isinstance(pattern, Mapping):
        return isinstance(value, Mapping) and all(matches(one, value.get(name)) for name, one in pattern.items())
    return type(pattern) is type(value) and bool(pattern == value)


def has(part: str) -> Callable[[Any], bool]:
    """Text that contains it; of any other value, its JSON."""
    return lambda value: part in _text(value)


def lacks(part: str) -> Callable[[Any], bool]:
    return lambda value: part not in _text(value)


def answered(ok: Any) -> bool:
    """The tool answered, with a success or a failure."""
    return isinstance(ok, bool)


def nonempty(value: Any) -> bool:
    return bool(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(sorted_keys(value))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _is_escaped(call: str) -> bool:
    """Is what follows the fixed part of a path one segment that needs no more escaping?"""
    found = re.match(r"GET /v0/(?:jobs|connectors/plans/runs|connectors)/([^ ]*)\Z", call)
    return found is None or bool(re.fullmatch(r"(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2})*", found[1]))


def _places_of(data: Mapping[str, Any], guidance: list[dict[str, Any]]) -> list[str]:
    """Where the weather is asked of, as guidance, subject or body say it."""
    requests = [one.get("external_fact_request") for one in guidance]
    places = [str(one.get("location", "")) for one in requests if isinstance(one, dict)]
    inputs = _object(data.get("inputs"))
    texts = [str(inputs.get(name) or "") for name in ("subject", "text_plain")]
    return places + [found[1] for text in texts if (found := _BODY_PLACE.match(text))]
