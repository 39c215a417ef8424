"""Who holds a device, and until when: the whole rule of a lease as pure functions over integer nanoseconds.

A lease last used at t is held for every time before t + TTL and free from t + TTL on (ruling HA-4), but never free
while a driver call of its holder runs (ruling HA-1). A holder that ended keeps only what its running calls pin
(rulings HA-6, HA-8). A cloud assignment's hold knows no TTL: it lasts until the assignment is over (ruling HA-2).

Each function here is one decision, called by the lease table through this module, so that a mutant is one of them
replaced. `lease_oracle` states the same rules once more without them, to judge the table and the mutants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

HolderKind = Literal["mcp", "cloud"]


class Holder(NamedTuple):
    """Who holds: one MCP session (`id` = session id) or one cloud assignment (`id` = assignment id).

    A named tuple, since every lease call hashes and compares one: a frozen dataclass does both five times slower.
    """

    kind: HolderKind
    id: str


@dataclass(slots=True)
class Lease:
    """A stored record, changed only by LeaseTable. Mutable: freezing it costs a third of a lease call's speed."""

    device_id: str
    holder: Holder
    acquired_ns: int
    last_used_ns: int
    fence: int = 0
    uses: int = 0
    ended: bool = False
    """Given back, or the holder is gone, while calls still run: goes with the last of them."""


@dataclass(frozen=True, slots=True)
class LeaseView:
    """A lease as others may see it. Times are monotonic nanoseconds of the store's clock."""

    device_id: str
    holder: Holder
    acquired_ns: int
    last_used_ns: int
    uses: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Granted:
    device_id: str
    holder: Holder
    fresh: bool
    """True when this call took a free device, False when the holder had it already."""
    fence: int = field(default=0, compare=False)
    """The fencing token of this hold: larger than that of every earlier hold of the device, the same while it lasts."""


@dataclass(frozen=True, slots=True)
class Refused:
    device_id: str
    owner: Holder | None
    """Who holds it, or is first in line for it; None when the asker has ended or has no live lease there."""
    why: Literal["held", "ended", "not_held"]


Decision: TypeAlias = Granted | Refused

Answer = Literal["fresh", "again", "held", "ended"]
"""May a holder take a device: yes, it is free; yes, it is its own; no, another has it; no, the asker has ended."""


def checked_ttl_s(ttl_s: float) -> float:
    """Raises ValueError for a TTL that is not a positive, finite number of seconds."""
    if not (math.isfinite(ttl_s) and ttl_s > 0):
        raise ValueError(
            f"lease TTL is {ttl_s!r} s. It must be a positive, finite number of seconds "
            "(contract hostagent, Parts). Pass for example 60.0."
        )
    return ttl_s


def expires_ns(last_used_ns: int, ttl_ns: int) -> int:
    """The first instant at which an idle lease is free."""
    return last_used_ns + ttl_ns


def held(record: Lease, now_ns: int, ttl_ns: int) -> bool:
    """Pinned by a running call; or not ended, and a cloud hold or used less than TTL ago."""
    if record.uses > 0:
        return True
    if record.ended:
        return False
    return record.holder.kind == "cloud" or now_ns < expires_ns(record.last_used_ns, ttl_ns)


def answer(record: Lease, holder: Holder, now_ns: int, ttl_ns: int) -> Answer:
    """May `holder`, which has not ended, take the device that `record` stands for; without a record it is "fresh".

    An expired lease that nobody took is "fresh" for everybody, its last holder too (ruling HA-5, row 10).
    """
    if not held(record, now_ns, ttl_ns):
        return "fresh"
    return "again" if record.holder == holder else "held"


def live(record: Lease, holder: Holder, now_ns: int, ttl_ns: int) -> bool:
    """May `holder` renew or give back this lease: it is its own, not expired and not given back already."""
    return record.holder == holder and not record.ended and held(record, now_ns, ttl_ns)


def next_fence(last: int) -> int:
    """The fencing token of a new hold; `last`: the largest one given so far. A driver refuses all that are smaller."""
    return last + 1


def pinned(uses: int) -> int:
    """The pin when one more call starts. A count: two calls of one session need two ends (rulings HA-1, HA-12)."""
    return uses + 1


def unpinned(uses: int) -> int:
    """The pin when one call ends."""
    return uses - 1


def last_used_after_call_ns(started_ns: int, ended_ns: int) -> int:
    """From when the TTL runs after a call, whatever its outcome: from its end, not its start (ruling HA-1)."""
    return ended_ns


def goes_at_once(record: Lease) -> bool:
    """Given back or its holder ended: free now, or only when the running calls end (rulings HA-6, HA-8)."""
    return record.uses == 0


def forgettable(ended_for_ns: int, keep_ns: int, beyond_kept: int) -> bool:
    """May an ended holder's tombstone go: it has stood long enough, and is not among the youngest that are kept."""
    return ended_for_ns >= keep_ns and beyond_kept > 0
