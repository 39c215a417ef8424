"""One lease under test: who acquired, used, renewed and released it, and how it is given up at the end.

Where contention is made by holding all of a capacity, one subject is several leases that are used together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lasttick.laws.request import Interrupted, Request
from lasttick.laws.said import Said
from lasttick.laws.verdict import NotApplicable, NotShown

if TYPE_CHECKING:
    from lasttick.laws.caller import Caller
    from lasttick.laws.target import Target

RENEWING = {"lease.acquire": "acquire", "lease.use": "use", "lease.renew": "renew"}


class Subject:
    """`name`: the resource to ask for, "" when the target chooses. `holder`: who was granted it last."""

    def __init__(self, target: Target, name: str) -> None:
        self.target = target
        self.name = name
        self.holder: Caller | None = None
        self._resource = ""
        self._leases: dict[Caller, list[dict[str, Any]]] = {}
        """What was put out about the leases of each caller that was granted one; one each, or `capacity` of them."""
        self._held_until_s: dict[Caller, float] = {}
        """Of each caller that may still hold a lease."""
        self._requests: dict[Caller, list[Request]] = {}
        """What each of them was granted."""
        self._open: list[Request] = []
        """Of which nobody knows whether they are, or will be, granted."""

    @property
    def names(self) -> dict[str, Any]:
        """Everything put out about the holder's lease so far."""
        leases = self._leases.get(self.holder) if self.holder is not None else None
        return leases[0] if leases else {"resource": self.name} if self.name else {}

    @property
    def resource(self) -> str | None:
        """The resource that was granted last, as the target calls it; before that, what will be asked for."""
        return self._resource or self.name or None

    @property
    def spare(self) -> int:
        """How many more leases the first holder takes, so that none is left for others."""
        return 0 if self.target.deployment.names_resources else self.target.lease.capacity - 1

    def told(self, caller: Caller) -> list[dict[str, Any]]:
        """What a caller was told of its own leases here."""
        return [dict(lease) for lease in self._leases.get(caller, ())]

    async def acquire(self, caller: Caller, *, hold_s: float = 0.0) -> Said:
        """Ask for it as a newcomer or as a contender; whoever is answered ok is the holder from then on.

        The first holder takes as many as can be held at once; a contender asks for one.
        """
        if caller.over:
            await caller.again()
        is_first = self.holder is None
        known = self.name or (None if is_first else self.resource)
        said, request = await self._ask(caller, hold_s, known)
        if said.ok:
            self._granted(caller, said, request)
            for _ in range(self.spare if is_first else 0):
                extra, request = await self._ask(caller, hold_s, None)
                if not extra.ok:
                    raise NotShown("a lease of the declared capacity is refused to its only user", (extra,))
                self._also_granted(caller, extra, request)
        return said

    async def use(self, caller: Caller, *, hold_s: float = 0.0) -> Said:
        """The caller acts on the resource; `hold_s`: how long that takes there.

        It knows what it was told of its own lease, also when that is lost; who never had one uses the holder's.
        """
        return await self._about("lease.use", caller, hold=hold_s)

    async def renew(self, caller: Caller) -> Said:
        # Where a renewal is the same as a use, it is one that takes no time.
        return await self._about("lease.renew", caller, ttl=self.target.lease.ttl_s, hold=0.0)

    async def release(self, caller: Caller) -> Said:
        """A release; by the holder it ends the lease when the target says ok."""
        said = await self._about("lease.release", caller)
        if said.ok:
            self._lose(caller)
        return said

    async def end_session(self, caller: Caller) -> Said:
        """The caller's session ends; a holder's takes the lease with it where the policy says so."""
        said = await caller.end()
        if said.ok and self.target.lease.session_end == "frees":
            self._lose(caller)
        return said

    def may_end_s(self, caller: Caller) -> float:
        """From which instant on the TTL of what this caller was granted may be over."""
        surely_s = 2 * self.target.tolerance_s
        return self._held_until_s.get(caller, 0.0) - surely_s

    async def reported(self) -> Said:
        """`lease.holder`, read by somebody else."""
        return await self.target.read("lease.holder", resource=self.resource)

    def is_reported_held(self, said: Said) -> bool | None:
        """What a reading says about this resource; None when it is not in there."""
        for row in said.each:
            if "resource" not in row or str(row["resource"]) == self.resource:
                return row.get("held") in (True, "held")
        return None

    async def give_up(self) -> float:
        """Give back whatever was granted here, whatever the clock says; the instant from which it must be free.

        A TTL that is over is only what the profile declares. What may still be held stays in the journal: the end of
        the run tries again, and names it.
        """
        # The present holder first: who lost it is refused then, wherever both go by the same name.
        holders = sorted(self._held_until_s, key=lambda caller: caller is not self.holder)
        free_s = await self._give_back(holders)
        still_open = [request for request in self._open if not await self._settled(request)]
        self._open = still_open
        granted = [caller for caller in self._held_until_s if caller not in holders]
        free_s = max(free_s, await self._give_back(granted))
        if still_open:
            # Whenever one of them is granted, it is held for its TTL.
            free_s = max(free_s, self.target.now_s + (self.target.lease.ttl_s or 0.0) + self._lag_s)
        return free_s

    # -- inside

    @property
    def _lag_s(self) -> float:
        return self.target.lag_s("lease.release")

    async def _give_back(self, callers: Sequence[Caller]) -> float:
        """The instant from which what they hold must be free."""
        free_s = 0.0
        for caller in callers:
            until_s = self._held_until_s[caller]
            if not await self._given_back(caller):
                free_s = max(free_s, until_s + self._lag_s)
        return free_s

    async def _ask(self, caller: Caller, hold_s: float, known: str | None) -> tuple[Said, Request]:
        request = Request(caller, {"resource": known})
        try:
            said = await request.ask(resource=known, ttl=self.target.lease.ttl_s, hold=hold_s)
        except Interrupted as end:
            # What is granted all the same has to be given back.
            if end.said.ok:
                self._granted(caller, end.said, request)
            else:
                self._keep(request, end.said)
            raise
        except BaseException:
            self._open.append(request)
            raise
        if not said.ok:
            self._keep(request, said)
        return said, request

    def _keep(self, request: Request, said: Said) -> None:
        """What was not granted: open while it may be."""
        if request.may_be_granted(said):
            self._open.append(request)
        else:
            request.close()

    async def _settled(self, request: Request) -> bool:
        """Whether nothing is held because of it, or what is held is now known as a lease like any other."""
        said = await request.look() if request.is_open else None
        if said is not None and said.ok:
            if request.caller not in self._held_until_s:
                self._leases[request.caller] = []
            self._also_granted(request.caller, said, request)
            return True
        if said is not None and said.refused:
            request.close()
        waits = said is not None and said.outcome == "pending"
        return not request.is_open or await request.withdraw(waits=waits)

    async def _about(self, verb: str, caller: Caller, **inputs: Any) -> Said:
        """Said about every lease that the caller knows at once; the first one's answer counts."""
        leases = self._leases.get(caller) or [self.names]
        saids = await asyncio.gather(
            *(caller.say(verb, names, **inputs, resource=names.get("resource", self.name)) for names in leases)
        )
        renews = RENEWING.get(verb) in (self.target.lease.renewed_by or ())
        if saids[0].outcome in ("ok", "lost") and renews and caller in self._leases:
            self._holds(caller, saids[0])  # also when it is lost: it may have happened
        return saids[0]

    async def _given_back(self, caller: Caller) -> bool:
        """Whether the caller surely holds nothing any more."""
        if not self._can_give_back(caller):
            if over := self._held_until_s[caller] + self._lag_s <= self.target.now_s:
                self._lose(caller)  # nothing but its TTL frees it here
            return over
        may_end_s = self.may_end_s(caller)
        with contextlib.suppress(NotShown, NotApplicable, asyncio.CancelledError):
            if caller.over and not caller.can("session.open"):
                await caller.again()  # new connections are all that it needs to be the same again
            if not caller.over:
                by_release = caller.can("lease.release")
                said = await (self.release(caller) if by_release else self.end_session(caller))
                if said.refused and said.answered_s >= may_end_s:
                    self._lose(caller)  # it has run out
        return caller not in self._held_until_s

    def _can_give_back(self, caller: Caller) -> bool:
        by_end = self.target.lease.session_end == "frees" and caller.can("session.end")
        return by_end or caller.can("lease.release")

    def _granted(self, caller: Caller, said: Said, request: Request) -> None:
        self.holder = caller
        self._leases[caller] = []
        self._resource = said.resource or self.name
        self._also_granted(caller, said, request)

    def _also_granted(self, caller: Caller, said: Said, request: Request) -> None:
        self._leases[caller].append({"resource": said.resource or self.name, **request.names})
        self._requests.setdefault(caller, []).append(request)
        self._holds(caller, said)

    def _holds(self, caller: Caller, said: Said) -> None:
        over_s = max(said.answered_s, said.sent_s + float(said.inputs.get("hold", 0.0)))
        until_s = over_s + (self.target.lease.ttl_s or 0.0)
        self._held_until_s[caller] = max(self._held_until_s.get(caller, 0.0), until_s)

    def _lose(self, caller: Caller) -> None:
        """Given back. What the caller knows of it stays known."""
        if caller is self.holder:
            self.holder = None
        self._held_until_s.pop(caller, None)
        for request in self._requests.pop(caller, ()):
            request.close()
