"""How is the agent's own gateway joined to an adapter? One connection, lines of JSON each way, as long as it lasts."""

from __future__ import annotations

from lasttick.ports import Clock, LineStream
from lasttick.reference.lineup.core import Adapter
from lasttick.reference.lineup.event_source import EventSource


async def hear_gateway(adapter: Adapter, stream: LineStream, clock: Clock) -> None:
    """To the end of the stream."""
    source = EventSource(stream, adapter.gateway, clock)
    adapter.gateway.attach(source)
    await source.run()
