"""Will every `{name}` of a profile have a value, and does every effect carry a mark?

A name is an input of a verb (`RESERVED`), an `out` of the same section or of the session, a var of a caller, or one of
`[vars]`. Source: contract laws, "Templates" and "Marks".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lasttick.laws.profiles.bindings import IDENTIFIER
from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.problems import Problem, Source, did_you_mean, shown
from lasttick.laws.profiles.profile import MARKED, Profile
from lasttick.laws.profiles.sites import Site, filled, sites
from lasttick.laws.templates import names_in

RESERVED = (
    "resource",
    "ttl_s",
    "ttl_ms",
    "hold_s",
    "hold_ms",
    "timeout_s",
    "timeout_ms",
    "seconds_s",
    "seconds_ms",
    "mark",
    "mark_number",
    "tool",
    "id",
    "decision",
    "source",
    "url",
)
"""Inputs of verbs, by their names in templates."""
MARKS = ("mark", "mark_number")
WRITTEN = "docs/check.md, Templates"


def check_names(profile: Profile, source: Source) -> Iterator[Problem]:
    everywhere = list(sites(profile))
    vars_ = [*(name for caller in profile.callers.values() for name in caller.vars), *profile.vars]
    for site in everywhere:
        outs = [name for other in everywhere if other.section in (site.section, "session") for name in other.part.out]
        for key, value in filled(site.part).items():
            yield from _names((*site.path, key), value, _once(RESERVED, outs, vars_), source)
    yield from _names(("source", "index"), profile.source.index, ("url", *profile.vars), source)
    for name, caller in profile.callers.items():
        for key, table in (("headers", caller.headers), ("env", caller.env)):
            yield from _names(("callers", name, key), table, _once(caller.vars, profile.vars), source)
        yield from _vars(("callers", name, "vars"), caller.vars, source)
    yield from _vars(("vars",), profile.vars, source)
    for site in everywhere:
        yield from _mark(site, profile, source)


def _once(*groups: Any) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))


def _names(path: Path, value: Any, known: Sequence[str], source: Source) -> Iterator[Problem]:
    for place, text in _texts(path, value):
        for name in names_in(text):
            if name not in known:
                listed = ", ".join(known) or "no name: there are no vars"
                yield source.problem(
                    place,
                    f"{{{name}}} is a name that nothing gives a value to",
                    f"one of {listed} ({WRITTEN})",
                    did_you_mean(
                        name, known, f"add it to out or vars, or write {{{{{name}}}}} for the braces themselves"
                    ),
                )


def _texts(path: Path, value: Any) -> Iterator[tuple[Path, str]]:
    """Every text in `value`, with its place. The nesting is bounded when the file is read."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts((*path, index), item)


def _vars(path: Path, table: dict[str, Any], source: Source) -> Iterator[Problem]:
    for name, value in table.items():
        here = (*path, name)
        if not IDENTIFIER.fullmatch(name):
            yield source.problem(
                here,
                f"a var has the name {shown(name)}",
                "letters, digits and _, as a template takes them",
                "rename it",
            )
        if isinstance(value, dict) and "run" in value:
            yield from _run(here, value, source)
        elif names := names_in(value):
            yield source.problem(
                here,
                f"the var {name} has {{{names[0]}}} in it, and vars are put in as they are",
                f"a value without names ({WRITTEN})",
                "write the template where the var is used",
            )


def _run(path: Path, value: dict[str, Any], source: Source) -> Iterator[Problem]:
    argv = value["run"]
    is_argv = isinstance(argv, list) and argv and all(isinstance(part, str) and "\0" not in part for part in argv)
    if not is_argv or not argv[0] or len(value) > 1:
        yield source.problem(
            path,
            f"{path[-1]} is {source.shown(path)}",
            f'only run, with a program and its arguments: {{ run = ["lab", "token"] }} ({WRITTEN})',
            f"correct {path[-1]}",
        )


def _mark(site: Site, profile: Profile, source: Source) -> Iterator[Problem]:
    if site.verb not in MARKED or site.binding is None or profile.reach("effects", site.route) is None:
        return
    reached = profile.reach(site.verb, site.route)
    if reached is None or any(mark in names_in(filled(reached)) for mark in MARKS):
        return
    yield source.problem(
        site.path,
        f"{site.verb} places no {{mark}}",
        "{mark} or {mark_number} in what it sends, since effects are found by it (docs/check.md, Marks)",
        'put it into an argument that reaches the resource, or say effects = { absent = "reason" }',
    )
