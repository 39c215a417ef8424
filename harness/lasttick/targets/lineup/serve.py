"""`lasttick serve lineup`, `hermes` and `host`: the adapter, the fake agent and the fake chat host, in real time.

The adapter's host link is a WebSocket on loopback, or its standard streams; its agent is a child of it, with the
environment that the adapter was given. Source: contract lineup "Parts", C-1; DESIGN "What machines read".
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.ports import ChildPrograms
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.acp_agent import AcpAgent
from lasttick.reference.lineup.config import LEDGER_FILE, STDIO, LineupConfig
from lasttick.reference.lineup.program import run
from lasttick.targets.gateway.files import SightFile
from lasttick.targets.lineup.door import Door
from lasttick.targets.lineup.tap import TappedPrograms
from lasttick.targets.serve import log_to_stderr, mutant_applied
from lasttick.targets.server import ServeError, listen_on_loopback, on_signals, serve_app
from lasttick_fakes.hermes.children import Children

LOOPBACK = "127.0.0.1"
VERSION_VARIABLE = "HERMES_FAKE_VERSION"


@dataclass(frozen=True, slots=True)
class AdapterOptions:
    """What `lasttick serve lineup` was asked; None: what the environment says, else the default.

    `agent`: the command line of an ACP agent, which works in `cwd`. `stdio`: the host is at the standard streams.
    `events_port`: where the agent's own gateway may ask; None: nowhere. `tap`: a file for the agent's frames.
    """

    agent: str | None = None
    ledger: Path | None = None
    cwd: Path | None = None
    host: str = LOOPBACK
    port: int = 8780
    stdio: bool = False
    events_port: int | None = None
    response_timeout_s: float | None = None
    permission_life_s: float | None = None
    mutant: str | None = None
    tap: Path | None = None


def run_lineup(options: AdapterOptions, environ: Mapping[str, str]) -> None:
    """Serve the adapter until told to stop, or until the host at its standard input is gone. Raises ServeError."""
    with mutant_applied(options.mutant), contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_lineup(options, environ))


def run_hermes(environ: Mapping[str, str], *, version: str | None) -> int:
    """The fake agent on this process's standard streams; its exit status. Raises ServeError."""
    from lasttick_fakes.hermes.acp.process import run
    from lasttick_fakes.hermes.versions import DEFAULT_VERSION, HABITS

    version = version or environ.get(VERSION_VARIABLE) or DEFAULT_VERSION
    if version not in HABITS:
        raise ServeError(
            f"--version is {version!r}; expected one of {', '.join(HABITS)}, whose habits were measured (hermes "
            f"contract 7); correct --version, or {VERSION_VARIABLE}"
        )
    print(json.dumps({"name": "hermes", "url": "stdio", "pid": os.getpid()}), file=sys.stderr, flush=True)
    return run(["acp"], environ, version)


def run_host(*, adapter: str, host: str, port: int) -> None:
    """Serve a chat host that is joined to an adapter's WebSocket. Raises ServeError."""
    asyncio.run(_host(adapter, host, port))


async def _lineup(options: AdapterOptions, environ: Mapping[str, str]) -> None:
    log_to_stderr()
    main = asyncio.current_task()
    assert main is not None
    on_signals(main.cancel)
    config = _config(options, environ)
    clock = SystemClock()
    children = Children(config.ledger.with_suffix(".agent.log"))
    programs: ChildPrograms = children
    if options.tap is not None:
        file = SightFile(options.tap, clock)
        programs = TappedPrograms(children, lambda kind, data: file.saw("agent", kind, None, data))
    door = Door(config, options.events_port)
    try:
        await run(
            config,
            clock,
            SystemEntropy(),
            lambda: AcpAgent(programs, clock, config.agent, environ, cwd=str(config.cwd.resolve())),
            door,
        )
    except StartError as error:
        raise ServeError(str(error)) from error
    finally:
        await children.close()
    if not door.is_over:
        raise ServeError(
            f"the adapter ended: it could not write its ledger {config.ledger}; expected a disk with room, and no "
            "other adapter on that file (contract lineup C-4); look at both, then start it again"
        )


def _config(options: AdapterOptions, environ: Mapping[str, str]) -> LineupConfig:
    """What was asked over what the environment says. Raises ServeError."""
    asked = {
        "LINEUP_AGENT": options.agent,
        "LINEUP_LEDGER": options.ledger or environ.get("LINEUP_LEDGER") or LEDGER_FILE,
        "LINEUP_CWD": options.cwd,
        "LINEUP_HOST": STDIO if options.stdio else f"ws://{options.host}:{options.port}",
        "LINEUP_RESPONSE_TIMEOUT_S": options.response_timeout_s,
        "LINEUP_PERMISSION_LIFE_S": options.permission_life_s,
    }
    given = {name: str(value) for name, value in asked.items() if value is not None}
    try:
        return LineupConfig.from_env({**environ, **given})
    except StartError as error:
        raise ServeError(
            f"{error} (as options: --agent, --ledger, --cwd, --host, --response-timeout, --permission-life)"
        ) from error


async def _host(adapter: str, host: str, port: int) -> None:
    from lasttick_fakes.host import ChatHost, HostApp, connect_socket

    chat = ChatHost(SystemClock())
    app = HostApp(chat, functools.partial(connect_socket, adapter))
    listener = listen_on_loopback(host, port)
    try:
        await app.come()
    except OSError as error:
        listener.close()
        raise ServeError(
            f"no adapter at {adapter}: {error}; expected the ws:// address of its ready line; start `lasttick serve "
            "lineup` first, and name its address with --adapter"
        ) from error
    await serve_app("host", app, listener, on_stop=chat.leave)
