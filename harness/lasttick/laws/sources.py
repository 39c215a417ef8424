"""A place that the target was told to fetch from, for as long as a law needs it; the target is made to forget it.

Source: contract laws, "Subjects", tools/credential-stays-home.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from lasttick.laws.caller import Caller
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable, NotShown
from lasttick.laws.wire.message import WireError

KIND = "source"
"""What the journal calls one."""


class Fetched:
    """One such place. `name`: how the target is told to call it."""

    def __init__(self, caller: Caller, url: str) -> None:
        self.caller = caller
        self.url = url
        self.name = caller.target.deployment.mark(caller.name).text

    async def add(self) -> Said:
        """Tell the target of it."""
        return await self.caller.say("source.add", source=self.name, url=self.url)

    async def read(self) -> Said:
        """The target fetches the document that is there."""
        return await self.caller.say("source.read", source=self.name)

    async def follow(self) -> Said:
        """The target fetches what that document leads to."""
        return await self.caller.say("source.follow", source=self.name)

    async def remove(self) -> Said:
        return await self.caller.say("source.remove", source=self.name)


@contextlib.asynccontextmanager
async def fetched(caller: Caller, url: str) -> AsyncIterator[Fetched]:
    """A place that was not told of yet; forgotten at the end in any case, or left in the journal."""
    place = Fetched(caller, url)
    journal = caller.target.deployment.journal
    number = journal.opened(KIND, caller.name, {**caller.names, "source": place.name}, caller.wire.session_id)
    try:
        yield place
    finally:
        with contextlib.suppress(NotShown, NotApplicable, WireError):
            if (await asyncio.shield(place.remove())).ok:
                journal.closed(number)
