"""`lasttick serve gateway`, `agent`, `humanwork`, `model` and `third-party`: the parts of a gateway in real time.

The platform and the agent take what they must know of each other, secrets first, from their environment, as in a
deployment. `trial` starts all of them for somebody who wants to look. Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import shlex
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.reference.gateway.agent import AgentConfig, TrustedAgent
from lasttick.reference.gateway.agent_program import ProcessProgram
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.platform import Platform
from lasttick.reference.hostagent.start_error import StartError
from lasttick.targets.gateway.files import SightFile
from lasttick.targets.gateway.held_agent import HeldAgent
from lasttick.targets.gateway.stopping import Stoppable
from lasttick.targets.gateway.tap import Tap
from lasttick.targets.gateway.watch import WatchedProgram
from lasttick.targets.serve import log_to_stderr, mutant_applied
from lasttick.targets.server import ServeError, listen_on_loopback, on_signals, serve_app

LOOPBACK = "127.0.0.1"
FAKE_HERMES = (sys.executable, "-m", "lasttick_fakes.hermes")


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """What `lasttick serve gateway` was asked. `tap`: a file for what is seen at its door."""

    host: str = LOOPBACK
    port: int = 8770
    identity_dir: Path | None = None
    agent_url: str | None = None
    third_party_url: str | None = None
    upstream_s: float = 20.0
    turn_s: float = 300.0
    mutant: str | None = None
    tap: Path | None = None


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What `lasttick serve agent` was asked. `hermes` is the agent program's command line, the fake's when None.

    `held`: a stand-in that runs no program and holds every turn.
    """

    host: str = LOOPBACK
    port: int = 8771
    hermes: str | None = None
    turn_s: float = 300.0
    mutant: str | None = None
    tap: Path | None = None
    held: bool = False


def run_platform(options: PlatformOptions, environ: Mapping[str, str]) -> None:
    """Serve the platform until told to stop. Raises ServeError."""
    with mutant_applied(options.mutant), contextlib.suppress(asyncio.CancelledError):
        asyncio.run(platform(options, environ))


def run_agent(options: AgentOptions, environ: Mapping[str, str]) -> None:
    """Serve the trusted agent until told to stop. Raises ServeError."""
    with mutant_applied(options.mutant):
        asyncio.run(_agent(options, environ))


def run_humanwork(environ: Mapping[str, str], *, mutant: str | None = None) -> int:
    """The `humanwork` MCP server on this process's stdin and stdout; its exit status. Raises ServeError."""
    from lasttick.reference.gateway import humanwork

    ready = {"name": "humanwork", "url": "stdio", "pid": os.getpid()}
    with mutant_applied(mutant):
        print(json.dumps(ready), file=sys.stderr, flush=True)
        return humanwork.main()


def run_model(*, host: str = LOOPBACK, port: int = 8772) -> None:
    """Serve the fake model. Raises ServeError."""
    from lasttick_fakes.model import FakeModel

    asyncio.run(_fake("model", FakeModel(SystemClock()), host, port))


def run_third_party(*, host: str = LOOPBACK, port: int = 8773) -> None:
    """Serve the fake third party. Raises ServeError."""
    from lasttick_fakes.thirdparty import ThirdParty

    asyncio.run(_fake("third-party", ThirdParty(SystemClock()), host, port))


async def platform(
    options: PlatformOptions,
    environ: Mapping[str, str],
    listener: socket.socket | None = None,
    on_start: Callable[[Platform], None] = lambda _: None,
) -> None:
    """Serve the platform on `listener`, which it closes, or one of its own. Raises ServeError."""
    log_to_stderr()
    stop_while_starting()
    async with contextlib.AsyncExitStack() as stack:
        listener = listener or listen_on_loopback(options.host, options.port)
        stack.callback(listener.close)
        urls = {"agent_url": options.agent_url, "third_party_url": options.third_party_url}
        try:
            config = GatewayConfig.from_env(
                environ,
                identity_dir=options.identity_dir,
                upstream_s=options.upstream_s,
                turn_s=options.turn_s,
                **{name: url for name, url in urls.items() if url is not None},
            )
            served = Platform(config, clock=SystemClock(), entropy=SystemEntropy())
            running = await stack.enter_async_context(contextlib.AsyncExitStack())
            await running.enter_async_context(served.running())
            on_start(served)
        except StartError as error:
            raise ServeError(str(error)) from error
        app = tapped(served.app, options.tap, "platform")
        await serve_app("gateway", app, listener, on_stop=running.aclose)


async def _agent(options: AgentOptions, environ: Mapping[str, str]) -> None:
    log_to_stderr()
    listener = listen_on_loopback(options.host, options.port)
    if options.held:
        held = Stoppable(HeldAgent())
        await serve_app("agent", tapped(held, options.tap, "agent"), listener, on_stop=held.stop)
        return
    program: Any = ProcessProgram(timeout_s=options.turn_s)
    if options.tap is not None:
        file = SightFile(options.tap, SystemClock())
        program = WatchedProgram(program, functools.partial(file.saw, "hermes"), file.keep)
    settings: dict[str, Any] = {"command": FAKE_HERMES if options.hermes is None else command(options.hermes)}
    if options.mutant is not None:
        # The server is a process of its own: a wrong version must be wrong there too.
        settings["humanwork_args"] = ("-I", "-m", "lasttick", "serve", "humanwork", "--mutant", options.mutant)
    try:
        config = AgentConfig.from_env(environ, **settings)
        agent = TrustedAgent(config, program=program, environ=environ, clock=SystemClock())
    except StartError as error:
        raise ServeError(str(error)) from error
    agent.register()
    app = Stoppable(agent.app)
    await serve_app("agent", tapped(app, options.tap, "agent"), listener, on_stop=app.stop)


async def _fake(name: str, app: Any, host: str, port: int) -> None:
    await serve_app(name, app, listen_on_loopback(host, port))


def command(text: str) -> tuple[str, ...]:
    """A command line as a shell would split it. Raises ServeError."""
    try:
        parts = tuple(shlex.split(text))
    except ValueError as error:
        raise ServeError(f"--hermes cannot be split: {error}; expected a command line; correct --hermes") from error
    if not parts:
        raise ServeError("--hermes is empty; expected a command line, as in 'hermes'; correct --hermes")
    return parts


def tapped(app: Any, tap: Path | None, actor: str) -> Any:
    """The application, and in front of it a tap that writes to the file `tap`, if there is one."""
    return app if tap is None else Tap(app, functools.partial(SightFile(tap, SystemClock()).saw, actor))


def stop_while_starting() -> None:
    """Until the server takes over the signals: told to stop while it starts, it stops."""
    main = asyncio.current_task()
    assert main is not None
    on_signals(main.cancel)


def own_environ() -> dict[str, str]:
    """This process's environment."""
    return dict(os.environ)
