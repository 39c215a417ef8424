"""Can a host that kept running mix up the assignments of two clouds that both started from nothing?"""

from __future__ import annotations

from datetime import UTC, datetime

from lasttick_fakes.cloud import Cloud


class StandingClock:
    def __init__(self, now_ns: int) -> None:
        self._now_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def ids(now_ns: int) -> list[str]:
    cloud = Cloud(StandingClock(now_ns))
    return [cloud.register(None, []), cloud.submit(goal="tap Send").task_id, cloud.submit(goal="tap Send").task_id]


def test_ids_are_counted() -> None:
    assert ids(0) == ["host-1", "task-1", "task-2"]


def test_clouds_that_start_at_different_times_share_no_id_and_each_run_repeats_them() -> None:
    lives = [ids(now_ns) for now_ns in (0, 1, 60_000_000_000)]
    assert len({name for life in lives for name in life}) == 9
    assert ids(1) == lives[1]
