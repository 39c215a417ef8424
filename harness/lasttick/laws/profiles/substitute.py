"""Which values come from outside the file? `${NAME}` and `${NAME:-default}` in texts, replaced when it is loaded.

A value that is sent to the target and has no default is a secret: it is redacted, and searched for in replies. What has
a default, or only says where the target is and what it promises (`[target] url`, `ttl_s`), is a setting. `$${` is a
literal `${`. Source: contract laws, "Templates".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lasttick.laws.profiles.lines import Path
from lasttick.laws.profiles.problems import Problem, Source
from lasttick.laws.profiles.profile import VERBS
from lasttick.laws.templates import names_in

_VARIABLE = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?")
WRITTEN = "docs/check.md, Templates"
_SENT = ("callers", "vars", "routes", "effects", "log")
_SENT_TOO = (("target", "env"), ("target", "command"), ("source", "credential"), ("source", "index"))


class Substitution:
    """One pass over a parsed file. Afterwards `secrets` has what was put in, and `problems` what could not be."""

    def __init__(self, source: Source, environ: Mapping[str, str]) -> None:
        self.secrets: dict[str, str] = {}
        self.problems: list[Problem] = []
        self._source = source
        self._environ = environ
        self._told: set[str] = set()

    def apply(self, value: Any, path: Path = ()) -> Any:
        """A copy of `value` with every variable replaced. The nesting must be bounded already."""
        if isinstance(value, str):
            return _VARIABLE.sub(lambda match: self._one(match, path), value)
        if isinstance(value, dict):
            return {key: self.apply(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.apply(item, (*path, index)) for index, item in enumerate(value)]
        return value

    def _one(self, match: re.Match[str], path: Path) -> str:
        name, default = match.groups()
        if match.group() == "$${":
            return "${"
        if name is None:
            self._tell(
                path,
                f"${{ begins no variable in {self._source.shown(path)}",
                f"${{NAME}} or ${{NAME:-default}}, the default without braces ({WRITTEN})",
                "correct it, or write $${ for a ${ that the target gets",
            )
            return ""
        value = self._environ.get(name, "")
        if not value:
            if default is None:
                self._unset(name, path)
            return default or ""
        if not is_text(value):
            self._odd(name, path, "bytes that are no text", "text in UTF-8 without NUL")
        elif _is_sent(path):
            if "{{" in value or names_in(value):
                self._odd(name, path, "{name} or {{, which would be read as a template", "a value without them")
            if default is None:
                self.secrets[name] = value
        return value

    def _unset(self, name: str, path: Path) -> None:
        if name in self._told:
            return
        self._told.add(name)
        state = "empty" if name in self._environ else "not set"
        self._tell(
            path,
            f"the environment variable {name} is {state}",
            f"a value for ${{{name}}} ({WRITTEN})",
            f"set it: export {name}=...; or write ${{{name}:-default}} if it may be left out",
        )

    def _odd(self, name: str, path: Path, has: str, expected: str) -> None:
        self._tell(
            path,
            f"the value of the environment variable {name} has {has}",
            f"{expected} ({WRITTEN})",
            f"set {name} to another value, or get it by vars = {{ name = {{ run = [...] }} }}",
        )

    def _tell(self, path: Path, what: str, expected: str, next_step: str) -> None:
        self.problems.append(self._source.problem(path, what, expected, next_step))


def is_text(value: str) -> bool:
    """Whether UTF-8 and programs take it."""
    return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _is_sent(path: Path) -> bool:
    """Whether the text at `path` goes to the target or to a program, and may be a credential."""
    verb = ".".join(map(str, path[:2]))
    return path[0] in _SENT or verb in VERBS or path[:2] in _SENT_TOO
