"""What a person is told when evidence can not be written or read."""

from __future__ import annotations


class EvidenceError(Exception):
    """A run folder or file that can not be used: what happened, what was expected, what to do next."""

    exit_code = 2

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")
