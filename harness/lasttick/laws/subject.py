"""One lease under test: who acquired, used, renewed and released it, and how it is given up at the end.

Where contention is made by holding all of a capacity, one subject is several leases that are used together.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

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
        self._journal: dict[Caller, list[int]] = {}

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
        said = await self._ask(caller, hold_s)
        if said.ok:
            self._granted(caller, said)
            for _ in range(self.spare if is_first else 0):
                extra = await caller.say("lease.acquire", ttl=self.target.lease.ttl_s, hold=hold_s)
                if not extra.ok:
                    raise NotShown("a lease of the declared capacity is refused to its only user", (extra,))
                self._also_granted(caller, extra)
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
        lag_s = self.target.lag_s("lease.release")
        free_s = 0.0
        # The present holder first: who lost it is refused then, wherever both go by the same name.
        for caller in sorted(self._held_until_s, key=lambda caller: caller is not self.holder):
            until_s = self._held_until_s[caller]
            if not await self._given_back(caller):
                free_s = max(free_s, until_s + lag_s)
        return free_s

    # -- inside

    async def _ask(self, caller: Caller, hold_s: float) -> Said:
        known = self.name or (self.resource if self.holder is not None else None)
        asking = asyncio.ensure_future(
            caller.say("lease.acquire", resource=known, ttl=self.target.lease.ttl_s, hold=hold_s)
        )
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # The run ends; what is granted all the same has to be given back.
            with contextlib.suppress(NotShown, NotApplicable):
                if (said := await asking).ok:
                    self._granted(caller, said)
            raise

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
            if over := self._held_until_s[caller] + self.target.lag_s("lease.release") <= self.target.now_s:
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

    def _granted(self, caller: Caller, said: Said) -> None:
        self.holder = caller
        self._leases[caller] = []
        self._resource = said.resource or self.name
        self._also_granted(caller, said)

    def _also_granted(self, caller: Caller, said: Said) -> None:
        lease = {"resource": said.resource or self.name, **said.out}
        self._leases[caller].append(lease)
        journal = self.target.deployment.journal
        number = journal.opened("lease", caller.name, {**caller.names, **lease}, caller.wire.session_id)
        self._journal.setdefault(caller, []).append(number)
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
        for number in self._journal.pop(caller, ()):
            self.target.deployment.journal.closed(number)
