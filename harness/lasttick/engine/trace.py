"""What happened, in order: the history of a scenario, which checks judge and reports render.

Events are redacted when they are written, never when they are shown. `trace_sha256` covers
`[t_ns, actor, kind, ref, data]` of every event: what the story was, not when the wall clock said it was.
Source: contract world, "Trace event".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

VERSION = 1
LINK_HEX = 16
_PLAIN = frozenset({int, float, bool, type(None)})
_WALL = "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ"


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a trace. `t_ns` counts from the start of its example; `ref` ties a start to its end."""

    seq: int
    t_ns: int
    wall: str
    actor: str
    kind: str
    ref: str | None
    data: Mapping[str, Any]

    @property
    def t_s(self) -> float:
        return self.t_ns / 1_000_000_000

    def hashed(self) -> bytes:
        """The part of the event that the trace hash covers, as canonical JSON."""
        return _canonical([self.t_ns, self.actor, self.kind, self.ref, self.data])

    def as_json(self) -> dict[str, Any]:
        return {
            "v": VERSION,
            "seq": self.seq,
            "t_ns": self.t_ns,
            "wall": self.wall,
            "actor": self.actor,
            "kind": self.kind,
            "ref": self.ref,
            "data": dict(self.data),
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Event:
        """Read one line back. Raises KeyError for a missing field and ValueError for a newer version."""
        if line["v"] > VERSION:
            raise ValueError(f"trace event version {line['v']}; this lasttick reads up to {VERSION}: upgrade lasttick")
        names = ("seq", "t_ns", "wall", "actor", "kind", "ref", "data")
        return cls(**{name: line[name] for name in names})


class _Written(dict[str, str]):
    """How each text is written: worked out when it first comes, since the same names, tools and keys come again."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}

    def __missing__(self, text: str) -> str:
        written = text
        for secret, alias in self.aliases.items():
            written = written.replace(secret, alias)
        self[text] = written
        return written


class Redactor:
    """Replaces known secrets by stable aliases, in every string of an event, keys included."""

    def __init__(self) -> None:
        self._written = _Written()

    def learn(self, secret: str, alias: str) -> str:
        """From now on `secret` is written as `alias`. Longer secrets are replaced first. Returns the alias in force."""
        aliases = self._written.aliases
        if secret and secret not in aliases:
            aliases = {**aliases, secret: alias}
            self._written.aliases = dict(sorted(aliases.items(), key=lambda item: (-len(item[0]), item[0])))
            self._written.clear()
        return self._written.aliases.get(secret, alias)

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if kind is dict:
            # Every event comes through here: what is a text or a plain value needs no call of its own.
            told: dict[str, Any] = {}
            for key, item in value.items():
                text = self._written[key if type(key) is str else str(key)]
                kind = type(item)
                told[text] = self._written[item] if kind is str else item if kind in _PLAIN else self(item)
            return told
        if kind in _PLAIN:
            return value
        if isinstance(value, str):
            return self._written[value]
        if isinstance(value, Mapping):
            return self(dict(value))
        if isinstance(value, list | tuple):
            return [self(item) for item in value]
        return value


class Trace:
    """Collects the events of one scenario, all its examples in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.redact = Redactor()
        self.listeners: list[Callable[[Event], None]] = []
        self._now_ns: Callable[[], int] = lambda: 0
        self._wall: Callable[[], datetime] | None = None

    def use_clock(self, now_ns: Callable[[], int], wall: Callable[[], datetime]) -> None:
        """Stamp from here on with this clock; called once per example, whose time starts at 0."""
        self._now_ns, self._wall = now_ns, wall

    def emit(self, actor: str, kind: str, ref: str | None = None, /, *, t_ns: int | None = None, **data: Any) -> Event:
        """Append one event, redacted; `t_ns` only for history that another process stamped."""
        event = Event(
            len(self.events),
            self._now_ns() if t_ns is None else t_ns,
            wall_text(self._wall()) if self._wall else "",
            actor,
            kind,
            None if ref is None else self.redact(ref),
            self.redact(data),
        )
        self.events.append(event)
        for listener in self.listeners:
            listener(event)
        return event

    def sha256(self) -> str:
        return trace_sha256(self.events)


def wall_text(moment: datetime) -> str:
    """`2026-01-01T00:01:00.000Z`. By hand, as `isoformat` takes twice as long to write an offset that is not wanted."""
    day = (moment.year, moment.month, moment.day)
    return _WALL % (*day, moment.hour, moment.minute, moment.second, moment.microsecond // 1_000)


def trace_sha256(events: Iterable[Event]) -> str:
    """Chain over the semantic part of every event; computed at the end, so that tracing stays cheap."""
    chain = hashlib.sha256()
    for event in events:
        chain.update(event.hashed())
        chain.update(b"\n")
    return chain.hexdigest()


def linked_lines(events: Iterable[Event]) -> Iterator[str]:
    """The lines of a trace file: each `link` covers the previous link and all other bytes of its own line."""
    link = ""
    for event in events:
        body = _canonical(event.as_json())
        link = link_of(link, body)
        yield body[:-1].decode() + f',"link":"{link}"}}'


def link_of(previous: str, body: bytes) -> str:
    """First 16 hex digits of SHA-256(previous link + the line without its link)."""
    return hashlib.sha256(previous.encode() + body).hexdigest()[:LINK_HEX]


def split_link(line: str) -> tuple[bytes, str]:
    """A line's bytes without its link, and the link. Raises ValueError when it does not end in one."""
    body, mark, tail = line.rpartition(',"link":"')
    if not mark or len(tail) != LINK_HEX + 2 or not tail.endswith('"}'):
        raise ValueError("the line does not end in a link")
    return body.encode() + b"}", tail[:LINK_HEX]


def _canonical(value: Any) -> bytes:
    # Strings from hostile peers may hold lone surrogates: escape everything outside ASCII instead of failing.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, default=str).encode()
