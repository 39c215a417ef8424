"""What does a caller of a device tool get instead of a result? One exception, with the wire's code, message and data.

A client cannot tell -32000 and -32001 from its own SDK's time-outs by the code alone, so `data["reason"]` says why and
is what tests and agents decide on. Source: contract hostagent, rulings 9, 12, 13 and the seed's error matrix.
"""

from __future__ import annotations

from typing import Any, Literal

from lasttick.model.lease import Holder

DEVICE = -32000
NO_SESSION = -32001
INVALID_PARAMS = -32602

STOPPING = (
    "the host agent stops before this call is answered; expected one that runs (contract hostagent, HA-01); look at "
    "the device, which may still have done it, and call again when the host agent is back"
)

Reason = Literal[
    "device_busy",
    "driver_error",
    "driver_stuck",
    "lease_lost",
    "no_session",
    "store_unavailable",
    "unknown_device",
    "unknown_handle",
    "bad_arguments",
    "unknown_tool",
]


class ToolError(Exception):
    """A JSON-RPC error of a tool call. `data` is JSON-able, holds at least `reason` and is never changed."""

    def __init__(self, code: int, message: str, data: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def reason(self) -> str:
        return str(self.data["reason"])


def sendable(text: str) -> str:
    """Text without lone surrogates, which no JSON encoder of the wire takes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown(text: str, limit: int = 80) -> str:
    """Text from outside as it may stand in a message: at most `limit` characters, on one line, and sendable."""
    if len(text) > limit:
        text = text[:limit] + "..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in sendable(text))


def owner_label(owner: Holder) -> str:
    """How an owner is named to others: never by its whole session id, which is a key to the session (HA-02)."""
    return "cloud_assignment" if owner.kind == "cloud" else f"mcp_session:{owner.id[:8]}"


def device_busy(device_id: str, owner: Holder, *, own: bool = False) -> ToolError:
    """Error matrix rows 2 and 3; `own`: the asker's own earlier call is still running (ruling 12)."""
    if own:
        held = "held by an earlier call of this MCP session"
    else:
        held = "held by cloud assignment" if owner.kind == "cloud" else "held by another MCP session"
    return ToolError(
        DEVICE,
        f"device {device_id} is busy ({held})",
        {"reason": "device_busy", "device_id": device_id, "busy_owner": owner_label(owner)},
    )


def driver_error(device_id: str, message: str) -> ToolError:
    """Error matrix row 5: the driver's own message, cut at 2,000 characters and without lone surrogates."""
    return ToolError(DEVICE, sendable(message[:2_000]), {"reason": "driver_error", "device_id": device_id})


def stopping(device_id: str) -> ToolError:
    """The host agent stops under a running call: what the device did of it is not known."""
    return driver_error(device_id, STOPPING)


def driver_stuck(device_id: str, max_call_s: float) -> ToolError:
    """Ruling 13: a driver call runs longer than `max_call_s`, and nobody may drive the device until it returns."""
    return ToolError(
        DEVICE,
        f"device {device_id} is stuck: its driver call did not return; expected an end within {max_call_s:g} s "
        "(max_call_s); use another device until device_status no longer says error",
        {"reason": "driver_stuck", "device_id": device_id},
    )


def lease_lost(device_id: str) -> ToolError:
    """The device refused the call's fencing token: somebody else was given the device while this host was away."""
    return ToolError(
        DEVICE,
        f"device {device_id}: the lease of this call was lost before the device got it, and nothing was done; expected "
        "a lease that lasts until the call (contract hostagent, HA-05); call again to ask for the device anew",
        {"reason": "lease_lost", "device_id": device_id},
    )


def store_unavailable(device_id: str | None) -> ToolError:
    """Nobody can say who holds the device, so nothing is driven. `device_id` None: it was asked about all of them."""
    which = "all devices" if device_id is None else f"device {device_id}"
    data = {"reason": "store_unavailable"} | ({} if device_id is None else {"device_id": device_id})
    return ToolError(
        DEVICE,
        f"{which}: the lease store cannot be reached, so nobody knows who holds what; expected an answer from it "
        "(ports.LeaseStore); call again later, and see the host agent's log",
        data,
    )


def unknown_handle(device_id: str) -> ToolError:
    """Ruling 7: wrong, expired, released, or another device's. Which of these it was is nobody's business."""
    return ToolError(
        DEVICE,
        f"device {device_id}: the lease handle of this call holds nothing here; expected the handle that the latest "
        "first call on this device returned, not expired (contract hostagent, HA-16); call without a handle to get a "
        "new one",
        {"reason": "unknown_handle", "device_id": device_id},
    )


def with_handle(error: ToolError, handle: str) -> ToolError:
    """An error after which the device is the caller's: it has no `_meta`, so the lease handle stands in its data."""
    if error.reason not in ("driver_error", "driver_stuck"):
        return error
    return ToolError(error.code, error.message, {**error.data, "lease_handle": handle})


def no_session(hint: str) -> ToolError:
    """Error matrix row 13. `hint` says what was expected and what to do; the message itself is the seed's."""
    return ToolError(NO_SESSION, "cannot determine MCP session", {"reason": "no_session", "hint": hint})


def unknown_device(device_id: str) -> ToolError:
    """Error matrix row 4."""
    name = shown(device_id)
    return ToolError(INVALID_PARAMS, f"unknown device: {name}", {"reason": "unknown_device", "device_id": name})


def bad_arguments(
    tool: str, argument: str, was: str, expected: str, where: str = "inputSchema of tools/list"
) -> ToolError:
    """`argument` of `tool` was `was`; `expected` says what is asked for, and `where` who asks: its input schema."""
    argument = shown(argument)
    return ToolError(
        INVALID_PARAMS,
        f"bad arguments for {shown(tool)}: {argument} is {shown(was)}; expected {expected} "
        f"({where}); correct it and call again",
        {"reason": "bad_arguments", "tool": shown(tool), "argument": argument, "expected": expected},
    )


def unknown_tool(tool: str) -> ToolError:
    name = shown(tool)
    return ToolError(
        INVALID_PARAMS,
        f"unknown tool: {name}; expected one of the names of tools/list; list them and call again",
        {"reason": "unknown_tool", "tool": name},
    )
