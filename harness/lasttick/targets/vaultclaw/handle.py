"""The vault MCP server of a world: what a scenario does with it. How it is started is the mode's business.

Source: contract vaultclaw; contract world, "Scenario and world".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.targets.vaultclaw.client import HttpConnection, HttpReply, StdioConnection, VaultClient
from lasttick.targets.vaultclaw.options import ServerOptions, ServerPart, Stdio, VaultParts
from lasttick.targets.vaultclaw.smoke.suite import SmokeRun, attempt
from lasttick.targets.vaultclaw.stdio import Streams

if TYPE_CHECKING:
    import httpx

    from lasttick.targets.world import World

HTTP_S = 120.0
"""After this a server that does not answer is an error of the scenario's, in process mode."""


class Vaultclaw:
    """A running server. `client` gives its callers; `http` and `stdio` are for what no client sends."""

    def __init__(self, world: World, options: ServerOptions, parts: VaultParts, part: ServerPart) -> None:
        self._world = world
        self._parts = parts
        self._part = part
        self._runs = True
        self._http: httpx.AsyncClient | None = None
        self._pipe: StdioConnection | None = None
        self.options = options

    @property
    def url(self) -> str:
        """Its origin, without the path of the RPC endpoint."""
        assert self.options.via == "http", "this server has no address: it speaks on standard streams"
        return self._part.url

    @property
    def catalog_dir(self) -> Path:
        return self.options.catalog_dir

    @property
    def pid(self) -> int:
        return self._part.pid

    def stderr(self) -> str:
        """What it said on standard error so far."""
        return self._part.said()

    # -- who talks to it

    def client(self, tenant: str | None = None) -> VaultClient:
        """A caller. Over HTTP `tenant` is said in a header; None: in none. On standard streams there is only one."""
        if self.options.via == "stdio":
            assert tenant is None, "a server on standard streams has one scope"
            if self._pipe is None:
                self._pipe = StdioConnection(self._stdio)
            return VaultClient(self._world, self._pipe, tenant=None, server=self.options.name)
        connection = HttpConnection(self._http_client(), f"{self.url}/mcp", tenant)
        return VaultClient(self._world, connection, tenant=tenant, server=self.options.name)

    async def http(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpReply:
        """A request as given; header values are sent as UTF-8."""
        sent = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        answer = await self._http_client().request(method, self.url + path, headers=sent, content=body)
        return HttpReply(answer.status_code, answer.headers, answer.content)

    @property
    def stdio(self) -> Streams:
        """Its standard input and output, for bytes that no client sends."""
        return Streams(self._stdio)

    async def smoke(self, environ: Mapping[str, str], say: Callable[[str], None] = lambda line: None) -> SmokeRun:
        """The smoke suite against this server, with these variables; `say` takes each line that a person would see."""
        return await attempt(
            environ, lambda settings: self.client("smoke" if self.options.via == "http" else None), say
        )

    # -- life and death

    async def ended(self) -> int:
        """Wait until it ends by itself; its exit code."""
        code = await self._part.ended()
        self._runs = False
        return code

    async def stop(self) -> None:
        """Orderly stop, as on SIGTERM."""
        self._runs = False
        await self._forget()
        await self._part.stop()
        self._world.trace.emit(self.options.name, "part.stop")

    async def kill(self) -> None:
        """The process is gone from one instant to the next."""
        self._runs = False
        self._world.trace.emit(self.options.name, "part.kill")
        await self._part.kill()
        await self._forget()

    async def restart(self) -> None:
        """Start again (after stopping, if it runs) on the same catalog and, over HTTP, the same address."""
        if self._runs:
            await self.stop()
        self._part = self._parts.server(self.options, self._part)
        await self._part.start()
        self._runs = True
        self._world.trace.emit(self.options.name, "part.start")

    async def shut(self) -> None:
        """The end of the world."""
        if self._runs:
            self._runs = False
            await self._part.stop()
        await self._forget()

    @property
    def _stdio(self) -> Stdio:
        assert self._part.stdio is not None, 'this server speaks HTTP; start it with via="stdio"'
        return self._part.stdio

    def _http_client(self) -> httpx.AsyncClient:
        if self._http is None:
            import httpx

            self._http = httpx.AsyncClient(
                transport=self._world.transport(), trust_env=False, timeout=HTTP_S, limits=httpx.Limits()
            )
        return self._http

    async def _forget(self) -> None:
        """Connections to a run that is over."""
        self._pipe = None
        if self._http is not None:
            client, self._http = self._http, None
            await client.aclose()


async def begin(world: World, number: int, options: dict[str, Any]) -> Vaultclaw:
    """Start server `number` (from 0) of this world. Raises StartRefused."""
    name = options.pop("name", "vaultclaw" if number == 0 else f"vaultclaw-{number + 1}")
    folder = world.path / name
    folder.mkdir(parents=True, exist_ok=True)
    catalog_dir = options.pop("catalog_dir", None) or folder / "catalog"
    named = ServerOptions(folder=folder, catalog_dir=catalog_dir, name=name, **options)
    parts = world.vault_parts()
    part = parts.server(named, None)
    await part.start()
    world.trace.emit(name, "part.start", via=named.via)
    return Vaultclaw(world, named, parts, part)
