"""Wrong host agents: who holds a device, until when, and what ends it. Mostly the naive readings of the seed.

Each wrong version has a name that says what it does. What a wrong lease table would do to its records is done here by
hand, since the mutants replace one attribute each and the table keeps its records to itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lasttick.model import lease
from lasttick.model.lease import Answer, Decision, Granted, Holder, Lease, Refused
from lasttick.mutants import Mutant
from lasttick.reference.hostagent import assignments
from lasttick.reference.hostagent.busy_tracker import WaitingLine
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.lease_table import LeaseTable
from lasttick.reference.hostagent.mcp_server import McpEndpoint, session_of
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.turns import Turns

TICK_NS = 1_000_000
GAP_TURNS = 100
"""Turns of the loop between a look and the act that rests on it, in which others may look too. No time passes."""


# -- until when: the rule itself


def held_while_fresh(record: Lease, now_ns: int, ttl_ns: int) -> bool:
    return record.holder.kind == "cloud" or now_ns < lease.expires_ns(record.last_used_ns, ttl_ns)


def held_answer_without_time(record: Lease, holder: Holder, now_ns: int, ttl_ns: int) -> Answer:
    return "again" if record.holder == holder else "held"


def live_for_anyone(record: Lease, holder: Holder, now_ns: int, ttl_ns: int) -> bool:
    return not record.ended and lease.held(record, now_ns, ttl_ns)


def touch_all(right: Callable[..., None]) -> Callable[..., None]:
    def _touch(self: LeaseTable, record: Lease, now_ns: int) -> None:
        for own in list(self._held_by[record.holder].values()):
            right(self, own, now_ns)

    return _touch


def refusal_is_a_use(right: Callable[..., Decision]) -> Callable[..., Decision]:
    def acquire(self: LeaseTable, now_ns: int, device_id: str, holder: Holder) -> Decision:
        decision = right(self, now_ns, device_id, holder)
        if isinstance(decision, Refused) and device_id in self._leases:
            self._touch(self._leases[device_id], now_ns)
        return decision

    return acquire


def sweep_by_age(right: Callable[..., bool]) -> Callable[..., bool]:
    def _sweep_one(self: LeaseTable, now_ns: int) -> bool:
        oldest = min(self._idle.values(), key=lambda record: record.acquired_ns, default=None)
        if oldest is None or now_ns < oldest.acquired_ns + self.ttl_ns:
            return False
        self._drop(oldest)
        return True

    return _sweep_one


# -- who decides: one arbiter for both sides


async def look_then_act(self: MemoryLeaseStore, device_id: str, holder: Holder) -> Decision:
    owner = self.table.owner(self.now_ns(), device_id)
    if owner is not None and owner != holder:
        return Refused(device_id, owner, "held")
    for _ in range(GAP_TURNS):
        await asyncio.sleep(0)
    record = self.table._leases.get(device_id)
    if record is not None and record.holder != holder:
        self.table._drop(record)
    return self.table.begin_use(self.now_ns(), device_id, holder)


def one_assignment(right: Callable[..., Any]) -> Callable[..., Any]:
    async def take(store: MemoryLeaseStore, device_id: str, holder: Holder) -> Decision:
        decision: Decision = await right(store, device_id, holder)
        for record in list(store.table._leases.values()):
            if isinstance(decision, Granted) and record.holder.kind == "cloud" and record.holder != holder:
                store.table._drop(record)
        return decision

    return take


async def free_nothing(store: MemoryLeaseStore, device_id: str, holder: Holder) -> None:
    await store.end_use(device_id, holder)


def wall_age(clock: Any) -> Callable[[], int]:
    return lambda: round(clock.wall().timestamp() * 1e9)


# -- calls


def unpin_success_only(right: Callable[..., Any]) -> Callable[..., Any]:
    async def _unpin(self: LeasedCalls, call: DriverCall) -> None:
        if call.error is None:
            await right(self, call)

    return _unpin


def renew_success_only(right: Callable[..., Any]) -> Callable[..., Any]:
    async def _unpin(self: LeasedCalls, call: DriverCall) -> None:
        assert isinstance(self._store, MemoryLeaseStore)
        record = self._store.table._leases[call.device_id]
        began_ns = record.last_used_ns
        await right(self, call)
        if call.error is not None:
            record.last_used_ns = began_ns

    return _unpin


async def answer_or_unpin(self: LeasedCalls, call: DriverCall) -> dict[str, Any]:
    try:
        return await call.answer
    except asyncio.CancelledError:
        await self._store.end_use(call.device_id, call.holder)
        raise


def begin_when_free(right: Callable[..., Any]) -> Callable[..., Any]:
    async def _begin(self: LeasedCalls, call: DriverCall) -> Decision:
        for _ in range(8):
            decision: Decision = await right(self, call)
            if isinstance(decision, Granted):
                break
            await self._clock.sleep(0.5)
        return decision

    return _begin


def take_when_free(right: Callable[..., Any]) -> Callable[..., Any]:
    async def take(store: MemoryLeaseStore, device_id: str, holder: Holder) -> Decision:
        for _ in range(8):
            decision: Decision = await right(store, device_id, holder)
            if isinstance(decision, Granted):
                break
            await asyncio.sleep(0.5)
        return decision

    return take


def status_takes(right: Callable[..., Any]) -> Callable[..., Any]:
    async def run(self: LeasedCalls, holder: Holder | None, tool: str, arguments: Any, **named: Any) -> dict[str, Any]:
        if tool == "device_status" and holder is not None:
            await self._store.acquire(arguments["device_id"], holder)
        answer: dict[str, Any] = await right(self, holder, tool, arguments, **named)
        return answer

    return run


async def turn_at_once(self: Turns, device_id: str, holder: Holder, wait_s: float) -> bool:
    return True


# -- sessions


def note_and_renew(right: Callable[..., None]) -> Callable[..., None]:
    def _note_session(self: McpEndpoint, ctx: Any) -> None:
        right(self, ctx)
        session_id = session_of(ctx.request.scope) if ctx.request is not None else None
        store = self._store
        assert isinstance(store, MemoryLeaseStore)
        holder = Holder("mcp", str(session_id))
        for device_id in list(store.table._held_by.get(holder, {})):
            store.table.renew(store.now_ns(), device_id, holder)

    return _note_session


async def end_nothing(self: McpEndpoint, session_id: str) -> None:
    return None


# -- waiting


def take_later(self: WaitingLine, now_ns: int, waiter: Any) -> Answer:
    return "fresh"


LEASE, PIN, EXCLUSION = "hostagent/lease/", "hostagent/pin/", "hostagent/exclusion/"
ENDS, WAITING, SCALE = "hostagent/session-end/", "hostagent/waiting/", "hostagent/scale/"

MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/lease-expires-mid-call",
        breaks="HA-06",
        ruling=1,
        text="the TTL runs during a call: a call longer than it loses the device under way",
        killed_by=PIN + "a-call-longer-than-the-ttl-pins-its-phone",
        patch=lambda seam: seam.replace(lease, "held", held_while_fresh),
    ),
    Mutant(
        "hostagent/pin-is-a-flag",
        breaks="HA-06",
        ruling=1,
        text="the pin is a flag: the first of two calls to end unpins the other",
        killed_by=PIN + "the-pin-is-a-count",
        patch=lambda seam: seam.replace(lease, "pinned", lambda uses: 1),
    ),
    Mutant(
        "hostagent/exception-leaks-pin",
        breaks="HA-06",
        ruling=1,
        text="a driver call that fails never unpins its device",
        killed_by=PIN + "a-failed-call-renews-and-unpins[crash]",
        patch=lambda seam: seam.wrap(LeasedCalls, "_unpin", unpin_success_only),
    ),
    Mutant(
        "hostagent/failed-call-does-not-renew",
        breaks="HA-06",
        ruling=1,
        text="after a failed call the TTL runs from the call's start instead of its end",
        killed_by=PIN + "a-failed-call-renews-and-unpins[crash]",
        patch=lambda seam: seam.wrap(LeasedCalls, "_unpin", renew_success_only),
    ),
    Mutant(
        "hostagent/cancel-unpins-before-driver",
        breaks="HA-07",
        ruling=1,
        text="a cancelled request unpins the device while the driver still moves",
        killed_by=ENDS + "an-idle-limit-during-a-cancelled-call-waits-for-the-driver",
        patch=lambda seam: seam.replace(LeasedCalls, "_answer", answer_or_unpin),
    ),
    Mutant(
        "hostagent/unsynchronised-arbitration",
        breaks="HA-05",
        ruling=2,
        text="sessions and assignments look first and take later: in between, another has looked too",
        killed_by=EXCLUSION + "at-the-last-tick-exactly-one-wins",
        patch=lambda seam: seam.replace(MemoryLeaseStore, "begin_use", look_then_act),
    ),
    Mutant(
        "hostagent/only-one-assignment-seen",
        breaks="HA-05",
        ruling=2,
        text="the arbiter knows only the newest assignment: an older one's device counts as free",
        killed_by=EXCLUSION + "two-assignments-hold-two-phones",
        patch=lambda seam: seam.wrap(assignments, "take", one_assignment),
    ),
    Mutant(
        "hostagent/cloud-hold-leaks",
        breaks="HA-05",
        ruling=2,
        text="an assignment that is over keeps its device",
        killed_by=EXCLUSION + "a-cloud-hold-goes-with-its-assignment[fails]",
        patch=lambda seam: seam.replace(assignments, "free", free_nothing),
    ),
    Mutant(
        "hostagent/lease-on-wall-clock",
        breaks="HA-06",
        ruling=3,
        text="leases age by the wall clock",
        killed_by="hostagent/clock/a-step-of-the-wall-clock-changes-no-lease",
        patch=lambda seam: seam.replace(MemoryLeaseStore, "age_source", staticmethod(wall_age)),
    ),
    Mutant(
        "hostagent/expires-one-tick-early",
        breaks="HA-06",
        ruling=4,
        text="a lease is free one tick before its TTL is over",
        killed_by=LEASE + "free-exactly-at-ttl",
        patch=lambda seam: seam.replace(
            lease, "expires_ns", lambda last_used_ns, ttl_ns: last_used_ns + ttl_ns - TICK_NS
        ),
    ),
    Mutant(
        "hostagent/expires-one-tick-late",
        breaks="HA-06",
        ruling=4,
        text="a lease is still held when its TTL is over, for one tick",
        killed_by=LEASE + "free-exactly-at-ttl",
        patch=lambda seam: seam.replace(
            lease, "expires_ns", lambda last_used_ns, ttl_ns: last_used_ns + ttl_ns + TICK_NS
        ),
    ),
    Mutant(
        "hostagent/acquire-ignores-expiry",
        breaks="HA-06",
        ruling=4,
        text="expired leases are only swept by a look at all leases: acquiring finds the device held",
        killed_by=LEASE + "free-exactly-at-ttl",
        patch=lambda seam: seam.replace(lease, "answer", held_answer_without_time),
    ),
    Mutant(
        "hostagent/any-traffic-renews",
        breaks="HA-06",
        ruling=4,
        text="every message of a session renews all it holds: a keepalive ping holds a device for ever",
        killed_by=LEASE + "only-a-leased-call-on-the-device-itself-renews[ping]",
        patch=lambda seam: seam.wrap(McpEndpoint, "_note_session", note_and_renew),
    ),
    Mutant(
        "hostagent/renew-touches-all-devices",
        breaks="HA-06",
        ruling=4,
        text="a call on one device renews the session's other devices too",
        killed_by=LEASE + "only-a-leased-call-on-the-device-itself-renews[another-device]",
        patch=lambda seam: seam.wrap(LeaseTable, "_touch", touch_all),
    ),
    Mutant(
        "hostagent/status-call-leases",
        breaks="HA-06",
        ruling=4,
        text="device_status takes or renews a lease",
        killed_by=LEASE + "looking-takes-no-lease[device_status]",
        patch=lambda seam: seam.wrap(LeasedCalls, "run", status_takes),
    ),
    Mutant(
        "hostagent/refusal-renews",
        breaks="HA-04",
        text="a refused call counts as a use: whoever asks again and again keeps the device held",
        killed_by=LEASE + "nobody-else-frees-a-lease-or-keeps-it",
        patch=lambda seam: seam.wrap(LeaseTable, "acquire", refusal_is_a_use),
    ),
    Mutant(
        "hostagent/anyone-releases",
        breaks="HA-04",
        text="a session can renew and give back what another holds",
        killed_by=LEASE + "only-the-holder-renews-or-releases",
        patch=lambda seam: seam.replace(lease, "live", live_for_anyone),
    ),
    Mutant(
        "hostagent/session-end-under-call",
        breaks="HA-07",
        ruling=6,
        text="the end of a session frees its devices at once, under a running driver call",
        killed_by=ENDS + "delete-during-a-call-frees-the-phone-when-the-driver-ends",
        patch=lambda seam: seam.replace(lease, "goes_at_once", lambda record: True),
    ),
    Mutant(
        "hostagent/renew-resurrects-dead-session",
        breaks="HA-07",
        ruling=6,
        text="no tombstone: what is left of an ended session takes a device again",
        killed_by=ENDS + "an-ended-holder-never-holds-again",
        patch=lambda seam: seam.replace(LeaseTable, "_bury", lambda self, now_ns, holder: None),
    ),
    Mutant(
        "hostagent/lost-session-keeps-lease",
        breaks="HA-07",
        ruling=8,
        text="a session that the transport reports gone keeps its leases until their TTL",
        killed_by=ENDS + "the-idle-limit-of-sessions-frees-their-phones",
        patch=lambda seam: seam.replace(McpEndpoint, "end_session", end_nothing),
    ),
    Mutant(
        "hostagent/same-session-overlap",
        breaks="HA-13",
        ruling=12,
        text="two calls of one session on one device run at once",
        killed_by=PIN + "two-calls-of-one-session-take-turns[short-first]",
        patch=lambda seam: seam.replace(Turns, "take", turn_at_once),
    ),
    Mutant(
        "hostagent/wrapper-waits",
        breaks="HA-14",
        ruling=16,
        text="a tool call on a busy device waits for it instead of failing fast",
        killed_by=WAITING + "a-busy-tool-call-answers-at-once",
        patch=lambda seam: seam.wrap(LeasedCalls, "_begin", begin_when_free),
    ),
    Mutant(
        "hostagent/executor-waits",
        breaks="HA-14",
        ruling=16,
        text="an assignment for a held device waits for it instead of failing fast (D11)",
        killed_by=WAITING + "an-assignment-for-a-held-phone-fails-at-once",
        patch=lambda seam: seam.wrap(assignments, "take", take_when_free),
    ),
    Mutant(
        "hostagent/wait-returns-unheld",
        breaks="HA-14",
        ruling=16,
        text="wait_until_usable says True when the device is free, and holds nothing",
        killed_by=WAITING + "true-means-that-the-caller-holds-the-lease",
        patch=lambda seam: seam.replace(WaitingLine, "take", take_later),
    ),
    Mutant(
        "hostagent/line-is-passed",
        breaks="HA-14",
        ruling=16,
        text="a session that just asks gets a free device before those who wait for it",
        killed_by=WAITING + "waiters-are-served-in-the-order-they-came",
        patch=lambda seam: seam.replace(LeaseTable, "_line_first", lambda self, now_ns, device_id: None),
    ),
    Mutant(
        "hostagent/sweep-loses-renewed-leases",
        breaks="HA-18",
        text="the sweep goes by when a lease was taken, not by its last use: leases in use are lost",
        killed_by=SCALE + "any-history-of-the-store-is-that-of-the-plain-model",
        patch=lambda seam: seam.wrap(LeaseTable, "_sweep_one", sweep_by_age),
    ),
]
