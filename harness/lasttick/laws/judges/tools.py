"""Which tools may a law call, and who may use them? Only names that the profile gives away for it; pure.

A target has tools that do harm; a law calls those that a caller's `may` names, the recorder's own, under whatever name
a gateway shows them, or the one that the binding of `tools.call` names. Source: contract laws, "Callers", "Marks".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lasttick.laws.binding import names_wanted
from lasttick.laws.profiles.problems import did_you_mean
from lasttick.laws.profiles.profile import CallerSpec, Profile
from lasttick.laws.said import Said
from lasttick.laws.templates import names_in

RECORDER_TOOLS = ("ltwrite", "ltread")
ABSENT = "ltabsent"
"""A tool that no target has."""


def listed(said: Said) -> tuple[str, ...]:
    """The names in an answer of tools.list; none when it was not answered ok."""
    if not said.ok:
        return ()
    rows: Sequence[object] = said.each
    if not rows and isinstance(said.reply.body, Mapping):  # kind `tool` has its list of itself
        found = said.reply.body.get("tools")
        rows = found if isinstance(found, list) else ()
    return tuple(str(row["name"]) for row in rows if isinstance(row, Mapping) and "name" in row)


def callable_tools(profile: Profile, names: Sequence[str], route: str | None = None) -> tuple[str, ...]:
    """Of these names those that a law may call, in their order, the recorder's first."""
    binding = profile.reach("tools.call", route)
    if binding is None:
        return ()
    if "tool" not in names_wanted(binding):
        # One tool, or one address: whatever name the law says, this is what is called.
        only = binding.tool or ""
        return (only,) if not only or only in names else ()
    recorders = [name for kind in RECORDER_TOOLS for name in names if _is(name, kind)]
    named = [name for name in names if any(_is(name, own) for spec in profile.callers.values() for own in spec.may)]
    return tuple(dict.fromkeys([*recorders, *named]))


def may_use(spec: CallerSpec, tool: str) -> bool:
    """Whether the profile lets this caller use the tool; one without a list may use any."""
    return "may" not in spec.model_fields_set or any(_is(tool, own) for own in spec.may)


def unseen(profile: Profile, shown: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence for each tool in a `may` that no list shows: most often a typing error. `shown`: tools by caller.

    Nothing while a caller's list is not known, for the tool may be in that one.
    """
    speaking = [name for name, spec in profile.callers.items() if not spec.decides]
    if not speaking or any(name not in shown for name in speaking):
        return []
    names = list(dict.fromkeys(name for names in shown.values() for name in names))
    said = []
    for caller in speaking:
        for tool in profile.callers[caller].may:
            if not any(_is(name, tool) for name in names):
                near = did_you_mean(tool, names, "correct `may`, or the target")
                said.append(f"{caller} may use {tool!r}, and tools/list shows it to nobody; {near}")
    return said


def _is(listed_name: str, name: str) -> bool:
    """A gateway may show a recorder's tool under a longer name, as in `recorder__ltread`; others have their own."""
    return listed_name == name or (name in RECORDER_TOOLS and name in listed_name)


def same_credentials(one: CallerSpec, other: CallerSpec) -> bool:
    """Whether two callers present the same thing with each request: then a target cannot tell them apart by it."""
    return _presented(one) == _presented(other)


def _presented(spec: CallerSpec) -> tuple[Mapping[str, str], Mapping[str, object]]:
    return spec.headers, {name: spec.vars.get(name) for name in names_in(spec.headers)}
