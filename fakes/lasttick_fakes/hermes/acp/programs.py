"""How does a world without processes start the agent? In its own process, over pipes that carry the real bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick.ports import LineStream

Main: TypeAlias = Callable[[LineStream, Mapping[str, str]], Awaitable[None]]
"""`run_acp` with everything but the stream and the environment filled in."""
PROGRAM = "hermes"
ARGS = ("acp",)


class AcpPrograms:
    """`ports.ChildPrograms` that knows one program, `hermes acp`. `kill` ends one as SIGKILL does, `close` all."""

    def __init__(self, main: Main) -> None:
        self._main = main
        self._started: list[tuple[asyncio.Task[None], PipeEnd]] = []

    @property
    def count(self) -> int:
        """How many were started so far; `kill` takes their numbers, from 0."""
        return len(self._started)

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        """Raises FileNotFoundError for every other program."""
        if command.rpartition("/")[2] != PROGRAM or tuple(args) != ARGS:
            raise FileNotFoundError(
                f"{command!r} {list(args)} is no program of this world; expected {PROGRAM} {' '.join(ARGS)}; "
                "play it in process mode"
            )
        ours, theirs = pipe_pair()
        task = asyncio.create_task(self._run(theirs, dict(env)), name=f"hermes acp {len(self._started) + 1}")
        self._started.append((task, theirs))
        return ours

    async def kill(self, number: int) -> None:
        """It ends where it stands: its client reads the end of file, and nothing more of what it had in hand."""
        task, theirs = self._started[number]
        theirs.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        for number in range(len(self._started)):
            await self.kill(number)

    async def _run(self, stream: LineStream, env: Mapping[str, str]) -> None:
        await self._main(stream, env)
