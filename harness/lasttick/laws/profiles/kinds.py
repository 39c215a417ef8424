"""Is each verb bound in exactly one way, by a `same` that leads somewhere? Source: contract laws, "Binding".

The other rules follow `same`, so they run only when nothing is wrong here.
"""

from __future__ import annotations

from collections.abc import Iterator

from lasttick.laws.profiles.problems import Problem, Source, did_you_mean
from lasttick.laws.profiles.profile import VERBS, Profile
from lasttick.laws.profiles.sites import KINDS, Site, sites

WRITTEN = "docs/check.md, Binding"


def check_kinds(profile: Profile, source: Source) -> Iterator[Problem]:
    for site in sites(profile):
        yield from _one_kind(site, source)
        if site.part.same is not None and site.poll is None:
            yield from _same(site, site.part.same, profile, source)


def _one_kind(site: Site, source: Source) -> Iterator[Problem]:
    is_poll = site.poll is not None
    choices = KINDS if is_poll else (*KINDS, "same", "absent")
    name = f"the poll of {site.verb}" if is_poll else site.verb
    expected = f"exactly one of {', '.join(choices)} ({WRITTEN})"
    said = [kind for kind in (*KINDS, "same", "absent") if getattr(site.part, kind) is not None]
    if len(said) != 1:
        what = f"{name} has {' and '.join(said)}" if said else f"{name} does not say how it is reached"
        next_step = f"keep one of {' and '.join(said)}" if said else 'write, for one, http = "POST /path"'
        yield source.problem(site.path, what, expected, next_step)
    elif said[0] not in choices:
        yield source.problem(
            (*site.path, said[0]), f"{name} has {said[0]}", expected, "say in the poll itself what it asks"
        )
    elif not getattr(site.part, said[0]) or site.part.run == [""]:
        yield source.problem(
            (*site.path, said[0]),
            f"{said[0]} of {name} is empty",
            f"{_wants(said[0])} ({WRITTEN})",
            f"fill in {said[0]}",
        )
    elif said == ["absent"] and (more := sorted(site.part.model_fields_set - {"absent"})):
        yield source.problem(
            site.path,
            f"{name} is absent, and has {', '.join(more)}",
            f"nothing beside absent ({WRITTEN})",
            "take out the one or the other",
        )


def _wants(kind: str) -> str:
    return {"run": "a program and its arguments", "absent": "the reason", "same": "a verb, as in session.end"}.get(
        kind, "a text that is not empty"
    )


def _same(site: Site, verb: str, profile: Profile, source: Source) -> Iterator[Problem]:
    path = (*site.path, "same")

    def problem(what: str, next_step: str) -> Problem:
        return source.problem(path, what, f"the name of another verb that is bound ({WRITTEN})", next_step)

    if not verb:
        return
    if verb not in VERBS:
        yield problem(
            f"same is {source.shown(path)}, which is no verb",
            did_you_mean(verb, VERBS, f"use one of {', '.join(VERBS)}"),
        )
        return
    seen = [site.verb]
    while verb not in seen:
        seen.append(verb)
        binding = profile.bound(verb, site.route)
        if binding is None and not profile.implied(verb, site.route):
            yield problem(f"{site.verb} is the same as {verb}, which is not bound", f"bind {verb}")
            return
        if binding is not None and binding.absent is not None:
            yield problem(f"{site.verb} is the same as {verb}, which is absent", "say absent here too")
            return
        if binding is None or binding.same is None or binding.same not in VERBS:
            return
        verb = binding.same
    yield problem(f"{' is the same as '.join([*seen, verb])}: that is a circle", "say of one of them how it is reached")
