"""How is a person told what is wrong with a profile? Every problem, with file, line and verb."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from lasttick.laws.profiles.lines import line_of
from lasttick.laws.profiles.profile import VERBS

SHOWN_MAX = 20
VALUE_CHARS_MAX = 80
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Problem:
    """`where` is `lasttick.toml:41 ([lease.acquire] out.lease)`."""

    where: str
    what: str
    expected: str
    next_step: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.where}: {self.what}\n  expected: {self.expected}\n  next: {self.next_step}"


class ProfileError(Exception):
    """A profile that can not be used: every problem with its place, what was expected, and what to do next."""

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        shown = [str(problem) for problem in self.problems[:SHOWN_MAX]]
        if len(problems) > SHOWN_MAX:
            shown.append(f"and {len(problems) - SHOWN_MAX} more")
        super().__init__("\n".join(shown))


@dataclass(frozen=True, slots=True)
class Source:
    """A profile as it was written: what messages quote, so that none shows a secret that was put in."""

    name: str
    text: str
    raw: dict[str, Any] = field(default_factory=dict)

    def where(self, path: Sequence[str | int]) -> str:
        return where(self.name, self.text, path)

    def shown(self, path: Sequence[str | int]) -> str:
        """The value at `path` as it stands in the file, short."""
        found: Any = self.raw
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return "not there"
        return shown(found)

    def problem(self, path: Sequence[str | int], what: str, expected: str, next_step: str) -> Problem:
        return Problem(self.where(path), what, expected, next_step, line_of(self.text, path) or 0)


def where(name: str, text: str, path: Sequence[str | int]) -> str:
    """`lasttick.toml:41 ([lease.acquire] out.lease)`: the line of the key, or of the nearest table that is there."""
    line = line_of(text, path)
    place = name if line is None else f"{name}:{line}"
    return f"{place} ({label(path)})" if path else place


def label(path: Sequence[str | int]) -> str:
    """`[lease.acquire] out.lease`: the table that a person looks for, then the key in it."""
    depth = _table_depth(path)
    table = f"[{'.'.join(map(str, path[:depth]))}]"
    key = ""
    for part in path[depth:]:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return f"{table} {key}" if key else table


def _table_depth(path: Sequence[str | int]) -> int:
    if path[0] == "routes":
        return min(len(path), 2) + (_table_depth(path[2:]) if len(path) > 2 else 0)
    is_verb = ".".join(map(str, path[:2])) in VERBS
    return 2 if len(path) > 1 and (is_verb or path[0] == "callers") else 1


def shown(value: Any) -> str:
    """A value as it may stand in a message: on one line, printable, never long, also when a part of it is deep."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 3] + "..."


def did_you_mean(word: str, known: Sequence[str], otherwise: str) -> str:
    """The next step after a word that is not known."""
    near = get_close_matches(word, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else otherwise
