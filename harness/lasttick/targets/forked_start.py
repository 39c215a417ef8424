"""How does a whole start of the host agent, and its orderly stop, run in a forked child that may be killed on the way?

On a virtual loop of its own, without devices and without a cloud: what is left is what it does to its identity folder.
Virtual mode only. Source: HA-03, HA-23.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.ports import DeviceDriver
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.config import HostAgentConfig


class _NoDevices:
    async def drivers(self) -> Sequence[DeviceDriver]:
        return []


def start_work(identity_dir: Path, seed: int) -> Callable[[], str]:
    """What such a child does: start, stop, and say the token. `seed`: its chance, other than the world's own."""

    def work() -> str:
        # The fork happened in a step of the parent's loop, which in this process runs no more.
        asyncio._set_running_loop(None)
        return run_virtual(start)

    async def start(loop: VirtualLoop) -> str:
        config = HostAgentConfig(identity_dir=identity_dir)
        agent = HostAgent(config, drivers=_NoDevices(), clock=VirtualClock(loop), entropy=Chance(seed))
        async with agent.running():
            return agent.token

    return work
