"""Where is the history of a scenario, and how is it read back? One JSON line per event, each chained to the one before.

Source: contract world, "Trace event".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from lasttick.engine.trace import Event, linked_lines
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.files import write_text

FOLDER = "traces"
UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
NAME_CHARS_MAX = 80


def trace_path(scenario_id: str) -> PurePosixPath:
    """`traces/<scenario id>.jsonl`, relative to the run folder; parameters follow a dot: `free-at-ttl.ticks-1.jsonl`.

    Whatever a parameter holds, the path stays in the folder and differs from every other scenario's: text that had to
    be changed brings a piece of its hash.
    """
    base, bracket, parameters = scenario_id.partition("[")
    names = [_safe(name) for name in base.split("/")]
    if bracket:
        names[-1] += "." + _safe(parameters.removesuffix("]"))
    return PurePosixPath(FOLDER, *names[:-1], names[-1] + ".jsonl")


def write_trace(folder: Path, scenario_id: str, events: Iterable[Event]) -> str:
    """Write one scenario's history into the run folder; returns its relative path. Raises EvidenceError."""
    relative = trace_path(scenario_id)
    write_text(folder / relative, (line + "\n" for line in linked_lines(events)))
    return str(relative)


def read_trace(path: Path) -> list[Event]:
    """The events of a trace file. Raises EvidenceError for a missing or damaged one; its chain is not checked here."""
    return [_event(path, number, line) for number, line in _lines(path)]


class TraceExamples:
    """The examples of a trace file, each parsed only when it is asked for: a report draws two of a hundred.

    Raises EvidenceError for a file that can not be read, and for a damaged line of an example that is asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._examples: list[list[tuple[int, str]]] = []
        for number, line in _lines(path):
            if not self._examples or _begins_example(line):
                self._examples.append([])
            self._examples[-1].append((number, line))

    def __len__(self) -> int:
        return len(self._examples)

    def events(self, index: int) -> list[Event]:
        return [_event(self._path, number, line) for number, line in self._examples[index]]


EXPECTED = "a trace of a lasttick run: one JSON object per line"


def _lines(path: Path) -> list[tuple[int, str]]:
    """Every line with its number, from 1."""
    try:
        return list(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))
    except (OSError, UnicodeDecodeError) as error:
        raise EvidenceError(
            f"{path} can not be read: {error}", EXPECTED, "name a file below traces/ of a run"
        ) from error


def _event(path: Path, number: int, line: str) -> Event:
    try:
        return Event.from_json(json.loads(line))
    except (ValueError, KeyError, TypeError) as error:
        raise EvidenceError(f"{path}, line {number}: {error!r}", EXPECTED, "run again; the file is damaged") from error


def _begins_example(line: str) -> bool:
    if '"kind":"example"' not in line:
        return False
    try:
        # The words may also stand in what a peer sent.
        return bool(json.loads(line)["kind"] == "example")
    except (ValueError, KeyError, TypeError):
        return False


def _safe(text: str) -> str:
    safe = UNSAFE.sub("_", text)[:NAME_CHARS_MAX]
    if safe == text and safe:
        return safe
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}_{digest}"
