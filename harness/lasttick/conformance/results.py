"""What did a run of the suite show? Its `checks.json` files, read and judged; never its coloured text.

A scenario fails when a check of it does. One that must pass and has nothing checked does not pass either: the suite
counts it as passed. Known failures are named in a baseline with their reason, a scenario or one check of it; one that
passes now, or that the suite does not have, makes the baseline stale. Source: contract mcp_conformance, section 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = re.compile(r"server-(?P<name>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
SHOWN_MAX = 300


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a `checks.json`. `status`: SUCCESS, FAILURE, WARNING, INFO or SKIPPED."""

    id: str
    status: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scenario of one run. `verdict`: pass, fail, known (failed as the baseline says), nothing, stale or absent."""

    name: str
    required: bool
    verdict: str
    reason: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.required or self.verdict in ("pass", "known")

    def as_json(self) -> dict[str, Any]:
        counts = {status: len([1 for check in self.checks if check.status == status]) for status in _statuses(self)}
        bad = [check for check in self.checks if check.status in ("FAILURE", "WARNING")]
        failures = [{"id": check.id, "status": check.status, "message": check.message} for check in bad]
        return {
            "name": self.name,
            "required": self.required,
            "verdict": self.verdict,
            "reason": self.reason,
            "checks": counts,
            "failures": failures,
        }


def _statuses(outcome: Outcome) -> list[str]:
    return sorted({check.status for check in outcome.checks})


def read(folder: Path) -> dict[str, tuple[Check, ...]]:
    """Scenario -> its checks, from the folder that a run left."""
    found = {}
    for file in sorted(folder.glob("*/checks.json")):
        if (name := FOLDER.fullmatch(file.parent.name)) is not None:
            found[name["name"]] = tuple(_check(row) for row in json.loads(file.read_text(encoding="utf-8")))
    return found


def _check(row: Mapping[str, Any]) -> Check:
    message = " ".join(str(row.get("errorMessage") or "").split())
    return Check(str(row.get("id")), str(row.get("status")), message[:SHOWN_MAX])


def judge(
    found: Mapping[str, Sequence[Check]], required: Collection[str], known: Mapping[str, str], listed: Collection[str]
) -> list[Outcome]:
    """The outcome of every scenario that ran or had to, in order of name.

    `known`: scenario, or scenario:check -> why it fails; `listed`: what the suite says it has.
    """
    outcomes = [_outcome(name, tuple(found[name]), name in required, known) for name in sorted(found)]
    outcomes += [
        Outcome(name, True, "absent", "it is required, and the run did not play it")
        for name in sorted(required)
        if name not in found
    ]
    for entry in sorted(known):
        if entry.partition(":")[0] not in listed:
            outcomes.append(Outcome(entry, True, "stale", "the baseline names it, and the suite has no such scenario"))
    return outcomes


def _outcome(name: str, checks: tuple[Check, ...], required: bool, known: Mapping[str, str]) -> Outcome:
    failed = [check for check in checks if check.status == "FAILURE"]
    excused = {entry.partition(":")[2] for entry in known if entry.partition(":")[0] == name}
    stale = sorted(excused - {check.id for check in failed}) if excused != {""} else []
    if name in known:
        if failed:
            return Outcome(name, required, "known", known[name], checks)
        return Outcome(name, True, "stale", "the baseline says that it fails, and it passes", checks)
    if stale:
        return Outcome(name, True, "stale", f"the baseline says that {stale[0]} fails, and it does not", checks)
    new = [check for check in failed if check.id not in excused]
    if new:
        return Outcome(name, required, "fail", f"{new[0].id}: {new[0].message}", checks)
    if failed:
        return Outcome(name, required, "known", known[f"{name}:{failed[0].id}"], checks)
    if not any(check.status == "SUCCESS" for check in checks):
        return Outcome(name, required, "nothing", "nothing was checked", checks)
    return Outcome(name, required, "pass", "", checks)
