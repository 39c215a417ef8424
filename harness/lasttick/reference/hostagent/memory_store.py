"""How do the two sides of a host agent share one arbiter? A `LeaseStore` in memory: a lease table, a lock and a clock.

Every transition reads the time and changes the table inside one lock, so time never runs backwards in the table and
MCP calls, cloud assignments and the threads of a busy tracker are decided one after the other (ruling HA-2).
Nothing survives a restart, on purpose (HA-15).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from lasttick.model import lease
from lasttick.model.lease import Decision, Holder, LeaseView
from lasttick.ports import Clock
from lasttick.reference.hostagent.lease_table import LeaseTable


class MemoryLeaseStore:
    """`ports.LeaseStore` over one `LeaseTable`. `table`, `lock` and `now_ns` are for a `McpBusyTracker` over it.

    A hold ends when each `begin_use` has had its `end_use`, and the lease expired, was released or its holder ended. A
    cloud hold does not expire: whoever begins it calls `end_use` and `end_holder` too, in either order.

    Raises ValueError for a TTL that is not a positive, finite number of seconds.
    """

    def __init__(self, clock: Clock, ttl_s: float = 60.0, max_call_s: float = 0.0) -> None:
        self._ttl_s = lease.checked_ttl_s(ttl_s)
        self.clock = clock
        self.lock = Lock()
        self.now_ns = self.age_source(clock)
        self.table = LeaseTable(round(ttl_s * 1e9), round(max_call_s * 1e9))

    @staticmethod
    def age_source(clock: Clock) -> Callable[[], int]:
        """Where ages come from: the monotonic clock, never the wall's (ruling HA-3)."""
        return clock.now_ns

    @property
    def ttl_s(self) -> float:
        return self._ttl_s

    @property
    def shared(self) -> bool:
        return False

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        with self.lock:
            return self.table.acquire(self.now_ns(), device_id, holder)

    async def begin_use(self, device_id: str, holder: Holder) -> Decision:
        with self.lock:
            return self.table.begin_use(self.now_ns(), device_id, holder)

    async def begin_own_use(self, device_id: str, holder: Holder) -> Decision:
        with self.lock:
            return self.table.begin_own_use(self.now_ns(), device_id, holder)

    async def fence_above(self, device_id: str, seen: int) -> None:
        with self.lock:
            self.table.fence_above(seen)

    async def end_use(self, device_id: str, holder: Holder) -> bool:
        with self.lock:
            return self.table.end_use(self.now_ns(), device_id, holder)

    async def release(self, device_id: str, holder: Holder) -> bool:
        with self.lock:
            return self.table.release(self.now_ns(), device_id, holder)

    async def end_holder(self, holder: Holder) -> list[str]:
        with self.lock:
            return self.table.end_holder(self.now_ns(), holder)

    async def snapshot(self) -> list[LeaseView]:
        with self.lock:
            return self.table.snapshot(self.now_ns())
