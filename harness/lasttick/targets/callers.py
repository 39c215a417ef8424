"""Who caused a driver call? Answered from marks the callers made themselves, never from what the target says.

Each call's arguments are its mark. A driver call whose arguments only one caller ever sent on that device is that
caller's. Tools without free arguments fall back to the callers that have such a call in flight. If more than one
remains, the caller is unknown, and a check that needs it is inconclusive.
Source: contract world, "Devices are a part of their own, and the judge".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lasttick.engine.trace import Event

_Key = tuple[str, str, str]


class Callers:
    """Fed with the trace (what clients send, what the cloud assigns); asked at the start of each driver call."""

    def __init__(self) -> None:
        self._senders: dict[_Key, dict[str, None]] = {}
        self._in_flight: dict[str, tuple[_Key, str]] = {}
        self._assignments: dict[str, str] = {}

    def see(self, event: Event) -> None:
        """Learn from one event of the trace; events must come in order of time."""
        data = event.data
        if event.kind == "call.start" and isinstance(device_id := data["arguments"].get("device_id"), str):
            key = _key(device_id, data["tool"], data["arguments"])
            self._senders.setdefault(key, {})[event.actor] = None
            self._in_flight[str(event.ref)] = (key, event.actor)
        elif event.kind == "call.end" and _answered(event):
            self._in_flight.pop(str(event.ref), None)
        elif event.kind == "cloud.assign":
            self._assigned(data)
        elif event.kind == "cloud.result":
            self._assignments.pop(f"cloud:{data.get('assignment_id')}", None)

    def of(self, device_id: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The caller of a driver call that starts now, or None when the marks do not tell."""
        key = _key(device_id, tool, arguments)
        senders = list(self._senders.get(key, ()))
        if len(senders) > 1:
            flying = {caller: None for flying_key, caller in self._in_flight.values() if flying_key == key}
            senders = list(flying)
        if not senders:
            senders = [caller for caller, device in self._assignments.items() if device == device_id]
        return senders[0] if len(senders) == 1 else None

    def _assigned(self, assignment: Mapping[str, Any]) -> None:
        """`workflow` steps are marks; what a goal does falls back to its assignment."""
        caller = f"cloud:{assignment['assignment_id']}"
        self._assignments[caller] = assignment["device_id"]
        for step in assignment.get("workflow") or []:
            self._senders.setdefault(_key(assignment["device_id"], step["tool"], step["arguments"]), {})[caller] = None


def _answered(event: Event) -> bool:
    """A call that was dropped, cancelled or lost is not over: its driver call may still be on its way."""
    return bool(event.data["ok"]) or (event.data.get("code") is not None and event.data.get("reason") is not None)


def _key(device_id: str, tool: str, arguments: Mapping[str, Any]) -> _Key:
    free = {name: value for name, value in arguments.items() if name != "device_id"}
    return device_id, tool, json.dumps(free, sort_keys=True, default=str)
