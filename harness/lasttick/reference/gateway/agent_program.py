"""How is the agent program run for real? As a child process with exactly the environment it is given, and bounded.

A `lasttick.ports.AgentProgram`. When a turn is over, so is everything it started in its session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import BinaryIO

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
        async with contextlib.AsyncExitStack() as stack:
            out = await stack.enter_async_context(_Output.opened())
            err = await stack.enter_async_context(_Output.opened())
            with out.writer, err.writer:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out.writer,
                    stderr=err.writer,
                    env=dict(env),
                    start_new_session=True,
                )
            try:
                async with asyncio.timeout(self._timeout_s):
                    await process.wait()
            finally:
                await _end(process)
            # Whoever left the session may still hold the other ends.
            await asyncio.wait([out.reading, err.reading], timeout=STOP_S)
        assert process.returncode is not None
        return Finished(process.returncode, out.text, err.text)


class _Output:
    """A pipe of our own, of which the end is kept. With asyncio's, waiting for a process is waiting for everybody who
    inherited its output."""

    def __init__(self, stream: asyncio.StreamReader, writer: BinaryIO) -> None:
        self.writer = writer
        self._kept = bytearray()
        self.reading = asyncio.create_task(self._keep_end(stream))

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls) -> AsyncIterator[_Output]:
        read, write = os.pipe()
        with os.fdopen(write, "wb", buffering=0) as writer:
            stream = asyncio.StreamReader()
            transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(read, "rb", buffering=0)
            )
            output = cls(stream, writer)
            try:
                yield output
            finally:
                transport.close()
                output.reading.cancel()
                await asyncio.wait([output.reading])

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    async def _keep_end(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(65_536):
            self._kept += chunk
            del self._kept[:-OUTPUT_BYTES_MAX]


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
