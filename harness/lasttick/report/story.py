"""What did each actor do, for how long, and how did it end? Events of one example, as deeds that can be drawn.

The text lanes and the HTML lanes draw the same deeds. A lease is told by the judge's rule, from the device's own log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lasttick.evidence import DriverCall, Event

Tone: TypeAlias = Literal["ok", "refused", "error", "open", "mark", "trouble", "quiet"]
STARTS = ("call.start", "cloud.assign")
ENDS = ("call.end", "cloud.result")
MARKS = ("session.end", "part.stop", "part.kill")
TONE_OF_OUTCOME: Mapping[str, Tone] = {"busy": "refused", "denied": "refused", "lost": "open", "pending": "open"}
"""What a law made of another system's answer, whatever that system calls it."""
QUIET = ("session.open", "part.start", "cloud.heartbeat")


@dataclass(frozen=True, slots=True)
class Deed:
    """`end_s` None: it had not ended. `label` says what, `note` how it ended. A mark ends when it starts."""

    actor: str
    start_s: float
    end_s: float | None
    label: str
    note: str
    tone: Tone
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """One holder had the device from `start_s` to `end_s` (None: to the end of what is known)."""

    caller: str | None
    start_s: float
    end_s: float | None


def deeds(events: Iterable[Event]) -> list[Deed]:
    """Calls, assignments and decisions, troubles, ends of sessions and parts, and (tone quiet) what merely began."""
    events = list(events)
    ends = {(event.ref, event.kind): event for event in events if event.kind in ENDS}
    told: list[Deed] = []
    for event in events:
        if event.kind in STARTS:
            end = ends.get((event.ref, ENDS[STARTS.index(event.kind)]))
            label = f"{event.data.get('tool') or event.kind} {event.data.get('device_id') or ''}".strip()
            note, tone = _outcome(end)
            told.append(Deed(event.actor, event.t_s, end.t_s if end else None, label, note, tone, event.ref))
        elif event.kind in MARKS or event.kind in QUIET:
            tone = "mark" if event.kind in MARKS else "quiet"
            told.append(Deed(event.actor, event.t_s, event.t_s, event.kind.replace(".", " "), "", tone))
        elif event.kind == "vault.approval":
            label = " ".join(str(event.data.get(name) or "") for name in ("state", "decision", "decided_by")).strip()
            told.append(Deed("approval", event.t_s, event.t_s, label, "", "mark"))
        elif event.kind == "trouble":
            label = " ".join(["trouble", *map(str, event.data.values())])
            told.append(Deed(event.actor, event.t_s, event.t_s, label, "", "trouble"))
    return told


def _outcome(end: Event | None) -> tuple[str, Tone]:
    if end is None:
        return "no answer", "open"
    if end.kind == "cloud.result":
        done = end.data.get("status") == "succeeded"
        return str(end.data.get("failure_reason") or end.data.get("status") or "done"), "ok" if done else "error"
    if end.data.get("ok"):
        return str(end.data.get("told") or "ok"), "ok"
    reason, outcome = end.data.get("reason"), end.data.get("outcome")
    if isinstance(outcome, str) and outcome in TONE_OF_OUTCOME:
        return str(reason or outcome), TONE_OF_OUTCOME[outcome]
    return str(reason or end.data.get("code") or "error"), "refused" if reason == "device_busy" else "error"


def holds(calls: Sequence[DriverCall]) -> list[Held]:
    """Who held one device, by its driver calls in order; where two did, the later one is shown."""
    told: list[Held] = []
    for index, call in enumerate(calls):
        end_s = held_until_s(call)
        later = next((other for other in calls[index + 1 :] if other.holder != call.holder), None)
        if later and (end_s is None or later.start.t_s < end_s):
            end_s = later.start.t_s
        before = told[-1] if told else None
        same = index > 0 and calls[index - 1].holder == call.holder
        if before and same and (before.end_s is None or before.end_s >= call.start.t_s):
            longest = None if before.end_s is None or end_s is None else max(before.end_s, end_s)
            told[-1] = Held(before.caller, before.start_s, longest)
        else:
            told.append(Held(call.caller, call.start.t_s, end_s))
    return told


def held_until_s(call: DriverCall) -> float | None:
    """When the right of this call's holder ends if nothing renews it; None: to the end of what is known."""
    if call.end is None:
        return None
    if call.is_cloud or not call.runs:
        return call.end.t_s
    ends = [call.end.t_s + run.ttl_ns / 1e9 for run in call.runs]
    ends += [run.end.t_s for run in call.runs if run.end]
    if call.session and call.session.end:
        ends.append(call.session.end.t_s)
    return max(call.end.t_s, min(ends))
