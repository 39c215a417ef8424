"""`lasttick serve vaultclaw|vaultd|catalog`: the vault MCP server and the fakes around it, in real time.

`serve vaultclaw` takes everything from its environment, so that it can stand in any client's configuration in the place
of the public program; like that, it ends with status 1 when it cannot start. Source: contract vaultclaw 2.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.model.vaultclaw.framing import FramingError
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.own_stdio import FileReader, FileWriter, replace_closed
from lasttick.reference.vaultclaw.program import VaultclawServer
from lasttick.targets.serve import mutant_applied
from lasttick.targets.server import ServeError, listen, listen_on_loopback, on_signals, serve_app, serving

if TYPE_CHECKING:
    from lasttick_fakes.vaultd.state import VaultState

FAILED = 1
LOOPBACK = "127.0.0.1"
ANY = "0.0.0.0"


def run_vaultclaw(environ: Mapping[str, str], *, mutant: str | None = None) -> int:
    """Serve until the end of the input, or until told to stop; the exit status. Raises ServeError for a bad mutant."""
    replace_closed()
    with mutant_applied(mutant):
        try:
            return asyncio.run(_vaultclaw(environ))
        except asyncio.CancelledError:
            return 0


def run_vaultd(*, host: str, port: int, unix: Path | None, state: Path | None = None) -> None:
    """Serve the fake vault daemon, at a Unix socket too. `state`: a file of what it remembers from the first call on.

    Raises ServeError.
    """
    asyncio.run(_vaultd(host, port, unix, state))


def run_catalog(*, host: str, port: int) -> None:
    """Serve a fake remote catalog. Raises ServeError."""
    from lasttick_fakes.catalogs import RemoteCatalog

    asyncio.run(serve_app("catalog", RemoteCatalog(SystemClock()), listen_on_loopback(host, port)))


async def _vaultclaw(environ: Mapping[str, str]) -> int:
    main = asyncio.current_task()
    assert main is not None
    on_signals(main.cancel)
    config = VaultclawConfig.from_env(environ, Path.cwd())
    server = VaultclawServer(config, clock=SystemClock(), entropy=SystemEntropy())
    try:
        await server.start()
        if not config.http_addr:
            return await _on_stdio(server)
        address, port = config.http_address
        listener = listen(address or ANY, port, said_by="port in ACCORDS_MCP_HTTP_ADDR")
        await serve_app("vaultclaw", server.app, listener, on_stop=server.stop)
    except (StartError, ServeError) as error:
        print(error, file=sys.stderr, flush=True)
        return FAILED
    return 0


async def _on_stdio(server: VaultclawServer) -> int:
    stopping: list[asyncio.Task[None]] = []
    on_signals(lambda: stopping.append(asyncio.ensure_future(server.stop())))
    reader, writer = FileReader(sys.stdin.fileno()), FileWriter(sys.stdout.fileno())
    print(json.dumps({"name": "vaultclaw", "url": "stdio", "pid": os.getpid()}), file=sys.stderr, flush=True)
    try:
        await server.serve_stdio(reader, writer)
    except FramingError as error:
        print(error, file=sys.stderr, flush=True)
        return FAILED
    finally:
        await asyncio.gather(*stopping)
        await server.stop()
    return 0


async def _vaultd(host: str, port: int, unix: Path | None, state: Path | None) -> None:
    from lasttick_fakes.vaultd import VaultDaemon

    daemon = VaultDaemon(SystemClock(), state=None if state is None else _remembered(state))
    listener = listen_on_loopback(host, port)
    async with contextlib.AsyncExitStack() as stack:
        if unix is not None:
            await stack.enter_async_context(serving(daemon, _unix_listener(unix)))
        await serve_app("vaultd", daemon, listener)


def _remembered(path: Path) -> VaultState:
    from lasttick_fakes.vaultd.state import load

    try:
        return load(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ServeError(
            f"the state in {path} cannot be read: {error}; expected what GET /state answered; give such a file"
        ) from error


def _unix_listener(path: Path) -> socket.socket:
    """Raises ServeError."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise ServeError(
            f"cannot listen at {path}: {error.strerror or error}; expected a path of at most some 100 bytes, in a "
            "folder that can be written to; choose another --unix"
        ) from error
    return listener
