"""Is a world that has ended let go? A sweep plays tens of thousands of them in one process."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from .worlds import play


def test_nothing_keeps_a_host_agent_of_a_world_that_has_ended() -> None:
    kept: list[weakref.ref[Any]] = []

    async def story(world: Any) -> None:
        cloud = await world.cloud()
        host = await world.hostagent(devices=["phone-1"])
        alice = await host.client("alice")
        assert (await alice.tap("phone-1")).ok
        await host.status()
        await world.advance(world.ttl_s)
        kept.extend(weakref.ref(one) for one in (world, cloud, host._part._agent, host._part._agent.app))

    play(story)
    gc.collect()
    assert [one() for one in kept] == [None] * len(kept)
