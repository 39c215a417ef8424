"""Which device may a task run on? The scheduler's rules as pure functions (contract hostagent, D8 and HA-08).

The cloud never acts on a device that the last heartbeat reported as held by an MCP session. A host that does not send
the field has no such devices and is treated as it was before the field existed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lasttick_fakes.cloud.records import HostView, Task


def lost(view: HostView, now_ns: int, lost_after_ns: int) -> bool:
    """No good heartbeat (or registration) for that long: what the cloud knows of the host is worth nothing."""
    return now_ns >= view.seen_ns + lost_after_ns


def matches(
    device_id: str | None, view: HostView, candidate: str, *, running: bool, now_ns: int, lost_after_ns: int
) -> bool:
    """May a task that asks for `device_id` (None: any) run on the device `candidate` of the host in `view` now?

    `running`: an assignment of this cloud already has the device. A host is scheduled to only once it has sent a
    heartbeat since it registered: a registration does not say what MCP sessions hold, and after a restart of the
    cloud nothing else does.
    """
    if device_id is not None and device_id != candidate:
        return False
    if view.seq is None or lost(view, now_ns, lost_after_ns):
        return False
    return view.status(candidate) == "idle" and candidate not in view.busy and not running


def choose(task: Task, views: Iterable[HostView], may: Callable[[HostView, str], bool]) -> tuple[str, str] | None:
    """The (host id, device id) to try next: where this task failed least, then by device id, then by host id."""
    found = [
        (task.failures_on(view.host_id, candidate), candidate, view.host_id)
        for view in views
        for candidate in view.devices
        if may(view, candidate)
    ]
    if not found:
        return None
    _, device_id, host_id = min(found)
    return host_id, device_id
