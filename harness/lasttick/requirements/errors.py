"""What a person is told when the catalogue, or the scenarios it is held against, can not be read."""

from __future__ import annotations


class CatalogueError(Exception):
    """A catalogue or scenario file that can not be used: what happened, what was expected, what to do next."""

    exit_code = 2

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")
