"""One adapter from its start to its end, whatever its links are made of. Source: contract lineup "Parts"."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from lasttick.ports import Clock, Entropy
from lasttick.reference.lineup.config import LineupConfig
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.ledger import Ledger, Step
from lasttick.reference.lineup.links import AgentLink


class HostDoor(Protocol):
    """Where chat hosts come in: stdio, or a WebSocket server."""

    async def serve(self, adapter: Adapter) -> None:
        """Attach each host that comes, hand on its frames, say when it is gone. Returns when none can come any more,
        such as at the end of stdin."""
        ...


async def run(
    config: LineupConfig,
    clock: Clock,
    entropy: Entropy,
    agent_factory: Callable[[], AgentLink],
    door: HostDoor,
    *,
    ready: Callable[[Adapter], None] | None = None,
    step: Step | None = None,
) -> None:
    """Run until no host can come any more, the caller cancels, or the ledger cannot be written. `ready` is called once,
    when what an older adapter left is settled.

    Raises StartError when it cannot start, and what the door or the ledger raised.
    """
    ledger = Ledger(config.ledger, clock, durable=True)
    adapter = Adapter(
        ledger,
        clock,
        entropy,
        agent_factory,
        response_timeout_s=config.response_timeout_s,
        permission_life_s=config.permission_life_s,
        step=step,
    )
    try:
        await adapter.start()
        if ready is not None:
            ready(adapter)
        serving = asyncio.create_task(door.serve(adapter))
        ended = asyncio.create_task(adapter.ended())
        try:
            await asyncio.wait((serving, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            serving.cancel()
            await asyncio.wait((serving,))
        if not serving.cancelled():
            serving.result()
    finally:
        await adapter.stop()
