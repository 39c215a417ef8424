"""Wrong versions of which tools a run gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from lasttick.model import tool_registry
from lasttick.model.tool_registry import Action, Binding, Registry, RegistryError
from lasttick.mutants import Mutant
from lasttick.reference.gateway.catalogue import Catalogue
from lasttick.reference.gateway.database import org

EXPANSION = "gateway/expansion/"
LISTS = "gateway/lists/"
WHOLE_LIST = EXPANSION + "a-list-is-the-read-actions-sorted-each-once"


def every_action(action: Action) -> bool:
    return True


def as_declared(slugs: Iterable[str], registry: Registry) -> list[str]:
    """Right pairs, in the order of the registry's document instead of that of their text."""
    known = dict.fromkeys(slug for slug in slugs if slug in registry.kinds)
    return [f"{slug}:{a.name}" for slug in known for a in registry.kinds[slug].actions if a.access == "read"]


def by_slug_then_action(slugs: Iterable[str], registry: Registry) -> list[str]:
    """Sorted as pairs, not as the texts they are joined to."""
    known = sorted(dict.fromkeys(slug for slug in slugs if slug in registry.kinds))
    return [
        f"{slug}:{name}"
        for slug in known
        for name in sorted(action.name for action in registry.kinds[slug].actions if action.access == "read")
    ]


def any_text(part: object) -> bool:
    """May this be a slug? The separator is not looked for."""
    return isinstance(part, str) and bool(part)


def bad_entries_skipped(right: Any) -> Callable[..., Any]:
    """What can not be read of a registry is left out of it."""

    def from_data(data: Any) -> Any:
        read = {}
        for slug, entry in data.items():
            with suppress(RegistryError):
                right({slug: entry})
                read[slug] = entry
        return right(read)

    return from_data


def actions_are_optional(right: Any) -> Callable[..., Any]:
    """An entry that does not say which actions it has is a tool that has none."""
    return lambda slug, entry: right(slug, {"actions": [], **entry} if isinstance(entry, Mapping) else entry)


def missing_is_read(right: Any) -> Callable[..., Any]:
    return lambda raw: "read" if raw is None else right(raw)


def binding_decides(registry_access: Any, binding_access: str | None) -> Any:
    return binding_access or registry_access


def registry_decides(registry_access: Any, binding_access: str | None) -> Any:
    return registry_access


def in_any_state(binding: Binding, org_id: str) -> bool:
    return binding.org_id == org_id


def everybodys_bindings(right: Any) -> Callable[..., Any]:
    """Bindings are read without asking whose they are."""

    def now(self: Catalogue, org_id: str) -> Any:
        own, tools = right(self, org_id)
        with self._database.begin() as connection:
            names = list(connection.scalars(sa.select(org.c.org_id).order_by(org.c.org_id)))
        found = [binding for name in names for binding in right(self, name)[0].bindings]
        return replace(own, bindings=tuple(replace(binding, org_id=org_id) for binding in found)), tools

    return now


def without_the_skill(right: Any) -> Callable[..., Any]:
    """Whatever is bound is listed: the skill is not asked."""

    def intersect(bindings: Any, skill: Any, org_id: str, registry: Registry) -> Any:
        bindings = tuple(bindings)
        everything = tool_registry.Skill("everything", tuple(binding.slug for binding in bindings))
        return right(bindings, everything, org_id, registry)

    return intersect


def drafts_hide(right: Any) -> Callable[..., Any]:
    """A tool that is bound once more as a draft is still being drafted."""

    def intersect(bindings: Any, skill: Any, org_id: str, registry: Registry) -> Any:
        bindings = tuple(bindings)
        drafted = [binding.slug for binding in bindings if binding.state != tool_registry.PUBLISHED]
        return [slug for slug in right(bindings, skill, org_id, registry) if slug not in drafted]

    return intersect


MUTANTS: list[Mutant] = [
    Mutant(
        "gateway/expand-includes-write-actions",
        breaks="GW-10",
        ruling=3,
        text="every action of a listed tool is listed, writes too",
        killed_by=WHOLE_LIST,
        patch=lambda seam: seam.replace(tool_registry, "expands", every_action),
    ),
    Mutant(
        "gateway/list-in-registry-order",
        breaks="GW-10",
        text="a list is in the order in which the registry was written",
        killed_by=WHOLE_LIST,
        patch=lambda seam: seam.replace(tool_registry, "expand_to_name_action", as_declared),
    ),
    Mutant(
        "gateway/list-sorted-by-slug",
        breaks="GW-10",
        text="a list is sorted by slug and then action, not by the joined text",
        killed_by=WHOLE_LIST,
        patch=lambda seam: seam.replace(tool_registry, "expand_to_name_action", by_slug_then_action),
    ),
    Mutant(
        "gateway/separator-in-slug",
        breaks="GW-10",
        ruling=4,
        text="a slug or an action may hold the separator, so a pair can be read in two ways",
        killed_by=EXPANSION + "a-name-that-would-break-a-list-is-refused[slug]",
        patch=lambda seam: seam.replace(tool_registry, "well_formed", any_text),
    ),
    Mutant(
        "gateway/registry-entry-is-skipped",
        breaks="GW-10",
        text="an entry that can not be read is left out, and whoever sent the registry is told that it is in force",
        killed_by=EXPANSION + "an-entry-that-is-none-is-refused[null]",
        patch=lambda seam: seam.wrap(Registry, "from_data", bad_entries_skipped),
    ),
    Mutant(
        "gateway/registry-entry-without-actions",
        breaks="GW-10",
        text="an entry of the registry that lost its actions is loaded as a tool that has none",
        killed_by=EXPANSION + "an-entry-that-is-none-is-refused[no actions]",
        patch=lambda seam: seam.wrap(tool_registry, "_kind", actions_are_optional),
    ),
    Mutant(
        "gateway/missing-class-is-read",
        breaks="GW-10",
        ruling=11,
        text="an action whose class nobody wrote down counts as a read",
        killed_by=EXPANSION + "an-action-without-a-class-is-a-write",
        patch=lambda seam: seam.wrap(tool_registry, "access_class", missing_is_read),
    ),
    Mutant(
        "gateway/draft-binding-counts",
        breaks="GW-20",
        text="a binding counts in any state",
        killed_by=LISTS + "one-thing-missing-and-there-is-no-tool",
        patch=lambda seam: seam.replace(tool_registry, "counts", in_any_state),
    ),
    Mutant(
        "gateway/other-org-binding-counts",
        breaks="GW-20",
        text="another organisation's binding gives this one's run a tool",
        killed_by=LISTS + "one-thing-missing-and-there-is-no-tool",
        patch=lambda seam: seam.wrap(Catalogue, "now", everybodys_bindings),
    ),
    Mutant(
        "gateway/skill-unread",
        breaks="GW-20",
        text="what is bound is listed, whether the matched skill asks for it or not",
        killed_by=LISTS + "without-a-skill-there-is-no-tool",
        patch=lambda seam: seam.wrap(tool_registry, "intersect_read_tools", without_the_skill),
    ),
    Mutant(
        "gateway/binding-class-widens-registry",
        breaks="GW-20",
        ruling=11,
        text="a binding that says read makes a write a read",
        killed_by=LISTS + "a-binding-only-narrows",
        patch=lambda seam: seam.replace(tool_registry, "narrowed", binding_decides),
    ),
    Mutant(
        "gateway/binding-class-unread",
        breaks="GW-20",
        ruling=11,
        text="a binding that says write does not narrow a read",
        killed_by=LISTS + "one-thing-missing-and-there-is-no-tool",
        patch=lambda seam: seam.replace(tool_registry, "narrowed", registry_decides),
    ),
    Mutant(
        "gateway/draft-hides-published",
        breaks="GW-20",
        text="a draft of a binding takes away what is published beside it",
        killed_by=LISTS + "two-bindings-of-one-tool-list-it-once",
        patch=lambda seam: seam.wrap(tool_registry, "intersect_read_tools", drafts_hide),
    ),
]
