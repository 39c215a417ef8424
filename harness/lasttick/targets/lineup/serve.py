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
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.model.lineup.frames import FRAME_BYTES_MAX
from lasttick.ports import ChildPrograms
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.acp_agent import AcpAgent
from lasttick.reference.lineup.core import RESPONSE_TIMEOUT_S, Adapter
from lasttick.reference.lineup.host_lines import HostLines
from lasttick.reference.lineup.host_websocket import HostWebsocket
from lasttick.reference.lineup.ledger import Ledger
from lasttick.reference.lineup.streams import StdioStream
from lasttick.targets.gateway.files import SightFile
from lasttick.targets.lineup.tap import TappedPrograms
from lasttick.targets.serve import log_to_stderr, mutant_applied
from lasttick.targets.server import ServeError, listen_on_loopback, on_signals, serve_app
from lasttick_fakes.hermes.children import Children

LOOPBACK = "127.0.0.1"
VERSION_VARIABLE = "HERMES_FAKE_VERSION"


@dataclass(frozen=True, slots=True)
class AdapterOptions:
    """What `lasttick serve lineup` was asked. `agent`: the command line of an ACP agent, which works in `cwd`.

    `stdio`: the host is at the standard streams. `tap`: a file for the frames between adapter and agent.
    """

    agent: str
    ledger: Path
    cwd: Path
    host: str = LOOPBACK
    port: int = 8780
    stdio: bool = False
    response_timeout_s: float = RESPONSE_TIMEOUT_S
    mutant: str | None = None
    tap: Path | None = None


def run_lineup(options: AdapterOptions, environ: Mapping[str, str]) -> None:
    """Serve the adapter until told to stop, or until the host at its standard input is gone. Raises ServeError."""
    with mutant_applied(options.mutant):
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
    stopping = asyncio.Event()
    on_signals(stopping.set)
    argv = _command(options.agent)
    cwd = _folder(options.cwd)
    children = Children(options.ledger.with_suffix(".agent.log"))
    clock = SystemClock()
    programs: ChildPrograms = children
    if options.tap is not None:
        file = SightFile(options.tap, clock)
        programs = TappedPrograms(children, lambda kind, data: file.saw("agent", kind, None, data))
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(children.close)
        try:
            adapter = Adapter(
                Ledger(options.ledger, clock),
                clock,
                SystemEntropy(),
                lambda: AcpAgent(programs, clock, argv, environ, cwd=cwd),
                response_timeout_s=options.response_timeout_s,
            )
            await adapter.start()
        except StartError as error:
            raise ServeError(str(error)) from error
        stack.push_async_callback(adapter.stop)
        ends = [asyncio.create_task(stopping.wait()), asyncio.create_task(adapter.ended())]
        if options.stdio:
            stream = StdioStream(FRAME_BYTES_MAX)
            await stream.open()
            stack.callback(stream.close)
            ends.append(asyncio.create_task(HostLines(stream, adapter, adapter.attach, clock).run()))
            url = "stdio"
        else:
            url = f"ws://{options.host}:{await _listen(options, adapter, stack)}"
        print(json.dumps({"name": "lineup", "url": url, "pid": os.getpid()}), file=sys.stderr, flush=True)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        if ends[1].done() and not stopping.is_set():
            raise ServeError(
                f"the adapter ended: it could not write its ledger {options.ledger}; expected a disk with room, and no "
                "other adapter on that file (contract lineup C-4); look at both, then start it again"
            )


async def _listen(options: AdapterOptions, adapter: Adapter, stack: contextlib.AsyncExitStack) -> int:
    """The port of the host's WebSocket. Raises ServeError."""
    try:
        server = HostWebsocket(adapter, adapter.attach, SystemClock(), host=options.host, port=options.port)
        port = await server.start()
    except ValueError as error:
        raise ServeError(str(error)) from error
    except OSError as error:
        raise ServeError(
            f"cannot listen on {options.host}:{options.port}: {error.strerror or error}; expected a free port of this "
            "machine; choose another --port, or 0 for a free one"
        ) from error
    stack.push_async_callback(server.stop)
    return port


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


def _command(text: str) -> tuple[str, ...]:
    """A command line as a shell would split it. Raises ServeError."""
    try:
        parts = tuple(shlex.split(text))
    except ValueError as error:
        raise ServeError(f"--agent cannot be split: {error}; expected a command line; correct --agent") from error
    if not parts:
        raise ServeError("--agent is empty; expected a command line, as in 'hermes acp'; correct --agent")
    return parts


def _folder(path: Path) -> str:
    """Its absolute path, as agents want it. Raises ServeError."""
    if not path.is_dir():
        raise ServeError(
            f"--cwd is {str(path)!r}; expected a folder that is there, in which the agent works (hermes contract 4.2); "
            "make it, or name another"
        )
    return str(path.resolve())
