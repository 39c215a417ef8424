"""How is the agent program run for real? As a child process with exactly the environment it is given, and bounded.

A `lasttick.ports.AgentProgram`. When a turn is over, so is everything it started in its session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from lasttick.ports import Finished

STOP_S = 2.0
OUTPUT_BYTES_MAX = 1 << 20
"""Of each stream, its end is kept: that is where the answer stands."""


class ProcessProgram:
    """`timeout_s` bounds one run, in seconds."""

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        """Raises TimeoutError, and OSError when there is no such program."""
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(env),
            start_new_session=True,
        )
        out, err = bytearray(), bytearray()
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            asyncio.create_task(_keep_end(process.stdout, out)),
            asyncio.create_task(_keep_end(process.stderr, err)),
        ]
        try:
            async with asyncio.timeout(self._timeout_s):
                await process.wait()
        finally:
            await _end(process)
            # Whoever left the session may still hold the other end of the pipes.
            _, waiting = await asyncio.wait(readers, timeout=STOP_S)
            for reader in waiting:
                reader.cancel()
        assert process.returncode is not None
        return Finished(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


async def _keep_end(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await stream.read(65_536):
        kept += chunk
        del kept[:-OUTPUT_BYTES_MAX]


async def _end(process: asyncio.subprocess.Process) -> None:
    """The process, if it still runs, gets `STOP_S` to end itself; what it left behind in its session gets nothing."""
    if process.returncode is None:
        _signal(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await process.wait()
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
