"""Which unbounded profile lets a request use its secrets: one that exists, or a new one that allows just that?

A requirement is one secret at one place: slot, intent, types, mode, target. Requirements are normalised, hashed into
an id, and scored against profiles. Two requirements that differ only in their types keep their order, so it counts for
the id. Source: contract vaultclaw 12; ruling VC-18; VC-09.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model.vaultclaw.arguments import string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, sha256_hex
from lasttick.model.vaultclaw.unbounded_profile import CONNECTOR_ID, TYPE, VERB, Profile, Slot, distinct

ID_PREFIX, KEY_PREFIX = "mcp.auto.", "mcp-unbounded-profile-"
HASH_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Requirement:
    """One secret that a request attaches; always required. `expected_secret_types`: distinct, in byte order."""

    slot: str
    mode: str
    target: str
    intent: str = ""
    expected_secret_types: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """With its keys in the order that is hashed; an empty intent and empty types are left out."""
        json: dict[str, Any] = {"slot": self.slot}
        if self.intent:
            json["intent"] = self.intent
        if self.expected_secret_types:
            json["expected_secret_types"] = list(self.expected_secret_types)
        return {**json, "mode": self.mode, "target": self.target, "required": True}

    def __str__(self) -> str:
        return f"{self.slot}:{self.mode}:{self.target}"


@dataclass(frozen=True, slots=True)
class Match:
    """How well a profile fits. Both lists are sorted; the missing ones end in the reason."""

    profile_id: str
    score: int
    satisfied: tuple[str, ...]
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """`profile_match`: an empty list is null."""
        return {
            "profile_id": self.profile_id,
            "score": self.score,
            "satisfied_requirements": list(self.satisfied) or None,
            "missing_requirements": list(self.missing) or None,
        }


def derive(request: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """What the `secret_attachments` of an inner request require, normalised. Raises ToolFailure: one is malformed."""
    given = request.get("secret_attachments")
    found = []
    for position, item in enumerate(given if isinstance(given, list) else []):
        requirement = _read(item) if isinstance(item, dict) else None
        if requirement is None:
            raise ToolFailure(
                "MCP_INTERNAL",
                f"secret_attachments[{position}] cannot be read; expected an object with slot, mode and target, none "
                "of them blank; correct this attachment",
            )
        found.append(requirement)
    return normalise(found)


def from_argument(value: Any) -> tuple[Requirement, ...]:
    """The `requirements` argument, normalised, without incomplete items. Raises ToolFailure: not a list of objects."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise ToolFailure(
            "MCP_VALIDATION_ERROR",
            "requirements cannot be read; expected a list of at least one object, each with slot, mode and target; "
            "give the secret_attachments of the request",
        )
    return normalise(requirement for item in value if (requirement := _read(item)) is not None)


def normalise(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Sorted by slot, mode, target, intent; equal ones are kept, in their order."""
    return tuple(sorted(requirements, key=lambda r: (r.slot, r.mode, r.target, r.intent)))


def identity(requirements: Iterable[Requirement]) -> str:
    """The hash H of normalised requirements: 12 hex digits."""
    return sha256_hex(canonical(as_json(requirements)))[:HASH_DIGITS]


def profile_id_of(requirements: Iterable[Requirement]) -> str:
    return ID_PREFIX + identity(requirements)


def idempotency_key_of(requirements: Iterable[Requirement]) -> str:
    return KEY_PREFIX + identity(requirements)


def as_json(requirements: Iterable[Requirement]) -> list[dict[str, Any]]:
    return [requirement.as_json() for requirement in requirements]


def match(profile: Profile, requirements: Iterable[Requirement]) -> Match:
    """How well `profile` fits: at most 5 points a requirement, none for one that fails a check."""
    score, satisfied, missing = 0, [], []
    for requirement in requirements:
        points, reason = _points(profile.slot(requirement.slot), requirement)
        score += points
        if reason:
            missing.append(f"{requirement}:{reason}")
        else:
            satisfied.append(str(requirement))
    return Match(profile.profile_id, score, tuple(sorted(satisfied)), tuple(sorted(missing)))


def choose(profiles: Iterable[Profile], requirements: Sequence[Requirement]) -> tuple[Profile, Match] | None:
    """The profile that misses nothing and scores highest; the lowest id of equal ones. None when none fits."""
    scored = ((profile, match(profile, requirements)) for profile in profiles)
    fitting = [pair for pair in scored if not pair[1].missing]
    return min(fitting, key=lambda pair: (-pair[1].score, pair[0].profile_id)) if fitting else None


def minimal(requirements: Sequence[Requirement]) -> Profile:
    """The profile that allows these requirements and nothing else; its id is their hash."""
    names = sorted({requirement.slot for requirement in requirements})
    slots = tuple(_slot(name, [r for r in requirements if r.slot == name]) for name in names)
    return Profile(profile_id_of(requirements), CONNECTOR_ID, VERB, TYPE, slots)


def _slot(name: str, requirements: Sequence[Requirement]) -> Slot:
    return Slot(
        slot=name,
        required=True,
        allowed_intents=distinct(r.intent for r in requirements),
        expected_secret_types=distinct(t for r in requirements for t in r.expected_secret_types),
        allowed_modes=distinct(r.mode for r in requirements),
        allowed_targets=distinct(r.target for r in requirements),
    )


def _points(slot: Slot | None, requirement: Requirement) -> tuple[int, str]:
    """The points, and the reason of the first check that failed."""
    if slot is None:
        return 0, "slot_missing"
    points = 1
    if requirement.intent:
        if not _allows(slot.allowed_intents, requirement.intent):
            return 0, "intent"
        points += 1
    if requirement.expected_secret_types and slot.expected_secret_types:
        if not any(_allows(slot.expected_secret_types, given) for given in requirement.expected_secret_types):
            return 0, "expected_secret_types"
        points += 1
    if not _allows(slot.allowed_modes, requirement.mode):
        return 0, "mode"
    if not _allows(slot.allowed_targets, requirement.target):
        return 0, "target"
    return points + 2, ""


def _allows(allowed: Sequence[str], value: str) -> bool:
    """An empty list allows everything; case does not count."""
    return not allowed or value.lower() in (item.lower() for item in allowed)


def _read(item: Mapping[str, Any]) -> Requirement | None:
    slot, mode, target = (string(item.get(name)) for name in ("slot", "mode", "target"))
    if not (slot and mode and target):
        return None
    types = item.get("expected_secret_types")
    texts = (t for t in types if isinstance(t, str)) if isinstance(types, list) else ()
    return Requirement(slot, mode, target, string(item.get("intent")), distinct(texts))
