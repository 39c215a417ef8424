"""What do many sessions that want the same devices get from a lease store? One closed loop, measured at the devices.

A session takes a device, uses it, gives it back, and begins again; nobody pauses on purpose. Sessions are tasks of one
event loop, as in a host agent, or threads. How often a device had two users at once is counted at the device itself,
by a lock per device that the store knows nothing of.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Literal, Protocol

from lasttick.bench.figures import jain, percentile
from lasttick.bench.rounds import real_ns
from lasttick.model.lease import Decision, Granted, Holder

Drive = Literal["tasks", "threads"]
Take = Callable[[str, Holder, "Session"], Coroutine[Any, Any, bool]]
Give = Callable[[str, Holder], Coroutine[Any, Any, object]]

CHOICES = 251


class Retried(Protocol):
    """A store that refuses: the two transitions of `ports.LeaseStore` that this loop needs."""

    async def acquire(self, device_id: str, holder: Holder) -> Decision: ...

    async def release(self, device_id: str, holder: Holder) -> bool: ...


class Queued(Protocol):
    """A store with a fair line: the two calls of the busy tracker."""

    async def wait_until_usable(self, device_id: str, session_id: str, *, timeout: float) -> bool: ...

    def release_device(self, device_id: str, session_id: str) -> bool: ...


class Device:
    """A device that can tell when it has two users. Not the store's business, and not by its means."""

    def __init__(self, device_id: str) -> None:
        self.device_id = device_id
        self.doubles = 0
        self._user = Lock()

    async def use(self) -> None:
        """Be driven, for as long as the others take to have their turn once."""
        alone = self._user.acquire(blocking=False)
        if not alone:
            self.doubles += 1
        await asyncio.sleep(0)
        if alone:
            self._user.release()


@dataclass(slots=True)
class Session:
    """One session's own record: nanoseconds per acquire, and from wanting a device to holding it."""

    holder: Holder
    choices: Sequence[Device]
    until_ns: int = 0
    grants: int = 0
    acquires_ns: list[int] = field(default_factory=list)
    waits_ns: list[int] = field(default_factory=list)

    def over(self) -> bool:
        return real_ns() >= self.until_ns

    async def live(self, take: Take, give: Give) -> None:
        """The closed loop, until the time is over; a wait that the end cuts off counts as long as it was."""
        turn = 0
        while not self.over():
            device = self.choices[turn % CHOICES]
            turn += 1
            wanted_ns = real_ns()
            held = await take(device.device_id, self.holder, self)
            self.waits_ns.append(real_ns() - wanted_ns)
            if held:
                self.grants += not self.over()
                await device.use()
                await give(device.device_id, self.holder)
                await asyncio.sleep(0)  # the next want is another request: nobody keeps a device by being quick


def retrying(store: Retried) -> tuple[Take, Give]:
    """Refuse and retry: whoever is refused asks again after everybody else had a turn."""

    async def take(device_id: str, holder: Holder, session: Session) -> bool:
        while True:
            asked_ns = real_ns()
            decision = await store.acquire(device_id, holder)
            session.acquires_ns.append(real_ns() - asked_ns)
            if isinstance(decision, Granted):
                return True
            if session.over():
                return False
            await asyncio.sleep(0)

    return take, store.release


def lining_up(store: Queued) -> tuple[Take, Give]:
    """The fair line: whoever finds the device held waits to be handed it."""

    async def take(device_id: str, holder: Holder, session: Session) -> bool:
        asked_ns = real_ns()
        held = await store.wait_until_usable(device_id, holder.id, timeout=float("inf"))
        session.acquires_ns.append(real_ns() - asked_ns)
        return held

    async def give(device_id: str, holder: Holder) -> object:
        return store.release_device(device_id, holder.id)

    return take, give


@dataclass(frozen=True, slots=True)
class Seen:
    """One slice of one closed loop. Times in microseconds, `starvation_ms` in milliseconds."""

    grants_per_s: float
    acquire_p50_us: float
    acquire_p99_us: float
    held_p50_us: float
    held_p99_us: float
    jain: float
    starvation_ms: float
    """The longest that anybody waited for a device."""
    starved: float
    """Sessions that got nothing."""
    doubles: float
    """How often a device had a second user."""


def contend(
    take: Take, give: Give, *, sessions: int, devices: int, drive: Drive, slice_s: float, seed: int = 1
) -> Seen:
    """Run one slice. Which device a session wants next is drawn from `seed`, the same for every store."""
    rack = [Device(f"device-{number}") for number in range(devices)]
    stream = random.Random(seed)
    everybody = [
        Session(Holder("mcp", f"session-{number}"), stream.choices(rack, k=CHOICES)) for number in range(sessions)
    ]
    lives = [session.live(take, give) for session in everybody]

    def begin() -> None:
        until_ns = real_ns() + round(slice_s * 1e9)
        for session in everybody:
            session.until_ns = until_ns

    if drive == "tasks":
        asyncio.run(_together(lives, begin))
    else:
        _in_threads(lives, begin)
    return summed_up(everybody, rack, slice_s)


def summed_up(everybody: Sequence[Session], rack: Sequence[Device], slice_s: float) -> Seen:
    acquires = [taken / 1e3 for session in everybody for taken in session.acquires_ns]
    waits = [waited / 1e3 for session in everybody for waited in session.waits_ns]
    grants = [session.grants for session in everybody]
    return Seen(
        grants_per_s=sum(grants) / slice_s,
        acquire_p50_us=percentile(acquires, 50),
        acquire_p99_us=percentile(acquires, 99),
        held_p50_us=percentile(waits, 50),
        held_p99_us=percentile(waits, 99),
        jain=jain(grants),
        starvation_ms=max(waits, default=0.0) / 1e3,
        starved=grants.count(0),
        doubles=sum(device.doubles for device in rack),
    )


async def _together(lives: Sequence[Coroutine[Any, Any, None]], begin: Callable[[], None]) -> None:
    begin()  # here, not before: making a loop takes a part of a short slice
    await asyncio.gather(*lives)


def _in_threads(lives: Sequence[Coroutine[Any, Any, None]], begin: Callable[[], None]) -> None:
    """Each life in a thread of its own: where a task would let the others run, the thread does."""
    failures: list[BaseException] = []

    def drive(life: Coroutine[Any, Any, None]) -> None:
        try:
            while True:
                life.send(None)
                time.sleep(0)
        except StopIteration:
            pass
        except BaseException as failure:
            failures.append(failure)

    threads = [Thread(target=drive, args=(life,)) for life in lives]
    begin()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
