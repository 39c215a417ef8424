"""What does one run of `hermes acp` do? From its environment to the end of its input, over any pair of byte pipes.

Fidelity. Models, for 0.17.0 and 0.19.0: line JSON with ids of its own from 0, initialize, session new / load /
resume / fork / list / close, modes, prompts with streamed text and thoughts, tool calls and their late ends, permission
questions for edits and dangerous commands with every answer of section 4.4, the 60 s after which it denies by itself,
smart approvals, the allowlist in config.yaml, cancel in both endings with the session that is stuck after one, the
queue, usage, titles, slash commands, MCP servers of the configuration and of session/new. Real: edits of files, in the
session's folder only, and `rm -r` there; the bytes on the pipes; the requests to the model. Simulated: every other
command (`commands.py`). Does not model: images, `authenticate`, another model after /model, compaction, guidance inside
a running turn (it is queued), sessions on disk, paging of session/list, the special views of tools that it does not
have, the seconds that the real program needs to start. Shown against the recordings of both versions by
tests/fakes/hermes/acp. Source: contract hermes, sections 4, 5.4, 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from lasttick.engine.clock import SystemClock, SystemEntropy
from lasttick.ports import ChildPrograms, Clock, Entropy, LineStream
from lasttick_fakes.hermes.acp.agent import AcpAgent
from lasttick_fakes.hermes.acp.approvals import Approvals
from lasttick_fakes.hermes.acp.background import Background
from lasttick_fakes.hermes.acp.connection import ASK_S, Connection, OnEvent
from lasttick_fakes.hermes.acp.prompts import Prompts
from lasttick_fakes.hermes.acp.toolbox import Toolbox
from lasttick_fakes.hermes.acp.turn import DEFAULT_PACE, Pace
from lasttick_fakes.hermes.acp.wild import WILD_VARIABLE, Wild
from lasttick_fakes.hermes.config import (
    ReadText,
    Server,
    home_of,
    load,
    read_text,
    server_of,
    with_allowlist,
    with_dotenv,
)
from lasttick_fakes.hermes.model_client import ModelClient
from lasttick_fakes.hermes.program import HTTP_S, connector
from lasttick_fakes.hermes.servers import ConfiguredServer, begin, discovered, end
from lasttick_fakes.hermes.versions import DEFAULT_VERSION, habits_of

OFFERS_VARIABLE = "HERMES_FAKE_OFFERS"
"""Of the fake alone: ids of options, with commas between; a person is offered these alone, in this order."""


def _deaf(kind: str, data: dict[str, Any]) -> None:
    """For those who keep no log."""


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def run_acp(
    stream: LineStream,
    env: Mapping[str, str],
    *,
    children: ChildPrograms,
    transport: httpx.AsyncBaseTransport | None,
    read_config: ReadText = read_text,
    write_config: Callable[[Path, str], None] = write_text,
    version: str = DEFAULT_VERSION,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    on_event: OnEvent = _deaf,
    pace: Pace = DEFAULT_PACE,
    ask_s: float = ASK_S,
) -> None:
    """Run until the client closes its side, then close ours. `stream` is the agent's end of the pipes.

    `transport` reaches the model and servers at URLs: the caller's, who closes it; None for real sockets. `on_event`
    hears `hermes.sent` {frame}, `hermes.answered` {rpc_id, frame, counts}, `hermes.denied_itself` {rpc_id, session_id},
    `hermes.wrote` {session_id, tool, path, bytes}, `hermes.ran` {session_id, command, how, exit_code}, `hermes.stuck`
    {session_id} and `hermes.ignored` {line}. Raises ValueError for a version that was not measured.
    """
    clock, entropy = clock or SystemClock(), entropy or SystemEntropy()
    environ = with_dotenv(env, read_config)
    habits = habits_of(version)
    config, _ = load(environ, read_config, habits)
    home = home_of(environ)
    http = httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=True, timeout=HTTP_S)
    connect = connector(environ, children, http, habits)
    servers = [ConfiguredServer(server, connect, clock, habits) for server in config.servers]
    tasks = begin(servers)

    def keep(allowlist: Sequence[str]) -> None:
        path = home / "config.yaml"
        write_config(path, with_allowlist(read_config(path) or "", allowlist))

    async def join(given: list[Any]) -> None:
        known = [one.server.name for one in servers]
        entries = [entry for one in given if (entry := _joined(one)) is not None and entry.name not in known]
        added = [ConfiguredServer(entry, connect, clock, habits) for entry in entries]
        servers.extend(added)
        tasks.extend(joining := begin(added))
        await discovered(tasks[: len(tasks) - len(joining)], config.discovery_s)
        await discovered(joining, max((entry.connect_s for entry in entries), default=0.0))

    connection = Connection(stream, clock, on_event, ask_s)
    model = ModelClient(config, http, clock)
    approvals = Approvals(connection, model, habits, config.approvals_mode, config.allowlist, keep, _offers(environ))
    wild = Wild(stream) if env.get(WILD_VARIABLE) else None
    toolbox = Toolbox(servers, approvals, habits, environ, str(home), on_event, wild)
    background = Background()
    prompts = Prompts(
        version, config.context_tokens, connection, model, toolbox, background, habits, clock, entropy, pace
    )
    agent = AcpAgent(version, config.model, connection, prompts, background, join, clock, entropy, pace.updates_s)
    try:
        async for line in stream.lines():
            agent.hear(line)
    finally:
        await background.close()
        await end(servers, tasks)
        if transport is None:
            await http.aclose()
        stream.close()


def _offers(environ: Mapping[str, str]) -> Sequence[str] | None:
    offers = environ.get(OFFERS_VARIABLE)
    return None if offers is None else offers.split(",")


def _joined(given: Any) -> Server | None:
    """A server of session/new, which lists headers and environment as name and value."""
    if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
        return None
    entry = dict(given)
    for listed in ("headers", "env"):
        pairs = given.get(listed)
        pairs = [pair for pair in pairs if isinstance(pair, Mapping)] if isinstance(pairs, list) else []
        entry[listed] = {str(pair.get("name")): pair.get("value") for pair in pairs}
    return server_of(given["name"], entry)
