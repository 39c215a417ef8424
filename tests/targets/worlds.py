"""A virtual world for one test: `play(story)` runs an async story in it and gives back its trace."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.patches import deterministic
from lasttick.engine.trace import Event, Trace
from lasttick.targets.virtual import VirtualWorld


def play(story: Callable[[VirtualWorld], Awaitable[Any]], *, seed: int = 1) -> list[Event]:
    """As `lasttick.targets.run` plays an example, without the checks. Raises what the story raised."""
    trace = Trace()

    async def main(loop: VirtualLoop) -> None:
        with tempfile.TemporaryDirectory() as folder:
            world = VirtualWorld(loop, seed=seed, trace=trace, path=Path(folder))
            with deterministic(world.chance, world.clock):
                try:
                    await story(world)
                except BaseException:
                    await world.abandon()
                    raise
                await world.close()

    run_virtual(main)
    return trace.events


def told(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event.kind == kind]
