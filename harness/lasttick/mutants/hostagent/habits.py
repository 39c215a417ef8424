"""Wrong host agents: what a killed start, an end at an odd moment, an old heartbeat or an agent's habit brings out.

HA-03, HA-07, HA-08, HA-20 and HA-22: the wrong versions that pass where everything comes in its usual order.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lasttick.model import geometry, lease
from lasttick.model.lease import Decision, Holder, Refused
from lasttick.mutants import Mutant
from lasttick.reference import durable
from lasttick.reference.hostagent import empty_lists, heartbeat, identity, mcp_server, private_file, tools
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.cloud_client import CloudClient
from lasttick.reference.hostagent.heartbeat import HeartbeatLoop
from lasttick.reference.hostagent.lease_table import LeaseTable
from lasttick.reference.hostagent.mcp_server import McpEndpoint, session_of
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.private_file import PrivateFileError
from lasttick.reference.hostagent.session_watch import SessionWatch
from lasttick.reference.hostagent.turns import Turns

Wrap = Callable[..., Any]


# -- HA-03: killed within a start


def in_place(name: str) -> Callable[[Wrap], Wrap]:
    """The file of that name has its name before it is whole; the others are made as they should be."""

    def wrong(right: Wrap) -> Wrap:
        def create(path: Path, content: bytes) -> bool:
            if path.name != name:
                return bool(right(path, content))
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, private_file.MODE)
            durable.write_all(fd, content)
            os.close(fd)
            return True

        return create

    return wrong


def set_up_together(right: Wrap) -> Wrap:
    """Identity and password come from one set-up, so a folder with an identity must have a password."""
    seen: dict[Path, bool] = {}

    def load_or_create(path: Path, **how: Any) -> Any:
        if path.name == identity.IDENTITY_FILE_NAME:
            seen[path.parent] = path.exists()
        if path.name == identity.CONSOLE_FILE_NAME and seen.get(path.parent) and not path.exists():
            raise PrivateFileError(f"{path} is missing", "a folder that was set up", "restore it")
        return right(path, **how)

    return load_or_create


def closed_at_the_end(right: Wrap) -> Wrap:
    """The file is made as the umask has it and closed to others once it is in place."""

    def create(path: Path, content: bytes) -> bool:
        temp = path.with_name(f".{path.name}.{os.getpid()}.0.tmp")
        try:
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return bool(right(path, content))
        durable.write_all(fd, content)
        os.close(fd)
        made = durable.publish(temp, path)
        if made:
            path.chmod(private_file.MODE)
        temp.unlink()
        return made

    return create


def finished_by_the_next(right: Wrap) -> Wrap:
    """A left-over temporary file is taken for the work of a start that was nearly done, and put in place."""

    def create(path: Path, content: bytes) -> bool:
        for temp in sorted(path.parent.glob(f".{path.name}.*.tmp")):
            with suppress(OSError):
                if temp.stat().st_size and durable.publish(temp, path):
                    return False  # as if another process had been first: read it
        return bool(right(path, content))

    return create


# -- HA-07: ended at an odd moment


def only_holders_are_buried(right: Wrap) -> Wrap:
    """A session that holds nothing has nothing to lose, so its end is not remembered."""

    def end_holder(self: LeaseTable, now_ns: int, holder: Holder) -> list[str]:
        return list(right(self, now_ns, holder)) if holder in self._held_by else []

    return end_holder


def unpin_what_was_driven(right: Wrap) -> Wrap:
    """A call that was given up before its driver began goes straight to its end, past the unpinning."""

    async def _unpin(self: LeasedCalls, call: DriverCall) -> None:
        if not (call.answer.cancelled() and call.result is None and call.error is None):
            await right(self, call)

    return _unpin


def give_to_the_first(self: Turns, device_id: str, holder: Holder) -> None:
    """The first in line gets the turn, also when it is leaving the line at this very moment."""
    line = self._lines.pop((device_id, holder), None)
    if line:
        self._lines[(device_id, holder)] = line
        turn = line.popleft()
        if not turn.done():
            turn.set_result(True)


# -- HA-08: heartbeats on a bad road


def own_numbers(right: Wrap) -> Wrap:
    """What the cloud answers to a heartbeat is not read: its own count is all that a host needs."""

    async def heartbeat(self: CloudClient, host_id: str, body: Any) -> None:
        await right(self, host_id, body)

    return heartbeat


def oldest_first(right: Wrap) -> Wrap:
    """No heartbeat gets lost: one that was refused is sent again before the next."""

    async def _send_one(self: HeartbeatLoop) -> int | None:
        unsent: list[Any] = vars(self).setdefault("unsent", [])
        self._seq += 1
        unsent.append(heartbeat.payload(self._seq, await self._look()))
        behind = await self._cloud.heartbeat(self._host_id, unsent[0])
        unsent.pop(0)
        return behind

    return _send_one


# -- HA-22: where to tap


def twice_at_most(right: Wrap) -> Wrap:
    return lambda bounds_px, scale: right(bounds_px, min(scale, 2))


def icons_in_pixels(right: Wrap) -> Wrap:
    return lambda spec, result, scale: right(spec, result, 1 if spec.name == "find_icon" else scale)


# -- HA-20: an agent's habits


def refused_request_registers(right: Wrap) -> Wrap:
    """As older SDKs do: a HEAD or GET without a session is refused and still opens one."""
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "nobody", "version": "0"}}
    hello = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode()
    own = [(b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json")]

    async def __call__(self: SessionWatch, scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") not in ("HEAD", "GET") or self._session_of(scope) is not None:
            await right(self, scope, receive, send)
            return
        given: list[tuple[bytes, bytes]] = []
        events = [
            {"type": "http.request", "body": hello, "more_body": False},
            {"type": "http.disconnect"},
        ]

        async def say_hello() -> Any:
            return events.pop(0) if len(events) > 1 else events[0]

        async def note(message: Any) -> None:
            given.extend(pair for pair in message.get("headers", ()) if pair[0].lower() == b"mcp-session-id")

        async def with_id(message: Any) -> None:
            if message["type"] == "http.response.start":
                others = [pair for pair in message["headers"] if pair[0].lower() != b"mcp-session-id"]
                message = {**message, "headers": [*others, *given]}
            await send(message)

        kept = [pair for pair in scope["headers"] if pair[0] not in (b"accept", b"content-type", b"content-length")]
        await right(self, {**scope, "method": "POST", "headers": [*kept, *own]}, say_hello, note)
        await right(self, scope, receive, with_id)

    return __call__


def holder_by_user_agent(right: Wrap) -> Wrap:
    """Who calls is told by what the program says of itself: all runs of one agent are one holder."""

    def holder_of(ctx: Any) -> Holder | None:
        holder: Holder | None = right(ctx)
        headers = dict(ctx.request.scope["headers"]) if ctx.request is not None else {}
        agent = headers.get(b"user-agent")
        return holder if holder is None or agent is None else Holder("mcp", agent.decode("latin-1"))

    return holder_of


def ping_renews(right: Wrap) -> Wrap:
    """A keepalive keeps alive what the session holds, too."""

    async def _on_message(self: McpEndpoint, ctx: Any, call_next: Any) -> Any:
        session_id = session_of(ctx.request.scope) if ctx.request is not None else None
        store = self._store
        if ctx.method == "ping" and session_id is not None and isinstance(store, MemoryLeaseStore):
            holder = Holder("mcp", session_id)
            for device_id in list(store.table._held_by.get(holder, {})):
                store.table.renew(store.now_ns(), device_id, holder)
        return await right(self, ctx, call_next)

    return _on_message


def broken_call_is_over(right: Wrap) -> Wrap:
    """A call whose connection breaks was given up, so it is unpinned: nobody says so when an agent's time is up."""

    def __init__(self: McpEndpoint, **options: Any) -> None:
        right(self, **options)
        one_call = self._in_flight._one_call

        async def unpin_when_gone(receive: Any, session_id: str) -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            for view in await self._store.snapshot():
                if view.holder == Holder("mcp", session_id):
                    await self._store.end_use(view.device_id, view.holder)

        async def watched(scope: Any, replay: Any, client: Any, key: Any) -> None:
            watching = asyncio.get_running_loop().create_task(unpin_when_gone(replay._receive, key[0]))
            try:
                await one_call(scope, replay, client, key)
            finally:
                watching.cancel()

        self._in_flight._one_call = watched  # type: ignore[method-assign]

    return __init__


def kept_a_place(right: Wrap) -> Wrap:
    """Who was refused gets the device as soon as it is free, whether it still asks or not."""

    async def begin_use(self: MemoryLeaseStore, device_id: str, holder: Holder) -> Decision:
        places: dict[str, Holder] = vars(self.table).setdefault("places", {})
        first = places.get(device_id)
        if first is not None and first != holder and self.table.owner(self.now_ns(), device_id) is None:
            self.table.acquire(self.now_ns(), device_id, places.pop(device_id))
        decision: Decision = await right(self, device_id, holder)
        if isinstance(decision, Refused):
            places.setdefault(device_id, holder)
        return decision

    return begin_use


def lost_is_free(right: Wrap) -> Wrap:
    """What a lost session held is there for the taking, though its call still runs."""
    return lambda record, holder, now_ns, ttl_ns: "fresh" if record.ended else right(record, holder, now_ns, ttl_ns)


KILLS, HABITS, ORDERS = "hostagent/token-kills/", "hostagent/habits/", "hostagent/heartbeat-orders/"
HITS = "hostagent/tools/a-tap-at-the-point-that-a-tool-gave-hits-that-widget"
TURNS = "hostagent/session-end-turns/"

MUTANTS: list[Mutant] = [
    Mutant(
        "hostagent/identity-written-in-place",
        breaks="HA-03",
        text="the identity has its name before it is whole: a kill within the write leaves a torn one",
        killed_by=f"{KILLS}killed-within-the-write-of-each-file[host_identity.json]",
        patch=lambda seam: seam.wrap(private_file, "create", in_place(identity.IDENTITY_FILE_NAME)),
    ),
    Mutant(
        "hostagent/password-written-in-place",
        breaks="HA-03",
        text="the console's password has its name before it is whole: a kill within the write leaves a torn one",
        killed_by=f"{KILLS}killed-within-the-write-of-each-file[host_console.json]",
        patch=lambda seam: seam.wrap(private_file, "create", in_place(identity.CONSOLE_FILE_NAME)),
    ),
    Mutant(
        "hostagent/half-made-folder-refused",
        breaks="HA-03",
        text="after a kill between identity and password no start succeeds any more",
        killed_by=f"{KILLS}killed-before-each-file-operation[serve]",
        patch=lambda seam: seam.wrap(private_file, "load_or_create", set_up_together),
    ),
    Mutant(
        "hostagent/token-closed-at-the-end",
        breaks="HA-03",
        text="the token's file is readable by all until its last step: a kill before that leaves it so",
        killed_by=f"{KILLS}killed-before-each-file-operation[mcp-token]",
        patch=lambda seam: seam.wrap(private_file, "create", closed_at_the_end),
    ),
    Mutant(
        "hostagent/left-over-put-in-place",
        breaks="HA-03",
        text="what a killed process left over is put in place by the next start",
        killed_by=f"{KILLS}what-a-killed-process-left-over-is-nobodys[host_mcp_token.json]",
        patch=lambda seam: seam.wrap(private_file, "create", finished_by_the_next),
    ),
    Mutant(
        "hostagent/empty-handed-end-forgotten",
        breaks="HA-07",
        ruling=6,
        text="the end of a session that holds nothing is not remembered: its call on the way takes a device after it",
        killed_by=f"{TURNS}an-end-at-each-turn-of-a-call[quick-delete]",
        patch=lambda seam: seam.wrap(LeaseTable, "end_holder", only_holders_are_buried),
    ),
    Mutant(
        "hostagent/given-up-call-stays-pinned",
        breaks="HA-07",
        ruling=1,
        text="a call that is given up after it took the device and before its driver began pins it for ever",
        killed_by=f"{TURNS}an-end-at-each-turn-of-a-call[quick-cancel]",
        patch=lambda seam: seam.wrap(LeasedCalls, "_unpin", unpin_what_was_driven),
    ),
    Mutant(
        "hostagent/turn-given-to-who-leaves",
        breaks="HA-07",
        ruling=12,
        text="a waiting call that is given up in the instant in which its turn comes keeps the turn, for ever",
        killed_by=f"{TURNS}a-waiting-call-is-cancelled-at-each-turn-of-its-turn",
        patch=lambda seam: seam.replace(Turns, "give", give_to_the_first),
    ),
    Mutant(
        "hostagent/phantom-sessions",
        breaks="HA-20",
        text="a refused HEAD or GET opens a session that nobody uses or ends",
        killed_by=f"{HABITS}what-the-agent-tries-first-leaves-no-phantom-session",
        patch=lambda seam: seam.wrap(SessionWatch, "__call__", refused_request_registers),
    ),
    Mutant(
        "hostagent/holder-by-user-agent",
        breaks="HA-20",
        text="callers are told apart by their user agent: two agents of one version share their leases",
        killed_by=f"{HABITS}two-agents-that-look-alike-are-two[0.19.0]",
        patch=lambda seam: seam.wrap(mcp_server, "holder_of", holder_by_user_agent),
    ),
    Mutant(
        "hostagent/keepalive-renews",
        breaks="HA-20",
        ruling=4,
        text="a ping renews what its session holds: an idle agent keeps a phone for ever",
        killed_by=f"{HABITS}the-keepalive-of-an-idle-agent-holds-no-phone[0.19.0-0.25]",
        patch=lambda seam: seam.wrap(McpEndpoint, "_on_message", ping_renews),
    ),
    Mutant(
        "hostagent/broken-call-is-over",
        breaks="HA-20",
        ruling=1,
        text="a call whose connection breaks is unpinned: an agent's time-out frees a phone that still moves",
        killed_by=f"{HABITS}a-time-out-that-tells-nobody[0.19.0-1]",
        patch=lambda seam: seam.wrap(McpEndpoint, "__init__", broken_call_is_over),
    ),
    Mutant(
        "hostagent/refused-keeps-a-place",
        breaks="HA-20",
        ruling=16,
        text="who was refused is given the device when it is free: an agent with an open breaker holds it unawares",
        killed_by=f"{HABITS}three-busy-answers-open-the-breaker[0.19.0]",
        patch=lambda seam: seam.wrap(MemoryLeaseStore, "begin_use", kept_a_place),
    ),
    Mutant(
        "hostagent/repeat-gets-a-moving-phone",
        breaks="HA-20",
        ruling=8,
        text="a device of a lost session is free while its call runs: the repeat in a new session drives it too",
        killed_by=f"{HABITS}a-call-that-is-made-again-in-a-new-session[0.19.0-delete]",
        patch=lambda seam: seam.wrap(lease, "answer", lost_is_free),
    ),
    Mutant(
        "hostagent/announces-empty-lists",
        breaks="HA-20",
        text="resources and prompts that there are not are announced: the agent's model is offered four useless tools",
        killed_by=f"{HABITS}a-call-that-is-made-again-in-a-new-session[0.19.0-delete]",
        patch=lambda seam: seam.replace(empty_lists, "is_announced", lambda protocol_version: True),
    ),
    Mutant(
        "hostagent/heartbeat-number-of-its-own",
        breaks="HA-08",
        text="a host that began anew counts from one, whatever the cloud has: an old heartbeat outranks its new ones",
        killed_by=f"{ORDERS}what-an-earlier-life-said-is-gone-one-heartbeat-later[free]",
        patch=lambda seam: seam.wrap(CloudClient, "heartbeat", own_numbers),
    ),
    Mutant(
        "hostagent/refused-heartbeat-sent-again",
        breaks="HA-08",
        text="a refused heartbeat is sent again as it was, before the next: the view is right many good ones later",
        killed_by=f"{ORDERS}in-any-order-no-held-device-is-acted-on",
        patch=lambda seam: seam.wrap(HeartbeatLoop, "_send_one", oldest_first),
    ),
    Mutant(
        "hostagent/every-ios-at-scale-2",
        breaks="HA-22",
        ruling=14,
        text="a tap point is at most divided by two: on a device of scale 3 it is beside the widget",
        killed_by=f"{HITS}[ios@3-get_ui_tree]",
        patch=lambda seam: seam.wrap(geometry, "tap_point", twice_at_most),
    ),
    Mutant(
        "hostagent/icon-point-in-pixels",
        breaks="HA-22",
        ruling=14,
        text="the tap point of an icon is in pixels, also on iOS, whose taps are in points",
        killed_by=f"{HITS}[ios@3-find_icon]",
        patch=lambda seam: seam.wrap(tools, "_finished", icons_in_pixels),
    ),
]
