"""How does the real program start its servers? As child processes on pipes, in process mode and for `python -m`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

STOP_S = 2.0
LINE_BYTES_MAX = 1 << 26


class ChildStream:
    """A `ports.LineStream` over a child's pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    def write(self, data: bytes) -> None:
        """Raises BrokenPipeError when the child no longer listens."""
        if self._stdin.is_closing():
            raise BrokenPipeError("the child's standard input is closed; expected an open one; start it again")
        self._stdin.write(data)

    async def lines(self) -> AsyncIterator[bytes]:
        while line := await self._stdout.readline():
            yield line.rstrip(b"\r\n")

    def close(self) -> None:
        self._stdin.close()


class Children:
    """`ports.ChildPrograms` over real processes; their standard error goes to `stderr_log`. `close` ends them all."""

    def __init__(self, stderr_log: Path) -> None:
        self._stderr_log = stderr_log
        self._started: list[ChildStream] = []

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> ChildStream:
        """Raises OSError when there is no such program."""
        self._stderr_log.parent.mkdir(parents=True, exist_ok=True)
        with self._stderr_log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                command,
                *args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=dict(env),
                limit=LINE_BYTES_MAX,
                start_new_session=True,
            )
        stream = ChildStream(process)
        self._started.append(stream)
        return stream

    async def close(self) -> None:
        """End of file, then after 2 s SIGTERM, then after 2 s SIGKILL, to each and its group."""
        for stream in self._started:
            stream.close()
        await asyncio.gather(*(_ended(stream.process) for stream in self._started))


async def _ended(process: asyncio.subprocess.Process) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await process.wait()
                return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    await process.wait()


async def real_shell(command: str, environ: Mapping[str, str]) -> tuple[str, int]:
    """`builtin.Shell` over a real one. Bounded at 180 s, the tool's own default."""
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(180):
            output, _ = await process.communicate()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        return "Command timed out after 180s", 124
    return output.decode(errors="replace"), process.returncode or 0
