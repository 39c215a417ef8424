"""How is a person told that a command can not do what it was asked? One message of three parts, one exit code."""

from __future__ import annotations

PASSED, FAILED, USAGE, UNREACHABLE, INCONCLUSIVE = range(5)
INTERRUPTED = 130


class UsageError(Exception):
    """What happened with the value, what was expected and where that is written, what to do next."""

    exit_code = USAGE

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")
