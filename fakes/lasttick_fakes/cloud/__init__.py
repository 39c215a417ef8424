"""The fake cloud: a whole control plane, with trouble on demand."""

from lasttick_fakes.cloud.control import Cloud
from lasttick_fakes.cloud.problem import Problem
from lasttick_fakes.cloud.records import Assignment, Change, Happened, Heartbeat, HostView, Received, Task
from lasttick_fakes.cloud.scheduler import matches
from lasttick_fakes.cloud.trouble import HeartbeatTrouble
from lasttick_fakes.cloud.wire import asgi

__all__ = [
    "Assignment",
    "Change",
    "Cloud",
    "Happened",
    "Heartbeat",
    "HeartbeatTrouble",
    "HostView",
    "Problem",
    "Received",
    "Task",
    "asgi",
    "matches",
]
