"""`lasttick serve`: any part as a server on loopback, in real time.

Prints its ready line on standard error, stops within 5 s of SIGTERM or SIGINT with exit code 0, and refuses what it
cannot serve with one message and exit code 2. Source: DESIGN "What machines read", contract world (ready line).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.targets.server import ServeError, listen, listen_on_loopback, on_signals, serve_app

if TYPE_CHECKING:
    from lasttick.ports import AsgiApp
    from lasttick.reference.hostagent.rack_client import RackClient

RACK_LOG = "/devices/v1/log"
"""Where a served host agent shows the log of a rack of its own."""


@dataclass(frozen=True, slots=True)
class HostAgentOptions:
    """What `lasttick serve hostagent` was asked. `devices` is a device list or the URL of a rack."""

    devices: str
    host: str = "127.0.0.1"
    port: int = 8765
    identity_dir: Path | None = None
    allow_non_loopback: bool = False
    cloud: str | None = None
    ttl_s: float = 60.0
    heartbeat_s: float = 30.0
    max_call_s: float = 300.0
    session_idle_s: float = 1800.0
    sse: bool = False
    lease_store: str = "memory:"
    conformance_fixtures: bool = False
    open_door: bool = False
    stateless_handles: bool = True
    only: str | None = None
    """Ids of the rack's devices that are this host's, separated by commas; all when None."""
    mutant: str | None = None


def run_hostagent(options: HostAgentOptions) -> None:
    """Serve the reference host agent until it is told to stop. Raises ServeError."""
    with mutant_applied(options.mutant), contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_hostagent(options))


def run_devices(*, devices: str, host: str = "127.0.0.1", port: int = 7001, mutant: str | None = None) -> None:
    """Serve a rack of fake devices. Raises ServeError."""
    from lasttick_fakes.devices import DeviceSpecError, Rack, parse_devices, rack_app

    async def serve() -> None:
        try:
            rack = Rack(SystemClock(), parse_devices(devices) if devices else ())
        except DeviceSpecError as error:
            raise ServeError(str(error)) from error
        try:
            await serve_app("devices", rack_app(rack), listen_on_loopback(host, port), path="")
        finally:
            rack.close()

    with mutant_applied(mutant):
        asyncio.run(serve())


def run_cloud(
    *, host: str = "127.0.0.1", port: int = 7002, heartbeat_s: float = 30.0, mutant: str | None = None
) -> None:
    """Serve the fake cloud control plane. Raises ServeError."""
    from lasttick_fakes.cloud import Cloud, asgi

    async def serve() -> None:
        cloud = Cloud(SystemClock(), heartbeat_s=heartbeat_s)
        try:
            await serve_app("cloud", asgi(cloud), listen_on_loopback(host, port), path="")
        finally:
            await cloud.close()

    with mutant_applied(mutant):
        asyncio.run(serve())


def mcp_token(identity_dir: Path | None) -> str:
    """The host agent's MCP token; made if there is none yet. Raises ServeError."""
    from lasttick.reference.hostagent.config import default_identity_dir
    from lasttick.reference.hostagent.start_error import StartError
    from lasttick.reference.hostagent.tokens import FILE_NAME, McpTokenStore

    folder = identity_dir or default_identity_dir(os.environ)
    try:
        return McpTokenStore(folder / FILE_NAME, clock=SystemClock(), entropy=SystemEntropy()).load_or_create().token
    except StartError as error:
        raise ServeError(str(error)) from error


async def _hostagent(options: HostAgentOptions) -> None:
    from lasttick.model.address import is_loopback
    from lasttick.reference.hostagent.agent import HostAgent
    from lasttick.reference.hostagent.config import HostAgentConfig
    from lasttick.reference.hostagent.lease_servers import open_store
    from lasttick.reference.hostagent.start_error import StartError

    log_to_stderr()
    main = asyncio.current_task()
    assert main is not None
    # Until the server takes over the signals: told to stop while it starts, it stops.
    on_signals(main.cancel)
    async with contextlib.AsyncExitStack() as stack:
        try:
            config = HostAgentConfig.from_env(
                os.environ,
                identity_dir=options.identity_dir,
                host=options.host,
                port=options.port,
                ttl_s=options.ttl_s,
                heartbeat_s=options.heartbeat_s,
                max_call_s=options.max_call_s,
                session_idle_s=options.session_idle_s,
                json_response=not options.sse,
                stateless_handles=options.stateless_handles,
                allow_non_loopback=options.allow_non_loopback,
                cloud_url=options.cloud,
                conformance_fixtures=options.conformance_fixtures,
                open_door=options.open_door,
            )
            _refuse_real_devices(options)
            listener = _listen_alone(options, config.identity_dir)
            stack.callback(listener.close)
            config = replace(config, port=listener.getsockname()[1])
            drivers, rack = await stack.enter_async_context(_drivers(options))
            clock, entropy = SystemClock(), SystemEntropy()
            opened = open_store(options.lease_store, clock=clock, entropy=entropy, ttl_s=config.ttl_s)
            with _alone(config.identity_dir):
                store = await stack.enter_async_context(opened)
            agent = HostAgent(config, drivers=drivers, clock=clock, entropy=entropy, store=store)
            running = await stack.enter_async_context(contextlib.AsyncExitStack())
            await running.enter_async_context(agent.running())
        except StartError as error:
            raise ServeError(str(error)) from error
        app = agent.app if rack is None or not is_loopback(options.host) else _WithRackLog(agent.app, rack)
        await serve_app("hostagent", app, listener, path="/mcp", on_stop=running.aclose)


def _refuse_real_devices(options: HostAgentOptions) -> None:
    """Fixtures never stand beside devices that may be real: those of a rack elsewhere. Raises ServeError."""
    if options.conformance_fixtures and options.devices.startswith(("http://", "https://")):
        raise ServeError(
            f"--devices is {options.devices!r}, whose devices may be real, and the conformance fixtures are asked for; "
            "expected fixtures beside a rack of its own only (contract mcp_conformance, section 4); give a device "
            "list, or leave --conformance-fixtures out"
        )


class _WithRackLog:
    """A host agent, and beside it the log of its rack, to be read only: what a live check needs to find the effects.

    Nothing else of the rack's wire is here: it could drive devices past the leases. The log has no door, so it is for
    this machine only.
    """

    def __init__(self, agent: AsgiApp, rack: AsgiApp) -> None:
        self._agent = agent
        self._rack = rack

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == RACK_LOG:
            await self._rack({**scope, "path": "/v1/log", "raw_path": b"/v1/log"}, receive, send)
        else:
            await self._agent(scope, receive, send)


@asynccontextmanager
async def _drivers(options: HostAgentOptions) -> AsyncIterator[tuple[RackClient, AsgiApp | None]]:
    """A rack elsewhere (None), or one of our own inside this process (its application), reached over the same wire."""
    import httpx

    from lasttick.reference.hostagent.config import is_http_url
    from lasttick.reference.hostagent.rack_client import RackClient
    from lasttick_fakes.devices import DeviceSpecError, Rack, parse_devices, rack_app

    only = options.only.split(",") if options.only else None
    if options.devices.startswith(("http://", "https://")):
        if not is_http_url(options.devices):
            raise ServeError(
                f"--devices is {options.devices!r}; expected the URL of a rack, as in http://127.0.0.1:7001, or a "
                "device list (contract world, host agent's surface); correct --devices"
            )
        client = RackClient(options.devices, only=only)
        try:
            yield client, None
        finally:
            await client.aclose()
        return
    try:
        rack = Rack(SystemClock(), parse_devices(options.devices))
    except DeviceSpecError as error:
        raise ServeError(str(error)) from error
    app = rack_app(rack)
    client = RackClient("http://rack", transport=httpx.ASGITransport(app), only=only)
    try:
        yield client, app
    finally:
        rack.close()
        await client.aclose()


def mutant_applied(mutant_id: str | None) -> Any:
    """The wrong version asked for, as a context; nothing for None. Raises ServeError for an unknown id."""
    if mutant_id is None:
        return nullcontext()
    from lasttick.mutants import UnknownMutant, find

    try:
        mutant: AbstractAsyncContextManager[None] | Any = find(mutant_id).applied()
    except UnknownMutant as error:
        raise ServeError(str(error)) from error
    return mutant


def _listen_alone(options: HostAgentOptions, identity_dir: Path) -> socket.socket:
    """Bind; when the port is taken by this folder's own host agent, say that instead (HA-23). Raises StartError."""
    with _alone(identity_dir):
        return listen(options.host, options.port)


@contextlib.contextmanager
def _alone(identity_dir: Path) -> Iterator[None]:
    """What cannot be had because this folder's own host agent has it: say that instead (HA-23). Raises StartError."""
    from lasttick.reference.hostagent.instance_lock import InstanceLock
    from lasttick.reference.hostagent.start_error import StartError

    try:
        yield
    except (ServeError, StartError):
        if identity_dir.is_dir():
            with InstanceLock(identity_dir):
                pass
        raise


def log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
