"""How long does connector_execute_job take on both sides, at equal concurrency, in one run?

So many callers at once, each with its next call as soon as the last was answered, on a server and a daemon of each
side's own; the sides take turns in short slices, so that whatever else the machine does hits both. Times are real.
Source: the issue's "It must reach".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lasttick.bench.figures import Figure, Target, figure, percentile
from lasttick.bench.rounds import real_ns
from lasttick.compare.corpus_tools import FETCH
from lasttick.compare.script import TOKEN
from lasttick.targets.vaultclaw.cookbooks import PACKAGED

if TYPE_CHECKING:
    from lasttick.targets.vaultclaw.client import VaultClient
    from lasttick.targets.world import World

ROUNDS, CALLS = 7, 25
"""Slices of each side, and calls of each caller in one."""
NOT_SLOWER = Target("ratio", "at most", 1.0)


async def measure(ours: World, peer: World, callers: int, tell: Callable[[str], None]) -> list[Figure]:
    """p50 and p99 of ours, with those of the peer as their floor. Raises StartRefused, ChildFailed; AssertionError for
    a call that failed."""
    async with contextlib.AsyncExitStack() as stack:
        sides = [await _clients(world, callers, stack) for world in (ours, peer)]
        for clients in sides:
            await _slice_ms(clients)  # connections are made, and code is warm
        taken: list[list[list[float]]] = [[], []]
        for number in range(ROUNDS):
            tell(f"figures: slice {number + 1} of {ROUNDS}, {callers} callers")
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                taken[side].append(await _slice_ms(sides[side]))
    return [_figure(taken, percent) for percent in (50, 99)]


def _figure(taken: list[list[list[float]]], percent: int) -> Figure:
    mine, theirs = ([percentile(slice_ms, percent) for slice_ms in side] for side in taken)
    return figure(f"connector_execute_job_p{percent}", "ms", mine, theirs, NOT_SLOWER)


async def _clients(world: World, callers: int, stack: contextlib.AsyncExitStack) -> list[VaultClient]:
    """So many scopes with a session, of a server of its own."""
    vaultd = await world.vaultd()
    await vaultd.reset()
    server = await world.vaultclaw(name="measured", cookbooks=PACKAGED)
    stack.push_async_callback(server.kill)
    clients = [server.client(f"caller-{number}") for number in range(callers)]
    for client in clients:
        await client.configure(TOKEN, base_url=vaultd.url)
    return clients


async def _slice_ms(clients: list[VaultClient]) -> list[float]:
    """What each call of a slice took."""
    took: list[float] = []

    async def calls(client: VaultClient) -> None:
        for _ in range(CALLS):
            start_ns = real_ns()
            answer: Any = await client.call("connector_execute_job", request=FETCH)
            took.append((real_ns() - start_ns) / 1e6)
            assert answer.ok, f"a measured call failed: {answer.error}"

    await asyncio.gather(*(calls(client) for client in clients))
    return took
