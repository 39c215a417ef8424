"""At which instants can an adapter die? At every commit and every frame, before it and after it, counted as they come.

A run without a crash says what there is; each of a matrix then dies at one of them. A dead adapter that goes on comes
to its next step and dies there again, so it can neither commit nor send anything.
"""

from __future__ import annotations

import asyncio


class Crash(asyncio.CancelledError):
    """The process is gone. Nobody in it catches that, and its tasks end as cancelled ones do, without a word."""


class Steps:
    """The `step` of one adapter. `names` are the steps that it came to; `crash_at` is the number of one of them."""

    def __init__(self, crash_at: int | None) -> None:
        self.names: list[str] = []
        self.crash_at = crash_at
        self.is_dead = False
        self._crashed = asyncio.Event()

    def __call__(self, name: str) -> None:
        """Raises Crash."""
        if not self.is_dead:
            self.names.append(name)
            self.is_dead = len(self.names) - 1 == self.crash_at
            if self.is_dead:
                self._crashed.set()
        if self.is_dead:
            raise Crash(name)

    async def crashed(self) -> str:
        """Wait for the crash; where it was."""
        await self._crashed.wait()
        return self.names[-1]
