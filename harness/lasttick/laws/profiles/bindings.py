"""Does each binding make sense by itself? Keys that fit its kind, addresses, pointers, conditions, words.

Source: contract laws, "Binding".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.problems import Problem, Source, did_you_mean, shown
from lasttick.laws.profiles.profile import READING, Condition, Outcomes, Profile, Reach
from lasttick.laws.profiles.sites import KINDS, Site, sites

WRITTEN = "docs/check.md, Binding"
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYS_OF: Mapping[str, tuple[str, ...]] = {
    "tool": ("args", "meta"),
    "http": ("query", "headers", "json_", "form"),
    "run": ("env", "stdin"),
    "python": ("args",),
}
STATES: Mapping[str, tuple[str, ...]] = {
    "approval.outcome": ("approved", "denied", "expired", "pending"),
    "lease.holder": ("held", "free"),
}
SAY = ("approve", "deny")
_HTTP = re.compile(r"[A-Z]+ (?:/|https?://|\{[A-Za-z_][A-Za-z0-9_]*\})\S*")
_PYTHON = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


def check_bindings(profile: Profile, source: Source) -> Iterator[Problem]:
    yield from _outcomes(("outcomes",), profile.outcomes, source)
    for site in sites(profile):
        yield from _keys(site, profile, source)
        yield from _address(site, source)
        yield from headers(site.path, site.part.headers, source)
        yield from environment(site.path, site.part.env, source)
        yield from _outputs(site, source)
        yield from _outcomes((*site.path, "outcomes"), site.part.outcomes, source)
        yield from _words(site, source)
        if site.poll is not None:
            yield from _until(site, site.poll.until, source)


def headers(path: Path, values: Mapping[str, str], source: Source) -> Iterator[Problem]:
    for name, value in values.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value.strip()):
            yield source.problem(
                (*path, "headers", name),
                f"header {shown(name)} can not be sent: {'its value' if _HEADER_NAME.fullmatch(name) else 'its name'} "
                "has a character that headers may not have",
                "letters, digits and - in the name, one line as the value (RFC 9110, 5.5)",
                "correct it; a variable may hold a line end",
            )


def environment(path: Path, values: Mapping[str, str], source: Source) -> Iterator[Problem]:
    for name in values:
        if not name or "=" in name:
            yield source.problem(
                (*path, "env", name),
                f"env has the name {shown(name)}",
                "the name of an environment variable, without =",
                "correct it",
            )


def _keys(site: Site, profile: Profile, source: Source) -> Iterator[Problem]:
    part: Reach | None = site.part
    if site.part.same is not None:
        part = profile.reach(site.verb, site.route)
    kind = next((kind for kind in KINDS if part is not None and getattr(part, kind) is not None), None)
    if kind is None:
        return
    for key in sorted({key for keys in KEYS_OF.values() for key in keys} - set(KEYS_OF[kind])):
        if key in site.part.model_fields_set:
            owners = [owner for owner, keys in KEYS_OF.items() if key in keys]
            name = key.removesuffix("_")
            yield source.problem(
                (*site.path, name),
                f"{site.verb} is of kind {kind} and has {name}",
                f"{name} only with {' or '.join(owners)} ({WRITTEN})",
                f"take {name} out, or say {owners[0]}",
            )
    if {"json_", "form"} <= site.part.model_fields_set:
        yield source.problem(
            site.path,
            f"{site.verb} has json and form",
            f"one body at most ({WRITTEN})",
            "take out the one or the other",
        )


def _address(site: Site, source: Source) -> Iterator[Problem]:
    http, python = site.part.http, site.part.python
    if http is not None and not _HTTP.fullmatch(http):
        yield source.problem(
            (*site.path, "http"),
            f"http is {source.shown((*site.path, 'http'))}",
            f'"METHOD /path" or "METHOD http://host/path", without spaces in it ({WRITTEN})',
            'correct it, as in http = "POST /v1/leases"',
        )
    if python is not None and not _PYTHON.fullmatch(python):
        yield source.problem(
            (*site.path, "python"),
            f"python is {source.shown((*site.path, 'python'))}",
            f'"module:Class.method" ({WRITTEN})',
            'correct it, as in python = "lab.hooks:Lab.acquire"',
        )


def _outputs(site: Site, source: Source) -> Iterator[Problem]:
    for name, pointer in site.part.out.items():
        path = (*site.path, "out", name)
        yield from _pointer(path, pointer, source.shown(path), source)
        if not IDENTIFIER.fullmatch(name):
            yield source.problem(
                path, f"out has the name {shown(name)}", "letters, digits and _, as a template takes them", "rename it"
            )
    binding = site.binding
    if binding is None or binding.each is None:
        return
    path = (*site.path, "each")
    yield from _pointer(path, binding.each, source.shown(path), source)
    if site.verb not in READING:
        yield source.problem(
            path,
            f"{site.verb} has each",
            f"each only where a list is read: {', '.join(READING)} ({WRITTEN})",
            "take it out, and point out at the one answer",
        )


def _pointer(path: Path, pointer: str, written: str, source: Source) -> Iterator[Problem]:
    if not _POINTER.fullmatch(pointer):
        yield source.problem(
            path,
            f"{written} is no JSON pointer",
            'the empty text, or one that begins with "/", with ~ written as ~0 and / in a name as ~1 (RFC 6901)',
            'correct it, as in "/body/lease/id"',
        )


def _outcomes(path: Path, outcomes: Outcomes, source: Source) -> Iterator[Problem]:
    for outcome, conditions in outcomes.items():
        for index, condition in enumerate(conditions):
            yield from _condition((*path, outcome, index), condition, source)


def _until(site: Site, until: Sequence[Condition], source: Source) -> Iterator[Problem]:
    if not until:
        yield source.problem(
            site.path,
            f"the poll of {site.verb} has no until",
            f"conditions of which one ends it ({WRITTEN})",
            'add, for one, until = [{ "/body/state" = "done" }]',
        )
    for index, condition in enumerate(until):
        yield from _condition((*site.path, "until", index), condition, source)


def _condition(path: Path, condition: Condition, source: Source) -> Iterator[Problem]:
    if not condition:
        yield source.problem(
            path,
            "this condition is empty",
            f"at least one pointer ({WRITTEN}); an empty one is always true",
            "fill it in",
        )
    for pointer, wanted in condition.items():
        here = (*path, pointer)
        yield from _pointer(here, pointer, shown(pointer), source)
        if (wrong := _wrong_value(wanted)) is not None:
            yield source.problem(
                here,
                f"{pointer} is asked for {source.shown(here)}{wrong}",
                f'a value, a list of values, {{ match = "regex" }} or {{ exists = true }} ({WRITTEN})',
                "correct the condition",
            )


def _wrong_value(wanted: Any) -> str | None:
    """What is wrong with the value of a condition, to be read after it; None when nothing is."""
    if isinstance(wanted, list):
        return None if wanted and all(_is_scalar(value) for value in wanted) else ""
    if not isinstance(wanted, Mapping):
        return None
    if set(wanted) == {"exists"} and isinstance(wanted["exists"], bool):
        return None
    if set(wanted) != {"match"} or not isinstance(wanted["match"], str):
        return ""
    try:
        re.compile(wanted["match"])
    except (re.error, RecursionError, OverflowError) as error:
        return f", and that is no regular expression: {error}"
    return None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _words(site: Site, source: Source) -> Iterator[Problem]:
    """`say` and `states`: only where they are read, and with the words that are."""
    if site.binding is None:
        return
    say_of = SAY if site.verb == "approval.decide" else ()
    yield from _named("say", site, site.binding.say, say_of, "approval.decide", source)
    if say_of and site.binding.say and len(site.binding.say) < len(SAY):
        yield source.problem(
            (*site.path, "say"), "say has one word only", f"both approve and deny ({WRITTEN})", "add the other"
        )
    yield from _named("states", site, site.binding.states, STATES.get(site.verb, ()), " and ".join(STATES), source)


def _named(
    key: str, site: Site, table: Mapping[str, Any], known: Sequence[str], owners: str, source: Source
) -> Iterator[Problem]:
    for name in table:
        if name not in known:
            what = f"{key} has {shown(name)}" if known else f"{site.verb} has {key}"
            expected = f"{key} with {', '.join(known)}" if known else f"{key} only at {owners}"
            next_step = did_you_mean(name, known, f"take {name} out" if known else f"take {key} out")
            yield source.problem((*site.path, key, name), what, f"{expected} ({WRITTEN})", next_step)
