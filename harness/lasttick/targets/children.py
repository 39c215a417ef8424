"""Parts as real child processes: start, wait for the ready line, stop, kill. Every failure says what the child said.

Source: contract world, "Host agent's surface" (ready line), DESIGN "What machines read" (stop within 5 s, exit 0).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

START_S = 20.0
STOP_S = 8.0
POLL_S = 0.01
REFUSED = 2


class ChildFailed(Exception):
    """A part did not start or did not stop as it should; the message carries the end of its standard error.

    `refused`: it ended by itself with the exit code of a refusal.
    """

    refused = False


class Process(Protocol):
    """As much of `subprocess.Popen` as a part needs."""

    pid: int

    @property
    def returncode(self) -> int | Any: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


Begin: TypeAlias = Callable[[Sequence[str], Path, Mapping[str, str]], Process]


class Child:
    """`lasttick serve ARGS`, its standard error in `log`. `begin`: how the process is started."""

    def __init__(
        self,
        arguments: Sequence[str],
        log: Path,
        environ: Mapping[str, str] | None = None,
        *,
        begin: Begin | None = None,
    ) -> None:
        self.arguments = list(arguments)
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
        self._process = (begin or by_command)(["serve", *self.arguments], log, environ or {})
        self._began = time.perf_counter()

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll_ready(self) -> dict[str, Any] | None:
        """The ready line once it is there, else None. Raises ChildFailed when the child ended or took too long."""
        for line in self.said().splitlines(keepends=True):
            if line.startswith('{"name"') and line.endswith("\n"):
                return dict(json.loads(line))
        if self._process.poll() is not None:
            failed = ChildFailed(self._message(f"ended with exit code {self._process.returncode} before it was ready"))
            failed.refused = self._process.returncode == REFUSED
            raise failed
        if time.perf_counter() - self._began > START_S:
            self.kill()
            raise ChildFailed(self._message(f"was not ready after {START_S:g} s"))
        return None

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """SIGTERM; returns the exit code. Raises ChildFailed when it does not end in time or not with 0."""
        self._process.terminate()
        try:
            code = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildFailed(self._message(f"did not stop within {STOP_S:g} s of SIGTERM")) from None
        if code != 0:
            raise ChildFailed(self._message(f"stopped with exit code {code} instead of 0"))
        return code

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def _message(self, what: str) -> str:
        tail = "\n  ".join(self.said().splitlines()[-15:]) or "(nothing)"
        command = " ".join(["lasttick serve", *self.arguments])
        return f"`{command}` {what}. Its standard error ended with:\n  {tail}\nNext: run that command by hand."


def by_command(arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """`python -m lasttick ARGUMENTS`."""
    with log.open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "lasttick", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**_environ(), **environ},
        )


def _environ() -> dict[str, str]:
    """Without compiled files every child would compile all it imports again, for seconds."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
