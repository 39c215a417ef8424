"""Which commands are dangerous, and what happens when one runs?

A command of an agent must not do harm on a developer's machine, so hardly any is real: `rm` with `-r` removes folders
that are strictly inside the session's folder, what `builtin.toy_shell` knows (`echo`, `env`, `printenv`) is answered by
it. Every other command is simulated: exit status 0, no output, nothing happens; the log says `simulated`.
Source: contract hermes, section 4.4 (any recursive delete is one class); the other classes: read.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from lasttick_fakes.hermes.acp.edits import inside
from lasttick_fakes.hermes.builtin import Shell, toy_shell

How: TypeAlias = Literal["real", "toy", "simulated"]

RECURSIVE_DELETE = "recursive delete"
DANGERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\brm\s+-[^\s]*r"), RECURSIVE_DELETE),
    (re.compile(r"\bchmod\s+(-[^\s]*\s+)*(777|666)\b"), "world/other-writable permissions"),
    (re.compile(r"\bfind\b.*-delete\b"), "find -delete"),
    (re.compile(r"\bgit\s+reset\s+--hard\b"), "git reset --hard (destroys uncommitted changes)"),
    (re.compile(r"\bgit\s+push\b.*--force"), "git force push (rewrites remote history)"),
    (re.compile(r"\b(curl|wget)\b.*\|\s*(ba)?sh\b"), "pipe remote content to shell"),
    (re.compile(r"\bDROP\s+(TABLE|DATABASE)\b", re.IGNORECASE), "SQL DROP"),
)
_MORE_THAN_WORDS = re.compile(r"[;&<>`\n]|\$\(")
TOYS = ("echo", "env", "printenv")


def danger(command: str) -> str | None:
    """The class that a person is asked about; None when nobody is."""
    return next((said for pattern, said in DANGERS if pattern.search(command)), None)


def shell_in(folder: Path, ran: Callable[[str, How, int], None]) -> Shell:
    """A `builtin.Shell` for one session. `ran` hears of each command: how it was run, and its exit status."""

    async def shell(command: str, environ: Mapping[str, str]) -> tuple[str, int]:
        how: How = "simulated"
        output, status = "", 0
        if not _MORE_THAN_WORDS.search(command):
            targets = _removed(command, folder)
            if targets is not None:
                how = "real"
                for place in targets:
                    _remove(place)
            elif command.split()[:1] and command.split()[0] in TOYS:
                how = "toy"
                output, status = await toy_shell(command, environ)
        ran(command, how, status)
        return output, status

    return shell


def _removed(command: str, folder: Path) -> list[Path] | None:
    """The places that a recursive `rm` names, when all are inside; else None."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    flags = [word for word in words[1:] if word.startswith("-")]
    names = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] != ["rm"] or not names or not all(re.fullmatch(r"-[rRf]+", flag) for flag in flags):
        return None
    if not any("r" in flag.lower() for flag in flags) or any(re.search(r"[*?\[$~|]", name) for name in names):
        return None
    places = [inside(folder, name) for name in names]
    return [place for place in places if place is not None] if None not in places else None


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    elif place.exists():
        place.unlink()
