"""Who may touch the catalog now? One holder among all processes, by the operating system's lock on a file.

The holder never waits while it holds: what it does under the lock is one synchronous piece. So two calls of one process
and one event loop can not meet inside of it, and the lock of the file, taken anew by each, keeps apart everything else:
processes, threads, two catalogs on one folder. It goes with its process, however that ends.
Source: contract vaultclaw 15 "Locking".
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lasttick.ports import Clock
from lasttick.reference.vaultclaw.catalog.files import Files, failure

NAME = ".catalog.lock"
RETRY_MS = 25
_MODE = 0o644


class CatalogLock:
    """The lock of one catalog folder."""

    def __init__(self, files: Files, clock: Clock, timeout_ms: int) -> None:
        self._files = files
        self._path = files.root / NAME
        self._clock = clock
        self._timeout_ns = timeout_ms * 1_000_000

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold it; the body must not await. Raises ToolFailure MCP_INTERNAL it stays taken, or can not be taken."""
        self._files.make_folder(self._files.root)
        with self._files.step("lock", self._path):
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            deadline_ns = self._clock.now_ns() + self._timeout_ns
            while not self._taken(fd):
                left_ns = deadline_ns - self._clock.now_ns()
                if left_ns <= 0:
                    raise failure("lock", self._path, "another process holds it, and the time-out has passed")
                await self._clock.sleep(min(RETRY_MS * 1_000_000, left_ns) / 1e9)
            yield
        finally:
            os.close(fd)

    def _taken(self, fd: int) -> bool:
        with self._files.step("lock", self._path):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True
