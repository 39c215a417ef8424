"""Is this body what the wire says? Checks of every request body, closed where a typo would be silent.

Source: contract world, "Cloud wire". Each refusal names the member, the value, what it should be and what to do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from lasttick_fakes.cloud.problem import Problem
from lasttick_fakes.cloud.records import Heartbeat
from lasttick_fakes.cloud.trouble import KINDS, HeartbeatTrouble

STATUSES = ("idle", "busy", "offline", "error")
BODY_BYTES_MAX = 1 << 20
_ID = re.compile(r"[A-Za-z0-9._:@-]{1,200}")
_NEXT = "correct the request and send it again"


def bad(what: str, expected: str, next: str = _NEXT) -> Problem:
    return Problem(400, what, expected, next)


def parse(body: bytes) -> dict[str, Any]:
    """A JSON object. Raises Problem (400)."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise bad(f"the body is not JSON: {_shown(body[:60])}", "one JSON object in UTF-8") from None
    if not isinstance(value, dict):
        raise bad(f"the body is {_shown(value)}", "one JSON object")
    return value


def registration(body: Mapping[str, Any]) -> tuple[str | None, tuple[Mapping[str, Any], ...]]:
    """`{host_id?, devices}` -> (host id or None, devices)."""
    host_id = body.get("host_id")
    if host_id is not None:
        _id("host_id", host_id)
    return host_id, _devices(body)


def heartbeat(body: Mapping[str, Any]) -> Heartbeat:
    """`{seq, devices, mcp_busy_device_ids?}`. Members it does not know are left alone: newer hosts send more."""
    seq = body.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
        raise bad(f"seq is {_shown(seq)}", "an integer that grows with every heartbeat, from 0 on")
    busy: tuple[str, ...] | None = None
    if "mcp_busy_device_ids" in body:
        ids = body["mcp_busy_device_ids"]
        if not isinstance(ids, list) or not all(isinstance(device_id, str) for device_id in ids):
            raise bad(f"mcp_busy_device_ids is {_shown(ids)}", "a list of device ids, or no such member at all")
        busy = tuple(ids)
    return Heartbeat(seq, _devices(body), busy)


def result(body: Mapping[str, Any]) -> tuple[Any, str | None]:
    """`{status: "succeeded"|"failed", failure_reason}` -> (status, reason or None)."""
    status, reason = body.get("status"), body.get("failure_reason")
    if status not in ("succeeded", "failed"):
        raise bad(f"status is {_shown(status)}", '"succeeded" or "failed"')
    if reason is not None and not isinstance(reason, str):
        raise bad(f"failure_reason is {_shown(reason)}", "a text, or null")
    if status == "failed" and not reason:
        raise bad("failure_reason is missing from a failed result", "a text that says why")
    return status, reason


def task(body: Mapping[str, Any]) -> dict[str, Any]:
    """`{goal or workflow, device_id?, attempts}` -> the arguments of `Cloud.submit`."""
    _closed(body, ("goal", "workflow", "device_id", "attempts"))
    goal, workflow = body.get("goal"), body.get("workflow")
    if (goal is None) == (workflow is None):
        raise bad(f"goal is {_shown(goal)} and workflow is {_shown(workflow)}", "exactly one of them")
    if goal is not None and (not isinstance(goal, str) or not goal.strip()):
        raise bad(f"goal is {_shown(goal)}", "a sentence")
    if workflow is not None:
        _workflow(workflow)
    if body.get("device_id") is not None:
        _id("device_id", body["device_id"])
    attempts = body.get("attempts", 1)
    if not isinstance(attempts, int) or isinstance(attempts, bool) or attempts < 1:
        raise bad(f"attempts is {_shown(attempts)}", "an integer, at least 1")
    return {"goal": goal, "workflow": workflow, "device_id": body.get("device_id"), "attempts": attempts}


def trouble(body: Mapping[str, Any]) -> HeartbeatTrouble:
    """`{kind, count?, skip?, delay_s?, host_id?}`."""
    _closed(body, ("kind", "count", "skip", "delay_s", "host_id"))
    kind, delay_s = body.get("kind"), body.get("delay_s", 0.0)
    if kind not in KINDS:
        raise bad(f"kind is {_shown(kind)}", f"one of {', '.join(KINDS)}, heal, stop, start, restart")
    numbers = {name: body.get(name, default) for name, default in (("count", 1), ("skip", 0))}
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise bad(f"{name} is {_shown(value)}", "an integer, at least 0")
    if not _is_seconds(delay_s):
        raise bad(f"delay_s is {_shown(delay_s)}", "seconds, at least 0")
    if body.get("host_id") is not None:
        _id("host_id", body["host_id"])
    return HeartbeatTrouble(kind, numbers["count"], numbers["skip"], float(delay_s), body.get("host_id"))


def wait_s(text: str | None) -> float:
    """The query's `wait_s`: 0 to 300 seconds, 20 by default."""
    try:
        value = 20.0 if text is None else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 300:
        raise bad(f"wait_s is {_shown(text)}", "seconds from 0 to 300")
    return value


def _devices(body: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """`devices`: a list of ids, or of objects with `device_id` and `status` (idle when it is left out)."""
    devices = body.get("devices")
    if not isinstance(devices, list):
        raise bad(f"devices is {_shown(devices)}", "a list of {device_id, status} or of device ids")
    seen: dict[str, dict[str, Any]] = {}
    for entry in devices:
        device = {"device_id": entry} if isinstance(entry, str) else entry
        if not isinstance(device, dict):
            raise bad(f"a device is {_shown(entry)}", "{device_id, status} or a device id")
        device_id = _id("device_id", device.get("device_id"))
        if device_id in seen:
            raise bad(f"device {device_id} is listed twice", "each device once")
        status = device.get("status", "idle")
        if status not in STATUSES:
            raise bad(f"status of {device_id} is {_shown(status)}", f"one of {', '.join(STATUSES)}")
        seen[device_id] = {**device, "status": status}
    return tuple(seen.values())


def _workflow(workflow: Any) -> None:
    if not isinstance(workflow, list) or not workflow:
        raise bad(f"workflow is {_shown(workflow)}", "a list of at least one {tool, arguments}")
    for step in workflow:
        well = isinstance(step, dict) and isinstance(step.get("tool"), str) and isinstance(step.get("arguments"), dict)
        if not well or len(step) != 2:
            raise bad(f"a step of the workflow is {_shown(step)}", "{tool: text, arguments: object}")


def _closed(body: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in body:
        if name not in names:
            raise bad(f"unknown member {_shown(name)}", f"only {', '.join(names)}")


def _id(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise bad(f"{name} is {_shown(value)}", "1 to 200 of the characters A-Z a-z 0-9 . _ : @ -")
    return value


def _is_seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _shown(value: Any) -> str:
    """A value in a message: readable, and short however long it is."""
    text = ascii(value) if isinstance(value, (bytes, str)) else json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
