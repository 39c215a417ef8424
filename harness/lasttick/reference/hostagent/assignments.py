"""How does a cloud assignment get a device, and give it back whatever happens?

The executor asks the one arbiter for the device in the same step that pins it; it never looks first and acts later
(ruling HA-2). A device that somebody holds fails the assignment at once: nobody waits (ruling HA-16, D11). The hold
ends when the assignment does, or with the driver call that outlives it. Source: HA-09; seed 002, 5.5 and 6.4.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from lasttick.model import goal as goals
from lasttick.model.errors import ToolError
from lasttick.model.geometry import tap_point
from lasttick.model.lease import Decision, Holder, Refused
from lasttick.ports import Clock, DeviceDriver, DriverError, LeaseStore
from lasttick.reference.hostagent import tools
from lasttick.reference.hostagent.cloud_client import Status
from lasttick.reference.hostagent.devices import DeviceManager

logger = logging.getLogger(__name__)

HELD_BY_MCP = "device held by active MCP session"
HELD_BY_CLOUD = "device held by another assignment"
ENDED = "assignment has already ended"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a workflow; `arguments` without `device_id`."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One try of a task on one device: a workflow's calls, or a goal's planned steps, in order."""

    assignment_id: str
    device_id: str
    steps: tuple[Call | goals.GoalStep, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an assignment ended, as the cloud is told. `failure_reason` is None exactly when it succeeded."""

    status: Status
    failure_reason: str | None = None


SUCCEEDED = Outcome("succeeded")


class Failure(Exception):
    """The assignment failed; the message is its failure_reason."""


def parse(data: Mapping[str, Any]) -> Assignment:
    """An assignment from the wire `{assignment_id, device_id, kind, goal or workflow}`. Raises Failure.

    Goals are planned and arguments checked here, before anything touches the device.
    """
    kind, goal, workflow = data.get("kind"), data.get("goal"), data.get("workflow")
    assignment_id, device_id = data.get("assignment_id"), data.get("device_id")
    if not isinstance(assignment_id, str) or not isinstance(device_id, str):
        raise Failure(f"bad assignment: assignment_id {assignment_id!r}, device_id {device_id!r}; expected two texts")
    try:
        if kind == "goal" and isinstance(goal, str):
            return Assignment(assignment_id, device_id, goals.plan(goal))
        if kind == "workflow" and isinstance(workflow, list):
            return Assignment(assignment_id, device_id, tuple(_call(device_id, step) for step in workflow))
    except (goals.GoalError, ToolError) as error:
        raise Failure(str(error)) from error
    raise Failure(f"bad assignment: kind is {kind!r}; expected goal with a text, or workflow with a list")


async def take(store: LeaseStore, device_id: str, holder: Holder) -> Decision:
    """Get the device for an assignment, or learn at once who has it: one atomic step (ruling HA-2)."""
    return await store.begin_use(device_id, holder)


async def free(store: LeaseStore, device_id: str, holder: Holder, call: asyncio.Task[Any] | None) -> None:
    """The assignment is over: its hold goes now, or with the driver call still running (rulings HA-1, HA-2)."""
    await store.end_holder(holder)
    if call is not None:
        await asyncio.wait({call})
    await store.end_use(device_id, holder)


class AssignmentExecutor:
    """Runs assignments, any number at once. `close` ends what still runs in the background."""

    def __init__(
        self,
        *,
        store: LeaseStore,
        manager: DeviceManager,
        clock: Clock,
        max_call_s: float,
    ) -> None:
        self._store = store
        self._manager = manager
        self._clock = clock
        self._max_call_s = max_call_s
        self._background: dict[asyncio.Task[Any], None] = {}

    async def execute(self, assignment: Assignment) -> Outcome:
        """Run one assignment to its end. Never raises, except when it is cancelled."""
        try:
            driver = self._manager.get(assignment.device_id)
        except ToolError as error:
            return Outcome("failed", error.message)
        holder = Holder("cloud", assignment.assignment_id)
        run = _Run(driver, self._clock, self._max_call_s, self._spawn)
        try:
            decision = await take(self._store, assignment.device_id, holder)
            if isinstance(decision, Refused):
                return _refusal(assignment, decision)
            for step in assignment.steps:
                await run.step(step)
        except (Failure, DriverError) as error:
            return Outcome("failed", str(error) or type(error).__name__)
        except Exception as error:
            logger.exception("assignment %s failed", assignment.assignment_id)
            return Outcome("failed", f"internal error: {type(error).__name__}")
        finally:
            call = run.unfinished_call()
            freeing = self._spawn(free(self._store, assignment.device_id, holder, call))
            if call is None:
                await asyncio.shield(freeing)
        return SUCCEEDED

    async def close(self) -> None:
        """The process ends: forget driver calls that are still running; their leases go with the process (row 14)."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._background[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        del self._background[task]
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have


class _Run:
    """The driver calls of one assignment, one after the other."""

    def __init__(
        self,
        driver: DeviceDriver,
        clock: Clock,
        max_call_s: float,
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
    ) -> None:
        self._driver = driver
        self._clock = clock
        self._max_call_s = max_call_s
        self._spawn = spawn
        self._call: asyncio.Task[Any] | None = None

    def unfinished_call(self) -> asyncio.Task[Any] | None:
        return None if self._call is None or self._call.done() else self._call

    async def step(self, step: Call | goals.GoalStep) -> None:
        """Raises Failure or DriverError."""
        match step:
            case Call(tool, arguments):
                await self._perform(tool, arguments)
            case goals.Open(app):
                await self._perform("launch_app", {"app": app})
            case goals.Type(text):
                await self._perform("input_text", {"text": text})
            case goals.Tap(label):
                found = await self._perform("find_text", {"text": label})
                matches = found.get("matches") or []
                if not matches:
                    raise Failure(f"no {label!r} on the screen")
                best = next((match for match in matches if match.get("text") == label), matches[0])
                x, y = tap_point(best["bounds"], self._driver.info.scale)
                await self._perform("tap", {"x": x, "y": y})

    async def _perform(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """One driver call in a task of its own: cancelling the assignment does not stop a finger that already moves."""
        self._call = call = self._spawn(self._driver.perform(tool, arguments))
        timer = self._spawn(self._clock.sleep(self._max_call_s))
        try:
            await asyncio.wait((call, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if not call.done():
            raise Failure(f"driver stuck: {tool} did not return within {self._max_call_s:g} s")
        result: Mapping[str, Any] = call.result()
        return result


def _call(device_id: str, step: object) -> Call:
    tool = step.get("tool") if isinstance(step, dict) else None
    arguments = step.get("arguments") if isinstance(step, dict) else None
    if not isinstance(tool, str) or not isinstance(arguments, dict) or "device_id" in arguments:
        raise Failure("bad assignment: a step is not {tool, arguments without device_id}")
    if not tools.check_arguments(tool, {**arguments, "device_id": device_id}).leased:
        raise Failure(f"bad assignment: {tool} drives no device; expected one of the nine tools that do")
    return Call(tool, arguments)


def _refusal(assignment: Assignment, refused: Refused) -> Outcome:
    if refused.owner is None:
        return Outcome("failed", ENDED)
    reason = HELD_BY_MCP if refused.owner.kind == "mcp" else HELD_BY_CLOUD
    logger.info("assignment %s failed: %s (%s)", assignment.assignment_id, reason, assignment.device_id)
    return Outcome("failed", reason)
