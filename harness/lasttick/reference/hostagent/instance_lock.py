"""Is another host agent already working in this identity folder?

Two of them would hand out leases on the same devices without knowing of each other. The lock is the operating
system's, so it goes with its process however that ends; the pid file beside it only says whom to blame.
Source: HA-23.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from lasttick.reference.hostagent.start_error import StartError

LOCK_FILE_NAME = "host_agent.lock"
PID_FILE_NAME = "host_agent.pid"


class InstanceLockError(StartError):
    """The identity folder is in use, or cannot be locked. `pid` of the owner, None when unknown."""

    def __init__(self, happened: str, expected: str, do: str, *, pid: int | None = None) -> None:
        super().__init__(happened, expected, do)
        self.pid = pid


class InstanceLock:
    """One host agent per identity folder: `with InstanceLock(folder): ...`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pid_file = folder / PID_FILE_NAME
        # Not bound to a thread: whoever stops the agent gives it back.
        self._lock = FileLock(folder / LOCK_FILE_NAME, timeout=0, mode=0o600, thread_local=False)

    def acquire(self) -> None:
        """Take the folder, without waiting. Raises InstanceLockError."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            pid = self._owner()
            raise InstanceLockError(
                f"another host agent ({'pid unknown' if pid is None else f'pid {pid}'}) runs in {self._folder}",
                "one host agent per identity folder (HA-23)",
                "stop it, or start this one with another --identity-dir",
                pid=pid,
            ) from error
        except OSError as error:
            raise InstanceLockError(
                f"the identity folder {self._folder} cannot be locked: {error.strerror or error}",
                f"a folder that uid {os.geteuid()} can write (HA-23)",
                "give the host agent an identity folder of its own (--identity-dir)",
            ) from error
        try:
            self._pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
        except OSError as error:
            self._lock.release()
            raise InstanceLockError(
                f"{self._pid_file} cannot be written: {error.strerror or error}",
                "a regular file of this host agent's user (HA-23)",
                "delete it and start again",
            ) from error

    def release(self) -> None:
        """Give the folder back. The lock goes last, so the pid file never names somebody who has gone."""
        if self._lock.is_locked:
            with suppress(OSError):  # a folder that became read-only; the lock is what counts
                self._pid_file.unlink(missing_ok=True)
            self._lock.release()

    def lose(self) -> None:
        """What the operating system does when it kills the process: the lock is gone, the pid file stays."""
        self._lock.release()

    def __enter__(self) -> InstanceLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _owner(self) -> int | None:
        try:
            return int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
