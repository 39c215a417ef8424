"""Wrong host agents: what a call is answered, what the cloud is told, what devices show.

Each wrong version is a function beside its reason; the right one is looked up at call time through its module or class.
Where a requirement has rows (HA-10), each row has its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types

from lasttick.model import errors, geometry, lease
from lasttick.model import status as status_rules
from lasttick.model.errors import ToolError
from lasttick.model.lease import Answer, Decision, Holder, Lease, Refused
from lasttick.model.status import DisplayStatus
from lasttick.mutants import Mutant, Seam
from lasttick.reference.hostagent import (
    agent,
    assignments,
    calls,
    cloud_client,
    heartbeat,
    in_flight,
    mcp_server,
    tools,
)
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.claim_loop import ClaimLoop
from lasttick.reference.hostagent.devices import DeviceManager
from lasttick.reference.hostagent.door import REFUSAL, Door
from lasttick.reference.hostagent.in_flight import InFlight
from lasttick.reference.hostagent.mcp_server import McpEndpoint
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.session_watch import SessionWatch
from lasttick.reference.hostagent.status_board import Look
from lasttick.reference.hostagent.tokens import McpToken, McpTokenStore, McpTokenStoreError

Wrap = Callable[..., Any]


# -- rulings 9, 10, 13, 14


def error_as_result(right: Wrap) -> Wrap:
    """The SDK's own habit: a failed call becomes a tool result that says it went wrong."""

    async def _call_tool(self: McpEndpoint, ctx: Any, params: Any) -> types.CallToolResult:
        try:
            return await right(self, ctx, params)
        except mcp_server.MCPError as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)

    return _call_tool


def lease_before_look(right: Wrap) -> Wrap:
    """Takes the lease first, then finds out whether there is such a device."""

    async def run(
        self: LeasedCalls, holder: Holder | None, tool: str, arguments: Mapping[str, Any], **named: Any
    ) -> dict[str, Any] | Any:
        device_id = arguments.get("device_id")
        if holder is not None and isinstance(device_id, str) and tool in tools.TOOLS and tools.TOOLS[tool].leased:
            await self._store.acquire(device_id, holder)
        return await right(self, holder, tool, arguments, **named)

    return run


def whole_session_id(owner: Holder) -> str:
    return "cloud_assignment" if owner.kind == "cloud" else f"mcp_session:{owner.id}"


def any_id(self: InFlight, session_id: str, call_id: str) -> bool:
    self._ids[(session_id, call_id)] = None
    return True


async def no_watch(self: LeasedCalls, call: DriverCall) -> None:
    """Nobody looks how long a driver call takes."""


def stuck_but_open(self: LeasedCalls, device_id: str) -> None:
    """The caller was told, but the device goes on being served."""


def for_ever(self: LeasedCalls, call: DriverCall) -> None:
    """The driver returned, and the device stays in quarantine."""


def pixels_as_points(right: Wrap) -> Wrap:
    return lambda bounds_px, scale: right(bounds_px, 1)


# -- HA-10, row by row


async def refused_without_challenge(self: Door, scope: Any, send: Any) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(REFUSAL)).encode())]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSAL})


def assignment_by_name(right: Wrap) -> Wrap:
    return lambda owner: f"cloud_assignment:{owner.id}" if owner.kind == "cloud" else right(owner)


def always_the_cloud(right: Wrap) -> Wrap:
    """Every owner is called the cloud in the message."""

    def device_busy(device_id: str, owner: Holder, *, own: bool = False) -> ToolError:
        told = right(device_id, owner, own=own)
        return ToolError(told.code, f"device {device_id} is busy (held by cloud assignment)", told.data)

    return device_busy


def unknown_is_trouble(right: Wrap) -> Wrap:
    def unknown_device(device_id: str) -> ToolError:
        told = right(device_id)
        return ToolError(errors.DEVICE, told.message, told.data)

    return unknown_device


def without_words(device_id: str, message: str) -> ToolError:
    return ToolError(errors.DEVICE, "driver failed", {"reason": "driver_error", "device_id": device_id})


def token_made_anew(right: Wrap) -> Wrap:
    """A file that cannot be read is deleted and a new token made, so that every client stops working."""

    def load_or_create(self: McpTokenStore) -> McpToken:
        try:
            token: McpToken = right(self)
        except McpTokenStoreError:
            self.path.unlink(missing_ok=True)
            token = right(self)
        return token

    return load_or_create


def token_in_memory(right: Wrap) -> Wrap:
    """Where no file can be written the token lives in memory, and no client can ever know it."""

    def load_or_create(self: McpTokenStore) -> McpToken:
        try:
            token: McpToken = right(self)
        except McpTokenStoreError as error:
            if "cannot be made" not in error.happened:
                raise
            token = self._token = McpToken(1, "nobody-knows-it", self._clock.wall())
        return token

    return load_or_create


def drop_is_the_end(right: Wrap) -> Wrap:
    """A connection that is dropped before its answer is taken for the end of the whole session."""

    async def __call__(self: SessionWatch, scope: Any, receive: Any, send: Any) -> None:
        session_id = self._session_of(scope) if scope["type"] == "http" and scope["method"] == "POST" else None
        if session_id is None:
            await right(self, scope, receive, send)
            return
        watch: asyncio.Task[None] | None = None

        async def until_gone() -> None:
            await receive()
            await self._sessions.ended(session_id)

        async def heard() -> Any:
            nonlocal watch
            if watch is not None:
                return await asyncio.get_running_loop().create_future()
            message = await receive()
            if not message.get("more_body", False):
                watch = asyncio.get_running_loop().create_task(until_gone())
            return message

        async def answer(message: Any) -> None:
            if watch is not None:
                watch.cancel()
            await send(message)

        await right(self, scope, heard, answer)

    return __call__


def late_is_too_late(right: Wrap) -> Wrap:
    """Whoever comes back after its TTL is refused, although nobody took the device."""

    def answer(record: Lease, holder: Holder, now_ns: int, ttl_ns: int) -> Answer:
        told: Answer = right(record, holder, now_ns, ttl_ns)
        return "held" if told == "fresh" and record.holder == holder else told

    return answer


class OneLine(calls.Turns):
    """One line for all devices of a session."""

    async def take(self, device_id: str, holder: Holder, wait_s: float) -> bool:
        return await super().take("", holder, wait_s)

    def give(self, device_id: str, holder: Holder) -> None:
        super().give("", holder)


class NoLine(calls.Turns):
    """The second call of a session on one device does not wait at all."""

    async def take(self, device_id: str, holder: Holder, wait_s: float) -> bool:
        return (device_id, holder) not in self._lines and await super().take(device_id, holder, wait_s)


def store_that_stays(seam: Seam) -> Any:
    """What was leased in one life of the host is leased in the next."""
    kept: dict[str, Holder] = {}

    class KeptStore(MemoryLeaseStore):
        def __init__(self, clock: Any, *ages_s: float) -> None:
            super().__init__(clock, *ages_s)
            for device_id, holder in kept.items():
                self.table.acquire(self.now_ns(), device_id, holder)

        async def end_use(self, device_id: str, holder: Holder) -> bool:
            kept[device_id] = holder
            return await super().end_use(device_id, holder)

    return seam.replace(agent, "MemoryLeaseStore", KeptStore)


def anything_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    return True


def no_flaw(message: Any) -> None:
    """Whatever is JSON goes on to the SDK, which answers with what its validator printed."""


# -- HA-08, HA-09


def nothing_held(leases: Any) -> list[str]:
    return []


def old_payload(right: Wrap) -> Wrap:
    """The heartbeat from before leases: no field, and a leased device is idle."""

    def payload(seq: int, seen: Look) -> dict[str, Any]:
        body = dict(right(seq, seen))
        del body["mcp_busy_device_ids"]
        body["devices"] = [{**row, "status": row["status"].replace("busy", "idle")} for row in body["devices"]]
        return body

    return payload


def same_number(right: Wrap) -> Wrap:
    """Every heartbeat is number 1: the cloud takes the first and no other."""
    return lambda seq, seen: right(1, seen)


async def take_by_force(store: Any, device_id: str, holder: Holder) -> Decision:
    """The cloud goes first: it does not ask who holds the device."""
    decision: Decision = await store.begin_use(device_id, holder)
    if isinstance(decision, Refused) and decision.owner is not None:
        await store.release(device_id, decision.owner)
        decision = await store.begin_use(device_id, holder)
    return decision


def failure_untold(right: Wrap) -> Wrap:
    async def _report(self: ClaimLoop, assignment_id: str, outcome: assignments.Outcome) -> None:
        if outcome.status == "succeeded":
            await right(self, assignment_id, outcome)

    return _report


# -- HA-11, HA-12, HA-22


def holder_first(health: str, owner: Holder | None, quarantined: bool) -> DisplayStatus:
    """Held shows before broken: a person waits for an agent that waits for a dead phone."""
    if owner is not None:
        return DisplayStatus("busy", owner.kind)
    return DisplayStatus("offline" if health == "offline" else "error" if quarantined or health != "ok" else "idle")


def only_health(right: Wrap) -> Wrap:
    return lambda health, owner, quarantined: right(health, owner, False)


def first_manager_wins(seam: Seam) -> Any:
    """The seed's landmine: the first manager of the process serves everybody."""
    first: list[DeviceManager] = []

    def wrong(right: Wrap) -> Wrap:
        def tool_handlers(*, manager: DeviceManager, skill_catalog_store: object | None = None) -> Any:
            first.append(manager)
            return right(manager=first[0], skill_catalog_store=skill_catalog_store)

        return tool_handlers

    return seam.wrap(tools, "tool_handlers", wrong)


def skills_too(right: Wrap) -> Wrap:
    async def _list_tools(self: McpEndpoint, ctx: Any, params: Any) -> types.ListToolsResult:
        found: types.ListToolsResult = await right(self, ctx, params)
        skill = types.Tool(
            name="run_skill", description="Runs a skill of the catalog.", input_schema={"type": "object"}
        )
        return types.ListToolsResult(tools=[*found.tools, skill])

    return _list_tools


def old_screenshot(right: Wrap) -> Wrap:
    """The first picture of a device is kept and shown again."""
    kept: dict[int, dict[str, dict[str, Any]]] = {}

    async def call_tool(
        self: McpEndpoint, holder: Holder | None, name: str, arguments: Mapping[str, Any], **named: Any
    ) -> Any:
        answer = await right(self, holder, name, arguments, **named)
        if name != "take_screenshot":
            return answer
        return kept.setdefault(id(self), {}).setdefault(arguments["device_id"], answer)

    return call_tool


ERRORS, STUCK, FRAMES = "hostagent/errors/", "hostagent/stuck/", "hostagent/frames/"
SCHEDULER, ASSIGNMENT, STATUS = "hostagent/scheduler/", "hostagent/assignment/", "hostagent/status/"
MANAGERS, TOOLS = "hostagent/managers/", "hostagent/tools/"


def row(number: int) -> str:
    return f"{ERRORS}matrix-row[{number}]"


MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/error-as-tool-result",
        breaks="HA-10",
        ruling=9,
        text="A failed call is answered with a tool result that says isError, without code and data.",
        killed_by=row(4),
        patch=lambda seam: seam.wrap(McpEndpoint, "_call_tool", error_as_result),
    ),
    Mutant(
        "hostagent/unknown-device-leaves-lease",
        breaks="HA-10",
        ruling=9,
        text="The lease is taken before anybody looks whether the device exists and the arguments are right.",
        killed_by=row(4),
        patch=lambda seam: seam.wrap(LeasedCalls, "run", lease_before_look),
    ),
    Mutant(
        "hostagent/owner-leaks-session-id",
        breaks="HA-10",
        ruling=9,
        text="A busy answer names the whole session id of the owner, which is a key to its session.",
        killed_by=row(3),
        patch=lambda seam: seam.replace(errors, "owner_label", whole_session_id),
    ),
    Mutant(
        "hostagent/duplicate-ids-pass",
        breaks="HA-10",
        ruling=10,
        text="A second request under an id in flight is let through, and the two get each other's answers.",
        killed_by=f"{ERRORS}two-calls-in-flight-never-share-a-request-id",
        patch=lambda seam: seam.replace(InFlight, "claim", any_id),
    ),
    Mutant(
        "hostagent/hung-call-pins-for-ever",
        breaks="HA-10",
        ruling=13,
        text="A driver call that hangs is waited for without an end.",
        killed_by=f"{STUCK}a-hung-call-ends-in-driver-stuck-and-quarantine",
        patch=lambda seam: seam.replace(LeasedCalls, "_watch", no_watch),
    ),
    Mutant(
        "hostagent/stuck-device-is-served",
        breaks="HA-10",
        ruling=13,
        text="A call past max_call_s is answered, but the device does not go into quarantine.",
        killed_by=f"{STUCK}a-hung-call-ends-in-driver-stuck-and-quarantine",
        patch=lambda seam: seam.replace(LeasedCalls, "_refuse_quarantined", stuck_but_open),
    ),
    Mutant(
        "hostagent/quarantine-for-ever",
        breaks="HA-10",
        ruling=13,
        text="A device stays in quarantine after its driver call has returned.",
        killed_by=f"{STUCK}a-hung-call-ends-in-driver-stuck-and-quarantine",
        patch=lambda seam: seam.replace(LeasedCalls, "_returned", for_ever),
    ),
    Mutant(
        "hostagent/ios-bounds-not-scaled",
        breaks="HA-22",
        ruling=14,
        text="The tap point of what was found is in pixels, also on iOS, whose taps are in points.",
        killed_by=f"{TOOLS}a-tap-at-the-point-that-a-tool-gave-hits-that-widget[ios@2-find_text]",
        patch=lambda seam: seam.wrap(geometry, "tap_point", pixels_as_points),
    ),
    Mutant(
        "hostagent/row-1-no-challenge",
        breaks="HA-10",
        text="A refusal at the door is 401 without WWW-Authenticate.",
        killed_by=row(1),
        patch=lambda seam: seam.replace(Door, "refuse", refused_without_challenge),
    ),
    Mutant(
        "hostagent/row-2-assignment-by-name",
        breaks="HA-10",
        text="A device held by the cloud is refused with the assignment's id as owner.",
        killed_by=row(2),
        patch=lambda seam: seam.wrap(errors, "owner_label", assignment_by_name),
    ),
    Mutant(
        "hostagent/row-3-blames-the-cloud",
        breaks="HA-10",
        text="A device held by another session is said to be held by a cloud assignment.",
        killed_by=row(3),
        patch=lambda seam: seam.wrap(errors, "device_busy", always_the_cloud),
    ),
    Mutant(
        "hostagent/row-4-unknown-is-trouble",
        breaks="HA-10",
        text="An unknown device is -32000, as if it could be tried again.",
        killed_by=row(4),
        patch=lambda seam: seam.wrap(errors, "unknown_device", unknown_is_trouble),
    ),
    Mutant(
        "hostagent/row-5-without-words",
        breaks="HA-10",
        text="A driver's failure is told without what the driver said.",
        killed_by=row(5),
        patch=lambda seam: seam.replace(errors, "driver_error", without_words),
    ),
    Mutant(
        "hostagent/row-6-other-reason",
        breaks="HA-10",
        text="An assignment that meets an MCP lease fails with another reason than the seed's.",
        killed_by=row(6),
        patch=lambda seam: seam.replace(assignments, "HELD_BY_MCP", "device is busy"),
    ),
    Mutant(
        "hostagent/row-7-token-made-anew",
        breaks="HA-10",
        text="A corrupt token file is silently replaced by a new one.",
        killed_by=row(7),
        patch=lambda seam: seam.wrap(McpTokenStore, "load_or_create", token_made_anew),
    ),
    Mutant(
        "hostagent/row-8-token-in-memory",
        breaks="HA-10",
        text="Where the token file cannot be written the host starts with a token that nobody can read.",
        killed_by=f"{ERRORS}matrix-row-8-unwritable-token",
        patch=lambda seam: seam.wrap(McpTokenStore, "load_or_create", token_in_memory),
    ),
    Mutant(
        "hostagent/row-9-drop-is-the-end",
        breaks="HA-10",
        text="A dropped connection is taken for the end of the session: its lease goes without its TTL.",
        killed_by=row(9),
        patch=lambda seam: seam.wrap(SessionWatch, "__call__", drop_is_the_end),
    ),
    Mutant(
        "hostagent/row-10-late-is-too-late",
        breaks="HA-10",
        text="An agent that comes back after its TTL is refused, although nobody took the device.",
        killed_by=row(10),
        patch=lambda seam: seam.wrap(lease, "answer", late_is_too_late),
    ),
    Mutant(
        "hostagent/row-11-one-line-per-session",
        breaks="HA-10",
        text="Calls of one session on different devices wait for each other.",
        killed_by=row(11),
        patch=lambda seam: seam.replace(calls, "Turns", OneLine),
    ),
    Mutant(
        "hostagent/row-12-second-call-refused",
        breaks="HA-10",
        text="The second call of a session on one device is refused instead of waiting its turn.",
        killed_by=row(12),
        patch=lambda seam: seam.replace(calls, "Turns", NoLine),
    ),
    Mutant(
        "hostagent/row-13-no-session-is-busy",
        breaks="HA-10",
        text="A call without a session is -32000, the code of a busy device.",
        killed_by=row(13),
        patch=lambda seam: seam.replace(errors, "NO_SESSION", errors.DEVICE),
    ),
    Mutant(
        "hostagent/row-14-lease-outlives-the-host",
        breaks="HA-10",
        text="Leases are still there after the host agent was stopped and started again.",
        killed_by=row(14),
        patch=store_that_stays,
    ),
    Mutant(
        "hostagent/arguments-unchecked",
        breaks="HA-10",
        text="Arguments of any type go to the device.",
        killed_by=f"{FRAMES}any-json-for-any-tool-is-answered-and-leases-only-what-is-well-called",
        patch=lambda seam: seam.replace(tools, "_fits", anything_fits),
    ),
    Mutant(
        "hostagent/frames-unchecked",
        breaks="HA-10",
        text="JSON that is no JSON-RPC message is answered with a page of validator output.",
        killed_by=f"{FRAMES}a-malformed-frame-gets-one-clear-error[batch]",
        patch=lambda seam: seam.replace(in_flight, "flaw", no_flaw),
    ),
    Mutant(
        "hostagent/heartbeat-hides-leases",
        breaks="HA-08",
        text="mcp_busy_device_ids is always empty.",
        killed_by=f"{SCHEDULER}a-leased-device-is-skipped-within-one-heartbeat",
        patch=lambda seam: seam.replace(heartbeat, "mcp_busy_device_ids", nothing_held),
    ),
    Mutant(
        "hostagent/heartbeat-of-an-old-host",
        breaks="HA-08",
        text="The heartbeat has no mcp_busy_device_ids and shows leased devices as idle.",
        killed_by=f"{SCHEDULER}a-leased-device-is-skipped-within-one-heartbeat",
        patch=lambda seam: seam.wrap(heartbeat, "payload", old_payload),
    ),
    Mutant(
        "hostagent/heartbeat-number-stands-still",
        breaks="HA-08",
        text="Every heartbeat has the same number, so the cloud takes the first and no other.",
        killed_by=f"{SCHEDULER}a-leased-device-is-skipped-within-one-heartbeat",
        patch=lambda seam: seam.wrap(heartbeat, "payload", same_number),
    ),
    Mutant(
        "hostagent/never-registers-again",
        breaks="HA-08",
        text="A host that the restarted cloud does not know does not register again.",
        killed_by=f"{SCHEDULER}a-restarted-cloud-knows-nothing-until-the-next-heartbeat",
        patch=lambda seam: seam.replace(cloud_client, "HostUnknown", cloud_client.CloudRefused),
    ),
    Mutant(
        "hostagent/assignment-by-force",
        breaks="HA-09",
        text="An assignment takes a leased device away from its agent.",
        killed_by=f"{ASSIGNMENT}in-the-blind-window-it-fails-at-once[workflow]",
        patch=lambda seam: seam.replace(assignments, "take", take_by_force),
    ),
    Mutant(
        "hostagent/refusal-untold",
        breaks="HA-09",
        text="The cloud is not told of an assignment that failed.",
        killed_by=f"{ASSIGNMENT}in-the-blind-window-it-fails-at-once[goal]",
        patch=lambda seam: seam.wrap(ClaimLoop, "_report", failure_untold),
    ),
    Mutant(
        "hostagent/status-holder-first",
        breaks="HA-11",
        text="A leased device shows busy although it is disconnected or broken.",
        killed_by=f"{STATUS}every-place-shows-the-same[disconnected-and-held]",
        patch=lambda seam: seam.replace(status_rules, "display_status", holder_first),
    ),
    Mutant(
        "hostagent/status-forgets-quarantine",
        breaks="HA-11",
        text="A device in quarantine shows busy, not error.",
        killed_by=f"{STATUS}every-place-shows-the-same[quarantined-by-an-agent]",
        patch=lambda seam: seam.wrap(status_rules, "display_status", only_health),
    ),
    Mutant(
        "hostagent/default-manager",
        breaks="HA-12",
        text="The first device manager of the process serves every host in it.",
        killed_by=f"{MANAGERS}two-phones-of-one-name-on-two-hosts-never-meet",
        patch=first_manager_wins,
    ),
    Mutant(
        "hostagent/skill-tools-listed",
        breaks="HA-22",
        text="tools/list has a twelfth tool, from the skill catalog (D10).",
        killed_by=f"{TOOLS}the-list-is-exactly-the-eleven-tools[handshake]",
        patch=lambda seam: seam.wrap(McpEndpoint, "_list_tools", skills_too),
    ),
    Mutant(
        "hostagent/old-screenshot",
        breaks="HA-22",
        text="A screenshot is taken once and shown again.",
        killed_by=f"{TOOLS}what-is-done-shows-on-the-next-screenshot[android]",
        patch=lambda seam: seam.wrap(McpEndpoint, "call_tool", old_screenshot),
    ),
]
