"""Which processes did a turn of the agent start? The operating system's word for it, taken while they run.

A program's arguments and environment are read from `/proc`, so nothing that a part says of itself is needed, and a real
agent program in the fake's place is seen as well. Where there is no `/proc`, no process is seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lasttick.model.secret_fence import RUN_ID
from lasttick.ports import AgentProgram, Finished
from lasttick.targets.gateway.tap import Saw
from lasttick.targets.gateway.turns import HermesTurn, Program, told_start

LOOK_S = 0.05
PROC = Path("/proc")


class WatchedProgram:
    """A `ports.AgentProgram` around `inner`, which runs real processes. `keep(number, turn)` is told of each turn when
    it begins and when it has ended."""

    def __init__(self, inner: AgentProgram, saw: Saw, keep: Callable[[int, HermesTurn], None]) -> None:
        self._inner = inner
        self._saw = saw
        self._keep = keep
        self._count = 0

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        """Raises what `inner` raises."""
        self._count += 1
        number, run_id = self._count, env.get(RUN_ID)
        self._saw("hermes.start", run_id, told_start(argv, env))
        self._keep(number, HermesTurn(run_id, Program(tuple(argv), dict(env), 0)))
        found: dict[int, Program] = {}
        looking = asyncio.create_task(self._look(argv, env, found), name=f"watch turn {number}")
        status = None
        try:
            finished = await self._inner.run(argv, env)
            status = finished.returncode
            return finished
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking
            seen = list(found.values()) or [Program(tuple(argv), dict(env), 0)]
            self._keep(number, HermesTurn(run_id, seen[0], tuple(seen[1:]), status))
            self._saw("hermes.end", run_id, {"status": status})

    async def _look(self, argv: Sequence[str], env: Mapping[str, str], found: dict[int, Program]) -> None:
        """The program itself first, then everything below it. Read again each time: a process that has just been made
        still looks like its parent."""
        told: dict[int, None] = {}
        while True:
            family = dict(_family(os.getpid(), argv, env))
            for pid, program in family.items():
                if found.get(pid) == program and pid not in told and len(found) > 1 and pid != next(iter(found)):
                    told[pid] = None
                    self._saw("child.start", env.get(RUN_ID), {**told_start(program.argv, program.env), "pid": pid})
                found[pid] = program
            await asyncio.sleep(LOOK_S)


def _family(parent: int, argv: Sequence[str], env: Mapping[str, str]) -> Iterator[tuple[int, Program]]:
    """The process that runs `argv` for the run of `env`, and what it started, the elder ones first."""
    below: dict[int, list[int]] = {}
    for pid, its_parent in parents():
        below.setdefault(its_parent, []).append(pid)
    for pid in below.get(parent, []):
        program = read_program(pid)
        tail = () if program is None else program.argv[-len(argv) + 1 :]
        if program is None or tail != tuple(argv[1:]) or program.env.get(RUN_ID) != env.get(RUN_ID):
            continue
        yield pid, program
        waiting = list(below.get(pid, []))
        while waiting:
            child = waiting.pop(0)
            if (its := read_program(child)) is not None:
                yield child, its
            waiting += below.get(child, [])


def parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) of all processes, by number."""
    try:
        names = sorted(int(name) for name in os.listdir(PROC) if name.isdigit())
    except OSError:
        return
    for pid in names:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name of the program, in parentheses, may hold anything.
            after = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            yield pid, int(after[1])


def read_program(pid: int) -> Program | None:
    """A running process as it was started; None when it has gone."""
    try:
        argv, environ = ((PROC / str(pid) / name).read_bytes() for name in ("cmdline", "environ"))
    except OSError:
        return None
    if not argv:
        return None
    return Program(tuple(_texts(argv)), dict(_pairs(environ)), pid)


def _texts(content: bytes) -> list[str]:
    return [os.fsdecode(part) for part in content.removesuffix(b"\0").split(b"\0")]


def _pairs(content: bytes) -> Iterator[tuple[str, Any]]:
    for text in _texts(content):
        name, found, value = text.partition("=")
        if found:
            yield name, value
