"""What does an MCP server meet of the agent, when a script takes the place of its model?

Fidelity. Models, for 0.17.0 and 0.19.0, the program's side of one server at a URL (`servers.py`, `http.py`): preflight,
handshake, open stream, calls one by one, time-outs that are told to nobody, the breaker, a forgotten session, DELETE at
a clean end, nothing at a kill; and its keepalive, a ping every `keepalive_s` from the session's opening on, whatever is
called meanwhile. Does not model: what a failed keepalive sets off, and `tools/list` where a ping is unknown. Its frames
are those of the recordings: tests/contracts/test_agent_frames.py. Source: contract hermes, sections 3.4 to 3.7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import httpx

from lasttick.ports import Clock
from lasttick_fakes.hermes.config import CALL_S, CONNECT_S, Server
from lasttick_fakes.hermes.http import HttpSession
from lasttick_fakes.hermes.program import HTTP_S
from lasttick_fakes.hermes.servers import ConfiguredServer, Offered
from lasttick_fakes.hermes.sessions import RpcError, SessionLost
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, habits_of

KEEPALIVE_S = 180.0


class Watch(Protocol):
    """Told of each session and call, each before its bytes leave; for a world's trace."""

    def opened(self, session_id: str) -> None: ...

    def ended(self, session_id: str, *, lost: bool) -> None: ...

    def sent(self, session_id: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """What the end of this call is to be told by."""
        ...

    def over(self, call: str, tool: str, outcome: str, error: Mapping[str, Any] | None) -> None:
        """`outcome`: ok, error (the server's, in `error`), lost, or dropped (nobody waits any more)."""
        ...


class McpSide:
    """One agent and one server. `start`, then `call`; `close` ends as the program does, `vanish` as a killed one.

    `transport` is the caller's, who closes it; None for real sockets. `timeout_s` bounds each call.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
        version: str = DEFAULT_VERSION,
        timeout_s: float = CALL_S,
        keepalive_s: float = KEEPALIVE_S,
        watch: Watch | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        server = Server(
            "dev", None, (), {}, url, headers, timeout_s, CONNECT_S, None, frozenset(), True, True, skip_preflight=False
        )
        self._habits = habits_of(version)
        self._clock = clock
        self._keepalive_s = keepalive_s
        self._watch = watch
        self._own = transport is None
        self._http = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True, timeout=HTTP_S)
        self._server = ConfiguredServer(server, self._connect, clock, self._habits)
        self.pings = 0
        """How many keepalives were sent."""
        self._session: HttpSession | None = None
        self._keepalive: asyncio.Task[None] | None = None

    @property
    def tools(self) -> list[str]:
        """What its model is offered; nothing when the server was given up."""
        return sorted(self._server.tools)

    @property
    def session_id(self) -> str | None:
        return None if self._session is None else self._session.session_id

    async def start(self) -> None:
        """Discover the server, as at the program's start, and keep the session alive from then on."""
        await self._server.discover()
        self._keepalive = asyncio.create_task(self._ping_for_ever(), name="hermes keeps a session alive")

    async def call(self, tool: str, /, **arguments: Any) -> str:
        """What the model reads of one call, whatever came of it; waits for the call before it."""
        return await self._server.call(Offered(tool, "", {}, tool), arguments)

    async def close(self) -> None:
        await self._stop_keepalive()
        await self._server.close()
        await self._hang_up()

    async def vanish(self) -> None:
        """The program is killed: connections break, nothing is said. Calls in flight are the caller's to drop."""
        await self._stop_keepalive()
        await self._server.stop_renewing()
        if self._session is not None:
            await self._session.vanish()
        await self._hang_up()

    async def _connect(self, server: Server) -> HttpSession:
        self._session = (
            HttpSession(server, self._http, self._habits)
            if self._watch is None
            else _Watched(server, self._http, self._habits, self._watch)
        )
        return self._session

    async def _ping_for_ever(self) -> None:
        while True:
            await self._clock.sleep(self._keepalive_s)
            self.pings += 1
            await self._server.ping()

    async def _stop_keepalive(self) -> None:
        if self._keepalive is not None:
            self._keepalive.cancel()
            await asyncio.wait([self._keepalive])

    async def _hang_up(self) -> None:
        if self._own:
            await self._http.aclose()


class _Watched(HttpSession):
    """A session that says what it does."""

    def __init__(self, server: Server, http: httpx.AsyncClient, habits: Any, watch: Watch) -> None:
        super().__init__(server, http, habits)
        self._watch = watch

    async def initialize(self) -> Mapping[str, Any]:
        about = await super().initialize()
        if self.session_id is not None:
            self._watch.opened(self.session_id)
        return about

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        if method != "tools/call" or params is None or self.session_id is None:
            return await super().request(method, params)
        tool = str(params["name"])
        call = self._watch.sent(self.session_id, tool, params["arguments"])
        outcome, error = "dropped", None
        try:
            result = await super().request(method, params)
            outcome = "ok"
        except SessionLost:
            outcome = "lost"
            self._watch.ended(self.session_id, lost=True)
            raise
        except RpcError as refused:
            outcome, error = "error", refused.error
            raise
        except OSError:
            outcome = "lost"
            raise
        finally:
            self._watch.over(call, tool, outcome, error)
        return result

    async def close(self) -> None:
        if self.session_id is not None:
            self._watch.ended(self.session_id, lost=False)
        await super().close()


class LoopClock:
    """The running loop's time, virtual or real; for scripts that have no clock of their own."""

    def now_ns(self) -> int:
        return round(asyncio.get_running_loop().time() * 1e9)

    def wall(self) -> datetime:
        return datetime.fromtimestamp(asyncio.get_running_loop().time(), UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
