"""Who holds a device, and until when: the whole rule of a lease as pure functions over integer nanoseconds.

A lease last used at t is held for every time before t + TTL and free from t + TTL on (ruling HA-4), but never free
while a driver call of its holder runs (ruling HA-1). A holder that ended keeps only what its running calls pin
(rulings HA-6, HA-8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

HolderKind = Literal["mcp", "cloud"]


@dataclass(frozen=True, slots=True, order=True)
class Holder:
    """Who holds: one MCP session (`id` = session id) or one cloud assignment (`id` = assignment id)."""

    kind: HolderKind
    id: str


@dataclass(slots=True)
class Lease:
    """A stored record; mutable because freezing it costs a third of a lease call's speed.

    Changed only by LeaseTable.
    """

    device_id: str
    holder: Holder
    acquired_ns: int
    last_used_ns: int
    uses: int = 0
    ended: bool = False


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


@dataclass(frozen=True, slots=True)
class Refused:
    device_id: str
    owner: Holder | None
    """Who holds it; None when the asker itself has ended (`why` = "ended")."""
    why: Literal["held", "ended"]


Decision: TypeAlias = Granted | Refused


def expires_ns(last_used_ns: int, ttl_ns: int) -> int:
    """The first instant at which an idle lease is free."""
    return last_used_ns + ttl_ns


def held(lease: Lease, now_ns: int, ttl_ns: int) -> bool:
    """Pinned by a running call, or (not ended and) used less than TTL ago."""
    if lease.uses > 0:
        return True
    return not lease.ended and now_ns < expires_ns(lease.last_used_ns, ttl_ns)
