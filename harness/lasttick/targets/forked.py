"""How does a step behave in a process of its own that loses its rights, is killed, or races others at that very step?

The child is forked from this one, so a scenario can say what happens inside it; virtual mode only, without a thread. A
child is stopped at steps the interpreter itself announces (audit events of files), whatever code made them, and inside
a write by the operating system's limit on file size. Source: HA-03, ruling 15, contract world (last paragraph).
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

NOBODY = 65_534
FILE_EVENTS = ("open", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.rename", "os.remove", "os.truncate")
MAKING_EVENTS = ("os.mkdir", "os.link", "os.symlink", "os.rename")
FAILED = 3
MEET_S = 5.0


class Step(Protocol):
    """Called in the child before it touches a file below the watched folder. `makes`: whether it would make one."""

    def __call__(self, number: int, makes: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: `text` is what its work returned or why it failed; `killed` whether by a signal."""

    text: str
    ok: bool
    killed: bool


class Forked:
    """`work` runs in a forked child at once; `wait` for its end exactly once.

    `uid`: give up root's rights for this user's first (nothing to give up when not root). `folder` and `step`: what to
    call before each file operation below a folder. `file_bytes_max`: a write past that many bytes kills the child.
    """

    def __init__(
        self,
        work: Callable[[], str | None],
        *,
        uid: int | None = None,
        folder: Path | None = None,
        step: Step | None = None,
        file_bytes_max: int | None = None,
    ) -> None:
        self._read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid:
            os.close(write)
            return
        code = FAILED
        try:
            os.close(self._read)
            if uid is not None:
                _become(uid)
            if file_bytes_max is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))
            if folder is not None and step is not None:
                _watch(folder, step)
            text, code = work() or "", 0
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(write, text.encode("utf-8", "replace")[:60_000])
            os._exit(code)

    def wait(self) -> Ended:
        chunks = []
        while chunk := os.read(self._read, 65_536):
            chunks.append(chunk)
        os.close(self._read)
        _, status = os.waitpid(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return Ended(b"".join(chunks).decode(), ok=code == 0, killed=code < 0)


class Barrier:
    """Made before the children, which wait at it until the parent has seen all of them come."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._met = False
        self._come, self._coming = os.pipe()
        self._gate, self._key = os.pipe()

    def wait(self) -> None:
        """In a child."""
        os.write(self._coming, b".")
        os.read(self._gate, 1)

    def meet(self) -> None:
        """In the parent: wait until all have come (not for ever: one may have ended before)."""
        come = 0
        while come < self._count and select.select([self._come], [], [], MEET_S)[0]:
            come += len(os.read(self._come, self._count))
        self._met = True

    def open(self) -> None:
        """In the parent: let them go together, when all have come."""
        if not self._met:
            self.meet()
        os.write(self._key, b"." * self._count)

    def close(self) -> None:
        for end in (self._come, self._coming, self._gate, self._key):
            os.close(end)


def kill_at(step: int) -> Step:
    """The child dies of SIGKILL just before its file operation number `step`, counted from 0."""

    def die(number: int, makes: bool) -> None:
        if number == step:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def meet_at_making(barrier: Barrier) -> Step:
    """All children stop just before each first makes a file: every one has seen that there was none."""
    met: list[int] = []

    def meet(number: int, makes: bool) -> None:
        if makes and not met:
            met.append(number)
            barrier.wait()

    return meet


def _become(uid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


def _watch(folder: Path, step: Step) -> None:
    below = str(folder)
    count = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event not in FILE_EVENTS or not any(str(value).startswith(below) for value in arguments[:2]):
            return
        makes = event in MAKING_EVENTS or (event == "open" and isinstance(arguments[2], int) and _creates(arguments[2]))
        number, count = count, count + 1
        step(number, makes)

    sys.addaudithook(hook)


def _creates(flags: int) -> bool:
    return bool(flags & os.O_CREAT)
