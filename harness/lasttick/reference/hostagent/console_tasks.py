"""What did the cloud have this host do? The last assignments, for a person's eyes; nothing is decided on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lasttick.model import errors
from lasttick.ports import Clock
from lasttick.reference.hostagent.assignments import Assignment, AssignmentExecutor, Outcome

TASKS_MAX = 50
REASON_CHARS_MAX = 300
"""A reason is text from devices and screens: as long as they like. Ids are the cloud's: `errors.shown` bounds them."""


@dataclass(slots=True)
class Entry:
    assignment_id: str
    device_id: str
    began_ns: int
    status: str = "running"
    reason: str | None = None
    ended_ns: int | None = None


class TaskLog:
    """The last TASKS_MAX assignments, newest first. `version` changes whenever they do."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[Entry] = []
        self.version = 0

    def began(self, assignment: Assignment) -> Entry:
        # As they may be shown: with one lone surrogate in an id no encoder would take the status any more.
        entry = Entry(errors.shown(assignment.assignment_id), errors.shown(assignment.device_id), self._clock.now_ns())
        self._entries.insert(0, entry)
        del self._entries[TASKS_MAX:]
        self.version += 1
        return entry

    def ended(self, entry: Entry, status: str, reason: str | None) -> None:
        entry.status, entry.ended_ns = status, self._clock.now_ns()
        entry.reason = None if reason is None else _shortened(errors.sendable(reason))
        self.version += 1

    def rows(self) -> list[dict[str, Any]]:
        """`{assignment_id, device_id, status, reason, began_s_ago, took_s}`; `took_s` None while it runs."""
        now_ns = self._clock.now_ns()
        return [
            {
                "assignment_id": entry.assignment_id,
                "device_id": entry.device_id,
                "status": entry.status,
                "reason": entry.reason,
                "began_s_ago": (now_ns - entry.began_ns) / 1e9,
                "took_s": None if entry.ended_ns is None else (entry.ended_ns - entry.began_ns) / 1e9,
            }
            for entry in self._entries
        ]


def _shortened(reason: str) -> str:
    return reason if len(reason) <= REASON_CHARS_MAX else reason[:REASON_CHARS_MAX] + "…"


class WatchedExecutor(AssignmentExecutor):
    """An executor that writes down what it runs in `tasks`."""

    def __init__(self, *, tasks: TaskLog, **parts: Any) -> None:
        super().__init__(**parts)
        self._tasks = tasks

    async def execute(self, assignment: Assignment) -> Outcome:
        entry = self._tasks.began(assignment)
        outcome = Outcome("failed", "stopped")
        try:
            outcome = await super().execute(assignment)
            return outcome
        finally:
            self._tasks.ended(entry, outcome.status, outcome.failure_reason)
