"""On which line of a TOML text does a key stand? `tomllib` does not say, and an error without a line helps nobody.

A small reader of TOML's shape: it knows keys, tables and values well enough to tell where each begins, and leaves what
they mean to `tomllib`. Text that is no TOML gives the positions up to where it stops being one.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

DEPTH_MAX = 100
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_REST_OF_LINE = re.compile(r"[^\n]*")
_KEY = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*|[^\s,\]}#\[{\"']+")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, of the key or list element at `path`, else of its nearest ancestor that is there; else None."""
    known = positions(text)
    for length in range(len(path), 0, -1):
        line = known.get(tuple(path[:length]))
        if line is not None:
            return line
    return None


@lru_cache(maxsize=4)
def positions(text: str) -> Mapping[Path, int]:
    """The line, from 1, of every key, table and list element of a TOML text."""
    reader = _Reader(text)
    with suppress(_NoToml):
        reader.read()
    return MappingProxyType(reader.found)


class _NoToml(Exception):
    """The text stops being TOML here."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.found: dict[Path, int] = {}
        self._text = text
        self._at = 0
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._implied: set[Path] = set()
        self._tables: dict[Path, int] = {}
        """How many elements each list of tables has so far."""

    def read(self) -> None:
        table: Path = ()
        self._match(_GAP)
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table, 0)
            self._match(_REST_OF_LINE)
            self._match(_GAP)

    def _header(self) -> Path:
        """`[a.b]` or `[[a.b]]`; gives the path of the table that begins here."""
        start = self._at
        is_list = self._text.startswith("[[", start)
        self._at += 2 if is_list else 1
        path: Path = ()
        names = self._dotted()
        for name in names[:-1]:
            path = self._latest((*path, name))
            self._note(path, start, implied=True)
        path = (*path, names[-1])
        self._note(path, start)
        if is_list:
            count = self._tables.get(path, 0)
            self._tables[path] = count + 1
            path = (*path, count)
            self._note(path, start)
        self._take("]]" if is_list else "]")
        return path

    def _latest(self, path: Path) -> Path:
        """A name of a header means the last element, when it is a list of tables."""
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _pair(self, table: Path, depth: int) -> None:
        start = self._at
        path = table
        names = self._dotted()
        for name in names[:-1]:
            path = (*path, name)
            self._note(path, start, implied=True)
        path = (*path, names[-1])
        self._note(path, start)
        self._take("=")
        self._value(path, depth)

    def _dotted(self) -> list[str]:
        names: list[str] = []
        while True:
            self._match(_SPACE)
            names.append(_name(self._must(_KEY)))
            self._match(_SPACE)
            if not self._text.startswith(".", self._at):
                return names
            if len(names) > DEPTH_MAX:
                raise _NoToml
            self._at += 1

    def _value(self, path: Path, depth: int) -> None:
        if depth > DEPTH_MAX:
            raise _NoToml
        self._match(_SPACE)
        first = self._text[self._at : self._at + 1]
        if first == "[":
            self._list(path, depth + 1)
        elif first == "{":
            self._inline_table(path, depth + 1)
        elif first in ('"', "'"):
            self._must(_STRING)
        else:
            self._must(_SCALAR)

    def _list(self, path: Path, depth: int) -> None:
        self._at += 1
        count = 0
        while not self._ends("]"):
            self._note((*path, count), self._at)
            self._value((*path, count), depth)
            count += 1
            self._comma_or("]")

    def _inline_table(self, path: Path, depth: int) -> None:
        self._at += 1
        while not self._ends("}"):
            self._pair(path, depth)
            self._comma_or("}")

    def _ends(self, bracket: str) -> bool:
        self._match(_GAP)
        if not self._text.startswith(bracket, self._at):
            return False
        self._at += 1
        return True

    def _comma_or(self, bracket: str) -> None:
        self._match(_GAP)
        if not self._text.startswith(bracket, self._at):
            self._take(",")

    def _take(self, token: str) -> None:
        if not self._text.startswith(token, self._at):
            raise _NoToml
        self._at += len(token)

    def _must(self, pattern: re.Pattern[str]) -> str:
        found = self._match(pattern)
        if not found:
            raise _NoToml
        return found

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found.group()

    def _note(self, path: Path, start: int, *, implied: bool = False) -> None:
        """`implied`: a table that is only named on the way to another; its own header, if one comes, says more."""
        if path in self.found and (implied or path not in self._implied):
            return
        self.found[path] = bisect_right(self._line_starts, start)
        if implied:
            self._implied.add(path)


def _name(key: str) -> str:
    if key[0] == "'":
        return key[1:-1]
    if key[0] != '"':
        return key
    try:
        return str(tomllib.loads(f"name = {key}")["name"])
    except tomllib.TOMLDecodeError:
        raise _NoToml from None
