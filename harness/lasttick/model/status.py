"""What does a person or an agent see as the state of a device? The table of decision D6, as one pure function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lasttick.model.lease import Holder, HolderKind

Status = Literal["offline", "error", "busy", "idle"]


@dataclass(frozen=True, slots=True)
class DisplayStatus:
    """`owner` is the kind of holder, only when `status` is busy; never an id (HA-02)."""

    status: Status
    owner: HolderKind | None = None


def display_status(health: str, owner: Holder | None, quarantined: bool) -> DisplayStatus:
    """The first that applies: disconnected, driver fault or quarantine, held, idle (HA-11).

    `health` is a driver's `ok`, `offline` or `error`; anything else counts as a fault.
    """
    if health == "offline":
        return DisplayStatus("offline")
    if quarantined or health != "ok":
        return DisplayStatus("error")
    if owner is not None:
        return DisplayStatus("busy", owner.kind)
    return DisplayStatus("idle")
