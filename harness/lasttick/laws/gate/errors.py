"""What a person is told when the gate cannot be run: what happened, what was expected, what to do next."""

from __future__ import annotations


class GateError(Exception):
    """A file or a word of the command that cannot be used."""

    exit_code = 2

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")

    @classmethod
    def told(cls, message: str) -> GateError:
        """Of a message that has its three parts already."""
        error = cls.__new__(cls)
        Exception.__init__(error, message)
        return error


class Unreachable(GateError):
    """The target does not answer, or what answers is something else."""

    exit_code = 3
