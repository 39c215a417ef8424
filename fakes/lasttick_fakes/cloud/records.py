"""What does the cloud know? Tasks and their assignments, which outlive a restart, and views of hosts, which do not.

Everything a test may look at after a run; nothing here decides. Times are nanoseconds of the cloud's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

TaskState = Literal["queued", "running", "succeeded", "failed"]
AssignmentState = Literal["offered", "running", "succeeded", "failed", "withdrawn"]
DeviceStatus = Literal["idle", "busy", "offline", "error"]


@dataclass(frozen=True, slots=True)
class Change:
    """One step in a task's life: the state it entered, by which assignment, and why."""

    t_ns: int
    state: TaskState
    assignment_id: str | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"t_ns": self.t_ns, "state": self.state, "assignment_id": self.assignment_id, "reason": self.reason}


@dataclass(slots=True)
class Assignment:
    """One try of a task on one device. `offered` = the answer that carries it has not been sent yet;
    `withdrawn` = it never was (the poll's connection was dropped): such a try costs nothing."""

    assignment_id: str
    task_id: str
    host_id: str
    device_id: str
    attempt: int
    state: AssignmentState
    offered_ns: int
    delivered_ns: int | None = None
    ended_ns: int | None = None
    failure_reason: str | None = None

    @property
    def over(self) -> bool:
        return self.state in ("succeeded", "failed", "withdrawn")

    def as_json(self) -> dict[str, Any]:
        return {
            "assignment_id": self.assignment_id,
            "host_id": self.host_id,
            "device_id": self.device_id,
            "attempt": self.attempt,
            "state": self.state,
            "offered_ns": self.offered_ns,
            "delivered_ns": self.delivered_ns,
            "ended_ns": self.ended_ns,
            "failure_reason": self.failure_reason,
        }


@dataclass(slots=True)
class Task:
    """What somebody wants done: a goal in words or a workflow of tool calls, on one device or on any."""

    task_id: str
    goal: str | None
    workflow: tuple[dict[str, Any], ...] | None
    device_id: str | None
    attempts: int
    attempts_left: int
    state: TaskState = "queued"
    failure_reason: str | None = None
    history: list[Change] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return self.state in ("succeeded", "failed")

    def work(self) -> dict[str, Any]:
        """`{kind: "goal", goal}` or `{kind: "workflow", workflow: [{tool, arguments}]}`."""
        if self.goal is not None:
            return {"kind": "goal", "goal": self.goal}
        return {"kind": "workflow", "workflow": list(self.workflow or ())}

    def failures_on(self, host_id: str, device_id: str) -> int:
        return sum(
            1 for a in self.assignments if a.state == "failed" and a.host_id == host_id and a.device_id == device_id
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "task_id": self.task_id,
            "state": self.state,
            **self.work(),
            "device_id": self.device_id,
            "attempts": self.attempts,
            "attempts_left": self.attempts_left,
            "failure_reason": self.failure_reason,
            "history": [change.as_json() for change in self.history],
            "assignments": [assignment.as_json() for assignment in self.assignments],
        }


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A heartbeat's body, checked. `mcp_busy_device_ids` is None when the host (an old one) did not send the field."""

    seq: int
    devices: tuple[Mapping[str, Any], ...]
    mcp_busy_device_ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class HostView:
    """A host as its last good heartbeat (or, before the first, its registration) shows it. Transient, never stored.

    `busy` holds `mcp_busy_device_ids` for look-ups only; nothing iterates over it.
    """

    host_id: str
    devices: Mapping[str, Mapping[str, Any]]
    mcp_busy_device_ids: tuple[str, ...] | None
    busy: frozenset[str]
    seq: int | None
    seen_ns: int
    registration: int

    def status(self, device_id: str) -> DeviceStatus:
        status: DeviceStatus = self.devices[device_id]["status"]
        return status

    def as_json(self, lost: bool) -> dict[str, Any]:
        return {
            "host_id": self.host_id,
            "devices": [dict(device) for device in self.devices.values()],
            "mcp_busy_device_ids": None if self.mcp_busy_device_ids is None else list(self.mcp_busy_device_ids),
            "last_seq": self.seq,
            "last_seen_ns": self.seen_ns,
            "lost": lost,
        }


def view(
    host_id: str,
    devices: Sequence[Mapping[str, Any]],
    mcp_busy_device_ids: tuple[str, ...] | None,
    *,
    seq: int | None,
    seen_ns: int,
    registration: int,
) -> HostView:
    """A view with its devices sorted by id, so that the order in which a host lists them changes no decision."""
    by_id = {device["device_id"]: device for device in sorted(devices, key=lambda device: str(device["device_id"]))}
    return HostView(
        host_id, by_id, mcp_busy_device_ids, frozenset(mcp_busy_device_ids or ()), seq, seen_ns, registration
    )


@dataclass(frozen=True, slots=True)
class Received:
    """A request body as it came: the bytes on the wire are the evidence, not what was understood of them."""

    t_ns: int
    path: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of the cloud, `kind` one of cloud.heartbeat, cloud.assign, cloud.result, trouble."""

    seq: int
    t_ns: int
    kind: str
    data: dict[str, Any]
