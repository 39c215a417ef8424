"""What is still open on the target? Every session, lease and request is written down first, so that this run's end
or the next run's start can end it, also after a crash.

JSON lines, appended in one write each, readable by the user alone: ids of sessions are in it, for without them nothing
could be ended; nothing else that is secret is. A line that was cut in two by a crash says nothing.
Source: contract laws, "Subjects".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lasttick.engine.trace import Redactor

FOLDER = ".lasttick"
MODE = 0o600
OPENED, KNOWS, CLOSED = "opened", "knows", "closed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One session, lease or request for approval. `run` and `number` name it; `target`: where it is; `session`: the MCP
    session's id."""

    run: str
    number: int
    kind: str
    target: str
    caller: str
    names: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None


def journal_file(config: Path) -> Path:
    """Beside the profile, under its name."""
    return config.parent / FOLDER / f"{config.stem}.journal.jsonl"


class JournalFile:
    """The journal of one run (`run`: its short word). `redact` tells which names hold a secret: those are left out."""

    def __init__(self, path: Path, run: str, target: str, redact: Redactor) -> None:
        self._path = path
        self._run = run
        self._target = target
        self._redact = redact
        self._numbers = 0
        _folder(path.parent)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, MODE)

    def opened(self, kind: str, caller: str, names: Mapping[str, Any], session: str | None = None) -> int:
        """Called before the verb that opens it is sent, or as soon as its names are known."""
        self._numbers += 1
        entry = Entry(self._run, self._numbers, kind, self._target, caller, self._plain(names), session)
        self._write({"what": OPENED, **asdict(entry)})
        return self._numbers

    def knows(self, number: int, names: Mapping[str, Any], session: str | None) -> None:
        """What its answer told about it."""
        said = {"run": self._run, "number": number, "names": self._plain(names), "session": session}
        self._write({"what": KNOWS, **said})

    def closed(self, number: int) -> None:
        self._write({"what": CLOSED, "run": self._run, "number": number})

    def left(self) -> list[Entry]:
        """What this run has opened and not closed."""
        return [entry for entry in read_journal(self._path) if entry.run == self._run]

    def close(self) -> None:
        """A journal with nothing open in it goes."""
        os.close(self._file)

    def _write(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, _line(line))

    def _plain(self, names: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in names.items() if self._redact(value) == value}


def read_journal(path: Path) -> list[Entry]:
    """What was opened and not closed, in its order. No file: nothing."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    found: dict[tuple[str, int], Entry] = {}
    for raw in text.splitlines():
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            _take(found, json.loads(raw))
    return list(found.values())


def write_journal(path: Path, entries: Iterable[Entry]) -> None:
    """Only these are open; no file when there are none. Nobody else may be writing to it."""
    lines = [_line({"what": OPENED, **asdict(entry)}) for entry in entries]
    if not lines:
        path.unlink(missing_ok=True)
        return
    temporary = path.with_suffix(".new")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, MODE)
    try:
        os.write(file, b"".join(lines))
    finally:
        os.close(file)
    os.replace(temporary, path)


def _take(found: dict[tuple[str, int], Entry], line: Any) -> None:
    key = (str(line["run"]), int(line["number"]))
    if line["what"] == CLOSED:
        found.pop(key, None)
    elif line["what"] == KNOWS and key in found:
        before = found[key]
        found[key] = Entry(
            *key, before.kind, before.target, before.caller, {**before.names, **line["names"]}, _session(line)
        )
    elif line["what"] == OPENED:
        kind, target, caller = (str(line[name]) for name in ("kind", "target", "caller"))
        found[key] = Entry(*key, kind, target, caller, dict(line["names"]), _session(line))


def _session(line: Mapping[str, Any]) -> str | None:
    session = line.get("session")
    return session if isinstance(session, str) else None


def _line(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=True, default=str).encode() + b"\n"


def _folder(folder: Path) -> None:
    """Git leaves it alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
