"""What lies under the ACP library: one JSON object per line, in both directions, over any `ports.LineStream`.

An object of the library's own transport protocol. The library runs each message as a task of its own, and tasks may
overtake each other; so what the core must hear in the order of reading is told here, before the library has it, and
nothing behind an answer is read before its waiter has that answer. Source: contract engine "Transports" (ACP).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from lasttick.model.errors import sendable, shown
from lasttick.model.lineup.records import RpcId
from lasttick.ports import Clock, LineStream
from lasttick.reference.lineup import acp_filter
from lasttick.reference.lineup.links import AgentEvents, AgentGone
from lasttick.reference.lineup.streams import excerpt, whole_lines

OVERRUN = "a line longer than the stream takes"
CLOSED = "the agent closed its output"


@dataclass(slots=True)
class Waiter:
    """Who waits for the answer to one request of ours. `answer` is that message once it was read."""

    has_it: asyncio.Future[None]
    answer: Mapping[str, Any] | None = None


_WAITER: ContextVar[Waiter] = ContextVar("lasttick_acp_waiter")


class AcpTransport:
    """`acp`'s Transport. Needs a running loop. What it tells `events` it tells while reading, never later.

    `on_end` is told why when the agent closes its output before `end` was called.
    """

    def __init__(self, stream: LineStream, clock: Clock, events: AgentEvents, on_end: Callable[[str], None]) -> None:
        self._stream = stream
        self._clock = clock
        self._events = events
        self._on_end = on_end
        self._lines = whole_lines(stream, lambda: events.refused(OVERRUN, None))
        self._waiting: dict[int, Waiter] = {}
        self._answered: Waiter | None = None
        self._open: dict[RpcId, asyncio.Future[bool]] = {}
        self._used: set[RpcId] = set()
        self.ended: str | None = None
        """Why nothing is read or written any more."""

    @contextlib.contextmanager
    def waiter(self) -> Iterator[Waiter]:
        """Around a call of the library that sends one request: reading goes on when its caller has the answer, or
        no longer waits."""
        waiter = Waiter(asyncio.get_running_loop().create_future())
        token = _WAITER.set(waiter)
        try:
            yield waiter
        finally:
            _WAITER.reset(token)
            waiter.has_it.set_result(None)

    def answer_of(self, rpc_id: RpcId) -> asyncio.Future[bool]:
        """Done when the answer to this permission request was written; False: it never was. Raises AgentGone, and
        LookupError for a request that is not open."""
        if self.ended is not None:
            raise AgentGone(self.ended)
        if rpc_id not in self._open:
            raise LookupError(
                f"permission request {shown(repr(rpc_id))} is not open; expected one that the agent asked and nobody "
                "answered (contract lineup C-9: answered exactly once); look at what answered it before"
            )
        return self._open[rpc_id]

    def end(self, reason: str) -> bool:
        """Nothing is read or written from here on, and the agent reads end of file. False: it was so before."""
        if self.ended is not None:
            return False
        self.ended = reason
        for written in self._open.values():
            written.set_result(False)
        self._open.clear()
        self._stream.close()
        return True

    # The library's side

    async def send(self, message: dict[str, Any]) -> None:
        """Raises AgentGone for a request or notification; who gave an answer is told when it cannot be written."""
        if "method" in message:
            self._write(message)
            if "id" in message:
                self._waiting[message["id"]] = _WAITER.get()
            return
        written = self._open.pop(message["id"], None)
        was_written = self._try_write(message)
        if written is not None:
            written.set_result(was_written)

    async def receive(self) -> dict[str, Any] | None:
        """The next message that the library may hear; None: there is no more."""
        if self._answered is not None:
            await self._answered.has_it
            self._answered = None
        async for line in self._lines:
            if line.strip() and (message := self._hear(line, self._clock.now_ns())) is not None:
                return message
        if self.end(CLOSED):
            self._on_end(CLOSED)
        return None

    async def close(self) -> None:
        self.end("the link was stopped")

    def _hear(self, line: bytes, read_ns: int) -> dict[str, Any] | None:
        heard = acp_filter.read_message(line)
        match heard:
            case acp_filter.Update():
                if not heard.kind_is_known:
                    kind = shown(str(heard.update["sessionUpdate"]))
                    self._events.refused(f"unknown update kind {kind}", excerpt(line))
                self._events.updated(heard.session_id, heard.update)
            case acp_filter.Answer():
                return self._hand_on(heard, line)
            case acp_filter.Dropped():
                self._events.refused(heard.reason, excerpt(line))
            case _ if heard.rpc_id in self._open:
                # Whatever was answered here would be taken for the answer to the permission.
                self._events.refused(f"request id {shown(repr(heard.rpc_id))} is already open", excerpt(line))
            case acp_filter.Unsupported():
                self._try_write(acp_filter.unsupported(heard))
                self._events.refused(f"unsupported request {shown(heard.method)}", excerpt(line))
            case acp_filter.UnreadablePermission():
                self._refuse(heard.rpc_id, line, heard.reason)
            case acp_filter.Permission() if heard.rpc_id in self._used:
                self._refuse(heard.rpc_id, line, f"request id {shown(repr(heard.rpc_id))} was used before")
            case acp_filter.Permission():
                self._used.add(heard.rpc_id)
                self._open[heard.rpc_id] = asyncio.get_running_loop().create_future()
                self._events.permission(heard.asked(read_ns))
                return heard.message()
        return None

    def _hand_on(self, answer: acp_filter.Answer, line: bytes) -> dict[str, Any] | None:
        waiter = self._waiting.pop(answer.rpc_id, None)
        if waiter is None:
            self._events.refused(f"an answer to {answer.rpc_id}, which is no open request", excerpt(line))
            return None
        if answer.reason is not None:
            self._events.refused(f"unreadable answer to {answer.rpc_id}: {answer.reason}", excerpt(line))
        waiter.answer = answer.message
        self._answered = waiter
        return answer.message

    def _refuse(self, rpc_id: RpcId, line: bytes, reason: str) -> None:
        self._used.add(rpc_id)
        self._try_write(acp_filter.cancelled(rpc_id))
        self._events.undecodable_permission(rpc_id, excerpt(line), reason)

    def _try_write(self, message: dict[str, Any]) -> bool:
        """Of answers. Whoever does not listen any more has no use for them; the end of its output follows."""
        try:
            self._write(message)
        except AgentGone:
            return False
        return True

    def _write(self, message: dict[str, Any]) -> None:
        if self.ended is not None:
            raise AgentGone(self.ended)
        text = sendable(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        try:
            self._stream.write(text.encode() + b"\n")
        except (OSError, RuntimeError) as error:
            raise AgentGone(f"the agent takes no input: {shown(str(error))}") from error
