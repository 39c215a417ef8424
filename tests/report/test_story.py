"""How a call ended, as the lanes tell it."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.report.story import deeds


@pytest.mark.parametrize(
    ("end", "note", "tone"),
    [
        ({"ok": True, "outcome": "ok"}, "ok", "ok"),
        ({"ok": False, "outcome": "busy"}, "busy", "refused"),
        ({"ok": False, "outcome": "denied", "code": -32000}, "denied", "refused"),
        ({"ok": False, "outcome": "busy", "reason": "device_busy"}, "device_busy", "refused"),
        ({"ok": False, "outcome": "lost"}, "lost", "open"),
        ({"ok": False, "outcome": "pending"}, "pending", "open"),
        ({"ok": False, "outcome": "error", "code": -32000}, "-32000", "error"),
        ({"ok": False, "reason": "device_busy"}, "device_busy", "refused"),
        ({"ok": False, "reason": "driver_error"}, "driver_error", "error"),
        ({"ok": False, "outcome": ["busy"]}, "error", "error"),
    ],
)
def test_an_answer_is_drawn_by_what_it_means(calls: Any, end: dict[str, Any], note: str, tone: str) -> None:
    calls.add(0, "bob", "call.start", "c1", tool="lease.acquire")
    calls.add(1, "bob", "call.end", "c1", tool="lease.acquire", **end)
    (deed,) = [deed for deed in deeds(calls.events) if deed.actor == "bob"]
    assert (deed.note, deed.tone) == (note, tone)
