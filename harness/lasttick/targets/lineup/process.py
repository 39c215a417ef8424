"""An adapter of a process world: `lasttick serve lineup`, its agent as a child of it, the model as another process.

The host is in the world's process, joined by a WebSocket or by the adapter's standard streams.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lasttick.engine.clock import SystemClock
from lasttick.ports import Clock, LineStream
from lasttick.targets.children import POLL_S, Child, Process
from lasttick.targets.fifos import Fifos
from lasttick.targets.gateway import files
from lasttick.targets.gateway.turns import told_request
from lasttick.targets.lineup.agent import FAKE_COMMAND, agent_environ, prepare
from lasttick.targets.lineup.door import SocketLines
from lasttick.targets.lineup.options import NOT_TOLD, AgentEvent, LineupOptions
from lasttick.targets.nursery import nursery
from lasttick.targets.outcome import Inconclusive
from lasttick_fakes.hermes.acp.process import ASK_VARIABLE, LOG_VARIABLE, PACE_VARIABLE
from lasttick_fakes.host import LineWire, Wire, connect_socket

if TYPE_CHECKING:
    from lasttick.targets.process import ProcessWorld

IMPORTS = ("lasttick.targets.lineup.serve", "lasttick.reference.lineup.acp_agent", "lasttick_fakes.model")
PACE = 0.1
"""Of the fake agent's own work, which costs real time here."""


class ProcessLineup:
    """See `LineupPart`."""

    def __init__(self, world: ProcessWorld, options: LineupOptions, number: int) -> None:
        self._world = world
        self._options = options
        self._model: Child | None = None
        self._child: Child | None = None
        self._process: Process | None = None
        self._url = ""
        self._events_url = ""
        self._runs = 0
        self._fifos: Fifos | None = None
        self._asked: list[dict[str, Any]] = []
        """What the model was asked, once it is gone."""
        self.model_url = ""
        self.clock: Clock = SystemClock()

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid

    @property
    def is_up(self) -> bool:
        return self._child is not None and self._child.running

    async def prepare(self) -> None:
        self._options.folder.mkdir(parents=True, exist_ok=True)
        self._model, ready = await self._world.spawn(["model", "--port", "0"], "model", begin=_begin_model)
        self.model_url = ready["url"]
        prepare(self._options, self.model_url)

    async def start(self) -> None:
        options = self._options
        self._runs += 1
        arguments = ["lineup", "--agent", options.agent_command or shlex.join(FAKE_COMMAND), "--tap", str(self._tap)]
        arguments += ["--ledger", str(options.ledger), "--cwd", str(options.files), "--events-port", "0"]
        if options.response_timeout_s is not None:
            arguments += ["--response-timeout", str(options.response_timeout_s)]
        if options.permission_life_s is not None:
            arguments += ["--permission-life", str(options.permission_life_s)]
        if self._world.mutant is not None:
            arguments += ["--mutant", self._world.mutant.id]
        if options.via == "lines":
            self._fifos = await Fifos.made(options.folder / f"stdio-{self._runs}")
            arguments += ["--stdio"]
        else:
            arguments += ["--port", "0"]
        self._child, ready = await self._world.spawn(arguments, options.name, self._environ(), begin=self._begin)
        self._url, self._events_url = ready["url"], ready["events"]

    async def stop(self) -> None:
        if self._child is not None:
            await asyncio.to_thread(self._child.stop)
        self._end_pipes()

    async def kill(self) -> None:
        assert self._child is not None
        self._child.kill()
        self._end_pipes()

    async def ended(self) -> int:
        assert self._process is not None
        while (code := self._process.poll()) is None:
            await asyncio.sleep(POLL_S)
        self._end_pipes()
        return code

    async def kill_agent(self) -> None:
        while not (found := _children_of(self.pid)):
            await asyncio.sleep(POLL_S)
        os.kill(found[-1], signal.SIGKILL)

    async def wire(self) -> Wire:
        if self._options.via == "websocket":
            return await connect_socket(self._url)
        assert self._fifos is not None
        return LineWire(self._fifos)

    async def native(self) -> LineStream:
        host, _, port = self._events_url.rpartition("/")[2].rpartition(":")
        return SocketLines(*await asyncio.open_connection(host, int(port)))

    def agent_log(self) -> list[AgentEvent]:
        return [AgentEvent(line["t_ns"], line["kind"], line["data"]) for line in _lines(self._agent_log)]

    def said(self) -> str:
        return "" if self._child is None else self._child.said()

    def crash_at(self, step: int) -> NoReturn:
        raise Inconclusive("an adapter is killed at a step in virtual mode only; process mode kills it in between")

    @property
    def steps(self) -> list[str]:
        raise Inconclusive("the steps of an adapter are known in virtual mode only")

    async def crashed(self) -> str:
        raise Inconclusive("an adapter is killed at a step in virtual mode only")

    async def close(self) -> None:
        if self._model is not None and self._model.running:
            self._asked = (await self._world.get(f"{self.model_url}/requests"))["requests"]
            await asyncio.to_thread(self._model.stop)

    def history(self, get: Any) -> list[dict[str, Any]]:
        """What agent, tap and model saw: events as lines, their times CLOCK_MONOTONIC."""
        running = self._model is not None and self._model.running
        asked = get(f"{self.model_url}/requests")["requests"] if running else self._asked
        lines = files.sights(self._tap)
        lines += [
            {"t_ns": line["t_ns"], "actor": "agent", "kind": line["kind"], "ref": None, "data": line["data"]}
            for line in _lines(self._agent_log)
            if line["kind"] not in NOT_TOLD
        ]
        for one in asked:
            data = told_request({**one, "messages": one["body"].get("messages") or []})
            lines.append({"t_ns": one["t_ns"], "actor": "model", "kind": "model.request", "ref": None, "data": data})
        return lines

    @property
    def _tap(self) -> Path:
        return self._options.folder / "tap.jsonl"

    @property
    def _agent_log(self) -> Path:
        return self._options.folder / "agent.jsonl"

    def _environ(self) -> dict[str, str]:
        options = self._options
        pace = PACE if options.pace is None else options.pace
        asks = {} if options.ask_s is None else {ASK_VARIABLE: str(options.ask_s)}
        own = {LOG_VARIABLE: str(self._agent_log), PACE_VARIABLE: str(pace), **asks}
        # The fake agent is a program of this installation, wherever that is.
        paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        here = {"PYTHONPATH": os.pathsep.join(paths)} if paths else {}
        return {**here, **own, **agent_environ(options)}

    def _begin(self, arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> Any:
        pipes: dict[str, Any] = (
            {} if self._fifos is None else {"out": self._fifos.out_path, "into": self._fifos.in_path}
        )
        self._process = nursery().begin(arguments, log, environ, only=True, imports=IMPORTS, **pipes)
        return self._process

    def _end_pipes(self) -> None:
        if self._fifos is not None:
            self._fifos.end()
            self._fifos = None


def _begin_model(arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> Any:
    return nursery().begin(arguments, log, environ, imports=IMPORTS)


def _children_of(pid: int) -> list[int]:
    """By the operating system's word. Raises Inconclusive where it cannot be asked."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        raise Inconclusive(f"{path} is not there; expected a system with /proc, to find the agent's process")
    return [int(child) for child in path.read_text().split()]


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log that another process writes."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
