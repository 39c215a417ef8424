"""Who holds which device now? The arbiter's state, for MCP sessions and cloud assignments alike, in O(1) per call.

The rules are in `lasttick.model.lease`; here are only the records and their indexes. Idle MCP leases stand in an
ordered dict by last use, since the TTL is one constant: a use moves a lease to the end, so the first to expire is in
front and no call looks at the others. Pinned leases and cloud holds are not in it, because time does not free them.
Sweeping only frees memory: every answer asks the rule, never whether a record still lies there.

Ended holders are refused for ever, but not remembered for ever: a session's id is unguessable, never given out again
and answered 404 by the transport itself, so a tombstone need only outlast the calls that were under way when its
session ended. See `ENDED_KEEP_TTLS` and `ENDED_KEPT`.

Not thread-safe and without a clock: `memory_store` brings the lock and the time. Source: rulings HA-1 to HA-6, HA-8.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from lasttick.model import lease
from lasttick.model.lease import Answer, Decision, Granted, Holder, HolderKind, Lease, LeaseView, Refused

ENDED_KEEP_TTLS = 60
"""A tombstone stays this many TTLs, and twice as long as a call may be under way."""
ENDED_KEPT = 1_024
"""And it stays, however old, while it is among so many youngest: a cloud may hand out an assignment twice, late."""


class Line(Protocol):
    """Who waits for one device. Called inside the arbiter's lock."""

    def serve(self, now_ns: int) -> Holder | None:
        """Hand a free device to the first in line; the holder a free device is kept for when it must come by itself."""
        ...

    def holder_ended(self, now_ns: int, holder: Holder) -> None:
        """`holder` waits for nothing any more; and `serve`."""
        ...


class LeaseTable:
    """The leases of one rack. `now_ns` never goes back between calls; device ids are any text, known or not.

    `acquire`, `begin_use`, `end_use`, `release`, `renew` and `owner` cost the same however many leases are held;
    `end_holder` grows with that holder's own; `busy` and `snapshot` with all.
    """

    def __init__(self, ttl_ns: int, max_call_ns: int = 0) -> None:
        self.ttl_ns = ttl_ns
        self.lines: dict[str, Line] = {}
        """Devices with somebody waiting, filled by the busy tracker: nobody passes a line (ruling HA-16)."""
        self._leases: dict[str, Lease] = {}
        self._idle: OrderedDict[str, Lease] = OrderedDict()
        self._held_by: dict[Holder, dict[str, Lease]] = {}
        self._ended: dict[Holder, int] = {}
        """Tombstones, oldest first, and since when they stand."""
        self._ended_keep_ns = max(ENDED_KEEP_TTLS * ttl_ns, 2 * max_call_ns)
        self._fence = 0
        self._sweep_ns = 0

    def acquire(self, now_ns: int, device_id: str, holder: Holder) -> Decision:
        """Take a free device or go on holding one's own, which is a use of it."""
        answer = self.take(now_ns, device_id, holder)
        if answer == "fresh" or answer == "again":
            return Granted(device_id, holder, answer == "fresh", self._leases[device_id].fence)
        if answer == "ended":
            return Refused(device_id, None, "ended")
        kept_for = self._line_first(now_ns, device_id)
        return Refused(device_id, kept_for or self._leases[device_id].holder, "held")

    def begin_use(self, now_ns: int, device_id: str, holder: Holder) -> Decision:
        """Acquire and pin in one step: until its `end_use` nobody else gets the device, however long that takes."""
        decision = self.acquire(now_ns, device_id, holder)
        if isinstance(decision, Granted):
            record = self._leases[device_id]
            record.uses = lease.pinned(record.uses)
            self._idle.pop(device_id, None)
        return decision

    def begin_own_use(self, now_ns: int, device_id: str, holder: Holder) -> Decision:
        """`begin_use` on a live lease of one's own; never takes a device (ruling HA-7)."""
        if holder in self._ended:
            return Refused(device_id, None, "ended")
        record = self._leases.get(device_id)
        if record is None or not lease.held(record, now_ns, self.ttl_ns):
            return Refused(device_id, None, "not_held")
        if record.holder != holder:
            return Refused(device_id, record.holder, "held")
        if not lease.live(record, holder, now_ns, self.ttl_ns):
            return Refused(device_id, None, "not_held")
        return self.begin_use(now_ns, device_id, holder)

    def fence_above(self, seen: int) -> None:
        """Tokens of holds from now on are larger than `seen`."""
        self._fence = max(self._fence, seen)

    def end_use(self, now_ns: int, device_id: str, holder: Holder) -> bool:
        """One call is over, in whatever way. False when `holder` has no call running there."""
        record = self._leases.get(device_id)
        if record is None or record.holder != holder or record.uses == 0:
            return False
        record.uses = lease.unpinned(record.uses)
        record.last_used_ns = lease.last_used_after_call_ns(record.last_used_ns, now_ns)
        if record.uses == 0:
            if record.ended:
                self._drop(record)
            elif holder.kind == "mcp":
                self._idle[device_id] = record
        if self.lines:
            self._line_first(now_ns, device_id)
        return True

    def renew(self, now_ns: int, device_id: str, holder: Holder) -> bool:
        """Restart the TTL of a live lease of one's own. Never takes a device: an expired lease needs `acquire`."""
        record = self._leases.get(device_id)
        if record is None or not lease.live(record, holder, now_ns, self.ttl_ns):
            return False
        self._touch(record, now_ns)
        return True

    def release(self, now_ns: int, device_id: str, holder: Holder) -> bool:
        """Give one device back, or when its running calls end. False when `holder` has nothing to give back there."""
        record = self._leases.get(device_id)
        if record is None or not lease.live(record, holder, now_ns, self.ttl_ns):
            return False
        self._give_up(record)
        if self.lines:
            self._line_first(now_ns, device_id)
        return True

    def end_holder(self, now_ns: int, holder: Holder) -> list[str]:
        """`holder` is gone for ever; the ids of what it held, sorted, pinned ones (free when their calls end) too."""
        if holder in self._ended:
            return []
        records = list(self._held_by.get(holder, {}).values())
        device_ids = sorted(r.device_id for r in records if lease.held(r, now_ns, self.ttl_ns))
        for record in records:
            self._give_up(record)
        self._bury(now_ns, holder)
        for line in list(self.lines.values()):
            line.holder_ended(now_ns, holder)
        return device_ids

    def owner(self, now_ns: int, device_id: str) -> Holder | None:
        """Who holds the device now."""
        record = self._leases.get(device_id)
        if record is None or not lease.held(record, now_ns, self.ttl_ns):
            return None
        return record.holder

    def free_ns(self, device_id: str) -> int | None:
        """When time alone frees the device: in the past if it is free, None while only its holder can free it."""
        record = self._leases.get(device_id)
        if record is None:
            return 0
        return lease.expires_ns(record.last_used_ns, self.ttl_ns) if device_id in self._idle else None

    def has_ended(self, holder: Holder) -> bool:
        return holder in self._ended

    def busy(self, now_ns: int, kind: HolderKind | None = None) -> list[str]:
        """Ids of held devices, sorted; of one kind of holder, or both."""
        return [r.device_id for r in self._held(now_ns) if kind is None or r.holder.kind == kind]

    def snapshot(self, now_ns: int) -> list[LeaseView]:
        """What is held now, sorted by device id."""
        return [
            LeaseView(r.device_id, r.holder, r.acquired_ns, r.last_used_ns, r.uses, r.ended) for r in self._held(now_ns)
        ]

    def _held(self, now_ns: int) -> list[Lease]:
        while self._sweep_one(now_ns):
            pass
        held = [record for record in self._leases.values() if lease.held(record, now_ns, self.ttl_ns)]
        return sorted(held, key=lambda record: record.device_id)

    # What follows changes the records; each is also where one wrong version of this table begins.

    def take(self, now_ns: int, device_id: str, holder: Holder) -> Answer:
        """`acquire` without the decision's text: the lean way for callers that need only yes or no."""
        if self.lines and holder not in self._ended:
            kept_for = self._line_first(now_ns, device_id)
            if kept_for is not None and kept_for != holder:
                return "held"
        return self.take_past_line(now_ns, device_id, holder)

    def take_past_line(self, now_ns: int, device_id: str, holder: Holder) -> Answer:
        """`take` for the first in line."""
        if holder in self._ended:
            return "ended"
        record = self._leases.get(device_id)
        answer = "fresh" if record is None else lease.answer(record, holder, now_ns, self.ttl_ns)
        if answer == "fresh":
            if record is not None:
                self._drop(record)
            self._grant(now_ns, device_id, holder)
        elif answer == "again" and record is not None:
            record.ended = False
            self._touch(record, now_ns)
        return answer

    def _line_first(self, now_ns: int, device_id: str) -> Holder | None:
        line = self.lines.get(device_id)
        return None if line is None else line.serve(now_ns)

    def _grant(self, now_ns: int, device_id: str, holder: Holder) -> None:
        self._fence = lease.next_fence(self._fence)
        record = Lease(device_id, holder, now_ns, now_ns, self._fence)
        self._leases[device_id] = record
        records = self._held_by.get(holder)
        if records is None:
            self._held_by[holder] = {device_id: record}
        else:
            records[device_id] = record
        if holder.kind == "mcp":
            self._idle[device_id] = record
        # Two out for one in: expired records never pile up, and no grant pays for a whole sweep.
        if now_ns >= self._sweep_ns and self._sweep_one(now_ns):
            self._sweep_one(now_ns)

    def _touch(self, record: Lease, now_ns: int) -> None:
        record.last_used_ns = now_ns
        if record.device_id in self._idle:
            self._idle.move_to_end(record.device_id)

    def _give_up(self, record: Lease) -> None:
        if lease.goes_at_once(record):
            self._drop(record)
        else:
            record.ended = True

    def _bury(self, now_ns: int, holder: Holder) -> None:
        self._ended[holder] = now_ns
        # Two out for one in, as with the sweep: what came in a burst goes without anybody paying for all of it.
        for _ in range(2):
            oldest, since_ns = next(iter(self._ended.items()))
            if not lease.forgettable(now_ns - since_ns, self._ended_keep_ns, len(self._ended) - ENDED_KEPT):
                return
            del self._ended[oldest]
            if oldest in self._held_by:  # a call of it still runs, after all this time
                self._ended[oldest] = now_ns

    def _drop(self, record: Lease) -> None:
        del self._leases[record.device_id]
        self._idle.pop(record.device_id, None)
        records = self._held_by[record.holder]
        del records[record.device_id]
        if not records:
            del self._held_by[record.holder]

    def _sweep_one(self, now_ns: int) -> bool:
        """Forget the lease that is first to expire, if it has."""
        for record in self._idle.values():
            if not lease.held(record, now_ns, self.ttl_ns):
                self._drop(record)
                return True
            self._sweep_ns = lease.expires_ns(record.last_used_ns, self.ttl_ns)
            return False
        return False
