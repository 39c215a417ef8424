"""An agent of a world: an MCP client whose every call is an event of the trace. Same code in every mode."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from lasttick.targets.answer import Answer, AnswerError

if TYPE_CHECKING:
    from lasttick.targets.world import World
    from lasttick_fakes.client import McpClient, Reply


class InFlight:
    """A call that was sent and not yet answered. Await it for the Answer; `drop()` cuts its connection."""

    def __init__(self, task: asyncio.Task[Answer], request_id: int, ref: str) -> None:
        # A call whose answer the scenario does not want may be lost; the trace says so.
        task.add_done_callback(_seen)
        self.task = task
        self.request_id = request_id
        self.ref = ref

    def __await__(self) -> Generator[Any, None, Answer]:
        return self.task.__await__()

    @property
    def done(self) -> bool:
        return self.task.done()

    def drop(self) -> None:
        """The client's connection for this call breaks; the server is told nothing else."""
        self.task.cancel()


HANDLE = "lasttick/lease-handle"
"""Key of `_meta` under which a lease handle travels (contract hostagent, ruling 7)."""


class Client:
    """One MCP session (handshake era) or one sessionless caller (modern era) of a host.

    `handles`: of a caller without a session, the lease handle that each device's latest first call gave it. It presents
    them by itself, as a well-behaved client does; a scenario may take one away or put a wrong one in.

    `raw` is the scripted client underneath, for what a well-behaved client never sends.
    """

    def __init__(self, world: World, name: str, index: int, raw: McpClient, host: str) -> None:
        self.name = name
        self.raw = raw
        self.handles: dict[str, str] = {}
        self._world = world
        self._host = host
        self._index = index
        self._taps = 0
        self._alias: str | None = None

    # -- session

    async def open(self) -> Client:
        """Initialize (handshake era) or do nothing (modern era, which has no session)."""
        await self.raw.open()
        if self.raw.session_id is not None:
            self._alias = self._world.alias_session(self.raw.session_id)
        self._world.trace.emit(self.name, "session.open", session=self._alias, era=self.raw.era, host=self._host)
        return self

    async def end(self) -> Reply:
        """End the session as the protocol asks: DELETE. Its leases must go at once."""
        self._world.trace.emit(self.name, "session.end", session=self._alias)
        return await self.raw.delete()

    async def vanish(self) -> None:
        """Crash: connections close, nothing is said."""
        await self.raw.close()

    # -- calls

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """One tools/call. Returns the Answer, errors included; raises LostTransport only for a lost transport."""
        return await self.begin(tool, **arguments)

    def begin(self, tool: str, **arguments: Any) -> InFlight:
        """Send a call without waiting for its answer."""
        request_id = self.raw.next_id()
        ref = self._world.next_ref("c")
        self._world.trace.emit(
            self.name,
            "call.start",
            ref,
            tool=tool,
            device_id=arguments.get("device_id"),
            arguments=arguments,
            session=self._alias,
        )
        task = self._world.start(self._finish(ref, tool, arguments, request_id))
        return InFlight(task, request_id, ref)

    async def tap(self, device_id: str) -> Answer:
        """A tap at coordinates that only this client uses, so that the device's log tells who tapped."""
        return await self.begin_tap(device_id)

    def begin_tap(self, device_id: str) -> InFlight:
        return self.begin("tap", device_id=device_id, **self.point())

    def point(self) -> dict[str, float]:
        """Fresh coordinates, this client's own: x tells the client, y the call."""
        self._taps += 1
        return {"x": 2.0 + self._index, "y": round(2.0 + self._taps / 100, 2)}

    async def cancel(self, call: InFlight) -> None:
        """notifications/cancelled for a call in flight."""
        await self.raw.cancel(call.request_id)

    async def list_tools(self) -> list[dict[str, Any]]:
        """tools/list. Raises AssertionError when the server answered an error."""
        reply = await self.raw.list_tools()
        assert reply.result is not None, f"tools/list gave {reply.error} (HTTP {reply.http_status})"
        return list(reply.result["tools"])

    async def _finish(self, ref: str, tool: str, arguments: dict[str, Any], request_id: int) -> Answer:
        emit = self._world.trace.emit
        try:
            reply = await self.raw.request("tools/call", self._params(tool, arguments), id=request_id)
        except asyncio.CancelledError:
            emit(self.name, "call.end", ref, tool=tool, ok=False, reason="dropped")
            raise
        except Exception as error:
            emit(self.name, "call.end", ref, tool=tool, ok=False, reason="lost", message=str(error))
            raise
        answer = answer_of(reply)
        self._keep_handle(arguments.get("device_id"), answer)
        emit(
            self.name,
            "call.end",
            ref,
            tool=tool,
            ok=answer.ok,
            http_status=answer.http_status,
            code=answer.error.code if answer.error else None,
            reason=answer.reason,
            message=answer.error.message if answer.error else None,
            owner=answer.error.data.get("busy_owner") if answer.error else None,
        )
        if self.raw.session_id is not None and answer.http_status == 404:
            emit(self.name, "session.end", session=self._alias, lost=True)
        return answer

    def _params(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        device_id = arguments.get("device_id")
        handle = self.handles.get(device_id) if isinstance(device_id, str) else None
        return params if handle is None else {**params, "_meta": {HANDLE: handle}}

    def _keep_handle(self, device_id: object, answer: Answer) -> None:
        """A new handle comes with a result, or with the error of a call that failed on the device."""
        given = (answer.result or {}).get("_meta", {}).get(HANDLE)
        if given is None and answer.error is not None:
            given = answer.error.data.get("lease_handle")
        if isinstance(device_id, str) and isinstance(given, str):
            self._world.trace.redact.learn(given, "[lease handle]")
            self.handles[device_id] = given


def _seen(task: asyncio.Task[Answer]) -> None:
    from lasttick_fakes.client import LostTransport

    # Looked at without being retrieved: any other error must go on failing the scenario unless somebody awaits it.
    if isinstance(getattr(task, "_exception", None), LostTransport):
        task.exception()


def answer_of(reply: Reply) -> Answer:
    """What a raw reply means as the answer of a call. A tool result with `isError` is not ok."""
    error = None
    if reply.error is not None:
        data = reply.error.data if isinstance(reply.error.data, dict) else {}
        error = AnswerError(reply.error.code, reply.error.message, data)
    ok = reply.result is not None and not reply.result.get("isError", False)
    return Answer(ok, reply.result, error, int(reply.http_status))
