"""What does one run of the agent do? `hermes chat -Q -t TOOLSETS -q PROMPT`, from its arguments to its last line.

Fidelity. Models, for 0.17.0 and 0.19.0: the command line of `chat`, `config.yaml` and `.env`, `${NAME}` and its
literal, what a stdio child inherits, discovery and how long it is waited for, tool names, utility tools, serial
calls, time-outs, the breaker, calls that are made again when a server died, HTTP servers and lost sessions, what a
reply looks like to the model, `terminal` with the agent's environment, the requests to the model and their
repetition, the lines around the answer, exit status. Does not model: sampling and elicitation, `list_changed`,
keepalive, OAuth, warnings about loops, approvals, every other tool of its own, memory, skills, sessions on disk, ACP
(see `acp/`), the process between agent and child, and the seconds that the program needs to start. Source: contract
hermes, sections 1 to 3; tests/fakes/hermes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import httpx

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.ports import ChildPrograms, Clock, Entropy, Finished
from lasttick_fakes.hermes import screen
from lasttick_fakes.hermes.builtin import Shell, command_env, toy_shell
from lasttick_fakes.hermes.child_env import child_env, with_its_folder
from lasttick_fakes.hermes.command import UsageError, parse
from lasttick_fakes.hermes.config import ReadText, Server, home_of, load, read_text, with_dotenv
from lasttick_fakes.hermes.http import HttpSession
from lasttick_fakes.hermes.model_client import ModelClient
from lasttick_fakes.hermes.servers import ConfiguredServer, begin, discovered, end
from lasttick_fakes.hermes.sessions import Session
from lasttick_fakes.hermes.stdio import StdioSession
from lasttick_fakes.hermes.turn import Turn
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, Habits, habits_of

HTTP_S = 600.0
"""How long one read of an answer may take."""


async def run_hermes(
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    children: ChildPrograms,
    transport: httpx.AsyncBaseTransport | None,
    read_config: ReadText = read_text,
    version: str = DEFAULT_VERSION,
    shell: Shell = toy_shell,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
) -> Finished:
    """Run to the end; `argv` starts with the program's name, `env` is its whole environment.

    `transport` reaches the model and servers at URLs: the caller's, who closes it; None for real sockets. The status is
    0 whatever servers and tools did; 1 without a model or an answer of it, 2 for a bad command line.
    """
    try:
        command = parse(argv[1:])
    except UsageError as error:
        return Finished(2, "", f"{error}\n")
    clock, entropy = clock or SystemClock(), entropy or SystemEntropy()
    environ = with_dotenv(env, read_config)
    habits = habits_of(version)
    config, problem = load(environ, read_config, habits)
    trouble = screen.broken_config(problem) if problem else ""
    if not config.base_url:
        return Finished(1, screen.SETUP, trouble)

    http = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True, timeout=HTTP_S)

    connect = connector(environ, children, http, habits)
    servers = [ConfiguredServer(server, connect, clock, habits) for server in config.servers]
    tasks = begin(servers)
    session_id = f"{clock.wall():%Y%m%d_%H%M%S}_{entropy.token_bytes(3).hex()}"
    try:
        await discovered(tasks, config.discovery_s)
        if command.prompt is None:
            return Finished(0, screen.interactive(version, servers, session_id), trouble + screen.NOT_A_TERMINAL)
        home = str(home_of(environ))
        turn = Turn(config, command, servers, shell, command_env(environ, home, session_id), habits)
        said = await turn.run(ModelClient(config, http, clock))
    finally:
        await end(servers, tasks)
        if transport is None:
            await http.aclose()
    return Finished(said.status, turn.warning + said.out, f"{trouble}{said.err}\nsession_id: {session_id}\n")


def connector(
    environ: Mapping[str, str], children: ChildPrograms, http: httpx.AsyncClient, habits: Habits
) -> Callable[[Server], Awaitable[Session]]:
    """What opens a session with a server, at its URL or as a child."""

    async def connect(server: Server) -> Session:
        if server.url is not None:
            return HttpSession(server, http, habits)
        if server.command is None:
            raise OSError(f"mcp_servers.{server.name} has neither command nor url")
        command, its_env = with_its_folder(server.command, child_env(environ, server.env))
        return StdioSession(await children.start(command, server.args, its_env))

    return connect
