"""What does a patch in V4A form change? `*** Begin Patch`, then files to add, update or delete, then `*** End Patch`.

Only as far as scripts need it: hunks must match their file exactly. Source: contract hermes, section 4.4 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_FILE = re.compile(r"^\*\*\* +(Add|Update|Delete) File: *(.+)$")


class BadPatch(ValueError):
    """The patch cannot be used. The message is for the model."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file: `text` is its new content, None when it is deleted. `lines` are those of the patch."""

    action: str
    path: str
    text: str | None
    lines: tuple[str, ...]


def paths(patch: str) -> list[str]:
    """The files it names, in order."""
    return [found[2].strip() for line in patch.splitlines() if (found := _FILE.match(line))]


def changes(patch: str, read: Callable[[str], str | None]) -> list[Change]:
    """`read` gives a file's text, None when there is none. Raises BadPatch."""
    sections: list[tuple[str, str, list[str]]] = []
    for line in patch.splitlines():
        if found := _FILE.match(line):
            sections.append((found[1], found[2].strip(), []))
        elif sections and not line.startswith("*** "):
            sections[-1][2].append(line)
    if not sections:
        raise BadPatch("no file paths found in V4A patch")
    return [Change(action, path, _text(action, path, lines, read), tuple(lines)) for action, path, lines in sections]


def _text(action: str, path: str, lines: list[str], read: Callable[[str], str | None]) -> str | None:
    if action == "Add":
        return "\n".join(line[1:] for line in lines if line.startswith("+"))
    before = read(path)
    if before is None:
        raise BadPatch(f"Failed to read file: {path}")
    return None if action == "Delete" else _updated(path, before, lines)


def _updated(path: str, text: str, lines: list[str]) -> str:
    for hunk in _hunks(lines):
        old = "\n".join(line[1:] for line in hunk if not line.startswith("+"))
        new = "\n".join(line[1:] for line in hunk if not line.startswith("-"))
        if old not in text:
            raise BadPatch(f"Could not find the lines of a hunk in {path}")
        text = text.replace(old, new, 1)
    return text


def _hunks(lines: list[str]) -> list[list[str]]:
    hunks: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line)
    return [hunk for hunk in hunks if hunk]
