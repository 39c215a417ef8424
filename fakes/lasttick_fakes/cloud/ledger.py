"""What became of each task? The ledger of tasks, assignments and attempts; it outlives a restart of the cloud.

An attempt is spent by a failure, never by an offer that was not sent. The first word on an assignment stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from lasttick_fakes.cloud.problem import unknown_assignment, unknown_task
from lasttick_fakes.cloud.records import Assignment, Change, Task, TaskState


class Ledger:
    """State changes of tasks happen here and nowhere else. `tell(kind, data)` hears of deliveries and results."""

    def __init__(
        self, now_ns: Callable[[], int], next_id: Callable[[str], str], tell: Callable[[str, dict[str, Any]], None]
    ) -> None:
        self._now_ns = now_ns
        self._next_id = next_id
        self._tell = tell
        self.queue: list[Task] = []
        self.taken: dict[tuple[str, str], Assignment] = {}
        """(host id, device id) -> the assignment that is offered to it or runs on it."""
        self._tasks: dict[str, Task] = {}
        self._assignments: dict[str, Assignment] = {}
        self._done: dict[str, asyncio.Event] = {}

    def task(self, task_id: str) -> Task:
        if task_id not in self._tasks:
            raise unknown_task(task_id)
        return self._tasks[task_id]

    def tasks(self) -> list[Task]:
        return list(self._tasks.values())

    def assignment(self, assignment_id: str) -> Assignment:
        if assignment_id not in self._assignments:
            raise unknown_assignment(assignment_id)
        return self._assignments[assignment_id]

    async def done(self, task_id: str) -> Task:
        task = self.task(task_id)
        await self._done[task_id].wait()
        return task

    def submit(
        self,
        goal: str | None,
        workflow: Sequence[Mapping[str, Any]] | None,
        device_id: str | None,
        attempts: int,
    ) -> Task:
        if (goal is None) == (workflow is None):
            raise ValueError(f"goal={goal!r}, workflow={workflow!r}; expected exactly one of them; leave one out")
        if attempts < 1:
            raise ValueError(f"attempts={attempts!r}; expected at least 1; a task without an attempt can never run")
        steps = None if workflow is None else tuple(dict(step) for step in workflow)
        task = Task(self._next_id("task"), goal, steps, device_id, attempts, attempts)
        self._tasks[task.task_id] = task
        self._done[task.task_id] = asyncio.Event()
        self._change(task, "queued", None, None)
        self.queue.append(task)
        return task

    def offer(self, task: Task, host_id: str, device_id: str) -> Assignment:
        """Take the task out of the queue and the device with it; nothing is delivered yet."""
        attempt = task.attempts - task.attempts_left + 1
        assignment = Assignment(
            self._next_id("assignment"), task.task_id, host_id, device_id, attempt, "offered", self._now_ns()
        )
        self._assignments[assignment.assignment_id] = assignment
        task.assignments.append(assignment)
        self.taken[host_id, device_id] = assignment
        self.queue.remove(task)
        return assignment

    def delivered(self, assignment: Assignment) -> bool:
        """The answer that carries it was sent. False when that was known already, or it was withdrawn before."""
        if assignment.state != "offered":
            return False
        assignment.state = "running"
        assignment.delivered_ns = self._now_ns()
        self._change(self.task(assignment.task_id), "running", assignment.assignment_id, None)
        self._tell("cloud.assign", _about(assignment))
        return True

    def take_back(self, assignment: Assignment) -> None:
        """An offer whose answer was not sent: its task is the next in the queue again."""
        if assignment.state == "offered":
            self._end(assignment, "withdrawn", None)
            self.queue.insert(0, self.task(assignment.task_id))

    def succeed(self, assignment: Assignment) -> None:
        self._end(assignment, "succeeded", None)
        self._tell_result(assignment, "host")
        self._finish(self.task(assignment.task_id), "succeeded", assignment.assignment_id, None)

    def spend(self, assignment: Assignment, reason: str | None, *, by: Literal["host", "cloud"]) -> None:
        """A failed attempt costs one; then the task waits for its next one, behind the others, or has failed."""
        self._end(assignment, "failed", reason)
        self._tell_result(assignment, by)
        task = self.task(assignment.task_id)
        task.attempts_left -= 1
        if task.attempts_left > 0:
            self._change(task, "queued", assignment.assignment_id, reason)
            self.queue.append(task)
        else:
            self._finish(task, "failed", assignment.assignment_id, reason)

    def running_on(self, host_id: str) -> list[Assignment]:
        return [a for a in self.taken.values() if a.host_id == host_id and a.state == "running"]

    def hosts_at_work(self) -> list[str]:
        return sorted({a.host_id for a in self.taken.values() if a.state == "running"})

    def _end(
        self, assignment: Assignment, state: Literal["succeeded", "failed", "withdrawn"], reason: str | None
    ) -> None:
        assignment.state = state
        assignment.ended_ns = self._now_ns()
        assignment.failure_reason = reason
        self.taken.pop((assignment.host_id, assignment.device_id), None)

    def _finish(
        self, task: Task, state: Literal["succeeded", "failed"], assignment_id: str, reason: str | None
    ) -> None:
        task.failure_reason = reason
        self._change(task, state, assignment_id, reason)
        self._done[task.task_id].set()

    def _change(self, task: Task, state: TaskState, assignment_id: str | None, reason: str | None) -> None:
        task.state = state
        task.history.append(Change(self._now_ns(), state, assignment_id, reason))

    def _tell_result(self, assignment: Assignment, by: str) -> None:
        outcome = {"status": assignment.state, "failure_reason": assignment.failure_reason, "by": by}
        self._tell("cloud.result", {**_about(assignment), **outcome})


def _about(assignment: Assignment) -> dict[str, Any]:
    return {
        "assignment_id": assignment.assignment_id,
        "task_id": assignment.task_id,
        "host_id": assignment.host_id,
        "device_id": assignment.device_id,
        "attempt": assignment.attempt,
    }
