"""The last assignments: bounded, newest first, and the end of each told as it was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import JSONResponse

from lasttick.reference.hostagent import console_tasks
from lasttick.reference.hostagent.assignments import SUCCEEDED, Assignment, AssignmentExecutor, Outcome
from lasttick.reference.hostagent.console_tasks import TaskLog, WatchedExecutor


class Clock:
    ns = 0

    def now_ns(self) -> int:
        return self.ns


def assignment(number: int) -> Assignment:
    return Assignment(f"a-{number}", "phone-1", ())


def test_the_newest_come_first_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_tasks, "TASKS_MAX", 3)
    clock = Clock()
    tasks = TaskLog(clock)  # type: ignore[arg-type]
    entries = []
    for number in range(5):
        clock.ns = number * 10**9
        entries.append(tasks.began(assignment(number)))
    tasks.ended(entries[4], "failed", "x" * 1_000)
    tasks.ended(entries[0], "succeeded", None)  # gone already; nobody minds
    rows = tasks.rows()
    assert [row["assignment_id"] for row in rows] == ["a-4", "a-3", "a-2"]
    assert [row["status"] for row in rows] == ["failed", "running", "running"]
    assert [row["began_s_ago"] for row in rows] == [0, 1, 2]
    assert [row["took_s"] for row in rows] == [0, None, None]
    assert len(rows[0]["reason"]) == 301
    assert tasks.version == 7


@pytest.mark.parametrize(
    ("ends", "status", "reason"),
    [(SUCCEEDED, "succeeded", None), (Outcome("failed", "no"), "failed", "no"), (None, "failed", "stopped")],
)
def test_each_end_is_told(ends: Outcome | None, status: str, reason: str | None, monkeypatch: Any) -> None:
    async def execute(self: Any, given: Assignment) -> Outcome:
        assert tasks.rows()[0]["status"] == "running"
        return ends if ends is not None else await asyncio.Event().wait()  # type: ignore[return-value]

    monkeypatch.setattr(AssignmentExecutor, "execute", execute)
    tasks = TaskLog(Clock())  # type: ignore[arg-type]
    executor = WatchedExecutor(tasks=tasks, store=None, manager=None, calls=None)

    async def main() -> None:
        task = asyncio.create_task(executor.execute(assignment(1)))
        await asyncio.wait((task,), timeout=0.01)
        task.cancel()
        await asyncio.wait((task,))

    asyncio.run(main())
    (row,) = tasks.rows()
    assert (row["status"], row["reason"]) == (status, reason)


def test_what_the_cloud_calls_things_can_be_shown_and_is_short() -> None:
    """Lone surrogates, controls that turn the line round, ids of any length: one such row would stop `/api/status`."""
    tasks = TaskLog(Clock())  # type: ignore[arg-type]
    entry = tasks.began(Assignment("a\ud800", "\u202e" + "d" * 1_000, ()))
    tasks.ended(entry, "failed", "no \udfff on the screen")
    (row,) = tasks.rows()
    assert (row["assignment_id"], row["reason"]) == ("a\\ud800", "no \\udfff on the screen")
    assert row["device_id"].startswith("\\u202edd")
    assert len(row["device_id"]) < 100
    assert JSONResponse(tasks.rows()).status_code == 200
