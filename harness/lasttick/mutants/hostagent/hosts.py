"""Wrong host agents among several: what one does with a lease store that others use too, and with a phone that others
drive.

Each wrong version is a function beside its reason; the right one is looked up at call time through its module or class.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from lasttick.model import errors, shared_lease
from lasttick.model.errors import ToolError
from lasttick.model.lease import Decision, Granted, Holder
from lasttick.model.shared_lease import Record, SharedLease, Take
from lasttick.mutants import Mutant
from lasttick.ports import LeaseServer, StoreUnavailable
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.rack_client import RackDriver
from lasttick.reference.hostagent.shared_store import SharedLeaseStore

Wrap = Callable[..., Any]


# -- what the phone is told


def without_token(right: Wrap) -> Wrap:
    """The call goes to the phone without its fencing token, so that the phone lets it in however old it is."""

    async def perform(self: RackDriver, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Any:
        return await right(self, tool, arguments)

    return perform


async def idle_of_course(self: LeasedCalls, call: DriverCall, decision: Granted) -> bool:
    """What the store grants is driven at once: nobody asks whether the phone still acts for a host that died."""
    return True


def fresh_grants_only(right: Wrap) -> Wrap:
    """The phone is asked only by the call whose own grant began the hold."""

    async def _is_idle(self: LeasedCalls, call: DriverCall, decision: Granted) -> bool:
        return not decision.fresh or bool(await right(self, call, decision))

    return _is_idle


async def holds_on(self: LeasedCalls, call: DriverCall) -> None:
    """The phone knows a later token, and the hold that opens nothing is renewed by every call."""
    call.error = errors.lease_lost(call.device_id)


def lost_is_trouble(device_id: str) -> ToolError:
    return errors.driver_error(device_id, "the device refused the call")


def floor_forgotten(self: MemoryLeaseStore, device_id: str, seen: int) -> Any:
    """Tokens begin at 1 with every start, whatever the phone has seen."""
    return asyncio.sleep(0)


def same_token(last: int, now_us: int) -> int:
    return 1


def small_steps(last: int, now_us: int) -> int:
    """One more than the store remembers: a store that forgot gives a token twice."""
    return last + 1


# -- what the store is told


async def nobody_keeps(self: SharedLeaseStore) -> None:
    """A running call is said to run when it begins and when it ends, and not between."""


async def keeps_until_it_fails(self: SharedLeaseStore) -> None:
    """The first call that cannot be kept ends the round, and those after it are not said to run."""
    for device_id, holder in list(self._pins):
        await self._server.keep(device_id, holder, self._host, self._ttl_us)


def guess(right: Wrap) -> Wrap:
    """The store cannot be asked: then the phone is surely still ours."""

    async def _begin(self: LeasedCalls, call: DriverCall) -> Decision:
        try:
            decision: Decision = await right(self, call)
            return decision
        except StoreUnavailable:
            return Granted(call.device_id, call.holder, False, 2**52)

    return _begin


@contextmanager
def no_doubt(self: SharedLeaseStore, device_id: str, holder: Holder, pin: str) -> Iterator[None]:
    """A step whose outcome nobody knows is forgotten."""
    yield


def new_pin_each_time(right: Wrap) -> Wrap:
    """Asking once more is a new call, with a name of its own."""

    async def _take(self: SharedLeaseStore, name: Any, device_id: str, holder: Holder) -> Decision:
        server = self._server
        self._server = _Renaming(server)  # type: ignore[assignment]
        try:
            decision: Decision = await right(self, name, device_id, holder)
            return decision
        finally:
            self._server = server

    return _take


class _Renaming:
    def __init__(self, server: LeaseServer) -> None:
        self._server = server
        self._tries = 0

    async def take(self, ask: Take, ttl_us: int) -> Decision:
        self._tries += 1
        pin = ask.pin if self._tries == 1 else f"{ask.pin}-{self._tries}"
        return await self._server.take(replace(ask, pin=pin), ttl_us)


def keeps_what_has_ended(right: Wrap) -> Wrap:
    """The call is over and its host goes on saying that it runs."""

    async def end_use(self: SharedLeaseStore, device_id: str, holder: Holder) -> bool:
        was_held: bool = await right(self, device_id, holder)
        self._assignments[(device_id, holder)] = None
        return was_held

    return end_use


async def ends_elsewhere(self: SharedLeaseStore, holder: Holder) -> list[str]:
    """What an ended session held is left to its TTL."""
    return []


def stop_gives_back(right: Wrap) -> Wrap:
    """A host that stops gives back whatever anybody holds, as if the leases were its own."""

    @asynccontextmanager
    async def running(self: SharedLeaseStore) -> AsyncIterator[None]:
        async with right(self):
            try:
                yield
            finally:
                for lease in await self.snapshot():
                    await self.release(lease.device_id, lease.holder)

    return running


# -- the rule of the store


def pins_hold(right: Wrap) -> Wrap:
    """A pin holds until it is taken out, as in a table that dies with its only host."""

    def held(record: SharedLease, now_us: int, ttl_us: int) -> bool:
        return bool(record.pins) or right(record, now_us, ttl_us)

    return held


def ends_ticks_away(ticks: int) -> Wrap:
    """The lease ends that many ticks too late (or too early: negative), by the store's own clock."""

    def wrong(right: Wrap) -> Wrap:
        return lambda record, now_us, ttl_us: right(record, now_us - ticks * 1_000, ttl_us)

    return wrong


def any_host(right: Wrap) -> Wrap:
    """Who holds is let in at each host, whatever runs for it at another."""

    def take(
        record: Record, ended: bool, last_fence: int, ask: Take, now_us: int, ttl_us: int
    ) -> tuple[Record, Decision]:
        mine = record if record is None else replace(record, host=ask.host)
        after, decision = right(mine, ended, last_fence, ask, now_us, ttl_us)
        return (record if after is mine else after), decision

    return take


def each_host_for_itself(right: Wrap) -> Wrap:
    """That a holder has ended is known only where it ended: the store does not ask."""

    def take(record: Record, ended: bool, *rest: Any) -> tuple[Record, Decision]:
        after, decision = right(record, False, *rest)
        return after, decision

    return take


TWO = "hostagent/two-hosts/"
TOO_LATE = f"{TWO}a-call-that-comes-too-late-is-refused-by-the-phone"
KILLED = f"{TWO}a-killed-hosts-phone-waits-for-its-ttl-and-for-its-call"
CUT_OFF = f"{TWO}a-host-that-is-cut-off-drives-nothing-new-and-loses-its-lease"
AT_THE_TICK = f"{TWO}a-lease-ends-at-the-tick-on-the-other-host-too"
LONG_CALL = f"{TWO}a-long-call-is-kept-over-many-ttls"
LOST_ANSWER = f"{TWO}a-lost-answer-leaves-no-pin"

MUTANTS = [
    Mutant(
        "hostagent/driver-ignores-fence",
        "HA-05",
        "Calls go to the device without their fencing token, so that one that comes too late is let in.",
        f"{TOO_LATE}[known]",
        lambda seam: seam.wrap(RackDriver, "perform", without_token),
    ),
    Mutant(
        "hostagent/claim-skipped",
        "HA-05",
        "A device out of a shared store is driven without asking whether it still acts for a host that died.",
        KILLED,
        lambda seam: seam.replace(LeasedCalls, "_is_idle", idle_of_course),
    ),
    Mutant(
        "hostagent/claim-of-fresh-grants-only",
        "HA-05",
        "Who was granted a device before its first call drives it without asking whether it still acts for another.",
        f"{TWO}whoever-comes-first-asks-the-phone[cloud]",
        lambda seam: seam.wrap(LeasedCalls, "_is_idle", fresh_grants_only),
    ),
    Mutant(
        "hostagent/lease-lost-is-driver-error",
        "HA-05",
        "A call that the device refused for its old token is reported as a failure of the device.",
        f"{TOO_LATE}[new]",
        lambda seam: seam.replace(errors, "lease_lost", lost_is_trouble),
    ),
    Mutant(
        "hostagent/fence-floor-not-raised-at-start",
        "HA-15",
        "A restarted host counts its tokens from 1, and the device refuses its calls.",
        f"{TWO}a-restarted-host-is-let-in-by-phones-that-knew-larger-tokens",
        lambda seam: seam.replace(MemoryLeaseStore, "fence_above", floor_forgotten),
    ),
    Mutant(
        "hostagent/lost-hold-is-renewed",
        "HA-05",
        "A store that forgot a later token goes on giving older ones, and the device is lost to all.",
        f"{TWO}a-copy-whose-clock-is-behind-costs-one-call[60.0]",
        lambda seam: seam.replace(LeasedCalls, "_lost", holds_on),
    ),
    Mutant(
        "hostagent/fence-does-not-grow",
        "HA-05",
        "Every hold of a device in a shared store has the same token.",
        f"{TOO_LATE}[known]",
        lambda seam: seam.replace(shared_lease, "next_fence", same_token),
    ),
    Mutant(
        "hostagent/fence-forgets-with-the-store",
        "HA-05",
        "A store that lost its memory gives tokens that it has given before.",
        f"{TWO}of-two-holders-by-the-store-the-phone-knows-the-later",
        lambda seam: seam.replace(shared_lease, "next_fence", small_steps),
    ),
    Mutant(
        "hostagent/keeper-missing",
        "HA-06",
        "Nobody tells the shared store that a long call still runs, and its lease runs out under it.",
        LONG_CALL,
        lambda seam: seam.replace(SharedLeaseStore, "_keep_for_ever", nobody_keeps),
    ),
    Mutant(
        "hostagent/keeper-gives-up-at-first-failure",
        "HA-06",
        "One call that cannot be kept costs all others at its host their leases.",
        f"{TWO}a-call-that-can-not-be-kept-costs-no-other-its-lease",
        lambda seam: seam.replace(SharedLeaseStore, "keep_all", keeps_until_it_fails),
    ),
    Mutant(
        "hostagent/keeper-keeps-what-has-ended",
        "HA-06",
        "A host goes on keeping a lease whose calls are over, so that it never ends.",
        AT_THE_TICK,
        lambda seam: seam.wrap(SharedLeaseStore, "end_use", keeps_what_has_ended),
    ),
    Mutant(
        "hostagent/drives-on-a-guess",
        "HA-06",
        "A host that cannot ask the store drives the device anyway.",
        CUT_OFF,
        lambda seam: seam.wrap(LeasedCalls, "_begin", guess),
    ),
    Mutant(
        "hostagent/doubt-is-forgotten",
        "HA-07",
        "A pin whose step got no answer stays in the store.",
        f"{LOST_ANSWER}[take-2]",
        lambda seam: seam.replace(SharedLeaseStore, "_in_doubt", no_doubt),
    ),
    Mutant(
        "hostagent/retry-takes-second-pin",
        "HA-07",
        "A step that is asked again pins the device a second time.",
        f"{LOST_ANSWER}[take-1]",
        lambda seam: seam.wrap(SharedLeaseStore, "_take", new_pin_each_time),
    ),
    Mutant(
        "hostagent/pin-survives-its-host",
        "HA-07",
        "The call of a host that was killed pins the device for ever.",
        KILLED,
        lambda seam: seam.wrap(shared_lease, "held", pins_hold),
    ),
    Mutant(
        "hostagent/shared-lease-ends-one-tick-late",
        "HA-06",
        "A lease in a shared store ends a tick after its TTL.",
        AT_THE_TICK,
        lambda seam: seam.wrap(shared_lease, "held", ends_ticks_away(1)),
    ),
    Mutant(
        "hostagent/shared-lease-ends-one-tick-early",
        "HA-06",
        "A lease in a shared store ends a tick before its TTL.",
        AT_THE_TICK,
        lambda seam: seam.wrap(shared_lease, "held", ends_ticks_away(-1)),
    ),
    Mutant(
        "hostagent/other-host-overlaps-own-holder",
        "HA-05",
        "A holder whose call runs at one host is let in at another.",
        f"{TWO}one-holder-at-two-hosts-does-not-overlap",
        lambda seam: seam.wrap(shared_lease, "take", any_host),
    ),
    Mutant(
        "hostagent/stopped-host-keeps-its-leases",
        "HA-15",
        "What the sessions of a stopped host held stays held in the shared store.",
        f"{TWO}a-host-that-stops-gives-back-what-it-holds[idle]",
        lambda seam: seam.replace(SharedLeaseStore, "end_holder", ends_elsewhere),
    ),
    Mutant(
        "hostagent/tombstone-not-shared",
        "HA-07",
        "A session that ended at one host is let in at another.",
        f"{TWO}a-holder-that-ended-at-one-host-has-ended-at-all",
        lambda seam: seam.wrap(shared_lease, "take", each_host_for_itself),
    ),
    Mutant(
        "hostagent/stop-gives-back-shared-leases",
        "HA-16",
        "A host that stops gives the leases of the shared store back, under clients that go on with their handles.",
        f"{TWO}a-handle-outlives-a-restart-of-its-host",
        lambda seam: seam.wrap(SharedLeaseStore, "running", stop_gives_back),
    ),
]
