"""Is it clear where the target is, who speaks to it, and what it promises?

Source: contract laws, "Declared policy" and "Callers".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from lasttick.laws.profiles.bindings import environment, headers
from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.problems import Problem, Source, did_you_mean, shown
from lasttick.laws.profiles.profile import VERBS, ApprovalVerbs, LeaseVerbs, Profile
from lasttick.laws.profiles.sites import sites
from lasttick.laws.templates import names_in
from lasttick.model.address import is_listed, is_loopback

POLICY = "docs/check.md, Policy"
CALLERS = "docs/check.md, Callers"
TERM_S_MIN = 1.5
TOLERANCES_MIN = 8
_SHORT_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


def check_promises(profile: Profile, source: Source) -> Iterator[Problem]:
    yield from _target(profile, source)
    yield from _callers(profile, source)
    yield from _routes(profile, source)
    yield from _route_lags(profile, source)
    yield from _sessions(profile, source)
    yield from _sources(profile, source)
    yield from _volatile(profile, source)
    yield from _lease(profile, source)
    yield from _term("approval", "timeout_s", profile.approval.timeout_s, profile.approval, profile, source)


def _sources(profile: Profile, source: Source) -> Iterator[Problem]:
    """What is looked for elsewhere, and what leads there."""
    given = {"add": ("credential", 'credential = "${NAME}"'), "follow": ("index", 'index = { url = "{url}" }')}
    for verb, (key, example) in given.items():
        if profile.reach(f"source.{verb}") is not None and getattr(profile.source, key) is None:
            yield source.problem(
                ("source",), f"{key} is missing", f"{key}, where source.{verb} is bound ({POLICY})", f"add {example}"
            )


def _sessions(profile: Profile, source: Source) -> Iterator[Problem]:
    known = [*profile.vars, *(name for caller in profile.callers.values() for name in caller.vars)]
    for index, name in enumerate(profile.session.vars):
        if name not in known:
            yield source.problem(
                ("session", "vars", index),
                f"session.vars has {shown(name)}, which is no var",
                f"the name of a var, of a caller or of [vars] ({POLICY})",
                did_you_mean(name, known, f"add {name} to vars, or take it out"),
            )


def _volatile(profile: Profile, source: Source) -> Iterator[Problem]:
    for index, pointer in enumerate(profile.tools.volatile):
        if not pointer.startswith("/"):
            yield source.problem(
                ("tools", "volatile", index),
                f"volatile has {shown(pointer)}",
                f'a pointer into an answer, as in "/headers/x-served-by" ({POLICY})',
                "correct it",
            )


def _target(profile: Profile, source: Source) -> Iterator[Problem]:
    target = profile.target
    if target.url is not None and target.command is not None:
        yield source.problem(
            ("target",), "[target] has url and command", "one of them (docs/check.md, Binding)", "take out the other"
        )
    if target.command is not None and not (target.command and target.command[0]):
        yield source.problem(
            ("target", "command"), "command is empty", "a program and its arguments", "fill it in, or write url"
        )
    yield from environment(("target",), target.env, source)
    for index, entry in enumerate(target.allow_hosts):
        if not re.fullmatch(r"[^\s/@]+", entry):
            yield source.problem(
                ("target", "allow_hosts", index),
                f"allow_hosts has {shown(entry)}",
                'a host, or host and port, as in "lab" or "lab:4700"',
                "correct it",
            )
    if target.url is not None:
        yield from _url(("target", "url"), target.url, profile, source)
    if target.url is None:
        yield from _needs_target(profile, source)
    for site in sites(profile):
        url = (site.part.http or "").partition(" ")[2]
        if url.startswith(("http://", "https://")) and not names_in(re.split("[/?#]", url, maxsplit=3)[2]):
            yield from _url((*site.path, "http"), url, profile, source)


def _needs_target(profile: Profile, source: Source) -> Iterator[Problem]:
    """The first verb that cannot be reached without an address says so for all."""
    for site in sites(profile):
        url = (site.part.http or "").partition(" ")[2]
        if site.part.tool is not None and profile.target.command is None:
            needs = "url or command"
        elif url and not url.startswith(("http://", "https://")):
            needs = "url"
        else:
            continue
        yield source.problem(
            ("target",),
            f"{site.verb} ({source.where(site.path)}) needs [target] {needs}, which is not there",
            'url = "http://host:port/mcp", or command = ["program"] for MCP over stdio (docs/check.md, Binding)',
            "add it to [target]",
        )
        return


def _url(path: Path, url: str, profile: Profile, source: Source) -> Iterator[Problem]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)
    except ValueError:
        host = port = None
    if host is None or not re.fullmatch(r"https?://[!-~]+", url) or (names_in(url) and path[0] == "target"):
        yield source.problem(
            path,
            f"{path[-1]} is {source.shown(path)}, which is no address",
            "http://host or https://host, with a port from 0 to 65535 or none, in ASCII and without names in braces",
            "correct it",
        )
    elif parts.username is not None or parts.password is not None:
        yield source.problem(
            path,
            f"{path[-1]} has a user or password in it",
            "an address without credentials, which logs would show",
            'put them into the headers of a caller: Authorization = "${NAME}"',
        )
    elif not is_loopback(host) and not is_listed(host, port, profile.target.allow_hosts):
        yield source.problem(
            path,
            f"{host} is not this machine",
            "a loopback address, or a host of [target] allow_hosts: a check acts on what it is pointed at",
            f'if it may be acted on, add allow_hosts = ["{host}"] to [target]',
        )


def _callers(profile: Profile, source: Source) -> Iterator[Problem]:
    if not profile.callers:
        yield source.problem(
            ("callers",),
            "there is no caller",
            f"at least one [callers.NAME] ({CALLERS})",
            'add [callers.alice] with, for one, headers = { Authorization = "Bearer ${TOKEN}" }',
        )
    for name, caller in profile.callers.items():
        path: Path = ("callers", name)
        yield from _short_word("caller", path, source)
        yield from headers(path, caller.headers, source)
        yield from environment(path, caller.env, source)
        if caller.route is not None and caller.route not in profile.routes:
            routes = list(profile.routes)
            yield source.problem(
                (*path, "route"),
                f"{name} uses the route {source.shown((*path, 'route'))}, which is not there",
                f"one of {', '.join(routes)}" if routes else f"a table [routes.NAME.verb] ({CALLERS})",
                did_you_mean(caller.route, routes, "add the route, or take it out"),
            )


def _routes(profile: Profile, source: Source) -> Iterator[Problem]:
    for name, route in profile.routes.items():
        yield from _short_word("route", ("routes", name), source)
        for section in ("session", "tools", "lease", "approval", "source", "clock", "system"):
            table = getattr(route, section)
            for key in sorted(table.model_fields_set):
                if f"{section}.{key}" not in VERBS:
                    yield source.problem(
                        ("routes", name, section, key),
                        f"the route {name} has {section}.{key}",
                        f"only verbs on a route: the policy is one for all ({POLICY})",
                        f"move {key} to [{section}]",
                    )


def _route_lags(profile: Profile, source: Source) -> Iterator[Problem]:
    """A lag is of the target, whichever way it is asked."""
    for site in sites(profile):
        if site.route is not None and site.binding is not None and site.binding.lag_s is not None:
            yield source.problem(
                (*site.path, "lag_s"),
                f"the route {site.route} has a lag_s at {site.verb}",
                f"no lag_s on a route: it is one for all ({POLICY})",
                f"move lag_s to [{site.verb}], or to its section",
            )


def _short_word(what: str, path: Path, source: Source) -> Iterator[Problem]:
    if not _SHORT_WORD.fullmatch(str(path[-1])):
        yield source.problem(
            path,
            f"a {what} has the name {shown(path[-1])}",
            "a short plain word, up to 32 letters, digits, - and _: it is a part of marks and reports",
            "rename it",
        )


def _lease(profile: Profile, source: Source) -> Iterator[Problem]:
    lease = profile.lease
    yield from _term("lease", "ttl_s", lease.ttl_s, lease, profile, source)
    if lease.renewed_by is None and _is_bound("lease", profile):
        yield source.problem(
            ("lease",),
            "renewed_by is missing",
            f"a list of use, renew and acquire; an empty one if nothing renews ({POLICY})",
            'add, for one, renewed_by = ["use"] to [lease]',
        )
    names: Sequence[str] = lease.resources
    for index, name in enumerate(names):
        if not name or name in names[:index]:
            yield source.problem(
                ("lease", "resources", index),
                f"resources has {shown(name)}{' twice' if name else ''}",
                "each resource once, by its name",
                "take it out",
            )


def _term(
    section: str, key: str, term_s: float | None, policy: LeaseVerbs | ApprovalVerbs, profile: Profile, source: Source
) -> Iterator[Problem]:
    """How long a lease or a request lives must be said, and be long enough to be measured."""
    if not _is_bound(section, profile):
        return
    least_s = max(TERM_S_MIN, TOLERANCES_MIN * policy.tolerance_s)
    expected = f"at least {TERM_S_MIN:g} s and {TOLERANCES_MIN} times tolerance_s, here {least_s:g} s ({POLICY})"
    if term_s is None:
        yield source.problem(
            (section,), f"{key} is missing", expected, f"add {key} = 60, or what it is, to [{section}]"
        )
    elif term_s < least_s:
        yield source.problem(
            (section, key),
            f"{key} is {term_s:g}, too short to be measured",
            expected,
            f"let the target run with a longer one, or lower tolerance_s in [{section}] if its answers are fast",
        )


def _is_bound(section: str, profile: Profile) -> bool:
    return any(site.section == section and site.part.absent is None for site in sites(profile))
