"""May a generic HTTP request use the secrets it names? Only through a profile that says so.

Source: contract vaultclaw 8 "Profile object", 9 (UNBOUNDED_PROFILE_* codes), 12. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick_fakes.http_json import shown
from lasttick_fakes.vaultd.refusal import VaultError

TYPE = "connector.unbounded.profile.v1"
HTTP_VERB = "generic.http.request.v1"
_LISTS = ("allowed_intents", "expected_secret_types", "allowed_modes", "allowed_targets")


def check_profile(profile: Any) -> dict[str, Any]:
    """A profile to be stored. Raises VaultError (400, with the member)."""
    if not isinstance(profile, dict):
        raise _invalid("profile", profile, "an object")
    if profile.get("type") != TYPE:
        raise _invalid("profile.type", profile.get("type"), TYPE)
    for name in ("profile_id", "connector_id", "verb"):
        if not isinstance(profile.get(name), str) or not profile[name].strip():
            raise _invalid(f"profile.{name}", profile.get(name), "text that is not blank")
    slots = profile.get("slots")
    if not isinstance(slots, list) or not all(isinstance(slot, dict) for slot in slots):
        raise _invalid("profile.slots", slots, "an array of objects")
    for index, slot in enumerate(slots):
        if not isinstance(slot.get("slot"), str) or not slot["slot"].strip():
            raise _invalid(f"profile.slots[{index}].slot", slot.get("slot"), "text that is not blank")
        for name in _LISTS:
            listed = slot.get(name, [])
            if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
                raise _invalid(f"profile.slots[{index}].{name}", listed, "an array of texts")
    return profile


def attachments(inner: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The secrets that a request names; a malformed entry is kept, with the slot "" that no profile has."""
    listed = inner.get("secret_attachments")
    if not isinstance(listed, list):
        return []
    return [one if isinstance(one, dict) and isinstance(one.get("slot"), str) else {"slot": ""} for one in listed]


def check_use(inner: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]]) -> None:
    """Every secret that the request names is let through by its profile. Raises VaultError."""
    named = attachments(inner)
    if not named:
        return
    profile_id = inner.get("profile_id")
    if not isinstance(profile_id, str) or not profile_id.strip():
        raise _refused("REQUIRED_FIELDS_MISSING", 422, f"profile_id is {shown(profile_id)}; expected a profile's id")
    profile = profiles.get(profile_id.strip())
    if profile is None:
        raise not_found(profile_id)
    slots = {slot["slot"]: slot for slot in profile["slots"]}
    for one in named:
        slot = slots.get(one["slot"])
        if slot is None:
            raise _refused("SLOT_UNRESOLVED", 422, f"the slot is {shown(one['slot'])}; expected one of {profile_id}")
        for name, given in (("allowed_modes", "mode"), ("allowed_targets", "target"), ("allowed_intents", "intent")):
            value = one.get(given)
            if value is not None and not _allows(slot.get(name, []), [value]):
                raise _refused("SLOT_VIOLATION", 403, f"{given} is {shown(value)}; expected one of the slot's {name}")
        types = one.get("expected_secret_types")
        if isinstance(types, list) and types and not _allows(slot.get("expected_secret_types", []), types):
            raise _refused(
                "SLOT_VIOLATION", 403, f"the secret types are {shown(types)}; expected one that the slot has"
            )


def not_found(profile_id: str) -> VaultError:
    return _refused("NOT_FOUND", 404, f"no profile is {shown(profile_id)}; expected one of this tenant")


def _allows(listed: list[str], values: list[Any]) -> bool:
    """An empty list allows everything; case does not matter."""
    allowed = {one.casefold() for one in listed}
    return not allowed or any(str(value).casefold() in allowed for value in values)


def _refused(what: str, status: int, message: str) -> VaultError:
    return VaultError(status, f"UNBOUNDED_PROFILE_{what}", f"{message}; list the profiles and use one, or make one.")


def _invalid(name: str, value: Any, expected: str) -> VaultError:
    return VaultError(
        400,
        "INVALID_ARGUMENT",
        f"{name} is {shown(value)}; expected {expected}; correct it.",
        {"field": name, "expected": expected},
    )
