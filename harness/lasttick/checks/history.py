"""What did the devices do, for whom, and when could each holder's lease have ended? A trace, read for judging.

Only `driver.*` says what a device did, since only the device writes it. The rest says when a holder's right was over:
`session.open|end` of its client (the end is written before the request to end leaves: from then on the target may free
the device), and `part.start|stop|kill` of the host, which is the part whose start says `ttl_s`. Where several hosts
share a lease store, `part.pause|resume` says when a host stood still or was cut off from it, and `store.lost` that the
store forgot leases.
Source: contract world, "Devices are a part of their own, and the judge".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lasttick.engine.trace import Event

CLOUD = "cloud:"
Holder: TypeAlias = "tuple[str | None, str | Moment | None]"


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant with its place in the story: what happens at the same nanosecond is ordered as it was written."""

    t_ns: int
    seq: int

    def __lt__(self, other: Moment) -> bool:
        return (self.t_ns, self.seq) < (other.t_ns, other.seq)

    @property
    def t_s(self) -> float:
        return self.t_ns / 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pause:
    """A host stood still, or could not reach the lease store (`end` None: to the end of its life)."""

    start: Moment
    end: Moment | None
    depth: int = 1
    """How many pauses lie in each other and have not ended."""


@dataclass(frozen=True, slots=True)
class Run:
    """One life of a host, from its start to its stop, kill or next start (None: to the end of the example)."""

    host: str
    start: Moment
    ttl_ns: int
    end: Moment | None
    pauses: tuple[Pause, ...] = ()

    def covers(self, moment: Moment) -> bool:
        return not moment < self.start and (self.end is None or moment < self.end)


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a client. `runs`: the host lives it can belong to; several only if it does not name its host."""

    id: str
    client: str
    runs: tuple[Run, ...]
    end: Moment | None


@dataclass(frozen=True, slots=True)
class DriverCall:
    """One action of a device by its own log. `end` is None while the trace shows none; `caller` None: unknown mark.

    `sent`: when its caller asked for it, as far as the trace tells, else its start. A call that was asked for before a
    trouble may reach the device long after it.
    """

    device: str
    tool: str
    caller: str | None
    session: Session | None
    runs: tuple[Run, ...]
    start: Moment
    end: Moment | None
    sent: Moment

    @property
    def holder(self) -> Holder:
        """Who held the device for this call: one session of a client, or one assignment in one life of the host."""
        if self.is_cloud:
            return (self.caller, self.runs[0].start if len(self.runs) == 1 else None)
        return (self.caller, self.session.id if self.session else None)

    @property
    def is_cloud(self) -> bool:
        return self.caller is not None and self.caller.startswith(CLOUD)


@dataclass(slots=True)
class History:
    """One example of a trace, ordered. `number` counts from 1; `flaws` are reasons why it can not be judged."""

    number: int
    events: Sequence[Event]
    runs: list[Run] = field(default_factory=list)
    sessions: dict[str, Session] = field(default_factory=dict)
    calls: list[DriverCall] = field(default_factory=list)
    losses: list[Moment] = field(default_factory=list)
    """When a lease store that hosts share forgot leases."""
    flaws: list[str] = field(default_factory=list)

    def by_device(self) -> dict[str, list[DriverCall]]:
        """Driver calls in the order of their starts."""
        table: dict[str, list[DriverCall]] = {}
        for call in self.calls:
            table.setdefault(call.device, []).append(call)
        return table


def moment(event: Event) -> Moment:
    return Moment(event.t_ns, event.seq)


def ns(seconds: float) -> int:
    # A trace may come from elsewhere: a text times a thousand million would be a very long text.
    return round(float(seconds) * 1_000_000_000)


def split_examples(events: Iterable[Event]) -> list[list[Event]]:
    """The events of each example, ordered by time (another process' history is written late); `example` starts one."""
    parts: list[list[Event]] = [[]]
    for event in sorted(events, key=lambda event: event.seq):
        if event.kind == "example":
            parts.append([])
        parts[-1].append(event)
    return [sorted(part, key=lambda event: (event.t_ns, event.seq)) for part in parts if part]


def histories(events: Iterable[Event]) -> Iterator[History]:
    for number, part in enumerate(split_examples(events), start=1):
        yield read_history(number, part)


def read_history(number: int, events: Sequence[Event]) -> History:
    """Read one example whose events are in order."""
    history = History(number, events, _runs(events))
    history.losses = [moment(event) for event in events if event.kind == "store.lost"]
    history.sessions = _sessions(history)
    history.calls = list(_calls(history))
    return history


def _runs(events: Sequence[Event]) -> list[Run]:
    runs: list[Run] = []
    open_at: dict[str, int] = {}
    for event in events:
        starts = event.kind == "part.start" and event.data.get("ttl_s") is not None
        if event.actor in open_at and (starts or event.kind in ("part.stop", "part.kill")):
            index = open_at.pop(event.actor)
            runs[index] = replace(runs[index], end=moment(event))
        elif event.actor in open_at and event.kind in ("part.pause", "part.resume"):
            index = open_at[event.actor]
            runs[index] = replace(runs[index], pauses=_pauses(runs[index].pauses, event))
        if starts:
            open_at[event.actor] = len(runs)
            runs.append(Run(event.actor, moment(event), ns(event.data["ttl_s"]), None))
    return runs


def _pauses(pauses: tuple[Pause, ...], event: Event) -> tuple[Pause, ...]:
    """Pauses of two kinds may lie in each other: the outermost counts. A resume without a pause is nothing."""
    last = pauses[-1] if pauses and pauses[-1].end is None else None
    if event.kind == "part.pause":
        return (*pauses, Pause(moment(event), None)) if last is None else (*pauses[:-1], _deeper(last, 1))
    if last is None:
        return pauses
    left = _deeper(last, -1)
    return (*pauses[:-1], left if left.depth > 0 else replace(left, end=moment(event)))


def _deeper(pause: Pause, by: int) -> Pause:
    return replace(pause, depth=pause.depth + by)


def _lives(runs: Sequence[Run], at: Moment, host: str | None = None) -> tuple[Run, ...]:
    """The lives that cover `at`; where none does, those before it: a dead host's last call still reaches the device."""
    known = [run for run in runs if run.start < at and host in (None, run.host)]
    return tuple(run for run in known if run.covers(at)) or tuple(known)


def _session_of(event: Event) -> str:
    """A client of the modern era has no session; its opening still says on which host it is."""
    session = event.data.get("session")
    return f"{event.actor}, no session" if session is None else str(session)


def _sessions(history: History) -> dict[str, Session]:
    sessions: dict[str, Session] = {}
    for event in history.events:
        id_ = _session_of(event)
        if event.kind == "session.open":
            sessions[id_] = Session(id_, event.actor, _lives(history.runs, moment(event), event.data.get("host")), None)
        elif event.kind == "session.end" and id_ in sessions and sessions[id_].end is None:
            sessions[id_] = replace(sessions[id_], end=moment(event))
    return sessions


def _calls(history: History) -> Iterator[DriverCall]:
    """Tie each `driver.start` to its end, and to the session in which its client sent the call."""
    ends = {(event.actor, event.ref): event for event in history.events if event.kind == "driver.end"}
    started: dict[tuple[str, str | None], None] = {}
    current: dict[str, str] = {}
    sent_in: dict[tuple[str, str], str | None] = {}
    sent_at: dict[tuple[str, str, str, str], Moment] = {}
    for event in history.events:
        if event.kind == "session.open":
            current[event.actor] = _session_of(event)
        elif event.kind == "call.start" and event.ref is not None:
            named = event.data.get("session")
            sent_in[event.actor, event.ref] = current.get(event.actor) if named is None else str(named)
            sent_at[_mark(event.actor, str(event.data.get("device_id")), event)] = moment(event)
        elif event.kind == "driver.start":
            key = (event.actor, event.ref)
            if key in started or event.ref is None:
                history.flaws.append(f"driver.start {event.ref} of {event.actor} has no ref of its own")
            started[key] = None
            caller = event.data.get("caller")
            session = sent_in.get((str(caller), str(event.data.get("call"))), current.get(str(caller)))
            sent = sent_at.get(_mark(str(caller), event.actor, event), moment(event))
            yield _call(history, event, ends.get(key), caller, history.sessions.get(session or ""), sent)
    history.flaws += [f"driver.end {key[1]} of {key[0]} has no start" for key in ends if key not in started]


def _mark(caller: str, device_id: str, event: Event) -> tuple[str, str, str, str]:
    """What a caller's request and the device's own line about it have in common."""
    arguments = event.data.get("arguments") or {}
    free = {name: value for name, value in arguments.items() if name != "device_id"}
    return caller, device_id, str(event.data.get("tool")), json.dumps(free, sort_keys=True, default=str)


def _call(
    history: History, start: Event, end: Event | None, caller: str | None, session: Session | None, sent: Moment
) -> DriverCall:
    return DriverCall(
        device=start.actor,
        tool=str(start.data.get("tool", "call")),
        caller=caller,
        session=session,
        runs=session.runs if session else _lives(history.runs, moment(start)),
        start=moment(start),
        end=None if end is None else moment(end),
        sent=sent,
    )
