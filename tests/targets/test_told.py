"""Logs of other processes and the world's own events become one history, by time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lasttick.engine.trace import Trace
from lasttick.targets.told import Told, tell

START_NS = 5_000_000_000_000
START_WALL = datetime(2026, 1, 1, tzinfo=UTC)
MS = 1_000_000


class History:
    """The world's own events at given milliseconds, and lines of the rack and the cloud."""

    def __init__(self) -> None:
        self.own = Trace()
        self.now_ms = 0
        self.own.use_clock(lambda: self.now_ms * MS, lambda: START_WALL)
        self.rack: list[dict[str, Any]] = []
        self.cloud: list[dict[str, Any]] = []

    def emit(self, at_ms: int, actor: str, kind: str, ref: str | None = None, **data: Any) -> None:
        self.now_ms = at_ms
        self.own.emit(actor, kind, ref, **data)

    def call(self, at_ms: int, client: str, ref: str, **arguments: Any) -> None:
        arguments = {"device_id": "phone-1", **arguments}
        self.emit(at_ms, client, "call.start", ref, tool="tap", device_id="phone-1", arguments=arguments)

    def drive(self, at_ms: int, kind: str, call: int, **arguments: Any) -> None:
        self.rack.append(
            {
                "seq": len(self.rack) + 1,
                "t_ns": START_NS + at_ms * MS,
                "device_id": "phone-1",
                "kind": kind,
                "call": call,
                "tool": "tap",
                "arguments": arguments,
                "outcome": "ok" if kind == "end" else None,
            }
        )

    def cloud_says(self, at_ms: int, kind: str, /, **data: Any) -> None:
        self.cloud.append({"t_ns": START_NS + at_ms * MS, "kind": kind, "data": data})

    def tell(self) -> Told:
        return tell(self.own, self.rack, self.cloud, START_NS, START_WALL)


def test_merged_by_time_numbered_and_stamped_anew() -> None:
    history = History()
    history.call(10, "alice", "c1", x=1)
    history.drive(11, "start", 1, x=1)
    history.drive(30, "end", 1, x=1)
    history.cloud_says(20, "cloud.heartbeat", seq=1)
    history.emit(40, "alice", "call.end", "c1", ok=True, code=None, reason=None)
    events = history.tell().events
    assert [(event.seq, event.t_ns // MS, event.actor, event.kind) for event in events] == [
        (0, 10, "alice", "call.start"),
        (1, 11, "phone-1", "driver.start"),
        (2, 20, "cloud", "cloud.heartbeat"),
        (3, 30, "phone-1", "driver.end"),
        (4, 40, "alice", "call.end"),
    ]
    assert events[1].data == {"tool": "tap", "arguments": {"x": 1}, "caller": "alice", "call": 1}
    assert events[3].data == {"tool": "tap", "call": 1, "outcome": "ok"}
    assert events[3].ref == "d1"
    assert [event.wall[-5:] for event in events] == [".010Z", ".011Z", ".020Z", ".030Z", ".040Z"]


def test_at_one_nanosecond_a_call_is_sent_before_it_is_driven() -> None:
    history = History()
    history.drive(10, "start", 1, x=1)
    history.cloud_says(10, "cloud.heartbeat", seq=1)
    history.call(10, "alice", "c1", x=1)
    told = history.tell()
    assert [event.kind for event in told.events] == ["call.start", "cloud.heartbeat", "driver.start"]
    assert told.log[0].caller == "alice"


def test_order_within_one_log_is_kept() -> None:
    history = History()
    history.drive(10, "start", 1, x=1)
    history.drive(10, "end", 1, x=1)
    history.drive(10, "start", 2, x=1)
    history.drive(10, "end", 2, x=1)
    assert [(entry.kind, entry.call) for entry in history.tell().log] == [
        ("start", 1),
        ("end", 1),
        ("start", 2),
        ("end", 2),
    ]


def test_the_log_is_in_world_time_with_callers() -> None:
    history = History()
    history.call(0, "alice", "c1", x=1)
    history.drive(1500, "start", 1, x=1)
    history.drive(2500, "end", 1, x=1)
    history.drive(3000, "start", 2, x=9)
    log = history.tell().log
    assert [(entry.t_s, entry.caller, entry.outcome) for entry in log] == [
        (1.5, "alice", None),
        (2.5, None, "ok"),
        (3.0, None, None),
    ]


def test_telling_again_tells_the_same() -> None:
    """A world asks for its rack's log while it goes on, and writes the whole history at its end."""
    history = History()
    history.call(0, "alice", "c1", x=1)
    history.drive(1, "start", 1, x=1)
    first = history.tell()
    history.own.events[:] = first.events
    history.drive(2, "end", 1, x=1)
    second = history.tell()
    assert second.events[:2] == first.events
    assert [event.kind for event in second.events] == ["call.start", "driver.start", "driver.end"]


def test_an_assignment_and_its_steps() -> None:
    history = History()
    assignment = {"assignment_id": "a1", "task_id": "t1", "device_id": "phone-1", "kind": "workflow"}
    history.cloud_says(1, "cloud.assign", **assignment, workflow=[{"tool": "tap", "arguments": {"x": 7}}])
    history.drive(2, "start", 1, x=7)
    history.cloud_says(3, "cloud.result", assignment_id="a1", status="succeeded", failure_reason=None)
    told = history.tell()
    assert told.log[0].caller == "cloud:a1"
    assert [(event.kind, event.ref) for event in told.events if event.actor == "cloud"] == [
        ("cloud.assign", "a1"),
        ("cloud.result", "a1"),
    ]


def test_secrets_of_the_world_are_hidden_in_what_others_wrote() -> None:
    history = History()
    history.own.redact.learn("s3cret-session-id", "session-1")
    history.cloud_says(1, "cloud.heartbeat", owner="mcp_session:s3cret-session-id")
    history.drive(2, "start", 1, text="s3cret-session-id")
    told = history.tell()
    assert "s3cret" not in str([event.as_json() for event in told.events])


def test_what_a_part_says_of_its_own_instant_is_kept_beside_the_events() -> None:
    history = History()
    line = {"t_ns": START_NS + 3 * MS, "actor": "vaultd", "kind": "vault.request", "ref": None}
    others = [{**line, "data": {"t_ns": 7, "seq": 1}}]
    told = tell(history.own, [], [], START_NS, START_WALL, others)
    assert [(event.kind, event.t_ns, event.data) for event in told.events] == [
        ("vault.request", 3 * MS, {"at_ns": 7, "seq": 1})
    ]
