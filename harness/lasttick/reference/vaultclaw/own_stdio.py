"""The standard input and output of this very process, as the streams that `Stdio` reads and writes.

Pipes, files and terminals alike, hence threads: a regular file can not be waited for. The threads end with the process,
also in the middle of a read that never returns. Real time only; a world gives its own streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
from collections.abc import Callable
from threading import Thread
from typing import Any

Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class _Worker:
    """Runs one blocking call after another in a thread of its own."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        Thread(target=self._run, name=name, daemon=True).start()

    async def do(self, call: Callable[[], Any]) -> Any:
        """What `call` returns or raises."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        self._jobs.put((call, loop, done))
        return await done

    def _run(self) -> None:
        while True:
            call, loop, done = self._jobs.get()
            result, error = None, None
            try:
                result = call()
            except OSError as failed:
                error = failed
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_settle, done, result, error)


class FileReader:
    """Reads a file descriptor; a `ByteReader`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._worker = _Worker("stdin")

    async def read(self, n: int) -> bytes:
        """Raises OSError."""
        data: bytes = await self._worker.do(lambda: os.read(self._descriptor, n))
        return data


class FileWriter:
    """Writes to a file descriptor when drained; a `ByteWriter`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._worker = _Worker("stdout")
        self._waiting = bytearray()

    def write(self, data: bytes) -> None:
        self._waiting += data

    async def drain(self) -> None:
        """Raises OSError, BrokenPipeError when nobody reads any more."""
        data, self._waiting = bytes(self._waiting), bytearray()
        await self._worker.do(lambda: _write_all(self._descriptor, data))


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _settle(done: asyncio.Future[Any], result: Any, error: OSError | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
