"""Who plays the two sides? Two versions of the reference in one world, or this project and another program.

In one world they play one after the other, on the same fakes made fresh; programs have a world each, and play at once.
Source: VC-21.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import lasttick
import lasttick_fakes
from lasttick.bench.figures import Figure
from lasttick.compare.corpus import scenes
from lasttick.compare.figures import measure
from lasttick.compare.judge import Report, judge
from lasttick.compare.play import Fakes, Played, SideDown, play, quiet
from lasttick.compare.script import Script
from lasttick.engine.trace import Trace
from lasttick.mutants import Mutant, find
from lasttick.targets.process import ProcessWorld
from lasttick.targets.world import World

OURS, PEER = "ours", "peer"
Tell = Callable[[str], None]


async def in_one_world(world: World, scripts: Sequence[Script], wrong: str | Mutant = "") -> Report:
    """The world's target, and as its peer the same again, or a wrong version of it: a mutant or its id.

    Raises UnknownMutant, SideDown.
    """
    fakes = await Fakes.of(world)
    ours = await play(fakes, scripts, OURS)
    with _as_peer(world, find(wrong) if isinstance(wrong, str) and wrong else wrong or None):
        peers = await play(fakes, scripts, PEER)
    return judge(scenes(scripts), ours, peers)


async def programs(
    scripts: Sequence[Script], peer: str, *, seed: int, callers: int = 0, tell: Tell = quiet
) -> tuple[Report, list[Figure]]:
    """This project's server, and the command `peer` in its place. `callers`: of the figures; 0 measures none.

    Raises SideDown: one of them does not start.
    """
    async with process_world(seed, own_command()) as our_world, process_world(seed, peer) as peer_world:
        mine = play(await Fakes.of(our_world), scripts, OURS, tell)
        theirs = play(await Fakes.of(peer_world), scripts, PEER, tell)
        played = await _both(mine, theirs)
        figures = await measure(our_world, peer_world, callers, tell) if callers else []
    return judge(scenes(scripts), *played), figures


def own_command() -> str:
    """This project's server as a command: it is started as a peer is, so that neither has a head start."""
    roots = dict.fromkeys(str(Path(str(package.__file__)).parents[1]) for package in (lasttick, lasttick_fakes))
    words = ("env", f"PYTHONPATH={os.pathsep.join(roots)}", sys.executable, "-m", "lasttick", "serve", "vaultclaw")
    return shlex.join(words)


async def _both(mine: Coroutine[Any, Any, Played], theirs: Coroutine[Any, Any, Played]) -> tuple[Played, Played]:
    """At once. The first failure of either ends the other."""
    try:
        async with asyncio.TaskGroup() as group:
            one, other = group.create_task(mine), group.create_task(theirs)
    except* SideDown as failed:
        raise failed.exceptions[0] from None
    return one.result(), other.result()


@contextlib.asynccontextmanager
async def process_world(seed: int, command: str) -> AsyncIterator[World]:
    """A world of processes, with this command in the server's place."""
    with tempfile.TemporaryDirectory(prefix="lasttick-compare-") as folder:
        world = ProcessWorld(seed=seed, trace=Trace(), path=Path(folder), commands={"vaultclaw": command})
        try:
            yield world
        except BaseException:
            await world.abandon()
            raise
        await world.close()


@contextlib.contextmanager
def _as_peer(world: World, mutant: Mutant | None) -> Iterator[None]:
    """What starts meanwhile is the wrong version: patched in this process, or told to the processes that start."""
    if mutant is None:
        yield
        return
    before, world.mutant = world.mutant, mutant
    try:
        with mutant.applied() if world.mode == "virtual" else contextlib.nullcontext():
            yield
    finally:
        world.mutant = before
