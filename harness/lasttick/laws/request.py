"""One request for a lease, written down before it is sent: whatever comes of it can be given back, or is named.

Source: contract laws, "Subjects".
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable, NotShown
from lasttick.laws.wire.message import WireError

if TYPE_CHECKING:
    from lasttick.laws.caller import Caller

ANSWER_S = 5.0
"""How long the end of a run waits for the first answer to a request that is on its way."""


class Request:
    """`names`: all that is known of it. It is open until the target is known to hold nothing because of it."""

    def __init__(self, caller: Caller, names: Mapping[str, Any]) -> None:
        self.caller = caller
        self.names = {name: value for name, value in names.items() if value}
        self._journal = caller.target.deployment.journal
        self._number: int | None = None
        self._answered = asyncio.Event()

    # -- what the caller tells (see caller.Follows)

    def sends(self) -> None:
        """It goes out now."""
        self._number = self._journal.opened("lease", self.caller.name, self._all(), self.caller.wire.session_id)

    def learns(self, out: Mapping[str, Any]) -> None:
        """What an answer tells about it, at once."""
        self.names |= out
        if self._number is not None:
            self._journal.knows(self._number, self._all(), self.caller.wire.session_id)
        self._answered.set()

    # -- what its owner does

    async def ask(self, **inputs: Any) -> Said:
        """Say lease.acquire. When the run ends meanwhile, the first answer is waited for, and nothing after it."""
        asking = asyncio.ensure_future(self.caller.say("lease.acquire", follow=self, **inputs))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            first = asyncio.ensure_future(self._answered.wait())
            await asyncio.wait({asking, first}, timeout=ANSWER_S, return_when=asyncio.FIRST_COMPLETED)
            for task in (asking, first):
                task.cancel()
            await asyncio.gather(asking, first, return_exceptions=True)
            if not asking.cancelled() and asking.exception() is None:
                raise Interrupted(asking.result()) from None
            raise

    @property
    def is_open(self) -> bool:
        return self._number is not None

    def may_be_granted(self, said: Said) -> bool:
        """Whether the target may hold something because of it, or may come to."""
        return said.outcome in ("ok", "pending", "lost") or (said.outcome == "error" and self._answered.is_set())

    def close(self) -> None:
        """The target holds nothing because of it."""
        if self._number is not None:
            self._journal.closed(self._number)
            self._number = None

    async def look(self) -> Said | None:
        """How it stands now, by one reading; None: nothing can tell."""
        with contextlib.suppress(NotShown, NotApplicable, WireError):
            if not self.caller.over:
                return await self.caller.look("lease.acquire", self.names, follow=self)
        return None

    async def withdraw(self, *, waits: bool) -> bool:
        """Give back what nobody knows to be granted; whether the target is known to hold nothing. `waits`: in a queue.

        A refusal ends a request whose answer was lost, but not one that waits: there was nothing to give back yet.
        """
        profile = self.caller.target.deployment.profile
        if self.caller.over or profile.stands_for("lease.release", self.caller.spec.route) != "lease.release":
            return False
        with contextlib.suppress(NotShown, NotApplicable, WireError):
            said = await self.caller.say("lease.release", self.names, resource=self.names.get("resource"))
            if said.ok or (said.refused and not waits):
                self.close()
        return not self.is_open

    def _all(self) -> dict[str, Any]:
        return {**self.caller.names, **self.names}


class Interrupted(asyncio.CancelledError):
    """The run ends, and this answer came all the same."""

    def __init__(self, said: Said) -> None:
        super().__init__("the run ends")
        self.said = said
