"""Wrong host agents that guess while their lease store cannot be asked, or forget what they could not tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.lease import Holder
from lasttick.mutants import Mutant
from lasttick.ports import Clock, LeaseStore, StoreUnavailable
from lasttick.reference.hostagent import mcp_server, status_board
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.devices import DeviceManager
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.shared_store import SharedLeaseStore

AWAY = "hostagent/store-away/nothing-is-shown-free-while-the-store-is-away"
STOP = "hostagent/store-away/a-store-that-hangs-holds-up-no-stop"
TOLD = "hostagent/store-away/the-end-of-a-session-is-told-when-the-store-is-back"


def guessed_look(right: Callable[..., Any]) -> Callable[..., Any]:
    """No answer is taken for no leases: every device looks free."""

    async def look(manager: DeviceManager, store: LeaseStore, clock: Clock) -> Any:
        try:
            return await right(manager, store, clock)
        except StoreUnavailable:
            return await right(manager, MemoryLeaseStore(clock), clock)

    return look


def guessed_status(right: Callable[..., Any]) -> Callable[..., Any]:
    async def status(self: LeasedCalls, tool: str, arguments: Mapping[str, Any]) -> Any:
        store = self._store
        try:
            await store.snapshot()
        except StoreUnavailable:
            self._store = MemoryLeaseStore(self._clock)
        try:
            return await right(self, tool, arguments)
        finally:
            self._store = store

    return status


def end_forgotten(right: Callable[..., Any]) -> Callable[..., Any]:
    async def end_holder(self: SharedLeaseStore, holder: Holder) -> Any:
        try:
            return await right(self, holder)
        finally:
            self._ended.pop(holder, None)

    return end_holder


MUTANTS = [
    Mutant(
        "hostagent/stop-waits-for-the-store",
        "HA-01",
        "A host that stops waits for a lease store that does not answer.",
        STOP,
        lambda seam: seam.replace(mcp_server, "STOP_TELL_S", 60.0),
    ),
    Mutant(
        "hostagent/heartbeat-guesses-while-store-away",
        "HA-08",
        "A host that cannot ask its lease store tells the cloud that every device is free.",
        AWAY,
        lambda seam: seam.wrap(status_board, "look", guessed_look),
    ),
    Mutant(
        "hostagent/status-guesses-while-store-away",
        "HA-11",
        "A host that cannot ask its lease store shows every device as idle.",
        AWAY,
        lambda seam: seam.wrap(LeasedCalls, "_status", guessed_status),
    ),
    Mutant(
        "hostagent/end-of-session-is-told-once",
        "HA-07",
        "The end of a session that the lease store could not hear of is never told again.",
        TOLD,
        lambda seam: seam.wrap(SharedLeaseStore, "end_holder", end_forgotten),
    ),
]
