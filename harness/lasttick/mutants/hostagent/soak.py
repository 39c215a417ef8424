"""Wrong host agents that are right for an hour: what they leave behind, or lose, shows only when it adds up.

Each leak is one that a reviewer could miss: a clean-up on all paths but one, a thing that is remembered and never asked
about again. Killed by the small form of the soak, or by what is asked of tombstones.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from lasttick.model import lease
from lasttick.model.lease import Holder, Lease
from lasttick.mutants import Mutant, Seam
from lasttick.reference.hostagent import predecessor
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.in_flight import InFlight
from lasttick.reference.hostagent.instance_lock import InstanceLock
from lasttick.reference.hostagent.lease_table import LeaseTable
from lasttick.reference.hostagent.session_watch import Sessions
from lasttick.reference.hostagent.turns import Turns

Wrap = Callable[..., Any]


def _ignore(*_: object) -> None:
    """What keeps a watcher from being collected."""


FREE: deque[Any] = deque()
"""A line in which nobody stands and nobody has the turn."""


async def stays_listed(self: Sessions, session_id: str) -> None:
    if session_id in self._open:
        await self._on_end(session_id)


@contextmanager
def lines_stay(seam: Seam) -> Iterator[None]:
    """The line of a device and a holder is marked as free instead of being removed."""

    def take_from_kept(right: Wrap) -> Wrap:
        async def take(self: Turns, device_id: str, holder: Holder, wait_s: float) -> bool:
            if self._lines.get((device_id, holder)) is FREE:
                del self._lines[(device_id, holder)]
            came: bool = await right(self, device_id, holder, wait_s)
            return came

        return take

    def give_and_keep(right: Wrap) -> Wrap:
        def give(self: Turns, device_id: str, holder: Holder) -> None:
            right(self, device_id, holder)
            self._lines.setdefault((device_id, holder), FREE)

        return give

    with ExitStack() as stack:
        stack.enter_context(seam.wrap(Turns, "take", take_from_kept))
        stack.enter_context(seam.wrap(Turns, "give", give_and_keep))
        yield


def ids_stay(right: Wrap) -> Wrap:
    """What was in flight once is put back when it was answered: as if only a failed call took its id out."""

    async def _one_call(self: InFlight, scope: Any, replay: Any, client: Any, key: tuple[str, str]) -> None:
        await right(self, scope, replay, client, key)
        self._ids[key] = None

    return _one_call


def watcher_per_call(right: Wrap) -> Wrap:
    """Every call starts a watcher of its own, which watches on when the call is over."""

    async def _perform(self: LeasedCalls, call: DriverCall) -> None:
        async def watch() -> None:
            while True:
                await self._clock.sleep(self._max_call_s)

        watcher = asyncio.get_running_loop().create_task(watch())
        call.answer.add_done_callback(functools.partial(_ignore, watcher))
        await right(self, call)

    return _perform


def calls_are_remembered(right: Wrap) -> Wrap:
    """A history of calls, for a page that nobody has built."""

    async def _carry_out(self: LeasedCalls, call: DriverCall) -> None:
        vars(self).setdefault("_history", []).append(call)
        await right(self, call)

    return _carry_out


def failed_stays(right: Wrap) -> Wrap:
    """A call that failed is still counted as one that a driver is busy with."""

    async def _perform(self: LeasedCalls, call: DriverCall) -> None:
        await right(self, call)
        if call.error is not None:
            self._driving[call] = self._clock.now_ns() + 1_000_000 * self._max_call_ns

    return _perform


async def never_lifted(manager: Any, driver: Any, acts: Any, clock: Any) -> None:
    while await acts():
        await clock.sleep(predecessor.POLL_S)


def file_left_open(right: Wrap) -> Wrap:
    """Each start opens the folder to sync it, and nobody closes it."""

    def acquire(self: InstanceLock) -> None:
        right(self)
        os.open(self._folder, os.O_RDONLY)

    return acquire


def one_too_many(right: Callable[..., bool]) -> Callable[..., bool]:
    """The sweep drops the lease behind an expired one unseen."""

    def _sweep_one(self: LeaseTable, now_ns: int) -> bool:
        swept = right(self, now_ns)
        if swept:
            behind: Lease | None = next(iter(self._idle.values()), None)
            if behind is not None and behind.last_used_ns < now_ns:
                self._drop(behind)
        return swept

    return _sweep_one


SMALL = "hostagent/soak-small/two-hours-with-everything-that-can-go-wrong"
OVER_HTTP = "hostagent/soak-small/an-hour-over-http"
TOMBSTONES = "hostagent/scale/an-ended-holder-is-remembered-long-enough-and-not-for-ever"

MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/ended-session-stays-listed",
        breaks="HA-18",
        ruling=6,
        text="a session that has ended frees its devices and stays in the list of open sessions",
        killed_by=SMALL,
        patch=lambda seam: seam.replace(Sessions, "ended", stays_listed),
    ),
    Mutant(
        "hostagent/turn-line-never-removed",
        breaks="HA-18",
        ruling=12,
        text="for each session and device that ever met, an empty line of calls stays",
        killed_by=SMALL,
        patch=lines_stay,
    ),
    Mutant(
        "hostagent/answered-ids-pile-up",
        breaks="HA-18",
        ruling=10,
        text="the id of an answered call counts as in flight for ever",
        killed_by=OVER_HTTP,
        patch=lambda seam: seam.wrap(InFlight, "_one_call", ids_stay),
    ),
    Mutant(
        "hostagent/watcher-per-call-leaks",
        breaks="HA-18",
        ruling=13,
        text="each call's time limit is watched by a task that outlives the call",
        killed_by=SMALL,
        patch=lambda seam: seam.wrap(LeasedCalls, "_perform", watcher_per_call),
    ),
    Mutant(
        "hostagent/calls-are-remembered",
        breaks="HA-18",
        text="every call that ever was is kept",
        killed_by=SMALL,
        patch=lambda seam: seam.wrap(LeasedCalls, "_carry_out", calls_are_remembered),
    ),
    Mutant(
        "hostagent/failed-call-stays-driving",
        breaks="HA-18",
        ruling=13,
        text="a driver that failed counts as busy for ever",
        killed_by=SMALL,
        patch=lambda seam: seam.wrap(LeasedCalls, "_perform", failed_stays),
    ),
    Mutant(
        "hostagent/left-over-quarantine-stays",
        breaks="HA-18",
        text="a device that acted for a host agent that was killed is never let out of quarantine",
        killed_by=SMALL,
        patch=lambda seam: seam.replace(predecessor, "_lift_when_idle", never_lifted),
    ),
    Mutant(
        "hostagent/start-leaks-a-file",
        breaks="HA-18",
        text="each start of the host agent leaves a file open",
        killed_by=SMALL,
        patch=lambda seam: seam.wrap(InstanceLock, "acquire", file_left_open),
    ),
    Mutant(
        "hostagent/sweep-takes-one-too-many",
        breaks="HA-18",
        text="sweeping an expired lease drops the next one too, which is not expired",
        killed_by=SMALL,
        patch=lambda seam: seam.wrap(LeaseTable, "_sweep_one", one_too_many),
    ),
    Mutant(
        "hostagent/tombstones-for-ever",
        breaks="HA-18",
        ruling=6,
        text="every session that ever ended is remembered for ever",
        killed_by=TOMBSTONES,
        patch=lambda seam: seam.replace(lease, "forgettable", lambda ended_for_ns, keep_ns, beyond_kept: False),
    ),
    Mutant(
        "hostagent/tombstones-by-number-only",
        breaks="HA-18",
        ruling=6,
        text="a session is forgotten as soon as enough others have ended, while calls of it may still come",
        killed_by=TOMBSTONES,
        patch=lambda seam: seam.replace(
            lease, "forgettable", lambda ended_for_ns, keep_ns, beyond_kept: beyond_kept > 0
        ),
    ),
]
