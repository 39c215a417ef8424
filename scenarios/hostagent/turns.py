"""How is something delivered at one exact turn of the event loop? For scenarios that go through all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from lasttick import World

TURNS_MAX = 400


class _Turn:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def turns(count: int) -> None:
    """Let everything that is ready run, that often. No time passes."""
    for _ in range(count):
        await _Turn()


async def at_instant(world: World, t_s: float) -> None:
    """Wait for an instant without letting settle what happens then: this goes on among what else that instant wakes."""
    loop = asyncio.get_running_loop()
    assert loop.time() == world.now_s <= t_s, f"{t_s} is no instant to come of virtual time, which is at {world.now_s}"
    come: asyncio.Future[None] = loop.create_future()
    # The very instant: a time-out would be added to the time it is now, and miss it by a rounding.
    loop.call_at(t_s, come.set_result, None)
    await come
