"""Does the closed loop see what goes wrong: a device shared, a session starved, a thread that fails?"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from lasttick.bench import contention
from lasttick.bench.contention import Device, Drive, Seen, Session, contend, lining_up, retrying, summed_up
from lasttick.bench.floors import BareDict, BareLine
from lasttick.model.lease import Decision, Granted, Holder, Refused

ALICE = Holder("mcp", "session-0")


class StepClock:
    """A clock that is always a little later."""

    def __init__(self) -> None:
        self._ticks = count()

    def now_ns(self) -> int:
        return next(self._ticks)

    def wall(self) -> Any:
        raise AssertionError

    async def sleep(self, seconds: float) -> None:
        raise AssertionError


class Always:
    """A store that grants everything to everybody: the planted defect."""

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        return Granted(device_id, holder, fresh=True)

    async def release(self, device_id: str, holder: Holder) -> bool:
        return True


class Only(Always):
    """A store that grants to one session for ever."""

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        return Granted(device_id, holder, fresh=True) if holder == ALICE else Refused(device_id, ALICE, "held")


@pytest.fixture(autouse=True)
def stepped_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice of a millisecond is a thousand looks at the clock, however fast the machine."""
    ticks = count(step=1_000)
    monkeypatch.setattr(contention, "real_ns", lambda: next(ticks))


def slice_of(take_and_give: Any, sessions: int, devices: int, drive: Drive = "tasks") -> Seen:
    return contend(*take_and_give, sessions=sessions, devices=devices, drive=drive, slice_s=0.001)


@pytest.mark.parametrize("drive", ["tasks", "threads"])
def test_double_occupancy_is_seen_at_the_device(drive: Drive) -> None:
    assert slice_of(retrying(Always()), 8, 1, drive).doubles > 0


@pytest.mark.parametrize("drive", ["tasks", "threads"])
def test_a_right_store_has_none(drive: Drive) -> None:
    seen = slice_of(retrying(BareDict(StepClock())), 8, 1, drive)
    assert seen.doubles == 0
    assert seen.grants_per_s > 0


def test_a_starved_session_is_counted_with_all_of_its_wait() -> None:
    seen = slice_of(retrying(Only()), 4, 1)
    assert (seen.starved, seen.jain) == (3, 0.25)
    assert seen.starvation_ms == pytest.approx(1.0, rel=0.1)


def test_the_line_hands_a_device_round() -> None:
    seen = slice_of(lining_up(BareLine()), 8, 1)
    assert (seen.starved, seen.doubles) == (0, 0)
    assert seen.jain > 0.95


def test_a_failure_in_a_thread_is_not_lost() -> None:
    class Broken(Always):
        async def acquire(self, device_id: str, holder: Holder) -> Decision:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        slice_of(retrying(Broken()), 2, 1, "threads")


def test_every_store_is_asked_for_the_same_devices() -> None:
    def wants() -> list[str]:
        asked: list[str] = []

        class Noting(Always):
            async def acquire(self, device_id: str, holder: Holder) -> Decision:
                asked.append(device_id)
                return await super().acquire(device_id, holder)

        slice_of(retrying(Noting()), 1, 16)
        return asked[:20]

    assert wants() == wants()
    assert len(set(wants())) > 4


def test_the_sums() -> None:
    one, two = (Session(Holder("mcp", name), []) for name in ("one", "two"))
    one.grants, one.acquires_ns, one.waits_ns = 3, [1_000, 2_000], [5_000, 6_000]
    two.grants, two.acquires_ns, two.waits_ns = 1, [9_000], [7_000_000]
    device = Device("device-1")
    device.doubles = 2
    assert summed_up([one, two], [device, Device("device-2")], 2.0) == Seen(
        grants_per_s=2.0,
        acquire_p50_us=2.0,
        acquire_p99_us=9.0,
        held_p50_us=6.0,
        held_p99_us=7000.0,
        jain=0.8,
        starvation_ms=7.0,
        starved=0,
        doubles=2,
    )


def test_a_device_counts_its_second_users_only() -> None:
    async def body() -> int:
        device = Device("device-1")
        await asyncio.gather(*(device.use() for _ in range(3)))
        await device.use()
        return device.doubles

    assert asyncio.run(body()) == 2
