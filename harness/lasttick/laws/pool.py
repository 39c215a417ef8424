"""Which resource does a subject get? One subject each at a time, so that waits of different subjects can overlap.

A resource that was not given back for sure is given out again only when its lease must have run out. Between processes
of one run (pytest -n) a file lock per resource keeps the same promise.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

CHOSEN_BY_TARGET = ""
RETRY_S = 0.1


class Pool:
    """`names`: what may be asked for; none: the target chooses, one subject at a time."""

    def __init__(self, names: Sequence[str], lock_dir: Path | None = None) -> None:
        self.names = tuple(names) or (CHOSEN_BY_TARGET,)
        self._free = list(self.names)
        self._free_at: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._lock_dir = lock_dir
        self._locks: dict[str, FileLock] = {}

    async def take(self) -> str:
        """The next free name, waited for."""
        while True:
            for name in list(self._free):
                if self._lock(name):
                    self._free.remove(name)
                    wait_s = self._free_at.get(name, 0.0) - asyncio.get_running_loop().time()
                    if wait_s > 0:
                        await asyncio.sleep(wait_s)
                    return name
            self._changed.clear()
            if self._free:  # another process has it
                await asyncio.sleep(RETRY_S)
            else:
                await self._changed.wait()

    def give_back(self, name: str, free_in_s: float = 0.0) -> None:
        """`free_in_s`: from now, when its lease must have run out; 0 when it is free for sure."""
        self._free_at[name] = asyncio.get_running_loop().time() + free_in_s
        self._free.append(name)
        lock = self._locks.pop(name, None)
        if lock is not None:
            lock.release()
        self._changed.set()

    def _lock(self, name: str) -> bool:
        if self._lock_dir is None:
            return True
        file = self._lock_dir / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"
        lock = FileLock(file, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
        self._locks[name] = lock
        return True
