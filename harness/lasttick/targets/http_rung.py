"""How is a host agent soaked over HTTP? Clients, devices and cloud all reach it through the world's in-memory network.

Unlike `world.hostagent` it writes no call into the trace: a day of them would be most of what memory holds.
Source: HA-18.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasttick.engine.network import Site
from lasttick.reference.hostagent.rack_client import RackClient
from lasttick.targets.answer import Answer
from lasttick.targets.client import answer_of
from lasttick.targets.host_run import HostRun, SessionLost
from lasttick.targets.virtual import Cable
from lasttick_fakes.client import LostTransport, McpClient

if TYPE_CHECKING:
    from lasttick.reference.hostagent.config import HostAgentConfig
    from lasttick.targets.virtual import VirtualWorld


class HttpSession:
    """One MCP session of the handshake era over HTTP, its answers JSON."""

    tells = False

    def __init__(self, client: McpClient) -> None:
        self._client = client
        self._calls: dict[asyncio.Task[Answer], None] = {}

    @property
    def id(self) -> str:
        assert self._client.session_id is not None
        return self._client.session_id

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Raises SessionLost, for the 404 of an ended session too."""
        task = asyncio.create_task(self._call(tool, dict(arguments)))
        self._calls[task] = None
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise SessionLost("this client vanished") from None
            raise
        finally:
            self._calls.pop(task, None)

    async def end(self) -> None:
        await self._client.delete()

    async def vanish(self) -> None:
        for task in list(self._calls):
            task.cancel()
        await self._client.close()

    async def expire(self) -> None:
        """Nothing is to be done for that, for as long as the limit is."""

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        try:
            reply = await self._client.request("tools/call", {"name": tool, "arguments": arguments})
        except LostTransport as error:
            raise SessionLost(str(error)) from error
        if reply.http_status == 404 or reply.http_status >= 500:
            # 500 is the SDK's word to a call whose session is deleted under it; whoever soaks knows whether it was.
            raise SessionLost(f"HTTP {reply.http_status} {reply.error}")
        return answer_of(reply)


class HttpHost(HostRun):
    """One run of a host agent at `origin`, its devices in a rack at `rack_url`."""

    def __init__(self, world: VirtualWorld, config: HostAgentConfig, origin: str, rack_url: str) -> None:
        self._origin = origin
        self._rack_cable = Cable(world.transport())
        self._rack = RackClient(rack_url, transport=self._rack_cable)
        self._site: Site | None = None
        super().__init__(world, config, self._rack)

    async def start(self) -> None:
        await super().start()
        self._site = self._world.network.serve(self._origin, self.agent.app)

    async def open(self) -> HttpSession:
        client = McpClient(
            f"http://{self._origin}/mcp", token=self.agent.token, transport=self._world.transport(), name="soak"
        )
        try:
            reply = await client.open()
        except LostTransport as error:
            raise SessionLost(str(error)) from error
        assert client.session_id is not None, f"no session was opened: {reply}"
        return HttpSession(client)

    def cut(self) -> None:
        self._rack_cable.cut()
        if self._site is not None:
            self._site.cut()

    async def end_sessions(self) -> None:
        """The SDK's manager ends them."""
