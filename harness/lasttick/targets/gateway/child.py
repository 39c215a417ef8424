"""The `humanwork` server by itself, as the agent program meets it: an environment, and lines of JSON (memory rung).

Source: contract gateway, humanwork MCP server (GW-15).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from lasttick.engine.pipes import pipe_pair
from lasttick.model.tool_names import ToolNameError
from lasttick.reference.gateway.humanwork import serve_humanwork
from lasttick.targets.gateway.client import GATEWAY, RUN
from lasttick.targets.pipes import PipeClient
from lasttick_fakes.gateway import ScriptedGateway

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld


class ServerRung:
    """`gateway` is the platform that every server started here calls."""

    def __init__(self, world: VirtualWorld) -> None:
        self._world = world
        self.gateway = ScriptedGateway()
        world.network.serve(GATEWAY, self.gateway)

    @asynccontextmanager
    async def served(self, environ: Mapping[str, str], *, era: str = "handshake") -> AsyncIterator[ServedTools]:
        """A server with this environment beside that of a run, until the end of the block. Raises AssertionError when
        it does not start."""
        ours, theirs = pipe_pair()
        serving = asyncio.create_task(
            serve_humanwork({**RUN, **environ}, theirs, transport=self._world.transport()), name="humanwork"
        )
        client = PipeClient(ours, era)
        opening = asyncio.create_task(client.open(), name="hello to humanwork")
        await asyncio.wait((serving, opening), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            opening.cancel()
            await client.close()
            raise AssertionError(f"humanwork does not start: {serving.exception()}")
        try:
            yield ServedTools(client)
        finally:
            await client.close()
            await serving

    async def start_error(self, environ: Mapping[str, str]) -> str | None:
        """Why a server with this environment does not start; None when it does."""
        ours, theirs = pipe_pair()
        ours.close()
        try:
            await serve_humanwork({**RUN, **environ}, theirs, transport=self._world.transport())
        except ToolNameError as error:
            return str(error)
        return None


class ServedTools:
    """What the agent program asks of a running server."""

    def __init__(self, client: PipeClient) -> None:
        self._client = client

    async def names(self) -> list[str]:
        """The names of tools/list, in its order."""
        answer = await self._client.request("tools/list", {})
        return [tool["name"] for tool in answer["result"]["tools"]]

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> tuple[bool, str]:
        """Whether it is a tool error, and the text."""
        answer = await self._client.request("tools/call", {"name": name, "arguments": dict(arguments or {})})
        (content,) = answer["result"]["content"]
        return bool(answer["result"].get("isError", False)), str(content["text"])
