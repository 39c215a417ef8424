"""What does this host agent look like from outside at one moment? One look, for the heartbeat and the console alike.

Health is asked first and the leases are read last, in one snapshot, so that status and lease never contradict each
other. No session id leaves this module whole (HA-02). Source: HA-08, HA-11; world, "Host agent's surface".
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model import lease as rules
from lasttick.model.lease import LeaseView
from lasttick.ports import Clock, LeaseStore
from lasttick.reference.hostagent import devices
from lasttick.reference.hostagent.devices import DeviceManager

SESSION_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Look:
    """`devices`: rows `{device_id, platform, scale, width_px, height_px, status, owner}`, sorted by id."""

    devices: Sequence[dict[str, Any]]
    leases: Sequence[LeaseView]
    at_ns: int


async def look(manager: DeviceManager, store: LeaseStore, clock: Clock) -> Look:
    """All devices with their display status, and the leases of the same moment."""
    rows = await asyncio.gather(*(devices.describe(driver) for driver in manager.list()))
    leases = await store.snapshot()
    owner = {lease.device_id: lease.holder for lease in leases}
    shown = [
        devices.with_status(row, owner.get(row["device_id"]), manager.quarantined(row["device_id"])) for row in rows
    ]
    return Look(shown, leases, clock.now_ns())


def mcp_busy_rows(seen: Look, ttl_s: float) -> list[dict[str, Any]]:
    """`{device_id, session, held_s, ttl_left_s, in_flight}` per MCP lease; the TTL does not run during a call."""
    ttl_ns = round(ttl_s * 1e9)
    return [
        {
            "device_id": view.device_id,
            "session": view.holder.id[:SESSION_SHOWN],
            "held_s": (seen.at_ns - view.acquired_ns) / 1e9,
            "ttl_left_s": ttl_s
            if view.uses
            else max(0, rules.expires_ns(view.last_used_ns, ttl_ns) - seen.at_ns) / 1e9,
            "in_flight": view.uses,
        }
        for view in seen.leases
        if view.holder.kind == "mcp"
    ]
