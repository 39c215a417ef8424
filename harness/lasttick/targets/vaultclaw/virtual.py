"""The vault system of a virtual world: every part in this process, joined by the world's network and by byte pipes."""

from __future__ import annotations

import asyncio
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from lasttick.engine.network import Site
from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.program import VaultclawServer
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import emit_seen
from lasttick.targets.vaultclaw.options import FakePart, ServerOptions, ServerPart
from lasttick_fakes.catalogs import RemoteCatalog
from lasttick_fakes.vaultd import VaultDaemon

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

DAEMON = "127.0.0.1:7200"
FIRST_SERVER_PORT = 7210
FIRST_CATALOG_PORT = 7230


class VirtualVaultParts:
    """See `VaultParts`."""

    def __init__(self, world: VirtualWorld) -> None:
        self._world = world
        self._servers = 0
        self.sockets: dict[str, str] = {}
        """Origins behind the Unix sockets of this world, by path."""

    def server(self, options: ServerOptions, again: ServerPart | None) -> ServerPart:
        if again is None:
            self._servers += 1
        assert again is None or isinstance(again, VirtualServer)
        origin = f"127.0.0.1:{FIRST_SERVER_PORT + self._servers}" if again is None else again.origin
        return VirtualServer(self._world, self, options, origin)

    def daemon(self, *, unix: bool, again: FakePart | None) -> FakePart:
        if isinstance(again, VirtualFake):
            # What it remembers is on its disk; only its process ends.
            return VirtualFake(self._world, DAEMON, again.app, again.socket)
        saw = functools.partial(_saw, self._world, "vaultd")
        socket = self._world.path / "vaultd.sock" if unix else None
        if socket is not None:
            self.sockets[str(socket)] = DAEMON
        return VirtualFake(self._world, DAEMON, VaultDaemon(self._world.clock, on_event=saw), socket)

    def catalog(self, number: int) -> FakePart:
        saw = functools.partial(_saw, self._world, f"catalog-{number + 1}")
        app = RemoteCatalog(self._world.clock, on_event=saw)
        return VirtualFake(self._world, f"127.0.0.1:{FIRST_CATALOG_PORT + number}", app)

    def history(self, get: Any) -> list[dict[str, Any]]:
        return []

    def transports(self, socket: str | None) -> httpx.AsyncBaseTransport:
        """How a server of this world reaches others: over the network, or what listens at a Unix socket."""
        inner = self._world.transport()
        return inner if socket is None else _UnixSocket(inner, self.sockets.get(socket), socket)


class VirtualFake:
    """See `FakePart`."""

    def __init__(self, world: VirtualWorld, origin: str, app: Any, socket: Path | None = None) -> None:
        self._world = world
        self._origin = origin
        self._site: Site | None = None
        self.app = app
        self.url = f"http://{origin}"
        self.socket = socket
        self.past: list[dict[str, Any]] = []

    async def start(self) -> None:
        self._site = self._world.network.serve(self._origin, self.app)

    async def stop(self) -> None:
        if self._site is not None:
            self._site.cut()


class VirtualServer:
    """See `ServerPart`: its own task, its own address or pipes, its files in its folder."""

    def __init__(self, world: VirtualWorld, parts: VirtualVaultParts, options: ServerOptions, origin: str) -> None:
        self._world = world
        self._parts = parts
        self._options = options
        self._lines: list[str] = []
        self._server: VaultclawServer | None = None
        self._main: asyncio.Task[None] | None = None
        self._site: Site | None = None
        self._pipe: PipeEnd | None = None
        self.origin = origin
        self.url = f"http://{origin}"
        self.stdio: PipeEnd | None = None

    @property
    def pid(self) -> int:
        return os.getpid()

    async def start(self) -> None:
        options, world = self._options, self._world
        environ = {"ACCORDS_MCP_CATALOG_DIR": str(options.catalog_dir), "HOME": str(options.folder)}
        if options.via == "http":
            environ["ACCORDS_MCP_HTTP_ADDR"] = self.origin
        if options.cookbooks is not None:
            environ["ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR"] = str(options.cookbooks)
        try:
            config = VaultclawConfig.from_env({**environ, **options.environ}, options.folder)
            self._server = VaultclawServer(
                config,
                clock=world.clock,
                entropy=world.chance,
                transports=self._parts.transports,
                say=self._lines.append,
            )
            await self._server.start()
        except StartError as error:
            raise StartRefused(str(error)) from error
        if options.via == "http":
            self._site = world.network.serve(self.origin, self._server.app)
        else:
            self.stdio, self._pipe = pipe_pair()
            self._main = asyncio.create_task(self._speak(self._pipe), name=options.name)

    async def stop(self) -> None:
        assert self._server is not None
        if self._site is not None:
            self._site.up = False
        await self._server.stop()
        if self._main is not None:
            await self._main
        if self._site is not None:
            self._site.cut()

    async def kill(self) -> None:
        if self._site is not None:
            self._site.cut()
        if self._main is not None:
            self._main.cancel()
            await asyncio.wait([self._main])
        await self._world.settle()

    async def ended(self) -> int:
        if self._main is None:
            raise Inconclusive("a server in a virtual world ends by itself only on standard streams")
        await asyncio.wait([self._main])
        return 0 if self._main.exception() is None else 1

    def said(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    async def _speak(self, pipe: PipeEnd) -> None:
        assert self._server is not None
        try:
            await self._server.serve_stdio(pipe.reader, _Output(pipe))
        finally:
            pipe.close()


class _Output:
    """A pipe as a stream to write to; it takes everything at once."""

    def __init__(self, pipe: PipeEnd) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> None:
        self._pipe.write(data)

    async def drain(self) -> None:
        return


class _UnixSocket(httpx.AsyncBaseTransport):
    """A connection to whatever serves at a Unix socket; the request's own Host header stays as it is."""

    def __init__(self, inner: httpx.AsyncBaseTransport, origin: str | None, path: str) -> None:
        self._inner = inner
        self._origin = origin
        self._path = path

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._origin is None:
            raise httpx.ConnectError(f"no such socket: {self._path}", request=request)
        host, _, port = self._origin.rpartition(":")
        url = request.url.copy_with(scheme="http", host=host, port=int(port))
        there = httpx.Request(request.method, url, headers=request.headers, content=await request.aread())
        return await self._inner.handle_async_request(there)


def _saw(world: VirtualWorld, actor: str, kind: str, data: dict[str, Any]) -> None:
    """An event of a fake. What happened by itself is told when the fake is next looked at: its own instant is `at_ns`,
    and the event has that of the telling, so that time never goes back in a trace."""
    emit_seen(world.trace, actor, kind, None, {"at_ns" if name == "t_ns" else name: data[name] for name in data})
