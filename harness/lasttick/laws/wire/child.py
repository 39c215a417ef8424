"""A child process in a process group of its own, heard through callbacks; whatever happens, it is reaped.

asyncio's own Process waits for the pipes as well, which a grandchild may hold open for ever: here the end of the
process and the end of its output are two futures. Real time only: a virtual loop cannot wait for a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lasttick.laws.wire.answers import failure_of, shortened, text_of
from lasttick.laws.wire.message import WireError

STDERR_LINES = 20
LINE_MAX = 500
GRACE_S = 0.5
"""How long output may follow after the process has ended (a grandchild may hold the pipe)."""
INHERITED = ("PATH", "HOME", "LANG")


def environment(*layers: Mapping[str, str]) -> dict[str, str]:
    """PATH, HOME, LANG of ours, and `layers`, later ones winning: no other secret of this process reaches a child."""
    merged = {name: os.environ[name] for name in INHERITED if name in os.environ}
    for layer in layers:
        merged.update(layer)
    return merged


async def start(
    argv: Sequence[str], env: Mapping[str, str], heard: Callable[[bytes], None], *, stdin: bool = True
) -> Child:
    """Run `argv` without a shell; `heard` gets its standard output in pieces. Raises WireError: it cannot start."""
    try:
        if not argv:
            raise ValueError("there is no program name")
        _, child = await asyncio.get_running_loop().subprocess_exec(
            lambda: Child(heard),
            *argv,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise WireError(
            f"the command {list(argv)[:1]} cannot be started: {failure_of(error)}; expected a program on PATH or its "
            "whole path, and text without zero bytes (docs/check.md, 'Binding': argv, never a shell); install it or "
            "correct the command"
        ) from error
    return child


class Child(asyncio.SubprocessProtocol):
    """`exited`: the exit code, once known. `silent`: standard output has ended."""

    def __init__(self, heard: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[Any] = loop.create_future()
        self.silent: asyncio.Future[Any] = loop.create_future()
        self._heard = heard
        self._said: deque[str] = deque(maxlen=STDERR_LINES)
        self._half = b""

    # -- what we do

    def write(self, data: bytes) -> None:
        """To its standard input; into nothing if it has closed that."""
        self._stdin.write(data)

    def close_stdin(self) -> None:
        self._stdin.close()

    def kill(self) -> None:
        """The whole group, if the process itself still runs."""
        self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    async def ended(self, within_s: float | None = None) -> bool:
        """Wait until the process has ended; whether it has."""
        await asyncio.wait([self.exited], timeout=within_s)
        return self.exited.done()

    async def finish(self) -> None:
        """Kill it if it runs, wait until it is gone, let go of its pipes."""
        self.kill()
        try:
            await self.ended()
        finally:
            self._transport.close()

    def last_lines(self) -> list[str]:
        """The end of its standard error."""
        return [*self._said, *([self._line(self._half)] if self._half else [])]

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        stdin = transport.get_pipe_transport(0)
        if stdin is not None:
            assert isinstance(stdin, asyncio.WriteTransport)
            self._stdin = stdin

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._heard(data)
            return
        *lines, self._half = (self._half + data).split(b"\n")
        self._half = self._half[: 4 * LINE_MAX]
        self._said.extend(self._line(line) for line in lines[-STDERR_LINES:] if line.strip())

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1 and not self.silent.done():
            self.silent.set_result(None)

    def process_exited(self) -> None:
        code = self._transport.get_returncode()
        assert code is not None
        self.exited.set_result(code)

    def _signal(self, number: int) -> None:
        if self._transport.get_returncode() is None:
            with contextlib.suppress(ProcessLookupError):  # it may have ended just now
                os.killpg(self._transport.get_pid(), number)

    @staticmethod
    def _line(data: bytes) -> str:
        return shortened(text_of(data).rstrip("\r"), LINE_MAX)
