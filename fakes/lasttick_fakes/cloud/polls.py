"""Who waits for work? One long poll: it ends with an assignment, with nothing, or because a side went away."""

from __future__ import annotations

import asyncio

from lasttick_fakes.cloud.records import Assignment


class Poll:
    """A host's `GET .../assignments` while it is open. Its `answer` is an Assignment, or None for 204.

    `gone` is set when nobody will read an answer: an assignment offered to such a poll goes back to the queue.
    """

    def __init__(self, host_id: str) -> None:
        self.host_id = host_id
        self.answer: asyncio.Future[Assignment | None] = asyncio.get_running_loop().create_future()
        self.gone = False
        self.closed_by_cloud = False

    @property
    def waiting(self) -> bool:
        return not self.answer.done()

    def offered(self) -> Assignment | None:
        """What it was answered with, if anything (also when nobody got to see the answer)."""
        return self.answer.result() if self.answer.done() and not self.answer.cancelled() else None

    def resolve(self, assignment: Assignment | None) -> None:
        if self.waiting:
            self.answer.set_result(assignment)

    def drop(self) -> None:
        """The host's side of the connection is closed."""
        self.gone = True
        self.resolve(None)

    def close(self) -> None:
        """The cloud's side stops: the host gets a 503."""
        self.closed_by_cloud = True
        self.resolve(None)
