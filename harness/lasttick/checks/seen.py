"""Did the run see what makes its verdict worth something? A lease that nobody contended proves nothing.

Source: HA-05 ("a run that saw no refusal during a call and no hand-over is inconclusive"), contract world, "Scenario".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, TypeAlias

from lasttick.checks.history import DriverCall, History, Moment, histories, moment, ns
from lasttick.engine.trace import Event

Sight: TypeAlias = Literal["refusal-during-call", "hand-over", "hand-over-at-tick"]
TICK_S = 0.001


def seen(events: Iterable[Event], *, tick_s: float = TICK_S) -> frozenset[Sight]:
    """Which of the sights occurred in any example.

    refusal-during-call: a client got device_busy while the device surely ran another caller's call.
    hand-over: one caller's driver call follows another caller's on a device.
    hand-over-at-tick: it started within one tick from the instant at which the other's idle lease ran out.
    """
    return frozenset(sight for history in histories(events) for sight in _sights(history, ns(tick_s)))


def _sights(history: History, tick_ns: int) -> Iterator[Sight]:
    for calls in history.by_device().values():
        for before, after in pairwise(calls):
            if None in (before.caller, after.caller) or before.caller == after.caller:
                continue
            yield "hand-over"
            if _at_tick(before, after, tick_ns):
                yield "hand-over-at-tick"
    if any(_during(history, *refused) for refused in _refusals(history)):
        yield "refusal-during-call"


def _at_tick(before: DriverCall, after: DriverCall, tick_ns: int) -> bool:
    if before.is_cloud or before.end is None or (before.session and before.session.end):
        return False
    late_ns = [after.start.t_ns - before.end.t_ns - run.ttl_ns for run in before.runs]
    return any(0 <= late < tick_ns for late in late_ns)


def _refusals(history: History) -> Iterator[tuple[str, str | None, Moment, Moment]]:
    """Client, device, and the interval between sending the call and reading `device_busy`."""
    sent = {(event.actor, event.ref): event for event in history.events if event.kind == "call.start"}
    for event in history.events:
        start = sent.get((event.actor, event.ref))
        if event.kind == "call.end" and event.data.get("reason") == "device_busy" and start is not None:
            device = event.data.get("device_id", start.data.get("device_id"))
            yield event.actor, device, moment(start), moment(event)


def _during(history: History, client: str, device: str | None, sent: Moment, answered: Moment) -> bool:
    return any(
        call.device == device
        and call.caller not in (None, client)
        and call.start < sent
        and (call.end is None or answered < call.end)
        for call in history.calls
    )
