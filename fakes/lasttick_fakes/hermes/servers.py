"""How does the agent keep a server of its configuration: connect, list tools, call one at a time, and stop asking?

Each server is connected to in a task of its own, four times at most (again after 1, 2 and 4 s). Calls are strictly one
after another. Three failures in a row, of any kind, and for 60 s no call reaches it (contract hermes, 3.6); then one
is let through. Of two tools whose folded names are equal the later one wins, silently (measured).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.ports import Clock
from lasttick_fakes.hermes import replies
from lasttick_fakes.hermes.config import Server
from lasttick_fakes.hermes.sessions import ConnectionClosed, GivenUp, RpcError, Session, SessionLost
from lasttick_fakes.hermes.versions import Habits

RETRY_AFTER_S = (1.0, 2.0, 4.0)
RENEW_AFTER_S = 1.0
BREAKER_FAILURES = 3
BREAKER_S = 60.0
PAGES_MAX = 50


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as the model is offered it, and the request that a call of it makes."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    tool: str
    method: str = "tools/call"

    def as_function(self) -> dict[str, Any]:
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


class ConfiguredServer:
    """One entry of `mcp_servers`. `connect` makes a session that is not initialized yet; it may raise OSError."""

    def __init__(
        self, server: Server, connect: Callable[[Server], Awaitable[Session]], clock: Clock, habits: Habits
    ) -> None:
        self.server = server
        self.tools: dict[str, Offered] = {}
        """By the name for the model; empty until the server is discovered."""
        self._connect = connect
        self._clock = clock
        self._habits = habits
        self._session: Session | None = None
        self._failures = 0
        self._opened_ns = 0
        self._dead = False
        self._one_at_a_time = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None

    async def discover(self) -> None:
        """Connect and list the tools, or give up in silence: the model then gets no tools of this server."""
        for wait_s in (0.0, *RETRY_AFTER_S):
            if wait_s > 0:
                await self._clock.sleep(wait_s)
            try:
                async with asyncio.timeout(self.server.connect_s):
                    await self._open(first=wait_s == 0)
                return
            except (OSError, RpcError, ValueError):  # OSError: also a time-out. ValueError: an impossible name
                await self._hang_up()
            except GivenUp:
                return await self._hang_up()

    async def call(self, offered: Offered, arguments: Mapping[str, Any]) -> str:
        """What the model gets to read, still without its envelope. Waits for the call before it: sessions share it."""
        async with self._one_at_a_time:
            return await self._judged(offered, arguments)

    async def ping(self) -> None:
        """The keepalive of a session that is up. Its failure is no call's failure: the next call finds out."""
        if self._session is not None:
            with contextlib.suppress(OSError, RpcError, ConnectionClosed):
                async with asyncio.timeout(self.server.timeout_s):
                    await self._session.request("ping")

    async def _judged(self, offered: Offered, arguments: Mapping[str, Any]) -> str:
        """The call, unless the breaker is open; and what it makes of the breaker."""
        left_s = self._breaker_left_s()
        if left_s > 0:
            return replies.of_open_breaker(self.server.name, self._failures, max(1, int(left_s)))
        text, well = await self._call(offered, arguments)
        if well:
            self._failures = 0
            return text
        self._failures += 1
        if self._failures >= BREAKER_FAILURES:
            self._opened_ns = self._clock.now_ns()
        return text

    async def close(self) -> None:
        await self.stop_renewing()
        await self._hang_up()

    async def stop_renewing(self) -> None:
        """A new session that is on its way does not come."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.wait([self._renewal])

    async def _hang_up(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def _open(self, *, first: bool) -> None:
        self._session = await self._connect(self.server)
        if first:
            await self._session.preflight()
        about = await self._session.initialize()
        capabilities = about.get("capabilities")
        tools = [self._offered(tool) for tool in await self._listed() if self.server.wants(str(tool.get("name")))]
        tools += self._utilities(capabilities if isinstance(capabilities, Mapping) else {})
        self.tools = {offered.name: offered for offered in tools}

    async def _listed(self) -> list[Mapping[str, Any]]:
        assert self._session is not None
        tools: list[Mapping[str, Any]] = []
        params: Mapping[str, Any] | None = None
        for _ in range(PAGES_MAX):
            page = await self._session.request("tools/list", params)
            listed = page.get("tools")
            tools += [tool for tool in listed if isinstance(tool, Mapping)] if isinstance(listed, list) else []
            if not (self._habits.follows_pages and isinstance(page.get("nextCursor"), str)):
                break
            params = {"cursor": page["nextCursor"]}
        return tools

    def _offered(self, tool: Mapping[str, Any]) -> Offered:
        name, schema = str(tool.get("name")), tool.get("inputSchema")
        parameters = dict(schema) if isinstance(schema, Mapping) else {"type": "object"}
        if parameters.get("type") == "object":
            parameters.setdefault("properties", {})
        description = str(tool.get("description") or f"MCP tool {name} from {self.server.name}")
        return Offered(self._habits.tool_name(self.server.name, name), description, parameters, name)

    def _utilities(self, capabilities: Mapping[str, Any]) -> list[Offered]:
        """Four more tools for a server that has resources or prompts, unless the configuration says no."""
        wanted = {"resources": self.server.resources, "prompts": self.server.prompts}
        return [
            Offered(
                self._habits.tool_name(self.server.name, name),
                text.format(self.server.name),
                {"type": "object", "properties": dict(properties), **({"required": required} if required else {})},
                name,
                method,
            )
            for capability, name, method, text, properties, required in _UTILITIES
            if wanted[capability] and capabilities.get(capability) is not None
        ]

    def _breaker_left_s(self) -> float:
        if self._failures < BREAKER_FAILURES:
            return 0.0
        return BREAKER_S - (self._clock.now_ns() - self._opened_ns) / 1e9

    async def _call(self, offered: Offered, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """What the model gets to read, and whether it went well."""
        if self._dead:
            return replies.of_failure("ClosedResourceError", "ClosedResourceError()"), False
        try:
            try:
                return await self._sent(offered, arguments)
            except (ConnectionClosed, SessionLost) as lost:
                if not await self._renewed(lost):
                    raise
                return await self._sent(offered, arguments)
        except TimeoutError:
            return replies.of_timeout(self.server.timeout_s), False
        except ConnectionClosed as error:
            self._dead = True
            return replies.of_failure("McpError", str(error)), False
        except RpcError as error:
            return replies.of_failure("McpError", str(error)), False
        except OSError as error:
            return replies.of_failure(type(error).__name__, str(error)), False

    async def _sent(self, offered: Offered, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        if self._session is None:
            return replies.of_error(f"MCP server '{self.server.name}' is not connected"), False
        is_tool = offered.method == "tools/call"
        params = {"name": offered.tool, "arguments": dict(arguments)} if is_tool else dict(arguments)
        async with asyncio.timeout(self.server.timeout_s):
            result = await self._session.request(offered.method, params)
        return (
            replies.of_result(result, self._habits) if is_tool else (json.dumps(dict(result), ensure_ascii=False), True)
        )

    async def _renewed(self, lost: RpcError) -> bool:
        """A new session, in which the call may be made again. A child that died is started anew by both versions, so a
        call can reach its server twice; for a forgotten session 0.17.0 makes one a second later, and repeats nothing.
        """
        if isinstance(lost, SessionLost) and not self._habits.repeats_lost_calls:
            if self._renewal is None or self._renewal.done():
                self._renewal = asyncio.create_task(self._renew_later(), name=f"hermes renews {self.server.name}")
            return False
        try:
            await self._hang_up()
            async with asyncio.timeout(self.server.connect_s):
                await self._open(first=False)
        except (OSError, RpcError, GivenUp):
            return False
        return True

    async def _renew_later(self) -> None:
        await self._clock.sleep(RENEW_AFTER_S)
        with contextlib.suppress(OSError, RpcError, GivenUp):
            await self._hang_up()
            await self._open(first=False)


_TEXT = {"type": "string"}
_UTILITIES: tuple[tuple[str, str, str, str, Mapping[str, Any], list[str]], ...] = (
    ("resources", "list_resources", "resources/list", "List available resources from MCP server '{}'", {}, []),
    (
        "resources",
        "read_resource",
        "resources/read",
        "Read a resource by URI from MCP server '{}'",
        {"uri": {**_TEXT, "description": "URI of the resource to read"}},
        ["uri"],
    ),
    ("prompts", "list_prompts", "prompts/list", "List available prompts from MCP server '{}'", {}, []),
    (
        "prompts",
        "get_prompt",
        "prompts/get",
        "Get a prompt by name from MCP server '{}'",
        {"name": {**_TEXT, "description": "Name of the prompt to retrieve"}, "arguments": {"type": "object"}},
        ["name"],
    ),
)


def begin(servers: list[ConfiguredServer]) -> list[asyncio.Task[None]]:
    """Discover all at once, each in a task of its own; `end` ends them."""
    return [asyncio.create_task(one.discover(), name=f"hermes discovers {one.server.name}") for one in servers]


async def discovered(tasks: list[asyncio.Task[None]], within_s: float) -> None:
    """Wait for them, but no longer than `within_s`: the rest goes on unseen."""
    if tasks:
        await asyncio.wait(tasks, timeout=within_s)


async def end(servers: list[ConfiguredServer], tasks: list[asyncio.Task[None]]) -> None:
    """Stop discovering and close every session."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task
    for server in servers:
        await server.close()
