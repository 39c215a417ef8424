"""Is the evidence still what the run wrote, and if not, where was it touched?

Each line of a trace carries a link over the line before and its own bytes, so one changed byte is found and located.
The events of a trace have the hash that the verdict names; the other files have theirs in SHA256SUMS. It is a seal
against accidents and edits, not against somebody who writes every hash anew.
Source: contract world, "Trace event".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasttick.engine.trace import Event, link_of, split_link, trace_sha256
from lasttick.evidence.errors import EvidenceError
from lasttick.evidence.lookup import trace_file
from lasttick.evidence.sums import wrong_sums
from lasttick.evidence.traces import FOLDER
from lasttick.evidence.verdicts import FILE, read_verdicts

DAMAGES_MAX = 20


@dataclass(frozen=True, slots=True)
class Damage:
    """`file` relative to the run folder, `line` from 1, `event` in words where the line still tells it."""

    file: str
    line: int | None
    event: str | None
    what: str

    def as_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "event": self.event, "what": self.what}

    def __str__(self) -> str:
        at = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{at}: {self.what}" + (f" ({self.event})" if self.event else "")


@dataclass(slots=True)
class Verification:
    """What was looked at, and everything that is not as it was written (at most 20 findings per trace)."""

    traces: int = 0
    events: int = 0
    damages: list[Damage] = field(default_factory=list)


def verify_run(folder: Path) -> Verification:
    """Raises EvidenceError when `folder` has no verdicts that could be held against the traces."""
    seen = Verification()
    seen.damages += [Damage(name, None, None, what) for name, _, what in wrong_sums(folder)]
    try:
        run = read_verdicts(folder)
    except EvidenceError:
        if not seen.damages:
            raise
        # The sums say already that the file was touched; without it, no hash of a trace can be compared.
        return _without_verdicts(folder, seen)
    named: set[Path] = set()
    for result in run.scenarios:
        try:
            path = trace_file(folder, result)
        except EvidenceError as error:
            seen.damages.append(Damage(FILE, None, None, str(error).partition("\n")[0] + ", which leads out"))
            continue
        if path is None:
            continue
        named.add(path)
        _add_trace(seen, folder, path, result.trace_sha256)
    for path in sorted((folder / FOLDER).rglob("*")):
        if path.is_file() and path not in named:
            seen.damages.append(Damage(_relative(folder, path), None, None, "no verdict speaks of this file"))
    return seen


def verify_trace(data: bytes, sha256: str | None = None, *, file: str = "trace") -> list[Damage]:
    """What is wrong with the bytes of one trace; `sha256` is what its verdict says of its events."""
    lines = data.split(b"\n")
    cut_off = lines.pop()
    records = [_read(number, line) for number, line in enumerate([*lines, *([cut_off] if cut_off else [])], start=1)]
    found = _chain(records, file)[:DAMAGES_MAX]
    if cut_off:
        whole = records[-1].flaw is None
        what = "the line end is missing" if whole else "the file is cut off in this line"
        found = [damage for damage in found if damage.line != len(records)]
        found.append(Damage(file, len(records), _event(records[-1]), what))
    if not found and sha256 is not None:
        events = [record.event for record in records if record.event is not None]
        if (have := trace_sha256(events)) != sha256:
            found.append(
                Damage(
                    file,
                    len(records) or None,
                    _event(records[-1]) if records else None,
                    f"the chain holds up to this last line, but its events have the hash {have[:12]}.. where {FILE} "
                    f"says {sha256[:12]}..: lines after it are missing, or one of both was written anew",
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class _Record:
    """One line, as far as it can be read."""

    line: int
    body: bytes
    link: str | None
    event: Event | None
    flaw: str | None

    def follows(self, link: str | None) -> bool:
        """Whether this line, untouched, is the one written after a line with this link."""
        return self.link is not None and link is not None and link_of(link, self.body) == self.link


def _read(number: int, line: bytes) -> _Record:
    body, link = line, None
    try:
        body, link = split_link(line.decode("ascii"))
        event = Event.from_json(json.loads(body))
        event.hashed()
        if not isinstance(event.seq, int) or not isinstance(event.t_ns, int):
            raise TypeError(f"seq {event.seq!r}, t_ns {event.t_ns!r}")
        return _Record(number, body, link, event, None)
    except UnicodeDecodeError as error:
        flaw = f"byte {error.start + 1} of the line is not ASCII"
    except json.JSONDecodeError as error:
        flaw = f"the line is no JSON at column {error.colno}: {error.msg}"
    except KeyError as error:
        flaw = f"the line has no field {error}"
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        flaw = str(error)
    return _Record(number, body, link, None, flaw)


def _chain(records: Sequence[_Record], file: str) -> list[Damage]:
    reordered = _reordered(records, file)
    if reordered:
        return reordered
    found: list[Damage] = []

    def add(record: _Record, what: str) -> None:
        found.append(Damage(file, record.line, _event(record), what))

    previous: str | None = ""
    expected = 0
    index = 0
    while index < len(records):
        record = records[index]
        following = records[index + 1] if index + 1 < len(records) else None
        if record.flaw is None and (record.follows(previous) or previous is None):
            previous = record.link
        elif more := _added(records, index, previous):
            add(record, "this line was added" if more == 1 else f"{more} lines from here on were added")
            index += more
            continue
        elif record.flaw is not None:
            add(record, record.flaw)
            previous = record.link
        elif _missing(record, following, expected) > 0:
            count = _missing(record, following, expected)
            gone = f"event {expected} is" if count == 1 else f"events {expected} to {expected + count - 1} are"
            add(record, f"{gone} missing before this line")
            previous = record.link
        else:
            true_link = link_of(previous or "", record.body)
            only_link = following is not None and following.follows(true_link)
            add(record, f"its link was changed; it was {true_link}" if only_link else "this line was changed")
            previous = true_link if only_link else record.link
        expected = record.event.seq + 1 if record.event is not None else expected + 1
        index += 1
    return found


def _reordered(records: Sequence[_Record], file: str) -> list[Damage]:
    """Set when the lines are all there and untouched, and only stand in another order."""
    seqs = [record.event.seq for record in records if record.event is not None]
    if len(seqs) != len(records) or seqs == sorted(seqs) or sorted(seqs) != list(range(len(seqs))):
        return []
    link: str | None = ""
    for record in sorted(records, key=lambda record: seqs[record.line - 1]):
        if not record.follows(link):
            return []
        link = record.link
    wrong = [record for record in records if seqs[record.line - 1] != record.line - 1]
    first, last = wrong[0], wrong[-1]
    what = f"lines {first.line} to {last.line} are in another order; here belongs event {first.line - 1}"
    return [Damage(file, first.line, _event(first), what)]


def _added(records: Sequence[_Record], index: int, previous: str | None) -> int:
    """How many lines from `index` on do not belong, since one behind them continues what was before; 0: none."""
    for later in range(index + 1, len(records)):
        if records[later].follows(previous):
            return later - index
    return 0


def _missing(record: _Record, following: _Record | None, expected: int) -> int:
    assert record.event is not None
    gap = record.event.seq - expected
    if gap > 0 and following is not None and following.event is not None:
        # The line behind goes on counting from the expected number: then only this line's number was changed.
        return 0 if following.event.seq == expected + 1 else gap
    return gap


def _event(record: _Record) -> str | None:
    event = record.event
    if event is None:
        return None
    ref = f" {event.ref}" if event.ref else ""
    return f"event {event.seq}: {event.kind}{ref} of {event.actor} at t={event.t_s:.3f}"


def _add_trace(seen: Verification, folder: Path, path: Path, sha256: str | None) -> None:
    file = _relative(folder, path)
    try:
        data = path.read_bytes()
    except OSError as error:
        seen.damages.append(Damage(file, None, None, f"the trace can not be read: {error.strerror or error}"))
        return
    seen.traces += 1
    seen.events += data.count(b"\n")
    seen.damages += verify_trace(data, sha256, file=file)


def _without_verdicts(folder: Path, seen: Verification) -> Verification:
    for path in sorted((folder / FOLDER).rglob("*.jsonl")):
        _add_trace(seen, folder, path, None)
    return seen


def _relative(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()
