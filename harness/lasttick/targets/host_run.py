"""How does a host agent of a soak start and end, whatever its sessions come over? One run of it, in this process.

Its way to the cloud has a switch of its own, so that a killed host reaches nobody any more. Source: HA-15, HA-18.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from lasttick.reference.hostagent.agent import HostAgent
from lasttick.targets.virtual import Cable, live

if TYPE_CHECKING:
    from lasttick.ports import Drivers
    from lasttick.reference.hostagent.config import HostAgentConfig
    from lasttick.targets.answer import Answer
    from lasttick.targets.virtual import VirtualWorld


class SessionLost(ConnectionError):
    """The session is gone, or its host: the call may have reached the device, and nobody will tell."""


class Session(Protocol):
    """One MCP session, as a soak uses it."""

    tells: bool
    """Whether the server learns at once that this client vanished or let its session lie."""

    @property
    def id(self) -> str: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Raises SessionLost."""
        ...

    async def end(self) -> None:
        """The client says that it goes, and the server is done with it."""
        ...

    async def vanish(self) -> None:
        """The client is gone in the middle of whatever it was doing."""
        ...

    async def expire(self) -> None:
        """The session meets its idle limit, now or when its time comes."""
        ...


class HostRun(ABC):
    """Started once, ended by `stop` (orderly) or `kill` (nothing is said to anybody)."""

    def __init__(self, world: VirtualWorld, config: HostAgentConfig, drivers: Drivers, **options: Any) -> None:
        self._world = world
        self._outside = Cable(world.transport())
        self.agent = HostAgent(
            config,
            drivers=drivers,
            clock=world.clock,
            entropy=world.chance,
            cloud_transport=self._outside,
            **options,
        )
        self._stop = asyncio.Event()
        self._main: asyncio.Task[None] | None = None

    async def start(self) -> None:
        up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._main = asyncio.create_task(live([self.agent.running()], up, self._stop), name="hostagent")
        await up

    @abstractmethod
    async def open(self) -> Session:
        """A new session. Raises SessionLost."""

    @abstractmethod
    def cut(self) -> None:
        """Neither clients nor devices are reached any more."""

    @abstractmethod
    async def end_sessions(self) -> None:
        """What the stop of the agent itself does not end."""

    async def stop(self) -> None:
        assert self._main is not None
        await self.end_sessions()
        self._stop.set()
        await self._main
        self.cut()

    async def kill(self) -> None:
        """From one instant to the next. What is left of it may take some turns of the loop, but reaches nobody."""
        assert self._main is not None
        self._outside.cut()
        self.cut()
        self.agent.instance_lock.lose()
        self._main.cancel()
        await self.end_sessions()
        await asyncio.gather(self._main, return_exceptions=True)
        await self._world.settle()
