"""Wrong host agents: what a lease handle is worth, and to whom it is given (ruling 7, HA-16)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lasttick.model import errors
from lasttick.model.errors import ToolError
from lasttick.model.lease import Decision, Holder
from lasttick.mutants import Mutant, Seam
from lasttick.ports import Entropy
from lasttick.reference.hostagent import handles, mcp_server
from lasttick.reference.hostagent.calls import DriverCall, LeasedCalls
from lasttick.reference.hostagent.mcp_server import McpEndpoint

Wrap = Callable[..., Any]


def counted(right: Wrap) -> Wrap:
    """Handles that count up: whoever has one can tell the others."""
    made = [0]

    def mint(entropy: Entropy) -> str:
        made[0] += 1
        return f"{made[0]:043d}"

    return mint


def handle_alone(handle: str, device_id: str) -> Holder:
    """The same holder on every device."""
    return Holder("mcp", hashlib.sha256(handle.encode()).hexdigest())


def takes_more(right: Wrap) -> Wrap:
    """A handle that holds one device takes others."""

    async def _begin(self: LeasedCalls, call: DriverCall) -> Decision:
        if any(view.holder == call.holder for view in await self._store.snapshot()):
            return await self._store.begin_use(call.device_id, call.holder)
        decision: Decision = await right(self, call)
        return decision

    return _begin


@contextmanager
def one_for_all(seam: Seam) -> Iterator[None]:
    """A handle as a session of its own: once it is known, it takes any free device."""
    with seam.replace(handles, "holder_of_handle", handle_alone), seam.wrap(LeasedCalls, "_begin", takes_more):
        yield


def takes_again(right: Wrap) -> Wrap:
    async def _begin(self: LeasedCalls, call: DriverCall) -> Decision:
        return await self._store.begin_use(call.device_id, call.holder)

    return _begin


def handle_itself(handle: str, device_id: str) -> Holder:
    return Holder("mcp", f"{handle}\n{device_id}")


def before_the_session(right: Wrap) -> Wrap:
    async def call_tool(
        self: McpEndpoint,
        holder: Holder | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        presented = handles.presented(meta) is not None
        return await right(self, None if presented else holder, name, arguments, meta=meta)

    return call_tool


def kept_to_itself(error: ToolError, handle: str) -> ToolError:
    return error


def always_on(right: Wrap) -> Wrap:
    def __init__(self: McpEndpoint, **options: Any) -> None:
        right(self, **options)
        self._entropy = options.get("entropy")

    return __init__


def new_one_each_time(right: Wrap) -> Wrap:
    """Answers every call with a fresh handle in `_meta`, also those that held by another."""

    async def call_tool(self: McpEndpoint, *args: Any, **named: Any) -> Any:
        result = await right(self, *args, **named)
        if self._entropy is not None and named.get("meta"):
            result.meta = {handles.META_KEY: handles.mint(self._entropy)}
        return result

    return call_tool


def unchecked(meta: Mapping[str, Any] | None) -> str | None:
    handle = (meta or {}).get(handles.META_KEY)
    return handle if isinstance(handle, str) and handle else None


def failed_only(right: Wrap) -> Wrap:
    """Gives the handle with `driver_error`, and forgets it when the call is stuck."""
    return lambda error, handle: right(error, handle) if error.reason == "driver_error" else error


def pinned_for_nobody(right: Wrap) -> Wrap:
    """Where nobody has heard the handle, nobody unpins either."""

    async def _unpin(self: LeasedCalls, call: DriverCall) -> None:
        if call.handle is None or not call.answer.cancelled():
            await right(self, call)

    return _unpin


def whatever_the_era(scope: Any) -> str | None:
    """The session id of a request, also of one whose protocol knows no sessions."""
    found = [value.decode("latin-1") for name, value in scope["headers"] if name == b"mcp-session-id"]
    return found[0] if found else None


def parting_gift(right: Wrap) -> Wrap:
    """A call that a stop has broken off is answered like one that failed on the device."""

    def settle(self: DriverCall) -> None:
        if self.error is None and self.result is None:
            self.error = errors.driver_error(self.device_id, "the driver call was cancelled")
        right(self)

    return settle


async def kept_though_lost(self: LeasedCalls, call: DriverCall) -> None:
    await self._store.end_use(call.device_id, call.holder)


MUTANTS = [
    Mutant(
        id="hostagent/handle-guessable",
        breaks="HA-16",
        ruling=7,
        text="Lease handles count up, so a client can tell those of others.",
        killed_by="hostagent/handles/handles-are-unguessable-and-shown-to-nobody-else",
        patch=lambda seam: seam.wrap(handles, "mint", counted),
    ),
    Mutant(
        id="hostagent/handle-opens-other-device",
        breaks="HA-16",
        ruling=7,
        text="A lease handle is a session: presented on another free device, it takes that too.",
        killed_by="hostagent/handles/a-wrong-handle-opens-nothing",
        patch=one_for_all,
    ),
    Mutant(
        id="hostagent/expired-handle-takes-again",
        breaks="HA-16",
        ruling=7,
        text="An expired lease handle takes a free device back, as an idle session may.",
        killed_by="hostagent/handles/a-handle-is-worth-nothing-from-the-ttl-on",
        patch=lambda seam: seam.wrap(LeasedCalls, "_begin", takes_again),
    ),
    Mutant(
        id="hostagent/busy-owner-shows-handle",
        breaks="HA-16",
        ruling=7,
        text="The holder is the lease handle itself, so refusals and status rows show the beginning of the key.",
        killed_by="hostagent/handles/handles-are-unguessable-and-shown-to-nobody-else",
        patch=lambda seam: seam.replace(handles, "holder_of_handle", handle_itself),
    ),
    Mutant(
        id="hostagent/handle-beats-session",
        breaks="HA-16",
        ruling=7,
        text="A client with a session that presents a lease handle is taken for the handle's holder.",
        killed_by="hostagent/handles/a-handle-is-no-concern-of-who-has-a-session",
        patch=lambda seam: seam.wrap(McpEndpoint, "call_tool", before_the_session),
    ),
    Mutant(
        id="hostagent/failed-first-call-keeps-its-handle",
        breaks="HA-16",
        ruling=7,
        text="A first call that fails on the device leaves it leased, and tells nobody the handle.",
        killed_by="hostagent/handles/a-first-call-that-fails-on-the-phone-still-gives-its-handle",
        patch=lambda seam: seam.replace(errors, "with_handle", kept_to_itself),
    ),
    Mutant(
        id="hostagent/handles-though-off",
        breaks="HA-16",
        ruling=7,
        text="Lease handles are given although the option says not to.",
        killed_by="hostagent/handles/where-handles-are-off-the-leased-tools-want-a-session",
        patch=lambda seam: seam.wrap(McpEndpoint, "__init__", always_on),
    ),
    Mutant(
        id="hostagent/new-handle-each-call",
        breaks="HA-16",
        ruling=7,
        text="Every result carries another lease handle; only the first of them is worth anything.",
        killed_by="hostagent/handles/the-first-call-gives-a-handle-and-later-calls-present-it",
        patch=lambda seam: seam.wrap(McpEndpoint, "call_tool", new_one_each_time),
    ),
    Mutant(
        id="hostagent/bad-handle-is-no-handle",
        breaks="HA-16",
        ruling=7,
        text="A lease handle that is no text counts as none, and the call takes a free device.",
        killed_by="hostagent/handles/a-wrong-handle-opens-nothing",
        patch=lambda seam: seam.replace(handles, "presented", unchecked),
    ),
    Mutant(
        id="hostagent/stuck-first-call-keeps-its-handle",
        breaks="HA-16",
        ruling=7,
        text="A first call that is stuck leaves the device leased when it returns, and tells nobody the handle.",
        killed_by="hostagent/handle-ends/a-first-call-that-is-stuck-still-gives-its-handle",
        patch=lambda seam: seam.wrap(errors, "with_handle", failed_only),
    ),
    Mutant(
        id="hostagent/unheard-handle-pins-for-ever",
        breaks="HA-16",
        ruling=7,
        text="A first call whose client has gone leaves the device pinned for ever, by a handle that nobody knows.",
        killed_by="hostagent/handle-ends/a-first-call-is-dropped-at-each-turn[slow-True]",
        patch=lambda seam: seam.wrap(LeasedCalls, "_unpin", pinned_for_nobody),
    ),
    Mutant(
        id="hostagent/session-id-holds-in-the-modern-era",
        breaks="HA-16",
        ruling=7,
        text="A request of the era without sessions that carries a session's id is taken for the session's.",
        killed_by="hostagent/handle-ends/a-session-id-beside-a-handle-counts-for-nothing",
        patch=lambda seam: seam.replace(mcp_server, "session_of", whatever_the_era),
    ),
    Mutant(
        id="hostagent/lost-lease-is-kept",
        breaks="HA-16",
        ruling=7,
        text="A lease whose token the device refuses is kept: asking anew is refused for a TTL, to no one's use.",
        killed_by="hostagent/handle-ends/who-lost-the-phone-to-a-later-holder-may-ask-anew",
        patch=lambda seam: seam.replace(LeasedCalls, "_unpin", kept_though_lost),
    ),
    Mutant(
        id="hostagent/stop-gives-a-handle",
        breaks="HA-16",
        ruling=7,
        text="A first call that a stop breaks off is given a handle to a lease that goes with the host agent.",
        killed_by="hostagent/handle-ends/a-first-call-under-a-stop-gives-no-handle",
        patch=lambda seam: seam.wrap(DriverCall, "settle", parting_gift),
    ),
]
