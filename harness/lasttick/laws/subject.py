"""One lease under test: who acquired, used, renewed and released it, and how it is given up at the end.

Where contention is made by holding all of a capacity, one subject is several leases that are used together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
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
        self._leases: dict[Caller, list[dict[str, Any]]] = {}
        """What was put out about the leases of each caller that was granted one; one each, or `capacity` of them."""
        self._held_until_s = 0.0
        self._journal: list[int] = []

    @property
    def names(self) -> dict[str, Any]:
        """Everything put out about the holder's lease so far."""
        leases = self._leases.get(self.holder) if self.holder is not None else None
        return leases[0] if leases else {"resource": self.name} if self.name else {}

    @property
    def resource(self) -> str | None:
        """The resource that the holder has, as the target calls it."""
        found = self.names.get("resource")
        return None if found is None else str(found)

    async def acquire(self, caller: Caller, *, hold_s: float = 0.0) -> Said:
        """Ask for it as a newcomer or as a contender; whoever is answered ok is the holder from then on."""
        if caller.over:
            await caller.again()
        said = await self._ask(caller, hold_s)
        if said.ok:
            self._granted(caller, said)
            for _ in range(self._spare()):
                extra = await caller.say("lease.acquire", ttl=self.target.lease.ttl_s, hold=hold_s)
                if not extra.ok:
                    raise NotShown("a lease of the declared capacity is refused to its only user", (extra,))
                self._leases[caller].append({"resource": extra.resource, **extra.out})
                self._write_down(caller, self._leases[caller][-1])
        return said

    async def use(self, caller: Caller, *, hold_s: float = 0.0) -> Said:
        """The caller acts on the resource; `hold_s`: how long that takes there.

        It knows what it was told of its own lease, also when that is lost; who never had one uses the holder's.
        """
        return await self._about("lease.use", caller, hold=hold_s)

    async def renew(self, caller: Caller) -> Said:
        return await self._about("lease.renew", caller, ttl=self.target.lease.ttl_s)

    async def release(self, caller: Caller) -> Said:
        """A release; by the holder it ends the lease when the target says ok."""
        said = await self._about("lease.release", caller)
        if said.ok and caller is self.holder:
            self._lose()
        return said

    async def end_session(self, caller: Caller) -> Said:
        """The caller's session ends; the holder's takes the lease with it where the policy says so."""
        said = await caller.end()
        if said.ok and caller is self.holder and self.target.lease.session_end == "frees":
            self._lose()
        return said

    async def reported(self) -> Said:
        """`lease.holder`, read by somebody else."""
        return await self.target.read("lease.holder", resource=self.resource or self.name)

    def is_reported_held(self, said: Said) -> bool | None:
        """What a reading says about this resource; None when it is not in there."""
        for row in said.each:
            if "resource" not in row or str(row["resource"]) == (self.resource or self.name):
                return row.get("held") in (True, "held")
        return None

    async def give_up(self) -> float:
        """Free it as far as the verbs can; the instant from which it is free in any case."""
        lag_s = self.target.lag_s("lease.release")
        holder = self.holder
        if holder is None:
            return self._held_until_s and self._held_until_s + lag_s
        with contextlib.suppress(NotShown, NotApplicable, asyncio.CancelledError):
            said = None
            if not holder.over and holder.can("lease.release"):
                said = await self.release(holder)
            elif not holder.over and self.target.lease.session_end == "frees" and holder.can("session.end"):
                said = await self.end_session(holder)
            if said is not None and said.ok:
                return 0.0
        return self._held_until_s + lag_s

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
        if saids[0].ok and caller is self.holder:
            self._held(verb, saids[0])
        return saids[0]

    def _granted(self, caller: Caller, said: Said) -> None:
        self.holder = caller
        lease = {"resource": said.resource or self.name, **said.out}
        self._leases[caller] = [lease]
        self._write_down(caller, lease)
        self._held_until_s = max(self._held_until_s, said.answered_s + (self.target.lease.ttl_s or 0.0))

    def _held(self, verb: str, said: Said) -> None:
        if RENEWING.get(verb) in (self.target.lease.renewed_by or ()):
            self._held_until_s = max(self._held_until_s, said.answered_s + (self.target.lease.ttl_s or 0.0))

    def _lose(self) -> None:
        """Nobody holds it any more, whoever did before."""
        self.holder = None
        self._held_until_s = 0.0
        for number in self._journal:
            self.target.deployment.journal.closed(number)
        self._journal.clear()

    def _write_down(self, caller: Caller, lease: Mapping[str, Any]) -> None:
        names = {**caller.names, **lease}
        journal = self.target.deployment.journal
        self._journal.append(journal.opened("lease", caller.name, names, caller.wire.session_id))

    def _spare(self) -> int:
        return 0 if self.target.deployment.names_resources else self.target.lease.capacity - 1
