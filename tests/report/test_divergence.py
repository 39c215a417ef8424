"""Two histories that part, as a person sees them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lasttick.evidence import first_divergence
from lasttick.report import side_by_side

SHOWN = """
first difference at event 3 (line 4 of the trace)
    t=0  host  part.start  {"ttl_s": 60.0}
    t=0  agent-a  call.start c1  {"tool": "tap", "device_id": "phone-1"}
    t=0  phone-1  driver.start d1  {"tool": "tap", "caller": "agent-a"}
  ! recorded                             | repeated
  ! t=90  agent-a  call.end c1           | t=90.001  agent-a  call.end c1
  !   tool: "tap"                        |   tool: "tap"
  !   device_id: "phone-1"               |   device_id: "phone-1"
  !   ok: true                           |   ok: false
  !   reason: null                       |
    differs in: t_ns, data.ok, data.reason
"""


def test_side_by_side(calls: Any) -> None:
    recorded = calls.call("agent-a", 0, 90).events
    other = replace(recorded[3], t_ns=90_001_000_000, data={"tool": "tap", "device_id": "phone-1", "ok": False})
    divergence = first_divergence(recorded, [*recorded[:3], other])
    assert divergence is not None
    assert side_by_side(divergence, width=80) == SHOWN.strip("\n")


def test_a_history_that_ends(calls: Any) -> None:
    recorded = calls.call("agent-a", 0, 90).events
    divergence = first_divergence(recorded, recorded[:2])
    assert divergence is not None
    text = side_by_side(divergence, width=80)
    assert "| (the history ends here)" in text
    assert "differs in" not in text


def test_a_hostile_text_stays_in_its_column(calls: Any) -> None:
    recorded = calls.call("eve\x1b[2J\n", 0, 90, tool="x" * 5000).events
    divergence = first_divergence(recorded[1:], [])
    assert divergence is not None
    text = side_by_side(divergence, width=80)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
