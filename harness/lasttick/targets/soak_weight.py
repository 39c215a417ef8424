"""What has grown? Counts of everything that a host agent, its cloud and its devices hold, and the memory of it all.

Memory is weighed three ways, all after a full collection: the blocks that Python's allocator has handed out (exact, and
untouched by fragmentation), the objects that the collector knows, and the process's resident memory after the C
library gave back what it could. Tracing allocations instead would triple the time of a soak.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.reference.hostagent.memory_store import MemoryLeaseStore

if TYPE_CHECKING:
    from lasttick.engine.loop import VirtualLoop
    from lasttick.reference.hostagent.agent import HostAgent
    from lasttick_fakes.cloud import Cloud
    from lasttick_fakes.devices import Rack


REFERENCE = "lasttick.reference.hostagent"
HISTORY = f"{REFERENCE}.console_tasks"
"""The one part that keeps what is over, on purpose: the newest tasks, for people."""


@dataclass(frozen=True, slots=True)
class Weight:
    """Of this process. `rss_bytes` is 0 where the system does not tell; `cpu_s` is what it has used so far."""

    blocks: int
    objects: int
    rss_bytes: int
    cpu_s: float


def weigh(*, freeze: bool) -> Weight:
    """Collect everything and weigh. `freeze`: what lives then need not be looked at again until the next time."""
    if freeze:
        gc.unfreeze()
    gc.collect()
    blocks, objects = sys.getallocatedblocks(), len(gc.get_objects())
    _trim()
    if freeze:
        gc.freeze()
    return Weight(blocks, objects, _rss_bytes(), resource.getrusage(resource.RUSAGE_SELF).ru_utime)


def census(
    agent: HostAgent, rack: Rack, cloud: Cloud, loop: VirtualLoop, own: Iterable[asyncio.Task[Any]]
) -> dict[str, int]:
    """How many of each thing there are now, by names for people.

    `own` are the tasks of whoever soaks. At a quiet instant each of those that goes on waits for one timer; neither is
    counted.
    """
    waiting = sum(not task.done() for task in own)
    store, calls, endpoint = agent.store, agent._calls, agent._endpoint
    assert isinstance(store, MemoryLeaseStore)
    table, watcher = store.table, calls._watcher
    return {
        "sessions listed": len(endpoint.sessions),
        "sessions of the SDK": len(endpoint._manager._server_instances),
        "leases": len(table._leases),
        "idle leases": len(table._idle),
        "holders": len(table._held_by),
        "lines": len(table.lines),
        "turns": len(calls._turns._lines),
        "calls": len(calls._running),
        "driver calls": len(calls._driving),
        "watchers": int(watcher is not None and not watcher.done()),
        "quarantines": len(agent.manager._quarantine),
        "request ids": len(endpoint._in_flight._ids),
        "requests": len(endpoint._in_flight._running),
        "device actions": sum(device.running for device in rack.devices),
        "open assignments": len(cloud._ledger.taken),
        "tasks": len(loop.open_tasks()) - waiting,
        "timers": sum(not timer.cancelled() for timer in loop._scheduled) - waiting,
        "files": _files(),
        "objects of the host agent": sum(_of_the_agent(type(thing).__module__) for thing in gc.get_objects()),
        "tasks on the console": sum(type(thing).__module__ == HISTORY for thing in gc.get_objects()),
        "tombstones": len(table._ended),
    }


def _of_the_agent(module: object) -> bool:
    """`module`: what a type says of itself; a compiled one may say anything."""
    return isinstance(module, str) and module.startswith(REFERENCE) and module != HISTORY


def _files() -> int:
    folder = Path("/proc/self/fd")
    return len(os.listdir(folder)) if folder.is_dir() else 0


def _rss_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _trim() -> None:
    """Resident memory counts what the C library keeps for later, unless it is told to give that back."""
    library: Any = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
