"""Which phones do MCP sessions hold, and how does one wait for a phone fairly? The seed's tracker, by the rulings.

The synchronous methods may be called from any thread. The leases are those of a `MemoryLeaseStore`: its own, or with
`McpBusyTracker.over(store)` a host agent's, where cloud assignments hold devices too.

Waiting (ruling HA-16): first in, first out, and nobody passes a line. Whoever makes or finds a device free hands it to
the first in line before anything else is decided, so `True` means the caller holds the lease already. A waiter that
must ask the cloud first cannot be handed anything by others, since its question may take locks of its own: the device
is kept for it, and it is rung to come and ask. Nothing is polled except a cloud that said it was busy.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from lasttick.model.lease import Answer, Holder
from lasttick.ports import Clock
from lasttick.reference.hostagent.lease_table import LeaseTable
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore


@lru_cache(maxsize=4096)
def _session(session_id: str) -> Holder:
    """The session as a holder; remembered, since making one is a fifth of a lease call."""
    return Holder("mcp", session_id)


@dataclass(frozen=True, slots=True)
class McpDeviceLease:
    """One MCP lease for people to look at: the times are wall times as the clock tells them now, UTC."""

    device_id: str
    session_id: str
    acquired_at: datetime
    last_seen_at: datetime


class McpBusyTracker:
    """The leases of MCP sessions under the seed's names. Raises ValueError as `MemoryLeaseStore` does."""

    def __init__(self, *, clock: Clock, ttl_seconds: float = 60.0) -> None:
        self._use(MemoryLeaseStore(clock, ttl_seconds))

    @classmethod
    def over(cls, store: MemoryLeaseStore) -> McpBusyTracker:
        """A tracker of the leases in `store`, with the store's clock, TTL and lock."""
        tracker = cls.__new__(cls)
        tracker._use(store)
        return tracker

    def _use(self, store: MemoryLeaseStore) -> None:
        self._clock, self._now_ns, self._lock, self._table = store.clock, store.now_ns, store.lock, store.table

    def acquire(self, device_id: str, session_id: str) -> bool:
        """Take a free device or go on holding one's own. False when another holds it or the session has ended."""
        with self._lock:
            return self._table.take(self._now_ns(), device_id, _session(session_id)) in ("fresh", "again")

    def renew(self, device_id: str, session_id: str) -> bool:
        """Restart the TTL. False when the session has no live lease on the device: then `acquire` again."""
        with self._lock:
            return self._table.renew(self._now_ns(), device_id, _session(session_id))

    def release(self, session_id: str) -> list[str]:
        """The session has ended, for ever. The ids of what it held, sorted; those in a call go when the call ends."""
        with self._lock:
            return self._table.end_holder(self._now_ns(), _session(session_id))

    def release_device(self, device_id: str, session_id: str) -> bool:
        """Give one device back. False when the session has no live lease on it."""
        with self._lock:
            return self._table.release(self._now_ns(), device_id, _session(session_id))

    def busy_device_ids(self) -> list[str]:
        """Ids of the devices that MCP sessions hold, sorted: what the heartbeat reports."""
        with self._lock:
            return self._table.busy(self._now_ns(), "mcp")

    def snapshot(self) -> list[McpDeviceLease]:
        """The same devices with their sessions, sorted by device id."""
        with self._lock:
            now_ns = self._now_ns()
            views = self._table.snapshot(now_ns)
        wall = self._clock.wall()

        def at(instant_ns: int) -> datetime:
            return wall - timedelta(microseconds=(now_ns - instant_ns) // 1000)

        return [
            McpDeviceLease(view.device_id, view.holder.id, at(view.acquired_ns), at(view.last_used_ns))
            for view in views
            if view.holder.kind == "mcp"
        ]

    async def wait_until_usable(
        self,
        device_id: str,
        session_id: str,
        *,
        timeout: float,
        poll_interval: float = 1.0,
        cloud_busy_check: Callable[[], bool] | None = None,
    ) -> bool:
        """Wait in line for a device. True: the session holds it now. False: `timeout` seconds passed, or it ended.

        `timeout` 0 tries once, infinity waits for ever. `cloud_busy_check` is asked each time the device would be
        ours, and again every `poll_interval` seconds while it says yes. A cancelled wait leaves the line and gives on
        what it was just handed. Raises ValueError for a time-out or an interval that makes no sense.
        """
        if not timeout >= 0:
            raise ValueError(
                f"timeout is {timeout!r} s. It must be 0 (try once) or more, infinity to wait for ever (ruling HA-16). "
                "Pass the seconds you are ready to wait."
            )
        if not (math.isfinite(poll_interval) and poll_interval > 0):
            raise ValueError(
                f"poll_interval is {poll_interval!r} s. It must be a positive, finite number of seconds "
                "(ruling HA-16). Leave it out for 1 s."
            )
        waiter = _Waiter(_session(session_id), asks_cloud=cloud_busy_check is not None)
        deadline_ns = self._now_ns() + (timeout if math.isinf(timeout) else round(timeout * 1e9))
        with self._lock:
            line = WaitingLine.of(self._table, device_id)
            line.join(waiter)
        holds = False
        try:
            while True:
                # Outside the lock: the caller's question may take locks of its own.
                asked = cloud_busy_check is not None and self._is_turn(line, waiter)
                cloud_busy = asked and cloud_busy_check is not None and cloud_busy_check()
                with self._lock:
                    now_ns = self._now_ns()
                    line.serve(now_ns, come=waiter if asked and not cloud_busy else None)
                    if waiter.granted:
                        holds = line.take(now_ns, waiter) in ("fresh", "again")
                        if holds:
                            return True
                        # Lost before this ran: its session gave it back, or the loop stood still for a whole TTL.
                        line = WaitingLine.of(self._table, device_id)
                        line.rejoin(now_ns, waiter)
                    if waiter not in line.waiters or now_ns >= deadline_ns:
                        return False
                    poll_ns = now_ns + round(poll_interval * 1e9) if cloud_busy else math.inf
                    bell = waiter.sleep_until(min(poll_ns, deadline_ns), polls=cloud_busy)
                    if not cloud_busy:
                        line.set_alarm(now_ns, waiter, self._alarm)
                await self._rest(bell, (waiter.wake_ns - now_ns) / 1e9)
        finally:
            with self._lock:
                line.leave(self._now_ns(), waiter, holds=holds)

    def _is_turn(self, line: WaitingLine, waiter: _Waiter) -> bool:
        with self._lock:
            return line.is_turn(self._now_ns(), waiter)

    async def _rest(self, bell: asyncio.Future[None], seconds: float) -> None:
        """Until the bell rings or the time has come, whichever is first."""
        if math.isinf(seconds):
            await bell
            return
        alarm = asyncio.ensure_future(self._clock.sleep(max(0.0, seconds)))
        alarm.add_done_callback(lambda _: _set(bell))
        try:
            await bell
        finally:
            alarm.cancel()

    async def _alarm(self, line: WaitingLine, seconds: float) -> None:
        """The lease that a line waits for may have expired."""
        await self._clock.sleep(seconds)
        with self._lock:
            line.alarm = None
            line.serve(self._now_ns())


def _set(bell: asyncio.Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)


def _in_loop(loop: asyncio.AbstractEventLoop, action: Callable[..., object], *arguments: object) -> None:
    """Do it now if this is that loop's thread, else let that loop do it; nothing if the loop is closed."""
    if loop.is_closed():
        return
    try:
        here = asyncio.get_running_loop() is loop
    except RuntimeError:
        here = False
    if here:
        action(*arguments)
    else:
        loop.call_soon_threadsafe(action, *arguments)


class _Waiter:
    """One call of `wait_until_usable`. All but the sound of its bell is used under the arbiter's lock."""

    def __init__(self, holder: Holder, *, asks_cloud: bool) -> None:
        self.holder = holder
        self.asks_cloud = asks_cloud
        self.granted = False
        self.handed: list[_Waiter] = []
        """The waiters of this session that share what was handed to one of them."""
        self.wake_ns: float = 0
        """When this wait looks again by itself: at its time-out, or when the cloud has to be asked again."""
        self.polls = False
        self.loop = asyncio.get_running_loop()
        self._bell: asyncio.Future[None] | None = None

    def sleep_until(self, wake_ns: float, *, polls: bool) -> asyncio.Future[None]:
        """The bell to wait for; `polls`: the cloud was busy and has to be asked again at `wake_ns`, not before."""
        self.wake_ns = wake_ns
        self.polls = polls
        self._bell = self.loop.create_future()
        return self._bell

    def ring(self) -> None:
        if self._bell is not None:
            _in_loop(self.loop, _set, self._bell)


@dataclass(frozen=True, slots=True)
class _Alarm:
    """The task that looks at a line when its lease expires. It serves waiters of its own loop only."""

    at_ns: float
    task: asyncio.Task[None]

    def rings_for(self, waiter: _Waiter) -> bool:
        return self.task.get_loop() is waiter.loop and not self.task.done()

    def cancel(self) -> None:
        _in_loop(self.task.get_loop(), self.task.cancel)


class WaitingLine:
    """The sessions that wait for one device, first in front: a `lease_table.Line`, there while somebody waits.

    Nothing here looks at all waiters, so that a hand-over costs the same however long the line is. For the same reason
    the line has one alarm for the expiry of the lease, which stays when the device is handed on: it may ring too early,
    since later leases expire later, and never too late.
    """

    def __init__(self, table: LeaseTable, device_id: str) -> None:
        self.waiters: OrderedDict[_Waiter, None] = OrderedDict()
        self.alarm: _Alarm | None = None
        self._of_holder: dict[Holder, list[_Waiter]] = {}
        self._table = table
        self._device_id = device_id
        self._handed: list[_Waiter] = []

    @classmethod
    def of(cls, table: LeaseTable, device_id: str) -> WaitingLine:
        line = table.lines.get(device_id)
        if not isinstance(line, cls):
            line = table.lines[device_id] = cls(table, device_id)
        return line

    def join(self, waiter: _Waiter) -> None:
        """To the end of the line; not for a session that has ended."""
        if not self._table.has_ended(waiter.holder):
            self.waiters[waiter] = None
            self._of_holder.setdefault(waiter.holder, []).append(waiter)

    def serve(self, now_ns: int, come: _Waiter | None = None) -> Holder | None:
        """Hand over what can be handed over. `come` has asked the cloud and may be given the device."""
        owner = self._table.owner(now_ns, self._device_id)
        first = self._first()
        if owner is None and first is not None:
            if first.asks_cloud and first is not come:
                if not first.polls:
                    first.ring()
                return first.holder
            self._hand_over(now_ns, first)
            owner = first.holder
        if owner in self._of_holder:
            # The other waits of a session that holds the device have what they wait for: they pass nobody.
            for waiter in list(self._of_holder[owner]):
                if waiter.asks_cloud and waiter is not come:
                    if not waiter.polls:  # else two of them ring each other without end
                        waiter.ring()
                else:
                    self._hand_over(now_ns, waiter)
        first = self._first()
        if first is not None and self._free_ns() < min(first.wake_ns, self._alarm_ns(first)):
            first.ring()
        return None

    def holder_ended(self, now_ns: int, holder: Holder) -> None:
        """A session is gone: its waits end, and what it held may be handed over."""
        if self._table.has_ended(holder):
            for waiter in self._of_holder.get(holder, [])[:]:
                self._remove(waiter)
                waiter.ring()
        self.serve(now_ns)

    def rejoin(self, now_ns: int, waiter: _Waiter) -> None:
        """Back to the front for a waiter that lost what it was handed."""
        waiter.granted, waiter.handed = False, []
        self.join(waiter)
        if waiter in self.waiters:
            self.waiters.move_to_end(waiter, last=False)
        self.serve(now_ns)

    def is_turn(self, now_ns: int, waiter: _Waiter) -> bool:
        """Could `waiter` have the device now, if the cloud lets go of it?"""
        owner = self._table.owner(now_ns, self._device_id)
        return owner == waiter.holder or (owner is None and self._first() is waiter)

    def set_alarm(self, now_ns: int, waiter: _Waiter, alarm: Callable[[WaitingLine, float], Any]) -> None:
        """Somebody has to look at the expiry, if no bell rings: the first in line sees to that, never the others."""
        free_ns = self._free_ns()
        if self._first() is waiter and free_ns < min(waiter.wake_ns, self._alarm_ns(waiter)):
            self._cancel_alarm()
            self.alarm = _Alarm(free_ns, waiter.loop.create_task(alarm(self, max(0.0, (free_ns - now_ns) / 1e9))))

    def leave(self, now_ns: int, waiter: _Waiter, *, holds: bool) -> None:
        """The wait is over. What was handed to a wait that did not live to take it goes to the next."""
        if waiter in self.waiters:
            self._remove(waiter)
        elif waiter.granted and not holds and waiter in waiter.handed:
            waiter.handed.remove(waiter)
            if not waiter.handed and self._table.free_ns(self._device_id) is not None:  # none of its calls runs
                self._table.release(now_ns, self._device_id, waiter.holder)
        if not holds:
            self.serve(now_ns)
        if not self.waiters and self._table.lines.get(self._device_id) is self:
            self._cancel_alarm()
            del self._table.lines[self._device_id]

    def take(self, now_ns: int, waiter: _Waiter) -> Answer:
        """What makes a wait's True true: the lease is taken before the waiter is told, and again as it returns."""
        return self._table.take_past_line(now_ns, self._device_id, waiter.holder)

    def _hand_over(self, now_ns: int, waiter: _Waiter) -> None:
        if self.take(now_ns, waiter) == "fresh":
            self._handed = waiter.handed = [waiter]
        elif self._handed and self._handed[0].holder == waiter.holder:
            waiter.handed = self._handed
            self._handed.append(waiter)
        self._remove(waiter)
        waiter.granted = True
        waiter.ring()

    def _first(self) -> _Waiter | None:
        return next(iter(self.waiters), None)

    def _remove(self, waiter: _Waiter) -> None:
        del self.waiters[waiter]
        waits = self._of_holder[waiter.holder]
        waits.remove(waiter)
        if not waits:
            del self._of_holder[waiter.holder]

    def _free_ns(self) -> float:
        """When time alone frees the device."""
        free_ns = self._table.free_ns(self._device_id)
        return math.inf if free_ns is None else free_ns

    def _alarm_ns(self, waiter: _Waiter) -> float:
        """When the alarm rings for `waiter`."""
        return self.alarm.at_ns if self.alarm is not None and self.alarm.rings_for(waiter) else math.inf

    def _cancel_alarm(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
