"""What does one run of the agent do? `hermes chat -Q -t TOOLSETS -q PROMPT`, from its arguments to its last line.

Fidelity. Models, for 0.17.0 and 0.19.0: the command line of `chat`, `config.yaml` and `.env`, `${NAME}` and its
literal, what a stdio child inherits, discovery and how long it is waited for, tool names, utility tools, serial
calls, time-outs, the breaker, calls that are made again when a server died, HTTP servers and lost sessions, what a
reply looks like to the model, `terminal` with the agent's environment, the requests to the model and their
repetition, the lines around the answer, exit status. Does not model: sampling and elicitation, `list_changed`,
keepalive, OAuth, warnings about loops, approvals, every other tool of its own, memory, skills, sessions on disk, ACP,
the process between agent and child, and the seconds that the program needs to start. Source: contract hermes,
sections 1 to 3; tests/fakes/hermes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.ports import ChildPrograms, Clock, Entropy, Finished
from lasttick_fakes.hermes import builtin, screen
from lasttick_fakes.hermes.builtin import DEFAULT_TOOLS, EVERYTHING, TERMINAL, TOOLSETS, Shell, toy_shell
from lasttick_fakes.hermes.child_env import child_env
from lasttick_fakes.hermes.command import Command, UsageError, parse
from lasttick_fakes.hermes.config import Config, ReadText, Server, home_of, load, read_text, with_dotenv
from lasttick_fakes.hermes.http import HttpSession
from lasttick_fakes.hermes.model_client import ModelClient, ModelFailed
from lasttick_fakes.hermes.replies import enveloped, of_unknown_tool
from lasttick_fakes.hermes.servers import ConfiguredServer, Offered, discovered, end
from lasttick_fakes.hermes.sessions import Session
from lasttick_fakes.hermes.stdio import StdioSession
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, habits_of

ROUNDS_MAX = 90
"""Model requests in one turn; the program's own default."""
EMPTY_TRIES = 4
HTTP_S = 600.0
"""How long one read of an answer may take."""
SYSTEM_PROMPT = "You are Hermes Agent, an intelligent AI assistant. You are a CLI AI Agent."


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

    The status is 0 whatever servers and tools did; 1 when the model could not be asked, 2 for a bad command line.
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

    async def connect(server: Server) -> Session:
        if server.url is not None:
            return HttpSession(server, http, habits)
        if server.command is None:
            raise OSError(f"mcp_servers.{server.name} has neither command nor url")
        return StdioSession(await children.start(server.command, server.args, child_env(environ, server.env)))

    servers = [ConfiguredServer(server, connect, clock, habits) for server in config.servers]
    tasks = await discovered(servers, config.discovery_s)
    session_id = f"{clock.wall():%Y%m%d_%H%M%S}_{entropy.token_bytes(3).hex()}"
    try:
        if command.prompt is None:
            return Finished(0, screen.interactive(version, servers, session_id), trouble + screen.NOT_A_TERMINAL)
        home = str(home_of(environ))
        turn = Turn(config, command, servers, shell, builtin.command_env(environ, home, session_id))
        status, lines = await turn.run(ModelClient(config, http, clock))
    finally:
        await end(servers, tasks)
        await http.aclose()
    return Finished(status, turn.warning + lines, f"{trouble}\nsession_id: {session_id}\n")


class Turn:
    """One prompt, its tool calls, its answer."""

    def __init__(
        self,
        config: Config,
        command: Command,
        servers: Sequence[ConfiguredServer],
        shell: Shell,
        environ: Mapping[str, str],
    ) -> None:
        self._config = config
        self._prompt = command.prompt or ""
        self._shell = shell
        self._environ = environ
        self._owners: dict[str, ConfiguredServer] = {}
        self._tools: dict[str, Offered] = {}
        self.warning = ""
        self._choose(command.toolsets, servers)

    def _choose(self, toolsets: Sequence[str] | None, servers: Sequence[ConfiguredServer]) -> None:
        """Which tools the model is offered. An MCP server's toolset is its key; `mcp-` and the key warns, and works."""
        everything = toolsets is None or any(name in EVERYTHING for name in toolsets)
        names = [] if toolsets is None or everything else list(toolsets)
        known = {server.server.name for server in servers} | TOOLSETS.keys()
        unknown = [name for name in names if name not in known]
        if unknown:
            self.warning = f"Warning: Unknown toolsets: {', '.join(unknown)}\n"
        own = DEFAULT_TOOLS if everything else tuple(t for name in names for t in TOOLSETS.get(name, ()))
        self._tools = {offered.name: offered for offered in builtin.offered(own)}
        for server in servers:
            if everything or server.server.name in names or f"mcp-{server.server.name}" in names:
                self._tools |= server.tools
                self._owners |= dict.fromkeys(server.tools, server)

    async def run(self, model: ModelClient) -> tuple[int, str]:
        """Exit status, and what goes to standard output after the warning."""
        names = sorted(self._tools)
        functions = [self._tools[name].as_function() for name in names]
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM_PROMPT},
            {"role": "user", "content": self._prompt},
        ]
        shown, empty = "", 0
        for _ in range(ROUNDS_MAX):
            try:
                spoken = await model.ask(messages, functions)
            except ModelFailed as failed:
                return 1, f"{shown}{failed}\n"
            if spoken.reasoning and self._config.show_reasoning:
                shown += screen.reasoning(spoken.reasoning)
            if not spoken.calls and not spoken.text.strip():
                empty += 1
                if empty == EMPTY_TRIES:
                    return 0, shown + screen.NO_REPLY
                continue
            if not spoken.calls:
                return 0, f"{shown}{spoken.text.strip()}\n"
            messages.append(spoken.as_message())
            for number, name, arguments in spoken.calls:
                content = await self._call(name, arguments)
                messages.append({"role": "tool", "name": name, "content": content, "tool_call_id": number})
        return 0, f"{shown}I reached the maximum number of {ROUNDS_MAX} requests.\n"

    async def _call(self, name: str, text: str) -> str:
        """What the model reads of one tool call."""
        if name not in self._tools:
            return of_unknown_tool(name, sorted(self._tools))
        arguments = _object(text)
        if arguments is None:
            return json.dumps({"error": f"Invalid JSON arguments: {text[:80]}"})
        if name in self._owners:
            return enveloped(name, await self._owners[name].call(self._tools[name], arguments))
        if name == TERMINAL:
            return await builtin.run_terminal(self._shell, arguments, self._environ)
        return builtin.not_modelled(name)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
