"""What the commands that run pytest have in common: how many processes, and how a cancelled job ends."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lasttick.cli.errors import UsageError


def refuse_wrong_workers(workers: str | None) -> None:
    """`-n` is a number of processes, `auto`, or not given. Raises UsageError."""
    if workers is not None and workers != "auto" and not (workers.isascii() and workers.isdigit()):
        raise UsageError(f"-n is {workers!r}", "a number of processes, or auto", "try -n 2")


@contextmanager
def ends_on_sigterm() -> Iterator[None]:
    """A cancelled CI job sends SIGTERM: end as on Ctrl-C, so that parts go, and what is held is given up."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Whatever Ctrl-C does now: in an event loop it cancels what runs, instead of bursting into any of its tasks."""
    now = signal.getsignal(signal.SIGINT)
    (now if callable(now) else signal.default_int_handler)(number, frame)
