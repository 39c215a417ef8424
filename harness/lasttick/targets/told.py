"""How the logs of other parts become events of the trace: as they happen (virtual) or merged by time (process).

Source: contract world, "Trace event", "Devices are a part of their own, and the judge".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lasttick.engine.clock import NS
from lasttick.engine.trace import Event, Trace
from lasttick.targets.callers import Callers

FOREIGN = ("driver.", "cloud.", "gateway.", "agent.", "hermes.", "child.", "third.", "model.", "vault.", "catalog.")
"""Kinds of events that other processes stamp: merged anew each time, never the world's own."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line a device wrote about its own call: `kind` is start or end; `t_s` is world time."""

    t_s: float
    device_id: str
    kind: str
    call: int
    tool: str
    arguments: dict[str, Any]
    outcome: str | None
    caller: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """A history merged by time, and the devices' part of it."""

    events: list[Event]
    log: list[LogEntry]


def emit_driver(trace: Trace, line: Mapping[str, Any], *, t_ns: int, caller: str | None) -> LogEntry:
    """Write a device's log line into the trace, and return it with who caused it."""
    entry = LogEntry(
        t_s=t_ns / NS,
        device_id=line["device_id"],
        kind=line["kind"],
        call=line["call"],
        tool=line["tool"],
        arguments=dict(line["arguments"]),
        outcome=line["outcome"],
        caller=caller,
    )
    if entry.kind == "start":
        data = {"tool": entry.tool, "arguments": entry.arguments, "caller": caller, "call": entry.call}
    elif entry.kind == "end":
        data = {"tool": entry.tool, "call": entry.call, "outcome": entry.outcome}
    else:  # refused: it never became a call
        data = {"tool": entry.tool, "caller": caller, "outcome": entry.outcome}
    ref = f"d{entry.call}" if entry.call else None
    trace.emit(entry.device_id, f"driver.{entry.kind}", ref, t_ns=t_ns, **data)
    return entry


def emit_cloud(trace: Trace, kind: str, data: Mapping[str, Any], *, t_ns: int) -> None:
    """Write what the cloud saw: a heartbeat, an assignment it handed out, a result it got."""
    ref = str(data["assignment_id"]) if "assignment_id" in data else None
    trace.emit("cloud", kind, ref, t_ns=t_ns, **data)


def emit_seen(
    trace: Trace, actor: str, kind: str, ref: str | None, data: Mapping[str, Any], *, t_ns: int | None = None
) -> None:
    """Write what was seen at a part's door. What it is about was said by whoever came, and may be a secret as well.

    An event is of the instant it was told at; a `t_ns` in `data`, when it happened, is kept as `at_ns`.
    """
    said = {"at_ns" if name == "t_ns" else name: value for name, value in data.items()}
    trace.emit(actor, kind, trace.redact(ref), t_ns=t_ns, **said)


def tell(
    own: Trace,
    rack: Sequence[Mapping[str, Any]],
    cloud: Sequence[Mapping[str, Any]],
    start_ns: int,
    start_wall: datetime,
    others: Sequence[Mapping[str, Any]] = (),
) -> Told:
    """Merge the world's own events with the rack's and the cloud's lines, whose `t_ns` are CLOCK_MONOTONIC, and with
    `others`: events that other parts told of themselves, `{t_ns, actor, kind, ref, data}`, on the same clock.

    At the same nanosecond the world's events come first: it stamps a call before it sends it.
    """
    lines: list[tuple[int, int, Any]] = [(event.t_ns, 0, event) for event in own.events if not _foreign(event)]
    lines += [(line["t_ns"] - start_ns, 1, line) for line in cloud]
    lines += [(line["t_ns"] - start_ns, 2, line) for line in rack]
    lines += [(line["t_ns"] - start_ns, 3, line) for line in others]
    trace, callers, log = Trace(), Callers(), []
    t_ns = 0
    trace.use_clock(lambda: t_ns, lambda: start_wall + timedelta(microseconds=t_ns / 1000))
    trace.redact = own.redact
    trace.listeners.append(callers.see)
    for t_ns, origin, line in sorted(lines, key=lambda item: (item[0], item[1])):
        if origin == 0:
            trace.emit(line.actor, line.kind, line.ref, t_ns=t_ns, **line.data)
        elif origin == 1:
            emit_cloud(trace, line["kind"], line["data"], t_ns=t_ns)
        elif origin == 3:
            emit_seen(trace, line["actor"], line["kind"], line["ref"], line["data"], t_ns=t_ns)
        else:
            caller = None if line["kind"] == "end" else callers.of(line["device_id"], line["tool"], line["arguments"])
            log.append(emit_driver(trace, line, t_ns=t_ns, caller=caller))
    return Told(trace.events, log)


def _foreign(event: Event) -> bool:
    return event.kind.startswith(FOREIGN)
