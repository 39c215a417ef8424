"""Who holds a device when several host agents share one lease store? The rule of one atomic step, as pure functions.

Two things differ from `lease`, whose table lives and dies with its one host agent. Time is the store's own clock, in
whole microseconds, so that hosts need not agree on theirs. And a pin cannot outlive its host: a host that was killed or
cut off would hold a device for ever. So a hold lasts until `last_used_us` + TTL whether calls run or not, and the host
that has a call running says so again and again (`keep`). A host that falls silent loses its leases a TTL later, and
what it sends to the device after that is refused for its old fencing token.

Pins have names, which their host gives, so that a transition whose answer was lost can be asked again: it happens once.
Redis runs this rule as a script and PostgreSQL in a transaction; one contract test binds them to it.
Source: contract hostagent, HA-05, rulings 1, 2, 4, 6, 7 and 12.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lasttick.model.lease import Decision, Granted, Holder, Refused

TakeName = Literal["acquire", "begin_use", "begin_own_use"]


@dataclass(frozen=True, slots=True)
class SharedLease:
    """A stored record. Times are microseconds of the store's clock.

    `host`: the run of a host agent whose calls pin it. `taken_by`: the pin or acquire with which the hold began.
    `ended`: given back, or the holder is gone, while calls still run.
    """

    device_id: str
    holder: Holder
    host: str
    acquired_us: int
    last_used_us: int
    fence: int
    pins: tuple[str, ...] = ()
    taken_by: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Take:
    """A host asks for a device. `pin` names this call; asking again with the same name changes nothing."""

    name: TakeName
    device_id: str
    holder: Holder
    host: str
    pin: str


Record: TypeAlias = SharedLease | None


def held(record: SharedLease, now_us: int, ttl_us: int) -> bool:
    """Used, or kept by its host, less than TTL ago; and not given back."""
    if record.ended and not record.pins:
        return False
    return now_us < record.last_used_us + ttl_us


def next_fence(last: int, now_us: int) -> int:
    """The token of a new hold: larger than the last one, and than any that a store gave which lost its memory since.

    A store that fails over to a copy may forget its latest grants; the time since then is what it cannot repeat.
    """
    return max(last + 1, now_us)


def take(record: Record, ended: bool, last_fence: int, ask: Take, now_us: int, ttl_us: int) -> tuple[Record, Decision]:
    """The record after `ask`, and the answer. `ended`: the holder is gone; `last_fence`: the store's largest so far."""
    device_id, holder = ask.device_id, ask.holder
    if ended:
        return record, Refused(device_id, None, "ended")
    if record is None or not held(record, now_us, ttl_us):
        if ask.name == "begin_own_use":
            return record, Refused(device_id, None, "not_held")
        first = (ask.pin,) if ask.name == "begin_use" else ()
        fence = next_fence(last_fence, now_us)
        new = SharedLease(device_id, holder, ask.host, now_us, now_us, fence, first, ask.pin)
        return new, Granted(device_id, holder, True, fence)
    if record.holder != holder:
        return record, Refused(device_id, record.holder, "held")
    if ask.name == "begin_own_use" and record.ended:
        return record, Refused(device_id, None, "not_held")
    if record.pins and record.host != ask.host:
        return record, Refused(device_id, holder, "held")  # calls of one holder at two hosts do not overlap either
    pins = record.pins
    if ask.name != "acquire" and ask.pin not in pins:
        pins = (*pins, ask.pin)
    used = replace(record, host=ask.host, last_used_us=now_us, pins=pins, ended=False)
    return used, Granted(device_id, holder, record.taken_by == ask.pin, record.fence)


def end_use(record: Record, holder: Holder, pin: str, now_us: int, ttl_us: int) -> tuple[Record, bool]:
    """One call is over. False when the hold was lost before: then nothing is renewed."""
    if record is None or record.holder != holder or pin not in record.pins:
        return record, False
    if not held(record, now_us, ttl_us):
        return None, False
    left = tuple(other for other in record.pins if other != pin)
    if record.ended and not left:
        return None, True
    return replace(record, pins=left, last_used_us=now_us), True


def keep(record: Record, holder: Holder, host: str, now_us: int, ttl_us: int) -> tuple[Record, bool]:
    """A host says that its calls, or its cloud assignment, still run. False when the hold was lost before."""
    if record is None or record.holder != holder or record.host != host or not held(record, now_us, ttl_us):
        return record, False
    return replace(record, last_used_us=now_us), True


def give_back(record: Record, holder: Holder, now_us: int, ttl_us: int) -> tuple[Record, bool]:
    """`release`, and what the end of a holder does to each of its records: at once, or with the last running call."""
    if record is None or record.holder != holder or record.ended or not held(record, now_us, ttl_us):
        return record, False
    if record.pins:
        return replace(record, ended=True), True
    return None, True
