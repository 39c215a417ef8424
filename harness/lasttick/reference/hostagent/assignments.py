"""How does a cloud assignment get a device, and give it back whatever happens?

The executor asks the one arbiter for the device in the same step that pins it; it never looks first and acts later
(ruling HA-2). A device that somebody holds fails the assignment at once: nobody waits (ruling HA-16, D11). The hold
ends when the assignment does, or with the driver call that outlives it. Source: HA-09; seed 002, 5.5 and 6.4.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lasttick.model import goal as goals
from lasttick.model.errors import ToolError
from lasttick.model.lease import Decision, Holder, Refused
from lasttick.ports import LeaseStore, StoreUnavailable
from lasttick.reference.hostagent import tools
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.cloud_client import Status
from lasttick.reference.hostagent.devices import DeviceManager

logger = logging.getLogger(__name__)

HELD_BY_MCP = "device held by active MCP session"
HELD_BY_CLOUD = "device held by another assignment"
ENDED = "assignment has already ended"
STORE_AWAY = "lease store unavailable"


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
    """Get the device for an assignment, or learn at once who has it: one atomic step (rulings HA-2, HA-16)."""
    return await store.begin_use(device_id, holder)


async def free(store: LeaseStore, device_id: str, holder: Holder) -> None:
    """The assignment is over: its hold goes now, or with the driver call that still runs (rulings HA-1, HA-2)."""
    try:
        await store.end_use(device_id, holder)
    finally:
        await store.end_holder(holder)


class AssignmentExecutor:
    """Runs assignments, any number at once. `calls` must work on the same store."""

    def __init__(self, *, store: LeaseStore, manager: DeviceManager, calls: LeasedCalls) -> None:
        self._store = store
        self._manager = manager
        self._calls = calls

    async def execute(self, assignment: Assignment) -> Outcome:
        """Run one assignment to its end. Never raises, except when it is cancelled."""
        device_id, holder = assignment.device_id, Holder("cloud", assignment.assignment_id)
        try:
            self._manager.get(device_id)
        except ToolError as error:
            return Outcome("failed", error.message)
        try:
            decision = await take(self._store, device_id, holder)
            if isinstance(decision, Refused):
                return _refusal(assignment, decision)
            for step in assignment.steps:
                await self._step(device_id, holder, step)
            return SUCCEEDED
        except ToolError as error:
            return Outcome("failed", error.message)
        except Failure as error:
            return Outcome("failed", str(error))
        except StoreUnavailable:
            return Outcome("failed", STORE_AWAY)
        except Exception as error:
            logger.exception("assignment %s failed", assignment.assignment_id)
            return Outcome("failed", f"internal error: {type(error).__name__}")
        finally:
            # Also when it was refused or cancelled inside `take`: a store far away may have granted by then.
            try:
                await free(self._store, device_id, holder)
            except StoreUnavailable as error:
                # The store's own keeping gives it back later, and its TTL does so at the latest.
                logger.warning("assignment %s is not freed yet: %s", assignment.assignment_id, error)

    async def _step(self, device_id: str, holder: Holder, step: Call | goals.GoalStep) -> None:
        """Raises ToolError, or Failure when a label is not to be seen."""
        # Through the calls of the MCP side: shield, time limit and quarantine are the same for both (ruling HA-13).
        match step:
            case Call(tool, arguments):
                await self._calls.run(holder, tool, {**arguments, "device_id": device_id})
            case goals.Open(app):
                await self._calls.run(holder, "launch_app", {"device_id": device_id, "app": app})
            case goals.Type(text):
                await self._calls.run(holder, "input_text", {"device_id": device_id, "text": text})
            case goals.Tap(label):
                found = await self._calls.run(holder, "find_text", {"device_id": device_id, "text": label})
                point = best_match(label, found.get("matches") or [])["tap_point"]
                await self._calls.run(holder, "tap", {"device_id": device_id, "x": point["x"], "y": point["y"]})


def best_match(label: str, matches: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The match that is the whole label, else the first. Raises Failure when there is none."""
    if not matches:
        raise Failure(f"no {label!r} on the screen")
    return next((match for match in matches if match.get("text") == label), matches[0])


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
