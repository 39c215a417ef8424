"""How do the parts become one vault MCP server? All wiring is here, and the order of start and stop.

Start: cookbooks, catalog, seed, routes (contract vaultclaw 2). Stop: waits are cut, other calls get a few seconds, then
the connections to the vault close (ruling 19). Nothing is written at the end: sessions go with the process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.masking import KnownTokens
from lasttick.ports import AsgiApp, Clock, Entropy
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw import start_up
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.seeding import seed
from lasttick.reference.vaultclaw.config import WHERE, VaultclawConfig
from lasttick.reference.vaultclaw.dialer import Dialer, Transports
from lasttick.reference.vaultclaw.http_bridge import HttpBridge
from lasttick.reference.vaultclaw.remote import RemoteSources
from lasttick.reference.vaultclaw.rpc import Rpc
from lasttick.reference.vaultclaw.sessions import Sessions
from lasttick.reference.vaultclaw.stdio import STOP_S, ByteReader, ByteWriter, Stdio
from lasttick.reference.vaultclaw.tool import Parts
from lasttick.reference.vaultclaw.tools import all_tools

Say = Callable[[str], None]


def on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class VaultclawServer:
    """One vault MCP server; `start`, serve over `app` or `serve_stdio`, `stop`. It runs once.

    `transports`: how the vault (a Unix socket path, or None) and the remote sources (None) are reached; httpx's own
    when it is None, or gives None. `say` takes one line for standard error; no line holds a token.
    """

    def __init__(
        self,
        config: VaultclawConfig,
        *,
        clock: Clock,
        entropy: Entropy,
        transports: Transports | None = None,
        say: Say = on_stderr,
    ) -> None:
        self.config = config
        self._clock = clock
        self._entropy = entropy
        self._transports = transports
        self._tokens = KnownTokens()
        self._say_as_it_is = say
        self._dialer = Dialer(transports)
        self._sessions = Sessions(config, self._dialer, entropy, self._tokens)
        self._rpc: Rpc | None = None
        self._bridge: HttpBridge | None = None
        self._stdio: list[Stdio] = []

    async def start(self) -> None:
        """Steps 1 to 4 of the contract. Raises StartError; what was written by then is whole."""
        folder = start_up.cookbooks_folder(self.config)
        if self.config.catalog_dir is None:
            raise StartError(
                "there is no place for the catalog: neither HOME nor XDG_CONFIG_HOME is set",
                f"one of them, or ACCORDS_MCP_CATALOG_DIR ({WHERE})",
                "set ACCORDS_MCP_CATALOG_DIR to a folder",
            )
        catalog = Catalog(self.config.catalog_dir, self._clock, lock_timeout_ms=self.config.lock_timeout_ms)
        try:
            await catalog.open()
            await seed(catalog, folder, self._clock, self._say)
        except ToolFailure as failure:
            raise StartError(
                f"the catalog can not be had: {failure.message} ({failure.code})",
                f"a catalog that opens, and cookbooks in {str(folder)!r} that fit in ({WHERE}, steps 2 and 3)",
                "put that right and start again",
            ) from failure
        await start_up.check_routes(catalog, self._say)
        if start_up.points_at_itself(self.config):
            self._say(
                f"warning: the vault's base URL {self.config.base_url} is this server's own address "
                f"({self.config.http_addr}); expected the vault's; set VC_BASE_URL or ACCORDS_MCP_HTTP_ADDR"
            )
        remote = RemoteSources(catalog, self._transports, self.config.environ, learn=self._tokens.learn)
        parts = Parts(self._clock, self._entropy, self._sessions, catalog, remote)
        self._rpc = Rpc(all_tools(), parts, self._tokens, self._say)
        self._bridge = HttpBridge(self._rpc, self.config.http_path, strict=self.config.strict_tenants)

    @property
    def app(self) -> AsgiApp:
        """The HTTP bridge. Raises RuntimeError before the start."""
        if self._bridge is None:
            raise _not_started()
        return self._bridge

    async def serve_stdio(self, reader: ByteReader, writer: ByteWriter) -> None:
        """Until the end of the input, or `stop`. Raises FramingError, and RuntimeError before the start."""
        if self._rpc is None:
            raise _not_started()
        stdio = Stdio(self._rpc, reader, writer)
        self._stdio.append(stdio)
        await stdio.serve()

    async def stop(self) -> None:
        """Within 5 s, whatever is in flight."""
        for stdio in self._stdio:
            await stdio.stop()
        if self._bridge is not None:
            await self._bridge.stop(STOP_S)
        await self._dialer.aclose()

    def _say(self, line: str) -> None:
        self._say_as_it_is(" ".join(self._tokens.masked_text(line).splitlines()))


def _not_started() -> RuntimeError:
    return RuntimeError("this VaultclawServer has not started; expected `await server.start()` first; call it")
