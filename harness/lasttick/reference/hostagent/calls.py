"""What happens between a tool call and its device: checks, the session's turn, the lease, the driver, every way out.

The rule behind it: a request may go at any await (cancelled, dropped, its session deleted), the device does not. So
from taking the lease to giving it back everything runs in a task of its own, which ends when the *driver* ends; the
request only waits for its answer. Source: contract hostagent, rulings 1, 2, 6, 9, 12, 13 and 16.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any, cast

from lasttick.model import errors
from lasttick.model.errors import ToolError
from lasttick.model.lease import Decision, Granted, Holder, Refused
from lasttick.ports import Clock, DriverError, LeaseStore, StaleFence, StoreUnavailable
from lasttick.reference.hostagent import devices, predecessor, tools
from lasttick.reference.hostagent.devices import DeviceManager

log = logging.getLogger(__name__)

MAX_CALL_S = 300.0


class DriverCall:
    """One call on its way. `answer` is what the request waits for; it may be cancelled long before the driver ends."""

    __slots__ = ("answer", "arguments", "device_id", "error", "fence", "handle", "holder", "own_only", "result", "tool")

    def __init__(
        self,
        holder: Holder,
        tool: str,
        arguments: Mapping[str, Any],
        own_only: bool = False,
        handle: str | None = None,
    ) -> None:
        self.holder = holder
        self.own_only = own_only
        self.handle = handle
        self.fence: int | None = None
        self.tool = tool
        self.arguments = arguments
        self.device_id: str = arguments["device_id"]
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.result: dict[str, Any] | None = None
        self.error: Exception | None = None

    def settle(self) -> None:
        """Give the request what there is, result or error; nothing when it is gone or has its answer."""
        if self.answer.done():
            return
        if self.error is None and self.result is not None:
            self.answer.set_result(self.result)
            return
        error = self.error
        if error is None:  # only a stop of the host agent leaves neither, and the lease goes with it
            error = errors.stopping(self.device_id)
        elif self.handle is not None and self.fence is not None and isinstance(error, ToolError):
            error = errors.with_handle(error, self.handle)
        self.answer.set_exception(error)
        self.answer.exception()  # marks it as seen: nobody may be waiting any more


class Turns:
    """Whose turn is it on a device, among the calls of one holder? First in, first out (ruling 12)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: dict[tuple[str, Holder], deque[asyncio.Future[bool]]] = {}

    async def take(self, device_id: str, holder: Holder, wait_s: float) -> bool:
        """Wait for the turn; False when it did not come within `wait_s`. A cancelled waiter leaves the line."""
        line = self._lines.get((device_id, holder))
        if line is None:
            self._lines[(device_id, holder)] = deque()
            return True
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line.append(turn)
        timer = asyncio.ensure_future(self._clock.sleep(wait_s))

        def too_late(_: object) -> None:
            if not turn.done():
                turn.set_result(False)

        timer.add_done_callback(too_late)
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.result():  # cancelled in the instant in which the turn came
                self.give(device_id, holder)
            raise
        finally:
            timer.cancel()
            if turn in line:
                line.remove(turn)

    def give(self, device_id: str, holder: Holder) -> None:
        """The call whose turn it was has ended: the next in line, if any, goes."""
        line = self._lines.pop((device_id, holder), None)
        while line:
            turn = line.popleft()
            if not turn.done():
                self._lines[(device_id, holder)] = line
                turn.set_result(True)
                return


class LeasedCalls:
    """The one way to a device for MCP sessions and cloud assignments.

    `max_call_s`: how long a driver call may take, and how long a call waits for its own session's earlier one.
    """

    def __init__(self, manager: DeviceManager, store: LeaseStore, clock: Clock, max_call_s: float = MAX_CALL_S) -> None:
        self._manager = manager
        self._store = store
        self._clock = clock
        self._max_call_s = max_call_s
        self._max_call_ns = round(max_call_s * 1e9)
        self._handlers = tools.tool_handlers(manager=manager)
        self._turns = Turns(clock)
        self._running: dict[asyncio.Task[None], DriverCall] = {}
        self._driving: dict[DriverCall, int] = {}
        """The calls that a driver is busy with, oldest first, and from when on that is too long (ns)."""
        self._watcher: asyncio.Task[None] | None = None
        self._watches: dict[asyncio.Task[None], None] = {}
        """The devices that still act for another host agent."""
        self._claimed: dict[str, int] = {}
        """Of each device of a shared store, the fencing token with which it said that nobody drives it."""

    async def run(
        self,
        holder: Holder | None,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        own_only: bool = False,
        handle: str | None = None,
    ) -> dict[str, Any]:
        """Call one of the 11 tools for `holder`. Raises ToolError; never waits for another holder's lease (ruling 16).

        `own_only`: the holder may go on with what it holds and take nothing (a lease handle that was presented).
        `handle`: what the caller has to be told when the device is its own from now on and the call fails.
        A cloud assignment that holds its device by a `begin_use` of its own calls this too: each call then adds a pin
        that outlives a cancelled assignment until the driver has ended.
        """
        spec = tools.check_arguments(tool, arguments)
        if not spec.leased:
            return await self._status(tool, arguments)
        device_id = arguments["device_id"]
        self._manager.get(device_id)
        if holder is None:
            error = errors.no_session(
                "this host agent gives no lease handles (option stateless_handles), so the leased tools need an MCP "
                "session (protocol 2025-11-25 or older, header mcp-session-id); connect with the initialize "
                "handshake; list_devices and device_status work without"
            )
            log.error("%s on device %s: %s", tool, device_id, error)
            raise error
        self._refuse_quarantined(device_id)
        if not await self._turns.take(device_id, holder, self._max_call_s):
            raise self._busy(device_id, holder, own=True)
        call = DriverCall(holder, tool, arguments, own_only, handle)
        self._running[asyncio.get_running_loop().create_task(self._carry_out(call))] = call
        return await self._answer(call)

    async def aclose(self) -> None:
        """The host agent stops: cancel what the drivers still do, and wait until they have ended."""
        tasks = [*self._running, *self._watches]
        if self._watcher is not None:
            tasks.append(self._watcher)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for call in self._running.values():
            call.settle()  # its task was cancelled before its first step
        self._running.clear()

    async def _answer(self, call: DriverCall) -> dict[str, Any]:
        """Wait as the request. Cancelling it cancels the answer, not the driver call."""
        return await call.answer

    async def _carry_out(self, call: DriverCall) -> None:
        """Lease, driver, and back; in this order whatever happens to the request."""
        try:
            decision = await self._begin(call)
            if isinstance(decision, Refused):
                call.error = self._refusal(call.device_id, call.holder, decision)
                return
            call.fence = decision.fence
            try:
                if not call.answer.cancelled() and await self._is_idle(call, decision):
                    await self._perform(call)
            finally:
                await self._unpin(call)
        except StoreUnavailable as error:
            log.warning("device %s: %s", call.device_id, error)
            if call.result is None and call.error is None:
                call.error = errors.store_unavailable(call.device_id)
        except Exception as error:
            call.error = error
        finally:
            self._turns.give(call.device_id, call.holder)
            del self._running[cast("asyncio.Task[None]", asyncio.current_task())]
            call.settle()

    async def _begin(self, call: DriverCall) -> Decision:
        """Take or keep the lease and pin it, in one atomic step; a busy device is refused at once (rulings 2, 16)."""
        begin = self._store.begin_own_use if call.own_only else self._store.begin_use
        return await begin(call.device_id, call.holder)

    async def _is_idle(self, call: DriverCall, decision: Granted) -> bool:
        """Whether nobody else drives the device. False leaves the error in the call.

        In a shared store a lease also ends because its host agent died or was cut off, and the device may still act
        for that one: it is told of the new token first, and quarantined until it has ended what it does (HA-05).
        Not only when the grant is fresh: an assignment takes its device before its first call, and the answer that
        said "fresh" may have been lost.
        """
        if not self._store.shared or self._claimed.get(call.device_id) == decision.fence:
            return True
        driver = self._manager.get(call.device_id)
        try:
            if await driver.claim(decision.fence):
                self._claimed[call.device_id] = decision.fence
                return True
            call.error = errors.driver_stuck(call.device_id, self._max_call_s)
            acts = functools.partial(predecessor.acts_for_another, driver, decision.fence)
            watch = predecessor.watch(self._manager, driver, acts, self._clock)
            self._watches[watch] = None
            watch.add_done_callback(self._watches.pop)
        except StaleFence:
            await self._lost(call)
        except DriverError as error:
            call.error = errors.driver_error(call.device_id, str(error))
        return False

    async def _lost(self, call: DriverCall) -> None:
        """The device knows a later token than this hold's. If the store takes the hold for good (it forgot a later one,
        and its clock is behind), the holder would renew for ever what opens nothing: it goes, and the next is newer.
        """
        call.error = errors.lease_lost(call.device_id)
        if not self._store.shared:
            return
        try:
            await self._store.fence_above(call.device_id, self._manager.get(call.device_id).fence)
        except ValueError as error:
            log.error("device %s: %s", call.device_id, error)
        await self._store.release(call.device_id, call.holder)

    async def _unpin(self, call: DriverCall) -> None:
        """The driver has ended, well (`call.result`) or badly (`call.error`): the TTL runs from here (ruling 1).

        A lease that the device does not honour is given back: kept, it would be refused there again and again, and a
        caller whose first call this was has no handle to it.
        """
        await self._store.end_use(call.device_id, call.holder)
        if isinstance(call.error, ToolError) and call.error.reason == "lease_lost":
            await self._store.release(call.device_id, call.holder)

    async def _perform(self, call: DriverCall) -> None:
        self._driving[call] = self._clock.now_ns() + self._max_call_ns
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.get_running_loop().create_task(self._watch(call))
        try:
            call.result = await self._handlers[call.tool](**call.arguments, fence=call.fence)
        except StaleFence:
            log.warning("device %s refused %s: its lease was lost to a later holder", call.device_id, call.tool)
            await self._lost(call)
        except Exception as error:
            log.warning("device %s failed in %s: %s", call.device_id, call.tool, error, exc_info=error)
            call.error = errors.driver_error(call.device_id, str(error) or type(error).__name__)
        finally:
            self._driving.pop(call, None)
            self._returned(call)

    async def _watch(self, call: DriverCall) -> None:
        """Until no driver is busy; `call` is the oldest. One timer for all calls: it may find that none is too long."""
        wait_s = self._max_call_s
        while True:
            await self._clock.sleep(wait_s)
            now_ns = self._clock.now_ns()
            while self._driving:
                call, too_long_ns = next(iter(self._driving.items()))
                if now_ns < too_long_ns:
                    wait_s = (too_long_ns - now_ns) / 1e9
                    break
                del self._driving[call]
                self._stuck(call)
            else:
                return

    def _stuck(self, call: DriverCall) -> None:
        """The driver call runs too long: answer, and let nobody near the device until it returns (ruling 13)."""
        log.warning("device %s: %s still runs after %g s; quarantined", call.device_id, call.tool, self._max_call_s)
        self._manager.quarantine(call.device_id, "driver_stuck")
        call.error = errors.driver_stuck(call.device_id, self._max_call_s)
        call.settle()

    def _returned(self, call: DriverCall) -> None:
        if self._manager.quarantined(call.device_id) is not None:
            log.warning("device %s: %s returned; out of quarantine", call.device_id, call.tool)
            self._manager.lift_quarantine(call.device_id)

    def _refuse_quarantined(self, device_id: str) -> None:
        if self._manager.quarantined(device_id) is not None:
            raise errors.driver_stuck(device_id, self._max_call_s)

    def _refusal(self, device_id: str, holder: Holder, decision: Refused) -> ToolError:
        if decision.why == "not_held":
            return errors.unknown_handle(device_id)
        if decision.owner is None:
            return errors.no_session("this session has ended; initialize a new one and call again")
        return self._busy(device_id, decision.owner, own=decision.owner == holder)

    def _busy(self, device_id: str, owner: Holder, *, own: bool) -> ToolError:
        error = errors.device_busy(device_id, owner, own=own)
        log.debug("%s", error)
        return error

    async def _status(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """`list_devices` and `device_status`: they look at leases and never take or renew one (ruling 4)."""
        answer = await self._handlers[tool](**arguments)
        try:
            owners = {view.device_id: view.holder for view in await self._store.snapshot()}
        except StoreUnavailable as error:
            log.warning("%s: %s", tool, error)
            raise errors.store_unavailable(arguments.get("device_id")) from None

        def row(raw: dict[str, Any]) -> dict[str, Any]:
            device_id = raw["device_id"]
            return devices.with_status(raw, owners.get(device_id), self._manager.quarantined(device_id))

        if tool == "list_devices":
            return {"devices": [row(raw) for raw in answer["devices"]]}
        return row(answer)
