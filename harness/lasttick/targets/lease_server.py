"""The lease store that several host agents of a world share, and its trouble. Hosts started with
`lease_store="shared"` use it: a fake one in virtual mode, a real Redis behind one link per host in process mode.

Trouble is written into the trace. A host whose answers are held back, or whose way is cut, can lose its leases before
their TTL: that is a `part.pause` of that host, up to its `part.resume`. A store that lost its memory is `store.lost`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

from lasttick.targets.outcome import Inconclusive

if TYPE_CHECKING:
    from lasttick.engine.trace import Trace
    from lasttick.targets.host import Host
    from lasttick_fakes.leases import FakeLeaseServer

SHARED = "shared"
ACTOR = "leases"


class SharedLeases:
    """What both modes can do: hold back the answers for one host, and let them go."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def hold(self, host: Host) -> None:
        """From now on the store does what this host asks, and its answers stay under way, until `release`."""
        self._tell("hold", host)
        self._trace.emit(host.options.name, "part.pause", why="the lease store's answers are held back")
        self._hold(host.options.name)

    def release(self, host: Host) -> None:
        self._tell("release", host)
        self._trace.emit(host.options.name, "part.resume")
        self._release(host.options.name)

    def cut(self, host: Host, when: Literal["before", "after"] = "before", steps: int | None = None) -> None:
        """The host's next `steps` steps fail, before or after they were done; all until `mend`, when None."""
        self._only_virtual("connections to the lease store that are cut at a step")

    def mend(self, host: Host) -> None:
        self._only_virtual("connections to the lease store that are cut at a step")

    def restart(self, *, empty: bool = False) -> None:
        """The store is gone and at once there again, with its memory or without."""
        self._only_virtual("a restart of the lease store")

    def fail_over(self, *, lost: int) -> None:
        """A copy takes over that missed the latest `lost` steps which changed anything."""
        self._only_virtual("a fail-over of the lease store")

    def step(self, seconds: float) -> None:
        """The store's own clock jumps."""
        self._only_virtual("the clock of the lease store")

    def _hold(self, name: str) -> None:
        self._only_virtual("a lease store whose answers are held back")

    def _release(self, name: str) -> None:
        self._only_virtual("a lease store whose answers are held back")

    def _only_virtual(self, what: str) -> NoReturn:
        raise Inconclusive(f"{what} can be had in virtual mode only")

    def _tell(self, what: str, host: Host | None = None, **data: Any) -> None:
        if host is not None:
            data["host"] = host.options.name
        self._trace.emit("harness", "trouble", None, what=f"lease-store-{what}", **data)


class FakeLeases(SharedLeases):
    """The trouble of the fake server. `server` is the fake itself."""

    def __init__(self, trace: Trace, server: FakeLeaseServer) -> None:
        super().__init__(trace)
        self.server = server

    def cut(self, host: Host, when: Literal["before", "after"] = "before", steps: int | None = None) -> None:
        self._tell("cut", host, when=when, steps=steps)
        if steps is None:
            self._trace.emit(host.options.name, "part.pause", why="cut off from the lease store")
        self.server.way(host.options.name).cut(when, steps)

    def mend(self, host: Host) -> None:
        self._tell("mend", host)
        self._trace.emit(host.options.name, "part.resume")
        self.server.way(host.options.name).mend()

    def restart(self, *, empty: bool = False) -> None:
        self._tell("restart", empty=empty)
        if empty:
            self._trace.emit(ACTOR, "store.lost")
        self.server.restart(empty=empty)

    def fail_over(self, *, lost: int) -> None:
        self._tell("fail-over", lost=lost)
        if lost:
            self._trace.emit(ACTOR, "store.lost")
        self.server.fail_over(lost=lost)

    def step(self, seconds: float) -> None:
        self._tell("step", seconds=seconds)
        self.server.step(seconds)

    def _hold(self, name: str) -> None:
        self.server.way(name).hold()

    def _release(self, name: str) -> None:
        self.server.way(name).release()
