"""How does the fake run as a program of its own? `python -m lasttick_fakes.hermes acp [--version 0.17.0]`, on stdio.

Four variables of its own, beside those of the real program: `HERMES_FAKE_LOG`, a file to which every event is added as
a line `{"t_ns", "kind", "data"}`; `HERMES_FAKE_PACE`, a factor for `Pace` (0: the agent's own work takes no time);
`HERMES_FAKE_ASK_S`, the seconds after which it denies by itself, for tests that cannot wait for 60;
`HERMES_FAKE_OFFERS`, see `program`.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lasttick.engine.clock import SystemClock
from lasttick_fakes.hermes.acp.connection import ASK_S, OnEvent
from lasttick_fakes.hermes.acp.frames import LINE_BYTES_MAX
from lasttick_fakes.hermes.acp.program import run_acp
from lasttick_fakes.hermes.acp.turn import DEFAULT_PACE
from lasttick_fakes.hermes.children import Children
from lasttick_fakes.hermes.command import UsageError, parse_acp
from lasttick_fakes.hermes.config import home_of

LOG_VARIABLE = "HERMES_FAKE_LOG"
PACE_VARIABLE = "HERMES_FAKE_PACE"
ASK_VARIABLE = "HERMES_FAKE_ASK_S"


class Stdio:
    """A `ports.LineStream` over this process's own standard input and output."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def write(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    async def lines(self) -> AsyncIterator[bytes]:
        while line := await self._reader.readline():
            yield line.rstrip(b"\r\n")

    def close(self) -> None:
        """The output closes with the process."""


def run(argv: Sequence[str], env: Mapping[str, str], default_version: str) -> int:
    """`argv` without the program's name. The exit status: 0 when standard input ended, 2 for what cannot be read."""
    try:
        version = parse_acp(argv, default_version)
        pace = DEFAULT_PACE.scaled(_seconds(env, PACE_VARIABLE, 1.0))
        ask_s = _seconds(env, ASK_VARIABLE, ASK_S)
        log = _log(env.get(LOG_VARIABLE))
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2

    async def main() -> int:
        reader = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        except ValueError:
            sys.stderr.write("hermes acp: standard input is a file; expected a pipe to a client; start it from one\n")
            return 2
        children = Children(home_of(env) / "logs" / "mcp-stderr.log")
        try:
            await run_acp(
                Stdio(reader),
                env,
                children=children,
                transport=None,
                version=version,
                on_event=log,
                pace=pace,
                ask_s=ask_s,
            )
        finally:
            await children.close()
        return 0

    return asyncio.run(main())


def _log(name: str | None) -> OnEvent:
    """Raises UsageError when there is no such place."""
    if name is None:
        return lambda kind, data: None
    try:
        descriptor = os.open(Path(name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise UsageError(
            f"hermes acp: {LOG_VARIABLE}={name!r} cannot be written ({error.strerror}); expected a file; name another"
        ) from None

    clock = SystemClock()

    def log(kind: str, data: dict[str, Any]) -> None:
        line = json.dumps({"t_ns": clock.now_ns(), "kind": kind, "data": data}, ensure_ascii=False)
        os.write(descriptor, line.encode("utf-8", "replace") + b"\n")

    return log


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    """Raises UsageError."""
    try:
        value = float(env.get(name) or default)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"hermes acp: {name}={env[name]!r}; expected a number from 0; correct it")
    return value
