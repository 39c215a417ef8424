"""Which tools exist, which of their actions only read, and which of them does a run get?

The registry is the one authority on access classes; an action without a class counts as write, and an organisation's
binding can only narrow (ruling 11). Nothing here is kept: the registry, the bindings and the skill are passed at every
call, so that what an operator changed counts from the next call on.
Source: contract gateway "Parts", rulings 3, 4, 11; GW-10, GW-20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lasttick.model.errors import shown
from lasttick.model.tool_names import joined, well_formed

Access = Literal["read", "write"]

PUBLISHED = "published"
"""The one state in which a binding counts."""

_WHERE = "(contract gateway, tool registry)"


class RegistryError(ValueError):
    """Registry data that can not be loaded. Nothing of it is in force."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a tool can do."""

    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A tool: `kind` says which executor runs it."""

    slug: str
    kind: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Registry:
    """All tools there are, by slug. Made by `from_data` only, which lets nothing malformed in."""

    kinds: Mapping[str, ToolKind]

    @classmethod
    def from_data(cls, data: Any) -> Registry:
        """From `{slug: {"kind": ..., "actions": [{"name": ..., "accessClass": "read" or "write"}]}}`; other keys of an
        entry are its executor's. Raises RegistryError and names the entry that is wrong."""
        if not isinstance(data, Mapping):
            raise _refused("the registry", data, "an object of tools by slug")
        return cls({slug: _kind(slug, entry) for slug, entry in data.items()})

    def access_of(self, slug: str, action: str) -> Access | None:
        """The class of an action; None when there is no such action."""
        kind = self.kinds.get(slug)
        if kind is None:
            return None
        return next((known.access for known in kind.actions if known.name == action), None)


@dataclass(frozen=True, slots=True)
class Binding:
    """An organisation's use of a tool. `access` None: it does not narrow the registry's classes."""

    org_id: str
    slug: str
    access: str | None
    state: str


@dataclass(frozen=True, slots=True)
class Skill:
    """What a conversation was matched to; `tools` are slugs."""

    name: str
    tools: tuple[str, ...]


def access_class(raw: Any) -> Access | None:
    """The class that a registry entry means by `accessClass`: a missing one counts as write (ruling 11). None for a
    value that is no class."""
    if raw is None or raw == "write":
        return "write"
    return "read" if raw == "read" else None


def narrowed(registry_access: Access, binding_access: str | None) -> Access:
    """The class that counts: read only if the registry says read and the binding does not say otherwise (ruling 11)."""
    return "read" if registry_access == "read" and binding_access in (None, "read") else "write"


def counts(binding: Binding, org_id: str) -> bool:
    """Is this binding in force for a run of `org_id`?"""
    return binding.state == PUBLISHED and binding.org_id == org_id


def intersect_read_tools(
    bindings: Iterable[Binding], skill: Skill | None, org_id: str, registry: Registry
) -> list[str]:
    """Slugs, sorted, each once: published bindings of the run's own org that let something be read and that the
    matched skill asks for (GW-20)."""
    if skill is None:
        return []
    own = [binding for binding in bindings if counts(binding, org_id) and _reads(binding, registry)]
    return sorted({binding.slug for binding in own if binding.slug in skill.tools})


def expand_to_name_action(slugs: Iterable[str], registry: Registry) -> list[str]:
    """`slug:action` of every read action, sorted by the joined text, each once. Unknown slugs are skipped; whatever
    the slugs are, nothing is raised (GW-10, ruling 3)."""
    known = dict.fromkeys(slug for slug in slugs if isinstance(slug, str) and slug in registry.kinds)
    return sorted(
        joined(slug, action.name) for slug in known for action in registry.kinds[slug].actions if expands(action)
    )


def expands(action: Action) -> bool:
    """Read actions only (ruling 3)."""
    return action.access == "read"


def call_access(slug: str, action: str, bindings: Iterable[Binding], org_id: str, registry: Registry) -> Access | None:
    """The class of one call at the time of the call. None: the registry has no such action.

    A read needs a published binding of the caller's org that allows it; withdrawn since the run began, the action
    counts as write, as everything does that nobody declared a read (ruling 11, GW-08).
    """
    access = registry.access_of(slug, action)
    if access is None:
        return None
    own = [binding for binding in bindings if counts(binding, org_id) and binding.slug == slug]
    return "read" if any(narrowed(access, binding.access) == "read" for binding in own) else "write"


def _reads(binding: Binding, registry: Registry) -> bool:
    kind = registry.kinds.get(binding.slug)
    return kind is not None and any(narrowed(action.access, binding.access) == "read" for action in kind.actions)


def _kind(slug: Any, entry: Any) -> ToolKind:
    if not well_formed(slug):
        raise _refused("a tool's slug", slug, "text that is not empty, without `:`, `,`, blanks and control characters")
    tool = f"tool {shown(slug)}"
    if not isinstance(entry, Mapping):
        raise _refused(tool, entry, "an object with `kind` and `actions`")
    kind = entry.get("kind")
    if not isinstance(kind, str) or not kind:
        raise _refused(f"`kind` of {tool}", kind, "the name of an executor")
    raw_actions = entry.get("actions")
    if not isinstance(raw_actions, list | tuple):
        raise _refused(f"`actions` of {tool}", raw_actions, "a list of objects with `name` and `accessClass`")
    actions = tuple(_action(tool, raw) for raw in raw_actions)
    seen: dict[str, Action] = {}
    for action in actions:
        if seen.setdefault(action.name, action) is not action:
            raise _refused(f"a second action of {tool}", action.name, "each action once, since it has one class")
    return ToolKind(slug, kind, actions)


def _action(tool: str, raw: Any) -> Action:
    if not isinstance(raw, Mapping):
        raise _refused(f"an action of {tool}", raw, "an object with `name` and `accessClass`")
    name = raw.get("name")
    if not well_formed(name):
        raise _refused(
            f"an action's name of {tool}", name, "text that is not empty, without `:`, `,`, blanks, control characters"
        )
    access = access_class(raw.get("accessClass"))
    if access is None:
        raise _refused(
            f"`accessClass` of {tool}, action {shown(name)}", raw.get("accessClass"), '"read", "write" or none'
        )
    return Action(name, access)


def _refused(what: str, was: Any, expected: str) -> RegistryError:
    try:
        value = repr(was)
    except (ValueError, RecursionError):  # an int of more than 4,300 digits, or nested too deep to be written
        value = f"of type {type(was).__name__}"
    return RegistryError(
        f"{what} is {shown(value)}; expected {expected} {_WHERE}; correct the registry and load it again"
    )
