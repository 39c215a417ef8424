"""How does a fake phone behave over time: how long does it take, and what if it breaks?

Each action runs in a task of the device's own, so a caller that goes away (cancelled, disconnected, killed) does not
stop it: a real phone finishes its tap. Actions that overlap are all performed: the device does not protect a host
from the host's own mistakes, because overlapping calls in its log are how the judge sees them. An action changes the
state in one step, at its end. Latency is zero unless a trouble or a swipe's `duration_ms` says otherwise.

Not modelled: a device that half-performs an action, that loses touches, or whose own clock differs from the rack's.
Source: contract hostagent, "fake drivers", rulings 1, 6, 12, 13.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.ports import Clock, DeviceInfo, DriverError, DriverHealth, StaleFence
from lasttick_fakes.devices import actions, state
from lasttick_fakes.devices.arguments import check
from lasttick_fakes.devices.log import OK, STOPPED, Log
from lasttick_fakes.devices.trouble import ANY_TOOL, BadTrouble, Trouble


@dataclass(slots=True)
class _Call:
    number: int
    tool: str
    arguments: dict[str, Any]
    done: asyncio.Future[dict[str, Any]]
    task: asyncio.Task[None] | None = None


class FakeDevice:
    """One phone. It is a `ports.DeviceDriver`; `trouble` is for scenarios, `state` for tests of the fake."""

    __slots__ = (
        "_clock",
        "_health",
        "_hung",
        "_log",
        "_planned",
        "_running",
        "_slow_s",
        "calls",
        "fence",
        "info",
        "last_end_ns",
        "state",
    )

    def __init__(self, info: DeviceInfo, clock: Clock, log: Log) -> None:
        self.info = info
        self.state = state.INITIAL
        self.calls = 0
        """How many actions have started here."""
        self.last_end_ns: int | None = None
        """When the latest action ended; None before the first end."""
        self.fence = 0
        """The largest fencing token seen; older ones are refused."""
        self._clock = clock
        self._log = log
        self._health: DriverHealth = "ok"
        self._hung: asyncio.Event | None = None
        self._slow_s: dict[str, float] = {}
        self._planned: dict[int, list[Trouble]] = {}
        self._running: dict[int, _Call] = {}

    async def health(self) -> DriverHealth:
        """Answers at once, also during an action and while the device hangs."""
        return self._health

    async def left_over(self) -> bool:
        """In this process nobody was here before."""
        return False

    @property
    def running(self) -> int:
        """How many actions are going on now."""
        return len(self._running)

    def as_json(self) -> dict[str, Any]:
        """`{device_id, platform, scale, width_px, height_px, running, health, fence}`; `running` counts actions."""
        info = self.info
        return {
            "device_id": info.device_id,
            "platform": info.platform,
            "scale": info.scale,
            "width_px": info.width_px,
            "height_px": info.height_px,
            "running": self.running,
            "health": self._health,
            "fence": self.fence,
        }

    async def claim(self, fence: int) -> bool:
        """From now on refuse tokens older than `fence`; False while an action runs. Raises StaleFence."""
        if fence < self.fence:
            raise self._stale(fence)
        self.fence = fence
        return not self._running

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Mapping[str, Any]:
        """Run one action to its end and give its result. Cancelling the caller does not cancel the action.

        Without a `fence` the caller is let in: a rack without leases has none.
        Raises BadAction (nothing started, nothing logged), StaleFence (nothing started) or DriverError.
        """
        checked = check(tool, arguments)
        if fence is not None:
            if fence < self.fence:
                error = self._stale(fence)
                self._log.write(self.info.device_id, "refused", 0, tool, checked, f"refused: {error}")
                raise error
            self.fence = fence
        call = self._start(tool, checked)
        return await asyncio.shield(call.done)

    def trouble(self, trouble: Trouble) -> None:
        """Let it happen now, or when its call starts. Raises BadTrouble for a call that has started already."""
        if trouble.on_call is None:
            self._suffer(trouble)
        elif trouble.on_call <= self.calls:
            raise BadTrouble(
                f"trouble on call {trouble.on_call} of {self.info.device_id}, which has had {self.calls} calls; "
                "expected a later one; read `calls` first"
            )
        else:
            self._planned.setdefault(trouble.on_call, []).append(trouble)

    def stop(self) -> None:
        """The rack is closing: end every running action with the outcome "stopped"."""
        self._fail_running(DriverError(f"{self.info.device_id} was switched off"), STOPPED)

    def _start(self, tool: str, checked: dict[str, Any]) -> _Call:
        self.calls += 1
        call = _Call(self.calls, tool, checked, asyncio.get_running_loop().create_future())
        call.done.add_done_callback(_seen)
        self._running[call.number] = call
        self._log.write(self.info.device_id, "start", call.number, tool, checked)
        extra_s: float | None = None
        for planned in self._planned.pop(call.number, ()):
            if planned.kind != "slow":
                self._suffer(planned)
            elif planned.tool in (ANY_TOOL, tool):
                extra_s = planned.s
        if extra_s is None:
            extra_s = self._slow_s.get(tool, self._slow_s.get(ANY_TOOL, 0.0))
        if self._health == "ok":
            latency_s = extra_s + checked.get("duration_ms", 0) / 1000
            call.task = asyncio.create_task(self._act(call, latency_s), name=f"{self.info.device_id}#{call.number}")
            call.task.add_done_callback(lambda _: self._end(call, _stopped(self.info.device_id), STOPPED))
        else:
            self._end(call, self._unwell())
        return call

    async def _act(self, call: _Call, latency_s: float) -> None:
        if latency_s > 0:
            await self._clock.sleep(latency_s)
        while self._hung is not None:
            await self._hung.wait()
        try:
            self.state, result = actions.act(self.state, self.info, call.tool, call.arguments)
        except Exception as error:
            self._end(call, error)
        else:
            self._end(call, result)

    def _end(self, call: _Call, answer: dict[str, Any] | Exception, outcome: str | None = None) -> None:
        """The one end of a call: its line in the log, then its answer. Later ends of the same call are nothing."""
        if self._running.pop(call.number, None) is None:
            return
        failed = isinstance(answer, Exception)
        outcome = outcome or (f"error: {answer}" if failed else OK)
        entry = self._log.write(self.info.device_id, "end", call.number, call.tool, call.arguments, outcome)
        self.last_end_ns = entry.t_ns
        if isinstance(answer, Exception):
            call.done.set_exception(answer)
        else:
            call.done.set_result(answer)

    def _suffer(self, trouble: Trouble) -> None:
        match trouble.kind:
            case "slow":
                self._slow_s[trouble.tool] = trouble.s
            case "hang":
                self._hung = self._hung or asyncio.Event()
            case "disconnect":
                self._break("offline")
            case "crash":
                self.state = state.INITIAL
                self._break("error")
            case "heal":
                self._slow_s.clear()
                self._planned.clear()
                self._health = "ok"
                self._wake()

    def _break(self, health: DriverHealth) -> None:
        self._health = health
        self._fail_running(self._unwell())

    def _wake(self) -> None:
        hung, self._hung = self._hung, None
        if hung is not None:
            hung.set()

    def _fail_running(self, error: DriverError, outcome: str | None = None) -> None:
        for call in list(self._running.values()):
            self._end(call, error, outcome)
            if call.task is not None:
                call.task.cancel()

    def _stale(self, fence: int) -> StaleFence:
        return StaleFence(
            f"{self.info.device_id} refuses fencing token {fence}; expected {self.fence} or a later one, since a later "
            "holder was let in (contract hostagent, HA-05); acquire the device anew"
        )

    def _unwell(self) -> DriverError:
        what = "is disconnected" if self._health == "offline" else "has crashed"
        return DriverError(f"{self.info.device_id} {what}; a device must have health ok to act; wait until it is back")


def _stopped(device_id: str) -> DriverError:
    return DriverError(f"{device_id} was switched off during the action; start the rack again")


def _seen(future: asyncio.Future[dict[str, Any]]) -> None:
    """A failure whose caller has gone away is in the log already; asyncio need not complain that nobody took it."""
    if not future.cancelled():
        future.exception()
