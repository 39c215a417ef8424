"""What a run of the laws must show again: `lasttick.scope`, beside the profile, committed and sorted.

    law lease/exclusive cases=4 judged=effects
    policy lease.busy=refuses

A law that is not run, shows less, or is held to another policy is seen here, and in review. Pure, but for reading and
writing the file. Source: contract laws, "Files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasttick.laws.gate.errors import GateError
from lasttick.laws.profiles.profile import VERBS, Profile

FILE = "lasttick.scope"
HEADER = "# What lasttick check must show again. Written by lasttick check --write-scope; commit it."
JUDGES = ("answers", "effects")
"""What a verdict rests on, the weaker one first."""
LAW_LINE = re.compile(r"law (\S+) cases=([0-9]{1,9}) judged=(\S+)")
POLICY_LINE = re.compile(r"policy ([a-z_.]+)=(.*)")
SHAPE = '"law ID cases=NUMBER judged=effects|answers" or "policy KEY=VALUE" (docs/check.md, Files)'
POLICY = {
    "lease": (
        "busy",
        "ttl_s",
        "renewed_by",
        "in_flight",
        "session_end",
        "capacity",
        "restart",
        "tolerance_s",
        "lag_s",
    ),
    "approval": ("timeout_s", "on_timeout", "restart", "tolerance_s", "lag_s"),
    "tools": ("foreign", "volatile", "lag_s"),
    "session": ("of", "vars", "lag_s"),
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What a law must show: at least so many cases, judged at least so well."""

    cases: int
    judged: str


@dataclass(frozen=True, slots=True)
class Scope:
    """`laws` and `policy` by id and key, sorted."""

    laws: Mapping[str, Promise] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The file, with a last line end."""
        laws = [f"law {id_} cases={law.cases} judged={law.judged}" for id_, law in sorted(self.laws.items())]
        policy = [f"policy {key}={value}" for key, value in sorted(self.policy.items())]
        return "\n".join([HEADER, *laws, *policy, ""])


def read_scope(path: Path) -> Scope | None:
    """None when there is no such file. Raises GateError for a line that says nothing, or says it twice."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise GateError(f"{path.name} cannot be read: {error}", "a text file", f"correct or remove {path}") from error
    return parse_scope(text, path.name)


def parse_scope(text: str, name: str = FILE) -> Scope:
    """Raises GateError."""
    laws: dict[str, Promise] = {}
    policy: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        law, declared = LAW_LINE.fullmatch(line), POLICY_LINE.fullmatch(line)
        key = law[1] if law else declared[1] if declared else None
        if key is None or (law and law[3] not in JUDGES):
            raise GateError(f"{name}:{number}: {line[:200]!r}", SHAPE, "run lasttick check --write-scope")
        if key in laws or key in policy:
            raise GateError(f"{name}:{number}: {key} occurs twice", "every law and key once", "remove one of the lines")
        if law:
            laws[key] = Promise(int(law[2]), law[3])
        elif declared:
            policy[key] = declared[2]
    return Scope(laws, policy)


def policy_of(profile: Profile) -> dict[str, str]:
    """Every declared policy of the sections that bind a verb or say anything, defaults included, sorted by key.

    Tolerances and lags are in it: a larger one lets more pass.
    """
    found = {"lag_s": _shown(profile.lag_s)}
    bound = profile.bound_verbs()
    for section, keys in POLICY.items():
        part = getattr(profile, section)
        if part.model_fields_set or any(verb.startswith(f"{section}.") for verb in bound):
            found.update(
                (f"{section}.{key}", _shown(value)) for key in keys if (value := getattr(part, key)) not in (None, ())
            )
    for verb in VERBS:
        if verb in bound and (lag_s := bound[verb].lag_s) is not None:
            found[f"{verb}.lag_s"] = _shown(lag_s)
    return dict(sorted(found.items()))


def policy_differences(scope: Scope, policy: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each key that the profile now says otherwise, no longer, or on top."""
    for key in sorted({**scope.policy, **policy}):
        before, today = scope.policy.get(key), policy.get(key)
        if before != today:
            yield f"{key}: the scope says {before or 'nothing'}, the profile {today or 'nothing'}"


def weaker(promise: Promise, cases: int, judged: str) -> str:
    """What a pass lacks of its promise, as a sentence; "" when it keeps it."""
    if cases < promise.cases:
        return f"it judged {cases} cases and the scope promises {promise.cases}"
    if JUDGES.index(judged) < JUDGES.index(promise.judged):
        return f"it was judged by {judged} and the scope promises {promise.judged}"
    return ""


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(value) if isinstance(value, list | tuple) else str(value)
