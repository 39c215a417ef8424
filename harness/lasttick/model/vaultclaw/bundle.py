"""What is a cookbook bundle: how is one read, what makes it valid, and what is its hash?

A bundle is a dict in canonical form: known members in the contract's order, strings trimmed, lists sorted. `decoded`
keeps empty members, for a recipe with `request: {}` is valid; `stored` drops them, and is what is hashed, written and
answered. Source: contract vaultclaw 15, 21 "Content hash".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lasttick.model.vaultclaw import records
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, sha256_hex, trim
from lasttick.model.vaultclaw.records import Record, WrongType
from lasttick.model.vaultclaw.versions import unsafe_name

TYPE = "accords.cookbook.bundle.v1"
RECIPE_VERB = "recipe.verb.v1"
RECIPE_PLAN = "recipe.plan.v1"
TEMPLATE_VERB = "template.verb.v1"
TEMPLATE_PLAN = "template.plan.v1"
_BASES = {RECIPE_VERB: "request", RECIPE_PLAN: "plan", TEMPLATE_VERB: "base_request", TEMPLATE_PLAN: "base_plan"}
_BINDING: Mapping[str, records.Reader] = {
    "target_path": records.raw_text,
    "input_key": records.raw_text,
    "required": records.boolean,
    "default": records.anything,
}


def _bindings(value: Any, place: str) -> list[Record]:
    bindings: list[Record] = records.list_of(_BINDING)(value, place)
    return sorted(bindings, key=_pair)


def _pair(binding: Record) -> tuple[str, str]:
    return binding.get("target_path", ""), binding.get("input_key", "")


_ENTRY: Mapping[str, records.Reader] = {
    "entry_id": records.text,
    "entry_type": records.text,
    "title": records.text,
    "description": records.text,
    "tags": records.tags,
    "connector_id": records.text,
    "verb": records.text,
    "policy_version": records.text,
    "request": records.free_object,
    "plan": records.free_object,
    "plan_input_defaults": records.free_object,
    "base_request": records.free_object,
    "base_plan": records.free_object,
    "input_schema": records.free_object,
    "bindings": _bindings,
}


def _entries(value: Any, place: str) -> list[Record]:
    entries: list[Record] = records.list_of(_ENTRY)(value, place)
    return sorted(entries, key=lambda entry: entry.get("entry_id", ""))


_BUNDLE: Mapping[str, records.Reader] = {
    "type": records.text,
    "cookbook_id": records.text,
    "version": records.text,
    "title": records.text,
    "description": records.text,
    "tags": records.tags,
    "entries": _entries,
}


def decoded(value: Any) -> Record:
    """A bundle in canonical form, not validated yet. Raises WrongType."""
    return records.read(value, _BUNDLE, "bundle")


def stored(bundle: Record) -> Record:
    """The form that is hashed, written and answered: without empty strings, lists and objects."""
    return records.without_empty({**bundle, "entries": [_stored_entry(entry) for entry in bundle.get("entries", [])]})


def content_hash(bundle: Record) -> str:
    """SHA-256, in hex, of the canonical JSON of a stored form."""
    return sha256_hex(canonical(bundle))


def valid_bundle(value: Any) -> Record:
    """The stored form of a bundle that may enter the catalog. Raises ToolFailure MCP_CATALOG_SCHEMA_INVALID."""
    if value is None:
        raise invalid("there is no bundle", f"an object of type {TYPE}")
    try:
        bundle = decoded(value)
    except WrongType as error:
        raise invalid("the bundle can not be read", f"an object of type {TYPE}", {"cause": str(error)}) from None
    _check(bundle)
    return stored(bundle)


def read_back(value: Any) -> Record:
    """The stored form of a bundle that was stored. Raises WrongType and ToolFailure when it can not have been."""
    bundle = decoded(value)
    for entry in bundle.get("entries", []):
        base = _BASES.get(entry.get("entry_type", ""))
        if base is not None:
            entry.setdefault(base, {})  # an empty one was left out
    _check(bundle)
    return stored(bundle)


def check_names(cookbook_id: str, version: str) -> None:
    """Raises ToolFailure for an id or a version that can not be the name of a file; "" is no version, and is fine."""
    for name, value in (("cookbook_id", cookbook_id), ("version", version)):
        if unsafe_name(value):
            raise invalid(f"{name} is {value[:80]!r}", "a name without `..`, `/`, `\\`, at most 250 bytes long")


def invalid(happened: str, expected: str, details: Mapping[str, Any] | None = None) -> ToolFailure:
    """MCP_CATALOG_SCHEMA_INVALID, for whatever is kept in the catalog."""
    message = f"{happened}; expected {expected} (contract vaultclaw 15, 17); correct it and send it again"
    return ToolFailure("MCP_CATALOG_SCHEMA_INVALID", message, details)


def _check(bundle: Record) -> None:
    if bundle.get("type") != TYPE:
        raise invalid(f"the bundle's type is {bundle.get('type', '')!r}", TYPE)
    for name in ("cookbook_id", "version", "title"):
        if not bundle.get(name):
            raise invalid(f"the bundle has no {name}", "one that is not blank")
    entries = bundle.get("entries", [])
    if not entries:
        raise invalid("the bundle has no entries", "at least one")
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        entry_id = entry.get("entry_id", "")
        if not entry_id:
            raise invalid(f"entry {index} has no entry_id", "one that is not blank", {"entry_index": index})
        if entry_id in seen:
            raise invalid(f"entry_id {entry_id!r} occurs twice", "distinct ids", {"entry_id": entry_id})
        seen.add(entry_id)
        _check_entry(entry_id, entry)
    check_names(bundle["cookbook_id"], bundle["version"])


def _check_entry(entry_id: str, entry: Record) -> None:
    entry_type = entry.get("entry_type", "")
    base = _BASES.get(entry_type)
    if base is None:
        details = {"entry_id": entry_id, "entry_type": entry_type}
        raise invalid(f"entry {entry_id!r} has the type {entry_type!r}", f"one of {', '.join(_BASES)}", details)
    texts = ("connector_id", "verb") if entry_type == RECIPE_VERB else ()
    for name in texts:
        if not entry.get(name):
            raise invalid(f"entry {entry_id!r} has no {name}", f"one, as a {entry_type} has", {"entry_id": entry_id})
    if base not in entry:
        raise invalid(f"entry {entry_id!r} has no {base}", f"an object, as a {entry_type} has", {"entry_id": entry_id})
    if entry_type in (TEMPLATE_VERB, TEMPLATE_PLAN):
        _check_bindings(entry_id, entry.get("bindings", []))


def _check_bindings(entry_id: str, bindings: list[Record]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, binding in enumerate(bindings):
        raw_path = binding.get("target_path", "")
        path, key = (trim(part) for part in _pair(binding))
        place = {"entry_id": entry_id, "binding_index": index}
        happened = f"binding {index} of entry {entry_id!r}"
        if not path:
            raise invalid(f"{happened} has no target_path", "a JSON pointer", place)
        if not path.startswith("/"):
            raise invalid(
                f"{happened} has target_path {path!r}", "one with a leading /", place | {"target_path": raw_path}
            )
        if not key:
            raise invalid(f"{happened} has no input_key", "one that is not blank", place)
        if (path, key) in seen:
            repeat = place | {"target_path": path, "input_key": key}
            raise invalid(f"{happened} repeats {path!r} from {key!r}", "each pair once", repeat)
        seen.add((path, key))


def _stored_entry(entry: Record) -> Record:
    bindings = {"bindings": [_stored_binding(b) for b in entry["bindings"]]} if "bindings" in entry else {}
    return records.without_empty({**entry, **bindings})


def _stored_binding(binding: Record) -> Record:
    default = {"default": binding["default"]} if "default" in binding else {}
    return records.without_empty(binding) | default
