"""The agent program of a virtual world: the fake Hermes in this process, its one MCP server over in-memory pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lasttick.engine.pipes import pipe_pair
from lasttick.model.secret_fence import RUN_ID
from lasttick.model.tool_names import ToolNameError
from lasttick.ports import Finished, LineStream
from lasttick.reference.gateway.humanwork import serve_humanwork
from lasttick.reference.gateway.registration import HUMANWORK_ARGS
from lasttick.targets.gateway.tap import Saw
from lasttick.targets.gateway.turns import Correlation, HermesTurn, Program, told_start
from lasttick_fakes.hermes import run_hermes

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

STOP_S = 2.0
KNOWN_ARGS = (HUMANWORK_ARGS, HUMANWORK_ARGS[-2:])


class InProcessHermes:
    """A `ports.AgentProgram`. `turns` is every run so far; `timeout_s` bounds one."""

    def __init__(
        self, world: VirtualWorld, *, version: str, timeout_s: float, saw: Saw, correlation: Correlation
    ) -> None:
        self.turns: list[HermesTurn] = []
        self._world = world
        self._version = version
        self._timeout_s = timeout_s
        self._saw = saw
        self._correlation = correlation

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        """Raises TimeoutError."""
        run_id = env.get(RUN_ID)
        self._correlation.began(argv, run_id)
        place = len(self.turns)
        self.turns.append(HermesTurn(run_id, Program(tuple(argv), dict(env), os.getpid())))
        self._saw("hermes.start", run_id, told_start(argv, env))
        children = InProcessChildren(self._world, self, place, Path(env.get("HERMES_HOME") or "."))
        status = None
        try:
            async with asyncio.timeout(self._timeout_s):
                finished = await run_hermes(
                    argv,
                    env,
                    children=children,
                    transport=self._world.transport(),
                    version=self._version,
                    clock=self._world.clock,
                    entropy=self._world.chance,
                )
            status = finished.returncode
            return finished
        finally:
            await children.close()
            self.turns[place] = replace(self.turns[place], status=status)
            self._saw("hermes.end", run_id, {"status": status})

    def child_started(self, place: int, child: Program) -> None:
        turn = self.turns[place] = replace(self.turns[place], children=(*self.turns[place].children, child))
        self._saw("child.start", turn.run_id, told_start(child.argv, child.env))


class InProcessChildren:
    """A `ports.ChildPrograms` that knows one program, the `humanwork` server, by the command that boot registered."""

    def __init__(self, world: VirtualWorld, hermes: InProcessHermes, place: int, home: Path) -> None:
        self._world = world
        self._hermes = hermes
        self._place = place
        self._stderr_log = home / "logs" / "mcp-stderr.log"
        self._served: list[asyncio.Task[None]] = []

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        """Raises FileNotFoundError for every other program: a virtual world has no processes."""
        self._hermes.child_started(self._place, Program((command, *args), dict(env), os.getpid()))
        if command != sys.executable or tuple(args) not in KNOWN_ARGS:
            raise FileNotFoundError(
                f"{command!r} {list(args)} is no program of a virtual world; expected the command of humanwork that "
                "boot registers (contract gateway, boot registration); play the scenario in process mode"
            )
        ours, theirs = pipe_pair()
        name = f"humanwork of turn {self._place + 1}"
        self._served.append(asyncio.create_task(self._serve(env, theirs), name=name))
        return ours

    async def close(self) -> None:
        """Their input has ended; who is not done after 2 s is ended."""
        if self._served:
            _, left = await asyncio.wait(self._served, timeout=STOP_S)
            for task in left:
                task.cancel()
            await asyncio.gather(*self._served)

    async def _serve(self, env: Mapping[str, str], stream: LineStream) -> None:
        try:
            await serve_humanwork(env, stream, transport=self._world.transport())
        except ToolNameError as error:
            # As `python -m lasttick.reference.gateway.humanwork` says it, where the agent program puts it.
            self._stderr_log.parent.mkdir(parents=True, exist_ok=True)
            with self._stderr_log.open("a") as log:
                log.write(f"humanwork does not start: {error}\n")
