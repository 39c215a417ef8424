"""How does a whole host agent run without HTTP? Sessions come over byte pipes, drivers are the rack's own devices.

Everything else is the host agent as it is served: calls, leases, the real MCP server with real protocol bytes,
heartbeat and claims. There are no headers on a pipe, so a session's id is given to its connection, as Streamable HTTP
gives it, and a resolver reads it there. A pipe has three ends: the client closes it (its file ends), the server does
(its idle limit), or the host is killed. Source: contract engine, "Transports"; HA-18.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_types import CONNECTION_CLOSED

from lasttick.engine.pipes import pipe_pair
from lasttick.model.lease import Holder
from lasttick.ports import DeviceDriver, DeviceInfo, DriverError, DriverHealth
from lasttick.targets.answer import Answer, AnswerError
from lasttick.targets.host_run import HostRun, SessionLost
from lasttick.targets.pipes import PipeClient, serve_session

if TYPE_CHECKING:
    from lasttick.reference.hostagent.agent import HostAgent
    from lasttick.reference.hostagent.config import HostAgentConfig
    from lasttick.targets.virtual import VirtualWorld
    from lasttick_fakes.devices import Rack
    from lasttick_fakes.devices.device import FakeDevice


def session_holder(ctx: Any) -> Holder | None:
    """Who a call on a pipe is from: the session that its connection was opened as."""
    session_id = ctx.session._connection.session_id
    return None if session_id is None else Holder("mcp", session_id)


class NearDriver:
    """A device of the rack in this process. `unplug`: its host was killed, and reaches it no more."""

    def __init__(self, device: FakeDevice) -> None:
        self.info: DeviceInfo = device.info
        self._device = device
        self._left_over = device.running > 0
        self._plugged = True

    @property
    def fence(self) -> int:
        return self._device.fence

    def unplug(self) -> None:
        self._plugged = False

    async def health(self) -> DriverHealth:
        return await self._device.health()

    async def left_over(self) -> bool:
        """As a rack's client tells it: what runs later than the host's start is this host's own."""
        self._left_over = self._left_over and self._device.running > 0
        return self._left_over

    async def claim(self, fence: int) -> bool:
        self._must_be_plugged()
        return await self._device.claim(fence)

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Mapping[str, Any]:
        self._must_be_plugged()
        return await self._device.perform(tool, arguments, fence)

    def _must_be_plugged(self) -> None:
        if not self._plugged:
            raise DriverError("this host was killed")


class NearRack:
    """All devices of a rack, as `ports.Drivers`."""

    def __init__(self, rack: Rack) -> None:
        self._drivers = [NearDriver(device) for device in rack.devices]

    def unplug(self) -> None:
        for driver in self._drivers:
            driver.unplug()

    async def drivers(self) -> Sequence[DeviceDriver]:
        return self._drivers


class PipeSession:
    """One MCP session over a pipe of its own."""

    tells = True

    def __init__(self, agent: HostAgent, host: PipeHost) -> None:
        self.id = host.new_id()
        self._host = host
        ours, self._theirs = pipe_pair()
        self._serving = asyncio.create_task(self._serve(agent))
        self._client = PipeClient(ours, "handshake")

    async def open(self) -> PipeSession:
        await self._client.open()
        return self

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Raises SessionLost."""
        try:
            said = await self._client.request("tools/call", {"name": tool, "arguments": dict(arguments)})
        except ConnectionError as error:
            raise SessionLost(str(error)) from error
        failed = said.get("error")
        if failed is None:
            return Answer(True, said["result"], None, 200)
        if failed["code"] == CONNECTION_CLOSED and not failed.get("data"):
            raise SessionLost(failed["message"])  # the server's last word, as it ends the session
        return Answer(False, None, AnswerError(failed["code"], failed["message"], failed.get("data") or {}), 200)

    async def end(self) -> None:
        """The client closes its pipe, and waits for the server to be done with it."""
        await self._client.close()
        await asyncio.gather(self._serving, return_exceptions=True)

    async def vanish(self) -> None:
        """The client is gone in the middle of whatever it was doing."""
        await self._client.close()

    async def expire(self) -> None:
        """The server ends the session, as at its idle limit."""
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)
        await self._client.close()

    def cut(self) -> None:
        """The server is gone, before it could say anything more."""
        self._client.drop()

    async def _serve(self, agent: HostAgent) -> None:
        self._host.sessions[self] = None
        try:
            await serve_session(agent._endpoint.server, self._theirs, self.id)
        finally:
            self._theirs.close()
            self._host.sessions.pop(self, None)


class PipeHost(HostRun):
    """One run of a host agent on the memory rung. `rack` outlives it."""

    def __init__(self, world: VirtualWorld, config: HostAgentConfig, rack: Rack) -> None:
        self.sessions: dict[PipeSession, None] = {}
        self._drivers = NearRack(rack)
        super().__init__(world, config, self._drivers, resolver=session_holder)

    def new_id(self) -> str:
        """Of a session, as Streamable HTTP makes them."""
        return self._world.chance.token_bytes(16).hex()

    async def open(self) -> PipeSession:
        return await PipeSession(self.agent, self).open()

    def cut(self) -> None:
        self._drivers.unplug()
        for session in self.sessions:
            session.cut()

    async def end_sessions(self) -> None:
        for session in list(self.sessions):
            await session.expire()
