"""Real time that went past an instant: the example is played again on a fresh world, and then without a verdict."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from lasttick.targets.outcome import Inconclusive, Overslept
from lasttick.targets.process import ProcessWorld
from lasttick.targets.run import TRIES, ScenarioRun
from lasttick.targets.world import World


def run(misses: int) -> tuple[ScenarioRun, list[World]]:
    """A scenario that oversleeps in its first `misses` worlds."""
    worlds: list[World] = []

    async def sleepy(world: World) -> None:
        worlds.append(world)
        world.trace.emit("harness", "trouble", None, world=len(worlds))
        if len(worlds) <= misses:
            raise Overslept("overslept by 0.500 s")

    return ScenarioRun(sleepy, scenario_id="own/story/sleepy", seed=1, mode="virtual"), worlds


def test_an_overslept_example_is_played_again_and_leaves_no_trace_of_the_first() -> None:
    played, worlds = run(misses=TRIES - 1)
    played.example()
    assert len({id(world) for world in worlds}) == TRIES
    assert (played.examples, played.failed) == (1, 0)
    assert [event.kind for event in played.events] == ["example", "trouble"]
    assert played.events[1].data == {"world": TRIES}


def test_one_that_always_oversleeps_is_inconclusive() -> None:
    played, worlds = run(misses=TRIES)
    with pytest.raises(Inconclusive, match=r"overslept by 0\.500 s"):
        played.example()
    assert len(worlds) == TRIES
    assert played.failed == 1


@pytest.mark.parametrize(("now_s", "late"), [(1.0, False), (1.24, False), (1.26, True), (5.0, True)])
def test_process_mode_oversleeps_when_it_is_more_than_a_tick_past_the_instant(now_s: float, late: bool) -> None:
    world: Any = SimpleNamespace(tick_s=ProcessWorld.tick_s, now_s=now_s)

    async def until() -> None:
        await ProcessWorld.until(world, 1.0 if now_s > 1.125 else now_s - 0.125)

    if late:
        with pytest.raises(Overslept, match=r"the instant t=1\.000; this machine is too busy"):
            asyncio.run(until())
    else:
        asyncio.run(until())
