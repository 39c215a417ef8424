"""The small interfaces at which the parts of lasttick meet.

Rules live in `lasttick.model` and take `now` as an argument; references, fakes and targets meet only here, so that each
can be replaced by another (a virtual clock, a Redis store, a real phone) without the others knowing.
Source: contracts hostagent "Parts", world "Host agent's surface".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from lasttick.model.lease import Decision, Holder, LeaseView
from lasttick.model.shared_lease import SharedLease, Take

DriverHealth = Literal["ok", "offline", "error"]


@runtime_checkable
class Clock(Protocol):
    """Where a part gets its time from. Ages and deadlines use `now_ns`; `wall` is only for people's eyes."""

    def now_ns(self) -> int:
        """Monotonic nanoseconds; suspended time does not count (ruling HA-3)."""
        ...

    def wall(self) -> datetime:
        """Wall time, aware, UTC. May step backwards; nothing is decided on it."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait on the monotonic clock."""
        ...


@runtime_checkable
class Entropy(Protocol):
    """Where a part gets unguessable bytes from: the operating system, or a named stream of the run's seed."""

    def token_bytes(self, n: int) -> bytes: ...


class LeaseStore(Protocol):
    """Atomic transitions on the leases of one rack of devices; never get and put, so that Redis and PostgreSQL fit.

    Both sides, MCP sessions and cloud assignments, hold devices here: one arbiter, keyed by device (ruling HA-2).
    A holder that was ended is refused for ever (ruling HA-6). Every hold has a fencing token, larger than those of all
    earlier holds of the device. Every transition may raise StoreUnavailable.
    """

    @property
    def ttl_s(self) -> float: ...

    @property
    def shared(self) -> bool:
        """Whether other host agents use the same store: a device just taken may still act for a host that died."""
        ...

    async def acquire(self, device_id: str, holder: Holder) -> Decision:
        """Take a free device, or go on holding one's own (which counts as a use)."""
        ...

    async def begin_use(self, device_id: str, holder: Holder) -> Decision:
        """Acquire, and pin the lease while a driver call runs: a count, so every call needs its own `end_use`."""
        ...

    async def begin_own_use(self, device_id: str, holder: Holder) -> Decision:
        """`begin_use` on a live lease of one's own; never takes a device, as a lease handle may not (ruling HA-7)."""
        ...

    async def fence_above(self, device_id: str, seen: int) -> None:
        """The device has seen this token: those of its later holds are larger."""
        ...

    async def end_use(self, device_id: str, holder: Holder) -> bool:
        """Unpin one call. The TTL runs from here; an ended holder's lease goes with its last call."""
        ...

    async def release(self, device_id: str, holder: Holder) -> bool:
        """Give one device back. False when `holder` does not hold it. With calls in flight: when they end."""
        ...

    async def end_holder(self, holder: Holder) -> list[str]:
        """The holder is gone: free what it held, pinned devices when their calls end. Idempotent. Sorted device ids."""
        ...

    async def snapshot(self) -> list[LeaseView]:
        """What is held now, both kinds of holder, sorted by device id."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What a device is. `scale` is pixels per tap unit: 1 on Android, 2 or 3 on iOS, whose taps are in points."""

    device_id: str
    platform: Literal["android", "ios"]
    scale: int
    width_px: int
    height_px: int


class DriverError(Exception):
    """The device refused or failed an action. The message is for the caller's eyes (error matrix row 5)."""


class LeaseServer(Protocol):
    """Where several host agents keep one table of leases: each method is one atomic step of `model.shared_lease`.

    Times in microseconds of the server's own clock. Steps may be asked again after a lost answer: each happens once.
    Raises StoreUnavailable.
    """

    async def now_us(self) -> int: ...

    async def take(self, ask: Take, ttl_us: int) -> Decision: ...

    async def end_use(self, device_id: str, holder: Holder, pin: str, ttl_us: int) -> bool: ...

    async def keep(self, device_id: str, holder: Holder, host: str, ttl_us: int) -> bool: ...

    async def release(self, device_id: str, holder: Holder, ttl_us: int) -> bool: ...

    async def end_holder(self, holder: Holder, ttl_us: int) -> list[str]:
        """Tombstone the holder and give back what it holds. Sorted ids of what was held; [] when it had ended."""
        ...

    async def fence_above(self, seen: int) -> None: ...

    async def records(self, ttl_us: int) -> tuple[int, list[SharedLease]]:
        """The server's time, and what is held at it, sorted by device id."""
        ...

    async def aclose(self) -> None: ...


class StaleFence(DriverError):
    """The device has been given to a later holder: it refuses calls with an older fencing token for ever."""


class StoreUnavailable(Exception):
    """The lease store cannot be asked now, so nobody knows who holds the device. Nothing may be driven on a guess."""


class DeviceDriver(Protocol):
    """One device as the host agent drives it. Bounds in results are pixels; taps and swipes are in tap units.

    `fence` is the largest fencing token the device had seen when this driver was made, or when it last refused one.
    """

    @property
    def info(self) -> DeviceInfo: ...

    @property
    def fence(self) -> int: ...

    async def health(self) -> DriverHealth:
        """Cheap: may not wait for a running action."""
        ...

    async def left_over(self) -> bool:
        """Whether an action that somebody began before this driver existed still runs: a host killed while it drove."""
        ...

    async def claim(self, fence: int) -> bool:
        """From now on refuse tokens older than `fence`; False while somebody's action still runs on the device.

        Raises StaleFence when the device has seen a newer token, DriverError when it cannot be asked.
        """
        ...

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Mapping[str, Any]:
        """Run one of the nine leased tools; `arguments` come without `device_id`. JSON-able result.

        `fence`: the caller's fencing token; the device remembers the largest and refuses all that are smaller.
        Raises StaleFence, DriverError. May take long, may never return; a correct host never calls it twice at once on
        one device.
        """
        ...


class AsgiApp(Protocol):
    """An ASGI 3 application."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class Drivers(Protocol):
    """A rack: finds its devices once, at the start of a host agent."""

    async def drivers(self) -> Sequence[DeviceDriver]: ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ran to its end. `returncode` is negative for a signal."""

    returncode: int
    stdout: str
    stderr: str


class AgentProgram(Protocol):
    """How the trusted agent runs its agent program (Hermes): one turn, one program, its whole environment given."""

    async def run(self, argv: Sequence[str], env: Mapping[str, str]) -> Finished:
        """Run to the end. Raises TimeoutError when it takes longer than the turn may (the program is ended then)."""
        ...


class LineStream(Protocol):
    """The stdin and stdout of a child that speaks JSON lines, as its parent holds them."""

    def write(self, data: bytes) -> None: ...

    def lines(self) -> AsyncIterator[bytes]:
        """What the child writes, line by line, without the newline."""
        ...

    def close(self) -> None:
        """End of file on the child's stdin."""
        ...


class ChildPrograms(Protocol):
    """How an agent program starts the stdio servers of its configuration."""

    async def start(self, command: str, args: Sequence[str], env: Mapping[str, str]) -> LineStream:
        """Raises OSError when there is no such program."""
        ...
