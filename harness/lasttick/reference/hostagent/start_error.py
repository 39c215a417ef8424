"""Why can this host agent not start? One exception for every reason that a person must put right first."""

from __future__ import annotations


class StartError(Exception):
    """The host agent refuses to start. The message has three parts: what happened, what was expected, what to do."""

    def __init__(self, happened: str, expected: str, do: str) -> None:
        super().__init__(f"{happened}; expected {expected}; {do}")
        self.happened = happened
        self.expected = expected
        self.do = do
