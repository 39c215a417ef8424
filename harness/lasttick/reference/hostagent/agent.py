"""How do the parts of a host agent become one process? All wiring is here, and the order of start and stop.

Start: lock, token, devices, MCP endpoint, heartbeat (HA-23). Stop is the reverse, within 5 seconds whatever streams and
driver calls are open (HA-01); leases are not written anywhere and go with the process (HA-15, seed row 14).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI
from mcp.server.lowlevel import Server

from lasttick import __version__
from lasttick.model import same_origin
from lasttick.model.address import is_loopback
from lasttick.ports import Clock, DriverError, Drivers, Entropy, LeaseStore, StoreUnavailable
from lasttick.reference.hostagent import console_board, identity, predecessor, status_board, tokens
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.claim_loop import ClaimLoop
from lasttick.reference.hostagent.cloud_client import CloudClient
from lasttick.reference.hostagent.config import HostAgentConfig
from lasttick.reference.hostagent.console import Console
from lasttick.reference.hostagent.console_board import Sight
from lasttick.reference.hostagent.console_tasks import TaskLog, WatchedExecutor
from lasttick.reference.hostagent.devices import DeviceManager
from lasttick.reference.hostagent.heartbeat import HeartbeatLoop
from lasttick.reference.hostagent.instance_lock import InstanceLock
from lasttick.reference.hostagent.mcp_server import HolderOf, McpEndpoint, McpOptions
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.hostagent.status_board import Look
from lasttick.reference.hostagent.tokens import McpTokenStore

PART_STOP_S = 1.0
"""How long each of the (at most three) bounded steps of a stop may take."""

logger = logging.getLogger(__name__)


class HostAgent:
    """One host agent: `app` is its ASGI application (console, `/mcp`, `/mcp/`), `running()` everything behind it.

    `app`'s lifespan enters `running()` unless it is entered already, so `uvicorn.run(agent.app)` is enough; a command
    line enters it first, to show a StartError without a traceback. An agent runs once: build a new one to start again.
    `cloud_transport`: how the cloud is reached, httpx's own when None. `store`: in memory when None. `resolver`: who a
    call is from, where there are no HTTP headers to tell.
    Raises ConfigError.
    """

    def __init__(
        self,
        config: HostAgentConfig,
        *,
        drivers: Drivers,
        clock: Clock,
        entropy: Entropy,
        cloud_transport: httpx.AsyncBaseTransport | None = None,
        store: LeaseStore | None = None,
        resolver: HolderOf | None = None,
    ) -> None:
        config.check()
        self.config = config
        self.manager = DeviceManager()
        self.store: LeaseStore = MemoryLeaseStore(clock, config.ttl_s, config.max_call_s) if store is None else store
        self.instance_lock = InstanceLock(config.identity_dir)
        self._drivers = drivers
        self._clock = clock
        self._entropy = entropy
        self._cloud_transport = cloud_transport
        self._tokens = McpTokenStore(config.identity_dir / tokens.FILE_NAME, clock=clock, entropy=entropy)
        self._token: str | None = None
        self._host_id: str | None = None
        self._entered = False
        self._up = False
        self._calls = LeasedCalls(self.manager, self.store, clock, config.max_call_s)
        self._endpoint = McpEndpoint(
            calls=self._calls,
            store=self.store,
            verify=self._tokens.verify,
            options=McpOptions(
                json_response=config.json_response,
                session_idle_s=config.session_idle_s,
                port=config.port or None,
                extra_host=None if is_loopback(config.host) else config.host,
                open_door=config.open_door,
                stateless_handles=config.stateless_handles,
                version=__version__,
            ),
            entropy=entropy,
            fit=_fixtures(config, entropy),
            resolver=resolver,
        )
        if config.open_door:
            logger.warning("the door of /mcp is open: nobody is asked for a token (a test build)")
        self._tasks = TaskLog(clock)
        here = same_origin.served(config.port or None, None if is_loopback(config.host) else config.host)
        self._console = Console(sight=self._sight, here=here, clock=clock, entropy=entropy)
        self.app = FastAPI(
            lifespan=self._lifespan, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False
        )
        self._console.add_routes(self.app)
        self.app.router.routes.extend(self._endpoint.routes)

    @property
    def token(self) -> str:
        """The MCP bearer token. Raises RuntimeError before the agent has started."""
        return _started(self._token)

    @property
    def host_id(self) -> str:
        """Who this host is to the cloud. Raises RuntimeError before the agent has started."""
        return _started(self._host_id)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[HostAgent]:
        """Be a host agent. Raises StartError when it cannot start; then nothing has changed but what was first made."""
        if self._entered:
            raise RuntimeError("this HostAgent has run already; expected a new one for every start; build one")
        self._entered = True
        async with AsyncExitStack() as stack:
            folder = self.config.identity_dir
            stack.enter_context(self.instance_lock)
            self._token = self._tokens.load_or_create().token
            known = identity.load_or_create_identity(folder, clock=self._clock, entropy=self._entropy)
            self._host_id = known.host_id
            self._console.password = identity.load_or_create_password(folder, clock=self._clock, entropy=self._entropy)
            await self._find_devices()
            await stack.enter_async_context(predecessor.waited_out(self.manager, self._clock))
            # After the endpoint on the way out, when no new call can come any more.
            stack.push_async_callback(_bounded, self._calls.aclose, "driver calls")
            await stack.enter_async_context(self._endpoint.running())
            logger.info("MCP endpoint /mcp is up, %d devices", len(self.manager.list()))
            if self.config.cloud_url is not None:
                await stack.enter_async_context(self._cloud_side(self.config.cloud_url))
            # First on the way out: whoever watches is told, and does not keep the connection.
            stack.push_async_callback(self._console.aclose)
            self._up = True
            try:
                yield self
            finally:
                self._up = False

    async def _find_devices(self) -> None:
        try:
            for driver in await self._drivers.drivers():
                self.manager.register(driver)
                await self.store.fence_above(driver.info.device_id, driver.fence)
        except (DriverError, ValueError) as error:
            raise StartError(
                f"the devices cannot be had: {error}",
                "a rack that lists each device once (contract hostagent, Parts)",
                "start the rack first, and check --devices",
            ) from error
        except StoreUnavailable as error:
            raise StartError(
                f"the lease store does not answer: {error}",
                "one that can be asked who holds a device (contract hostagent, HA-05)",
                "see that it runs, and start again",
            ) from error

    @asynccontextmanager
    async def _cloud_side(self, url: str) -> AsyncIterator[None]:
        """Heartbeat and claim loop, until left."""
        cloud = CloudClient(url, transport=self._cloud_transport)
        heartbeat = HeartbeatLoop(
            cloud=cloud, host_id=self.host_id, clock=self._clock, period_s=self.config.heartbeat_s, look=self._look
        )
        claims = ClaimLoop(
            cloud=cloud,
            executor=WatchedExecutor(tasks=self._tasks, store=self.store, manager=self.manager, calls=self._calls),
            host_id=self.host_id,
            clock=self._clock,
            registered=heartbeat.registered,
            wait_s=self.config.claim_wait_s,
            assignments_max=self.config.assignments_max,
        )
        loop = asyncio.get_running_loop()
        tasks = [
            loop.create_task(heartbeat.run(), name="heartbeat"),
            loop.create_task(claims.run(), name="claims"),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await _bounded(lambda: asyncio.gather(*tasks, return_exceptions=True), "heartbeat and claims")
            await _bounded(cloud.aclose, "connection to the cloud")

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        if self._up:
            yield
        else:
            async with self.running():
                yield

    async def _look(self) -> Look:
        return await status_board.look(self.manager, self.store, self._clock)

    async def _sight(self) -> Sight:
        """What the console shows, and `/api/status` says."""
        seen = await self._look()
        return console_board.sight(
            seen,
            host_id=self.host_id,
            wall=self._clock.wall(),
            ttl_s=self.store.ttl_s,
            tasks=self._tasks.rows(),
            tasks_key=self._tasks.version,
        )


def _fixtures(config: HostAgentConfig, entropy: Entropy) -> Callable[[Server[Any]], None] | None:
    if not config.conformance_fixtures:
        return None
    # Here and nowhere else: what is not asked for is not even loaded.
    from lasttick.reference.conformance.profile import ConformanceFixtures

    return ConformanceFixtures(entropy).fit


async def _bounded(close: Callable[[], Awaitable[object]], what: str) -> None:
    """Wait for one part's end, but not longer than a stop may take: what does not end goes with the process."""
    task = asyncio.ensure_future(close())
    _, late = await asyncio.wait((task,), timeout=PART_STOP_S)
    if late:
        logger.warning("%s did not end within %g s of the stop", what, PART_STOP_S)


def _started(value: str | None) -> str:
    if value is None:
        raise RuntimeError("the host agent has not started; expected to be inside `async with agent.running()`")
    return value
