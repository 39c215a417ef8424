"""What does the console show at one moment? The object of `/api/status`, and what makes a new one worth sending.

Numbers that only count (how long held, TTL left) are no news: the page counts them itself. So a sight has a key of
what does not count, and the instant at which the next lease runs out by itself. Source: HA-17; HA-02 (8 characters).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lasttick.model import lease as rules
from lasttick.reference.hostagent import status_board
from lasttick.reference.hostagent.status_board import Look


@dataclass(frozen=True, slots=True)
class Sight:
    """`shown` is JSON. Two sights with the same `key` tell a page nothing new; `next_ns`: when one surely will."""

    shown: dict[str, Any]
    key: object
    at_ns: int
    next_ns: int | None


def sight(
    seen: Look, *, host_id: str, wall: datetime, ttl_s: float, tasks: Sequence[Mapping[str, Any]], tasks_key: object
) -> Sight:
    """`{host_id, time, ttl_s, devices, mcp_busy_devices, tasks}` with its key; no session id is whole (HA-02)."""
    shown = {
        "host_id": host_id,
        "time": wall.isoformat(),
        "ttl_s": ttl_s,
        "devices": list(seen.devices),
        "mcp_busy_devices": status_board.mcp_busy_rows(seen, ttl_s),
        "tasks": list(tasks),
    }
    return Sight(shown, news(seen, tasks_key), seen.at_ns, next_end_ns(seen, ttl_s))


def news(seen: Look, tasks_key: object) -> object:
    """What a page must hear of: a device's status, a lease that came, went, was used or is in use, a task."""
    return ([tuple(row.items()) for row in seen.devices], list(seen.leases), tasks_key)


def next_end_ns(seen: Look, ttl_s: float) -> int | None:
    """When the first idle MCP lease runs out, if nobody uses it; a running call has no such instant."""
    ttl_ns = round(ttl_s * 1e9)
    return min(
        (
            rules.expires_ns(lease.last_used_ns, ttl_ns)
            for lease in seen.leases
            if lease.holder.kind == "mcp" and not lease.uses
        ),
        default=None,
    )
