"""Did every request that reached the third party come from a tool call that the gateway did not refuse? (GW-07)

Judged from what is seen outside the platform: calls and answers at its door, and the third party's own log. A refused
call must leave nothing there, so of one run the third party may see at most as many requests as there were calls that
were not refused. (A call that got no answer, or an answer that is no refusal, may have been carried out.)
"""

from __future__ import annotations

from collections.abc import Iterable

from lasttick.checks.history import split_examples
from lasttick.checks.verdict import Verdict
from lasttick.engine.trace import Event

ID = "GW-07"
EXPECTED = "expected a refused call to leave nothing at the third party (GW-07)"


def untouched(events: Iterable[Event]) -> Verdict:
    """GW-07 over a whole trace. Not applicable when no tool was called."""
    told = split_examples(events)
    if not any(event.kind == "gateway.call" for example in told for event in example):
        return Verdict(ID, "not_applicable", "no tool was called")
    for example in told:
        carried_out: dict[str | None, int] = {}
        for event in example:
            if event.kind == "gateway.call":
                carried_out[event.ref] = carried_out.get(event.ref, 0) + 1
            elif event.kind == "gateway.answer" and _refused(event):
                carried_out[event.ref] -= 1
        for event in example:
            if event.kind != "third.request":
                continue
            left = carried_out.get(event.ref, 0) - 1
            if left < 0:
                return Verdict(ID, "fail", f"{_told(event)}; {EXPECTED}", event.t_s)
            carried_out[event.ref] = left
    return Verdict(ID, "pass", "")


def _refused(event: Event) -> bool:
    """A refusal of the platform's own. What it says of the third party (5xx) may come after the third party was asked,
    and what stands between it and its caller says no code."""
    status = event.data.get("status")
    return isinstance(status, int) and 400 <= status < 500 and event.data.get("code") is not None


def _told(event: Event) -> str:
    path, run = event.data.get("path"), event.ref
    whose = "of no run" if run is None else f"of run {run}"
    return f"the third party was asked for {path} {whose}, by no call that went through"
