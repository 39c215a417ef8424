"""`lasttick serve`: any part as a server on loopback, in real time.

Prints its ready line on standard error, stops within 5 s of SIGTERM or SIGINT with exit code 0, and refuses what it
cannot serve with one message and exit code 2. Source: DESIGN "What machines read", contract world (ready line).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn

from lasttick.engine.clock import SystemClock, SystemEntropy

STOP_S = 1
"""What connections may take that are still open when the part behind them has ended."""
HEADER_BYTES_MAX = 64 * 1024
BACKLOG = 2048


class ServeError(Exception):
    """A part cannot be served as asked: three-part message, exit code 2."""


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
    only: str | None = None
    """Ids of the rack's devices that are this host's, separated by commas; all when None."""
    mutant: str | None = None


def run_hostagent(options: HostAgentOptions) -> None:
    """Serve the reference host agent until it is told to stop. Raises ServeError."""
    with _mutant(options.mutant), contextlib.suppress(asyncio.CancelledError):
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
            await _serve("devices", rack_app(rack), _listen_on_loopback(host, port), path="")
        finally:
            rack.close()

    with _mutant(mutant):
        asyncio.run(serve())


def run_cloud(
    *, host: str = "127.0.0.1", port: int = 7002, heartbeat_s: float = 30.0, mutant: str | None = None
) -> None:
    """Serve the fake cloud control plane. Raises ServeError."""
    from lasttick_fakes.cloud import Cloud, asgi

    async def serve() -> None:
        cloud = Cloud(SystemClock(), heartbeat_s=heartbeat_s)
        try:
            await _serve("cloud", asgi(cloud), _listen_on_loopback(host, port), path="")
        finally:
            await cloud.close()

    with _mutant(mutant):
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
    from lasttick.reference.hostagent.agent import HostAgent
    from lasttick.reference.hostagent.config import HostAgentConfig
    from lasttick.reference.hostagent.start_error import StartError

    _log_to_stderr()
    main = asyncio.current_task()
    assert main is not None
    # Until the server takes over the signals: told to stop while it starts, it stops.
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, main.cancel)
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
                allow_non_loopback=options.allow_non_loopback,
                cloud_url=options.cloud,
            )
            listener = _listen_alone(options, config.identity_dir)
            stack.callback(listener.close)
            config = replace(config, port=listener.getsockname()[1])
            drivers = await stack.enter_async_context(_drivers(options))
            agent = HostAgent(config, drivers=drivers, clock=SystemClock(), entropy=SystemEntropy())
            running = await stack.enter_async_context(contextlib.AsyncExitStack())
            await running.enter_async_context(agent.running())
        except StartError as error:
            raise ServeError(str(error)) from error
        await _serve("hostagent", agent.app, listener, path="/mcp", on_stop=running.aclose)


@asynccontextmanager
async def _drivers(options: HostAgentOptions) -> AsyncIterator[Any]:
    """A rack elsewhere, or one of our own inside this process, reached over the same wire."""
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
            yield client
        finally:
            await client.aclose()
        return
    try:
        rack = Rack(SystemClock(), parse_devices(options.devices))
    except DeviceSpecError as error:
        raise ServeError(str(error)) from error
    client = RackClient("http://rack", transport=httpx.ASGITransport(rack_app(rack)), only=only)
    try:
        yield client
    finally:
        rack.close()
        await client.aclose()


def _mutant(mutant_id: str | None) -> Any:
    """The wrong version asked for, as a context; nothing for None. Raises ServeError for an unknown id."""
    if mutant_id is None:
        return nullcontext()
    from lasttick.mutants import UnknownMutant, find

    try:
        mutant: AbstractAsyncContextManager[None] | Any = find(mutant_id).applied()
    except UnknownMutant as error:
        raise ServeError(str(error)) from error
    return mutant


def _listen(host: str, port: int) -> socket.socket:
    """Bind before anything else starts: a taken port must be one clear message. Raises ServeError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # Until somebody listens, others may bind the same port and would fail only when they are up.
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        raise ServeError(
            f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}; expected a "
            "free port of this machine (contract world, host agent's surface); choose another --port, or 0 for a free "
            "one"
        ) from error
    return listener


def _listen_on_loopback(host: str, port: int) -> socket.socket:
    """A fake has no door of its own, so it is for this machine only. Raises ServeError."""
    from lasttick.reference.hostagent.config import is_loopback

    if not is_loopback(host):
        raise ServeError(
            f"host {host!r} can be reached from other machines; expected a loopback address, since a fake asks nobody "
            "for a password (DESIGN, serve); use 127.0.0.1"
        )
    return _listen(host, port)


def _listen_alone(options: HostAgentOptions, identity_dir: Path) -> socket.socket:
    """Bind; when the port is taken by this folder's own host agent, say that instead (HA-23). Raises StartError."""
    from lasttick.reference.hostagent.instance_lock import InstanceLock

    try:
        return _listen(options.host, options.port)
    except ServeError:
        if identity_dir.is_dir():
            with InstanceLock(identity_dir):
                pass
        raise


async def _serve(
    name: str, app: Any, listener: socket.socket, *, path: str, on_stop: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Serve until a signal, saying on standard error when ready. `on_stop` ends the application's open streams."""
    server = _Server(
        uvicorn.Config(
            app,
            http="h11",
            lifespan="off",
            log_config=None,
            access_log=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=STOP_S,
            h11_max_incomplete_event_size=HEADER_BYTES_MAX,
        )
    )
    host, port = listener.getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    ready = {"name": name, "url": base + path, "pid": os.getpid()}
    if path:
        ready["console"] = base
    server.ready = json.dumps(ready)
    server.on_stop = on_stop
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which re-raise SIGTERM after the stop: `serve` must end with 0."""

    ready = ""
    on_stop: Callable[[], Awaitable[None]] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(self.ready, file=sys.stderr, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody new, then the application ends its streams; uvicorn would wait for them first, to no avail."""
        for server in self.servers:
            server.close()
        if self.on_stop is not None:
            await self.on_stop()
        # Requests that are still coming in will not come to their end: their handlers are told so, not cancelled.
        asyncio.get_running_loop().call_later(STOP_S / 2, self._hang_up)
        await super().shutdown(sockets)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            if (transport := getattr(connection, "transport", None)) is not None:
                transport.close()

    def stop(self) -> None:
        self.should_exit = True


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
