"""Clocks: wall trouble moves nothing but the wall, and freezegun does not stop the system's."""

import asyncio
from datetime import timedelta

import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.clock import EPOCH, NS, SystemClock, VirtualClock, ns
from lasttick.engine.loop import run_virtual
from lasttick.ports import Clock, Entropy


def test_both_clocks_are_the_port():
    from lasttick.engine.chance import Chance
    from lasttick.engine.clock import SystemEntropy

    assert isinstance(SystemClock(), Clock)
    assert isinstance(Chance(1), Entropy)
    assert isinstance(SystemEntropy(), Entropy)


def test_wall_and_monotonic_are_driven_together():
    async def main(loop):
        clock = VirtualClock(loop)
        await clock.sleep(90)
        return clock.now_ns(), clock.wall()

    assert run_virtual(main) == (90 * NS, EPOCH + timedelta(seconds=90))


@given(st.lists(st.floats(-1e6, 1e6), max_size=5))
def test_steps_of_any_size_leave_monotonic_time_alone(steps):
    async def main(loop):
        clock = VirtualClock(loop)
        for seconds in steps:
            clock.step(seconds)
            await clock.sleep(1)
        return clock.now_ns(), clock.wall()

    now_ns, wall = run_virtual(main)
    assert now_ns == len(steps) * NS
    assert wall - EPOCH == pytest.approx(timedelta(seconds=sum(steps) + len(steps)), abs=timedelta(milliseconds=1))


def test_drift_and_pause_act_on_the_wall_only():
    async def main(loop):
        clock = VirtualClock(loop)
        clock.drift(0.5)
        await clock.sleep(10)
        drifted = clock.wall() - EPOCH
        clock.pause()
        await clock.sleep(10)
        paused = clock.wall() - EPOCH
        clock.pause(False)
        await clock.sleep(10)
        return drifted, paused, clock.wall() - EPOCH, clock.now_ns()

    assert run_virtual(main) == (
        timedelta(seconds=15),
        timedelta(seconds=15),
        timedelta(seconds=30),
        30 * NS,
    )


def test_freezegun_stops_neither_the_system_clock_nor_virtual_time():
    """A frozen monotonic clock would make every lease of a served target eternal."""
    clock = SystemClock()
    with freeze_time("2030-01-01"):
        first = clock.now_ns()
        while clock.now_ns() == first:
            pass
        assert clock.wall().year != 2030

        async def main(loop):
            await asyncio.sleep(5)
            return loop.time()

        assert run_virtual(main) == 5.0


@given(st.integers(0, 30 * 86_400 * 1000))
def test_millisecond_ticks_survive_the_way_to_nanoseconds_over_thirty_days(ticks):
    assert ns(ticks / 1000) == ticks * 1_000_000
