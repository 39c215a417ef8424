"""What is an unbounded profile, and which answers of the vault are one?

A profile names slots, and for each slot what it allows. Other members of the vault's object are dropped; an object
with a member of another type is no profile. Source: contract vaultclaw 8 (profile object), 12 step 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.json_text import trim

TYPE = "connector.unbounded.profile.v1"
CONNECTOR_ID, VERB = "generic.http", "generic.http.request.v1"
"""The only connector and verb that have such profiles."""
LISTS = ("allowed_intents", "expected_secret_types", "allowed_modes", "allowed_targets")


@dataclass(frozen=True, slots=True)
class Slot:
    """One secret's place. Lists are trimmed, distinct, in byte order; an empty one allows everything."""

    slot: str
    required: bool = False
    allowed_intents: tuple[str, ...] = ()
    expected_secret_types: tuple[str, ...] = ()
    allowed_modes: tuple[str, ...] = ()
    allowed_targets: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Empty lists are left out."""
        lists = {name: list(values) for name in LISTS if (values := getattr(self, name))}
        return {"slot": self.slot, "required": self.required, **lists}


@dataclass(frozen=True, slots=True)
class Profile:
    """`slots` are sorted by name."""

    profile_id: str
    connector_id: str
    verb: str
    type: str = TYPE
    slots: tuple[Slot, ...] = ()

    def slot(self, name: str) -> Slot | None:
        """The slot of exactly that name; the first, if there are several."""
        return next((slot for slot in self.slots if slot.slot == name), None)

    def as_json(self) -> dict[str, Any]:
        """An empty type and empty slots are left out; the other members are always there."""
        json: dict[str, Any] = {"type": self.type} if self.type else {}
        json |= {"profile_id": self.profile_id, "connector_id": self.connector_id, "verb": self.verb}
        return {**json, "slots": [slot.as_json() for slot in self.slots]} if self.slots else json


def decode(value: Any) -> Profile | None:
    """The profile that an answer holds. None when it is no object, or one of its members has another type."""
    try:
        members = _object(value)
        texts = {name: _text(members.get(name)) for name in ("profile_id", "connector_id", "verb", "type")}
        slots = sorted(map(_slot, _items(members.get("slots"))), key=lambda slot: slot.slot)
    except _NoProfileError:
        return None
    return Profile(**texts, slots=tuple(slots))


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Trimmed, without blank ones, distinct, in byte order."""
    return tuple(sorted({trimmed for text in texts if (trimmed := trim(text))}))


class _NoProfileError(Exception):
    """A member has another type than the contract gives it."""


def _slot(value: Any) -> Slot:
    members = _object(value)
    required = members.get("required")
    if required is not None and not isinstance(required, bool):
        raise _NoProfileError
    lists = {name: distinct(map(_text, _items(members.get(name)))) for name in LISTS}
    return Slot(_text(members.get("slot")), bool(required), **lists)


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _NoProfileError
    return value


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise _NoProfileError
    return trim(value or "")


def _items(value: Any) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise _NoProfileError
    return value or []
