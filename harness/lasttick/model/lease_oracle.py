"""What would any correct lease store answer? The rules once more, so plainly that one can see they are right.

No index, no clever order, no function of `lasttick.model.lease`: each step looks at every lease and builds a new state.
So it judges the real table, and stays right when a mutant replaces one of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lasttick.model.lease import Decision, Granted, Holder, HolderKind, LeaseView, Refused

OpName = Literal["acquire", "begin_use", "begin_own_use", "end_use", "release", "renew", "end_holder"]
Reply: TypeAlias = Decision | bool | list[str]


@dataclass(frozen=True, slots=True)
class Op:
    """One transition of a lease store; `device_id` means nothing to `end_holder`."""

    name: OpName
    holder: Holder
    device_id: str = ""


@dataclass(frozen=True, slots=True)
class PureLeases:
    """All leases at one instant, and the holders that are gone. Nothing waits in line here."""

    ttl_ns: int
    leases: tuple[LeaseView, ...] = ()
    ended: frozenset[Holder] = frozenset()

    def apply(self, op: Op, now_ns: int) -> tuple[PureLeases, Reply]:
        """The state after `op`, and the answer: a Decision, a bool, or the ids for `end_holder`."""
        if op.name == "end_holder":
            return self._end_holder(op.holder, now_ns)
        if op.name == "acquire" or op.name == "begin_use":
            return self._acquire(op, now_ns)
        if op.name == "begin_own_use":
            return self._begin_own_use(op, now_ns)
        own = [view for view in self.snapshot(now_ns) if view.device_id == op.device_id and view.holder == op.holder]
        if not own:
            return self, False
        lease = own[0]
        if op.name == "end_use":
            if lease.uses == 0:
                return self, False
            return self._with(replace(lease, uses=lease.uses - 1, last_used_ns=now_ns)), True
        if lease.ended:
            return self, False
        if op.name == "renew":
            return self._with(replace(lease, last_used_ns=now_ns)), True
        return self._with(replace(lease, ended=True)), True

    def busy(self, now_ns: int, kind: HolderKind | None = None) -> list[str]:
        """Ids of held devices, sorted."""
        return [view.device_id for view in self.snapshot(now_ns) if kind is None or view.holder.kind == kind]

    def snapshot(self, now_ns: int) -> list[LeaseView]:
        """What is held, sorted by device id."""
        held = [
            view
            for view in self.leases
            if view.uses > 0 or view.holder.kind == "cloud" or now_ns - view.last_used_ns < self.ttl_ns
        ]
        return sorted(held, key=lambda view: view.device_id)

    def _acquire(self, op: Op, now_ns: int) -> tuple[PureLeases, Reply]:
        if op.holder in self.ended:
            return self, Refused(op.device_id, None, "ended")
        uses = 1 if op.name == "begin_use" else 0
        for view in self.snapshot(now_ns):
            if view.device_id == op.device_id:
                if view.holder != op.holder:
                    return self, Refused(op.device_id, view.holder, "held")
                used = replace(view, last_used_ns=now_ns, uses=view.uses + uses, ended=False)
                return self._with(used), Granted(op.device_id, op.holder, fresh=False)
        taken = LeaseView(op.device_id, op.holder, now_ns, now_ns, uses, ended=False)
        return self._with(taken), Granted(op.device_id, op.holder, fresh=True)

    def _begin_own_use(self, op: Op, now_ns: int) -> tuple[PureLeases, Reply]:
        if op.holder in self.ended:
            return self, Refused(op.device_id, None, "ended")
        held = [view for view in self.snapshot(now_ns) if view.device_id == op.device_id]
        if not held or (held[0].holder == op.holder and held[0].ended):
            return self, Refused(op.device_id, None, "not_held")
        return self._acquire(replace(op, name="begin_use"), now_ns)

    def _end_holder(self, holder: Holder, now_ns: int) -> tuple[PureLeases, Reply]:
        if holder in self.ended:
            return self, []
        after = replace(self, ended=self.ended | {holder})
        own = [view for view in self.snapshot(now_ns) if view.holder == holder]
        for view in own:
            after = after._with(replace(view, ended=True))
        return after, [view.device_id for view in own]

    def _with(self, lease: LeaseView) -> PureLeases:
        """The state with this lease for its device; one that ended and is in no call is no lease any more."""
        others = tuple(view for view in self.leases if view.device_id != lease.device_id)
        gone = lease.ended and lease.uses == 0
        return replace(self, leases=others if gone else (*others, lease))
