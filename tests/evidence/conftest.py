"""A run folder with one scenario of two examples, as the plugin writes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lasttick.checks import STANDING
from lasttick.engine.trace import Event, Trace, trace_sha256
from lasttick.evidence import RunFolder, ScenarioResult, trace_path, write_catalogue

ID = "hostagent/lease/story"
NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


def events_of(*, overlap: bool = False) -> list[Event]:
    """Two examples; in the second one two callers drive the phone, at once if `overlap`."""
    trace = Trace()
    trace.emit("harness", "example", None, number=1, arguments={"n": "1"})
    trace.emit("alice", "call.start", "c1", t_ns=0, tool="tap", device_id="phone-1")
    trace.emit("alice", "call.end", "c1", t_ns=5, ok=True)
    trace.emit("harness", "example", None, number=2, arguments={"n": "2"})
    trace.emit("host", "part.start", None, t_ns=0, ttl_s=60.0)
    trace.emit("phone-1", "driver.start", "d1", t_ns=0, tool="tap", caller="alice", call=1)
    if overlap:
        trace.emit("phone-1", "driver.start", "d2", t_ns=30_000_000_000, tool="tap", caller="bob", call=2)
    trace.emit("phone-1", "driver.end", "d1", t_ns=90_000_000_000, tool="tap", call=1, outcome="ok")
    if overlap:
        trace.emit("phone-1", "driver.end", "d2", t_ns=95_000_000_000, tool="tap", call=2, outcome="ok")
    return trace.events


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    def make(events: list[Event] | None = None, **changes: object) -> Path:
        events = events_of() if events is None else events
        folder = RunFolder.create(tmp_path / "reports", utc=NOON, short_id="ab12")
        folder.write_manifest(
            seed=7, mode="virtual", started=NOON, command_line=["pytest"], targets={"hostagent": "reference"}
        )
        folder.write_trace(ID, events)
        checks = tuple(check(events) for check in STANDING)
        fields = {"checks": checks, "trace_sha256": trace_sha256(events), "trace": str(trace_path(ID)), **changes}
        result = ScenarioResult(ID, ("HA-05",), (), "pass", "", 0.1, 90.0, **fields)  # type: ignore[arg-type]
        write_catalogue(folder.path, {"HA-05": "At most one holder."})
        folder.finish([result], seed=7, mode="virtual")
        return folder.path

    return make
