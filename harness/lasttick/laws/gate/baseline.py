"""Which failures are known? `lasttick.baseline.toml`, beside the profile.

    [[known]]
    law = "lease/clock-proof"
    verdict = "fails"                     # or "flaky": it may pass too
    until = 2026-12-31                    # red from the day after
    issue = "https://tracker.example/123"
    case = "step back"                    # optional: only a failure whose reason holds these words

Pure, but for reading the file. Source: contract laws, "Files".
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from lasttick.laws.gate.errors import GateError
from lasttick.requirements import nearby

FILE = "lasttick.baseline.toml"
KnownVerdict: TypeAlias = Literal["fails", "flaky"]
VERDICTS = ("fails", "flaky")
SHAPE = (
    '[[known]] with law, verdict = "fails" or "flaky", until = DATE, issue and, if wanted, case (docs/check.md, Files)'
)


@dataclass(frozen=True, slots=True)
class Known:
    """One known failure. `until`: the last day on which it is none."""

    law: str
    verdict: KnownVerdict
    until: date
    issue: str
    case: str | None = None

    def over(self, today: date) -> bool:
        return today > self.until

    def covers(self, reason: str) -> bool:
        """Whether a failure with this reason is the known one."""
        return self.case is None or self.case in reason

    def shown(self) -> str:
        return f"known until {self.until.isoformat()}, {self.issue}"


def read_baseline(path: Path, laws: Iterable[str]) -> tuple[Known, ...]:
    """Nothing when there is no such file. `laws`: the ids that exist. Raises GateError."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise GateError(f"{path.name} cannot be read: {error}", "a TOML file", f"correct or remove {path}") from error
    return parse_baseline(text, laws, path.name)


def parse_baseline(text: str, laws: Iterable[str], name: str = FILE) -> tuple[Known, ...]:
    """Raises GateError, with the number of the entry."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number or a nesting that Python refuses is no TOMLDecodeError
        raise GateError(f"{name}: {error}", "a TOML file", f"correct {name}") from error
    entries = document.pop("known", [])
    if document or not isinstance(entries, list):
        wrong = next(iter(document), "known")
        raise GateError(f"{name}: {wrong} is no list of known failures", SHAPE, f"correct {name}")
    ids = tuple(laws)
    return tuple(_entry(entry, f"{name}: [[known]] {number}", ids) for number, entry in enumerate(entries, 1))


def _entry(entry: Any, where: str, laws: tuple[str, ...]) -> Known:
    fields = ("law", "verdict", "until", "issue", "case")
    if not isinstance(entry, Mapping):
        raise GateError(f"{where}: {entry!r} is no table", SHAPE, "write it as a table")
    for key in entry:
        if key not in fields:
            raise GateError(f"{where}: unknown key {key!r}", SHAPE, f"one of {', '.join(fields)}")
    for key in fields[:4]:
        if key not in entry:
            raise GateError(f"{where}: {key} is missing", SHAPE, f"add {key}")
    for key in ("law", "verdict", "issue", "case"):
        if not isinstance(entry.get(key, "-"), str) or not entry.get(key, "-").strip():
            raise GateError(f"{where}: {key} is {entry[key]!r}", "a text that is not empty", f"correct {key}")
    law = entry["law"]
    if law not in laws:
        near = ", ".join(nearby(law, laws, count_max=3)) or "see lasttick check --plan"
        raise GateError(f"{where}: there is no law {law!r}", "the id of a law, as in lease/exclusive", f"try {near}")
    if entry["verdict"] not in VERDICTS:
        raise GateError(f"{where}: verdict is {entry['verdict']!r}", " or ".join(VERDICTS), "correct verdict")
    until = _date(entry["until"])
    if until is None:
        raise GateError(f"{where}: until is {entry['until']!r}", "a date, as in until = 2026-12-31", "correct until")
    return Known(law, cast(KnownVerdict, entry["verdict"]), until, entry["issue"], entry.get("case"))


def _date(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, date) and not isinstance(value, datetime) else None
