"""Who plays the two sides? Two versions of the reference in one world, or this project and another program.

In one world they play one after the other, on the same fakes made fresh; programs have a world each, and play at once.
Source: VC-21.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from lasttick.compare.corpus import scenes
from lasttick.compare.judge import Report, judge
from lasttick.compare.play import Fakes, Played, play, quiet
from lasttick.compare.script import Script
from lasttick.engine.trace import Trace
from lasttick.mutants import find
from lasttick.targets.process import ProcessWorld
from lasttick.targets.world import World

OURS, PEER = "ours", "peer"
Tell = Callable[[str], None]


async def in_one_world(world: World, scripts: Sequence[Script], mutant_id: str = "") -> Report:
    """The world's target, and as its peer the same again, or a wrong version of it. Raises UnknownMutant, SideDown."""
    fakes = await Fakes.of(world)
    ours = await play(fakes, scripts, OURS)
    peers = await (_wrong(fakes, scripts, mutant_id) if mutant_id else play(fakes, scripts, PEER))
    return judge(scenes(scripts), ours, peers)


async def programs(
    scripts: Sequence[Script], peer: str, *, seed: int, ours: str | None = None, tell: Tell = quiet
) -> Report:
    """This project's server (or the command `ours`), and the command `peer`. Raises SideDown."""
    async with process_world(seed, ours) as our_world, process_world(seed, peer) as peer_world:
        mine = play(await Fakes.of(our_world), scripts, OURS, tell)
        theirs = play(await Fakes.of(peer_world), scripts, PEER, tell)
        played = await asyncio.gather(mine, theirs)
    return judge(scenes(scripts), *played)


@contextlib.asynccontextmanager
async def process_world(seed: int, command: str | None) -> AsyncIterator[World]:
    """A world of processes, with another program in the server's place, or not."""
    with tempfile.TemporaryDirectory(prefix="lasttick-compare-") as folder:
        commands = {} if command is None else {"vaultclaw": command}
        world = ProcessWorld(seed=seed, trace=Trace(), path=Path(folder), commands=commands)
        try:
            yield world
        except BaseException:
            await world.abandon()
            raise
        await world.close()


async def _wrong(fakes: Fakes, scripts: Sequence[Script], mutant_id: str) -> Played:
    """A play by a wrong version: patched in this process, or told to the processes that start."""
    mutant, world = find(mutant_id), fakes.world
    before, world.mutant = world.mutant, mutant
    try:
        with mutant.applied() if world.mode == "virtual" else contextlib.nullcontext():
            return await play(fakes, scripts, PEER)
    finally:
        world.mutant = before
