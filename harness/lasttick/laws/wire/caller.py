"""One caller's session on one target: every kind of message goes out here, each exactly once.

What a kind needs (connections, a process, an MCP session, an instance) is opened when first used.
Source: contract laws, "Binding", "Callers".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping

import httpx

from lasttick.laws.reply import Reply, lost
from lasttick.laws.wire import command
from lasttick.laws.wire.hook import Hooks
from lasttick.laws.wire.http import HttpWire
from lasttick.laws.wire.mcp_http import McpHttp
from lasttick.laws.wire.mcp_stdio import McpStdio
from lasttick.laws.wire.message import Message, Wire, WireError
from lasttick.laws.wire.place import Place
from lasttick.laws.wire.sockets import Sockets


class CallerWire:
    """A Wire (see message). `headers` go with every request to any allowed host, `env` to every process.

    `transport`: an httpx transport shared with others, never closed here; without one the wire makes its own. Several
    messages may be in flight at once. Headers of a message win over the caller's.
    """

    def __init__(
        self,
        place: Place,
        *,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        name: str = "lasttick",
    ) -> None:
        self.name = name
        self._place = place
        self._headers = dict(headers or {})
        self._env = dict(env or {})
        self._sockets = Sockets() if transport is None else None
        self._transport = transport or self._sockets
        about = {"url": place.url, "headers": self._headers, "env": {**place.env, **self._env}, "name": name}
        self._hooks = Hooks(about)
        self._http_wire: HttpWire | None = None
        self._mcp_wire: McpHttp | McpStdio | None = None
        self._opened = False
        self._opening = asyncio.Lock()
        self._flights: dict[asyncio.Timeout, asyncio.Future[None]] = {}
        self._over: str | None = None

    @property
    def session_id(self) -> str | None:
        return self._mcp_wire.session_id if isinstance(self._mcp_wire, McpHttp) else None

    @property
    def is_over(self) -> bool:
        return self._over is not None

    def borrow(self, other: Wire, session_id: str | None = None) -> None:
        """See Wire. A session without an id cannot be borrowed: nothing is changed."""
        theirs = other._mcp_wire if isinstance(other, CallerWire) else None
        mine = self._mcp() if isinstance(theirs, McpHttp) else None
        if isinstance(mine, McpHttp) and isinstance(theirs, McpHttp):
            mine.borrow(theirs, session_id)
            self._opened = True

    async def open(self) -> Reply:
        """See Wire. Nothing is opened where the target has neither URL nor command."""
        self._check()
        if self._place.url is None and self._place.command is None:
            return Reply(True, raw="the target has no session to open")
        return await self._within(self._place.timeout_s, self._open())

    async def list_tools(self, timeout_s: float) -> Reply:
        self._check()
        return await self._within(timeout_s, self._list_tools())

    async def send(self, message: Message) -> Reply:
        """Raises WireError: it cannot be sent as it is, or this caller has vanished."""
        self._check()
        if message.kind == "http":
            # An event stream that does not end is still an answer: this kind looks at the time itself.
            return await self._within(None, self._http().send(message))
        work = {"tool": self._call, "run": self._run, "python": self._hooks.call}[message.kind]
        return await self._within(message.timeout_s, work(message))

    async def end(self) -> Reply:
        """See Wire. Afterwards messages go on using the ended session, as somebody would who ignores its end."""
        self._check()
        if self._mcp_wire is None:
            return Reply(True, raw="no session was opened: there is nothing to end")
        return await self._within(self._place.timeout_s, self._mcp_wire.end())

    async def vanish(self) -> None:
        await self._hang_up("vanished")
        await self._hooks.vanish(self._place.timeout_s)

    async def close(self) -> None:
        await self._hang_up("been closed")
        await self._hooks.close(self._place.timeout_s)

    # -- inside

    def _check(self) -> None:
        if self._over is not None:
            raise WireError(
                f"{self.name} has {self._over} and can send nothing; expected no message after that; "
                "open another wire for a new session of this caller"
            )

    async def _open(self) -> Reply:
        async with self._opening:
            reply = await self._mcp().open()
            self._opened = True
            return reply

    async def _ensured(self) -> Reply | None:
        """Open the session that a call needs if nobody has; the reply of an opening that failed, else None."""
        if self._mcp().needs_open and not self._opened:
            async with self._opening:
                if not self._opened:
                    reply = await self._mcp().open()
                    self._opened = reply.ok
                    return None if reply.ok else reply
        return None

    async def _list_tools(self) -> Reply:
        return await self._ensured() or await self._mcp().list_tools()

    async def _call(self, message: Message) -> Reply:
        return await self._ensured() or await self._mcp().call(message)

    async def _run(self, message: Message) -> Reply:
        return await command.run(message, self._place.env, self._env)

    def _http(self) -> HttpWire:
        if self._http_wire is None:
            assert self._transport is not None
            self._http_wire = HttpWire(self._place, self._headers, self._transport)
        return self._http_wire

    def _mcp(self) -> McpHttp | McpStdio:
        """Raises WireError: the target has no URL, or none that is allowed."""
        if self._mcp_wire is None:
            if self._place.command is not None:
                self._mcp_wire = McpStdio(self._place, self._env, self.name)
            else:
                assert self._transport is not None
                self._mcp_wire = McpHttp(self._place, self._headers, self._transport, self.name)
        return self._mcp_wire

    async def _within(self, timeout_s: float | None, work: Awaitable[Reply]) -> Reply:
        """The reply of `work`; lost when it takes too long, or this caller hangs up meanwhile."""
        landed = asyncio.get_running_loop().create_future()
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                self._flights[limit] = landed
                return await work
        except TimeoutError:
            return lost(f"{self.name} has {self._over}" if self._over else f"no whole answer within {timeout_s:g} s")
        finally:
            self._flights.pop(limit, None)
            landed.set_result(None)

    async def _hang_up(self, how: str) -> None:
        """Cut what is in flight, kill the process, close the connections."""
        self._over = self._over or how
        now = asyncio.get_running_loop().time()
        for limit in self._flights:
            if not limit.expired():
                limit.reschedule(now)
        if self._flights:
            await asyncio.wait(list(self._flights.values()))
        if isinstance(self._mcp_wire, McpStdio):
            await self._mcp_wire.kill()
        if self._sockets is not None:
            await self._sockets.aclose()
