"""One agent process: its sessions, the ids of its requests, and what is on its way to it. All of that dies with it.

Answers and cancels leave one after another, in the order in which they were committed; a person is told of an answer
that may not have arrived. Source: contract lineup C-5, C-8, C-9; rules 3, 5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lasttick.model.lineup.records import PermissionAsked, PromptEnd, RpcId
from lasttick.reference.lineup.ledger import PERMISSION
from lasttick.reference.lineup.links import AgentGone, AgentLink
from lasttick.reference.lineup.workshop import Workshop


class ProcessEvents(Protocol):
    """What the core hears of a process that is alive. Sessions are given as the conversation that they belong to;
    None: a session that is none of ours, or no longer."""

    def updated(self, conversation_id: str, update: Mapping[str, Any]) -> None: ...

    def permission(self, process: AgentProcess, conversation_id: str | None, asked: PermissionAsked) -> None: ...

    def refused(self, conversation_id: str | None, reason: str, body: Any) -> None: ...

    def gone(self, process: AgentProcess, reason: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Outgoing:
    name: str
    send: Callable[[], Awaitable[None]]
    sent: Callable[[], None]
    lost: Callable[[], None]


class AgentProcess:
    """AgentEvents of one link."""

    def __init__(self, link: AgentLink, shop: Workshop, events: ProcessEvents) -> None:
        self.is_alive = True
        self._link = link
        self._shop = shop
        self._events = events
        self._sessions: dict[str, str] = {}
        self._asked: set[RpcId] = set()
        self._out: deque[_Outgoing] = deque()
        self._is_sending = False

    async def start(self) -> None:
        """Raises AgentGone."""
        self._shop.step("before frame: agent initialize")
        await self._link.start(self)
        self._shop.step("after frame: agent initialize")

    async def stop(self) -> None:
        self.is_alive = False
        await self._link.stop()

    async def new_session(self, conversation_id: str) -> str:
        """The conversation's session from now on; an older one of it is none of ours any more. Raises AgentGone."""
        self._shop.step("before frame: agent session/new")
        session_id = await self._link.new_session()
        self._shop.step("after frame: agent session/new")
        self.retire(conversation_id)
        self._sessions[session_id] = conversation_id
        return session_id

    def retire(self, conversation_id: str) -> None:
        self._sessions = {id_: owner for id_, owner in self._sessions.items() if owner != conversation_id}

    def session_of(self, conversation_id: str) -> str | None:
        return next((id_ for id_, owner in self._sessions.items() if owner == conversation_id), None)

    def conversations(self) -> list[str]:
        return list(self._sessions.values())

    async def prompt(self, session_id: str, texts: list[str]) -> PromptEnd:
        """Raises AgentGone."""
        self._shop.step("before frame: agent session/prompt")
        return await self._link.prompt(session_id, texts)

    def answer(
        self, rpc_id: RpcId, option_id: str | None, *, sent: Callable[[], None], lost: Callable[[], None]
    ) -> None:
        """Once for a request. `option_id` None: cancelled. `sent` or `lost` is called when that is known."""
        self._leave(_Outgoing(PERMISSION, lambda: self._link.answer(rpc_id, option_id), sent, lost))

    def cancel(self, session_id: str) -> None:
        self._leave(_Outgoing("session/cancel", lambda: self._link.cancel(session_id), _nothing, _nothing))

    # -- AgentEvents

    def updated(self, session_id: str, update: Mapping[str, Any]) -> None:
        conversation_id = self._sessions.get(session_id)
        if self.is_alive and conversation_id is not None:
            self._events.updated(conversation_id, update)

    def permission(self, asked: PermissionAsked) -> None:
        if not self.is_alive:
            return
        conversation_id = self._sessions.get(asked.session_id)
        if asked.rpc_id in self._asked:
            # An answer under this id would be a second one: the agent gets none, and denies by itself.
            self._events.refused(conversation_id, "repeated request id", permission_body(asked))
            return
        self._asked.add(asked.rpc_id)
        self._events.permission(self, conversation_id, asked)

    def refused(self, what: str, body: Any) -> None:
        if self.is_alive:
            self._events.refused(None, what, body)

    def undecodable_permission(self, rpc_id: RpcId, body: Any, reason: str) -> None:
        if self.is_alive:
            self._asked.add(rpc_id)
            self._events.refused(None, reason, body)

    def gone(self, reason: str) -> None:
        """Idempotent."""
        if not self.is_alive or self._shop.ended.is_set():
            return
        self.is_alive = False
        out, self._out = self._out, deque()
        self._events.gone(self, reason)
        for outgoing in out:
            outgoing.lost()

    # -- what leaves

    def _leave(self, outgoing: _Outgoing) -> None:
        if not self.is_alive:
            outgoing.lost()
            return
        self._out.append(outgoing)
        if not self._is_sending:
            self._is_sending = True
            self._shop.spawn(self._send())

    async def _send(self) -> None:
        while self._out:
            outgoing = self._out[0]
            self._shop.step(f"before frame: agent {outgoing.name}")
            try:
                await outgoing.send()
            except AgentGone as error:
                self.gone(str(error))
                return
            self._shop.step(f"after frame: agent {outgoing.name}")
            if self._out and self._out[0] is outgoing:  # else the agent is gone, and it was told as lost
                self._out.popleft()
                outgoing.sent()
        self._is_sending = False


def permission_body(asked: PermissionAsked) -> dict[str, Any]:
    """The request as the ledger keeps it."""
    options = [{"optionId": o.option_id, "name": o.name, "kind": o.kind} for o in asked.options]
    return {
        "rpc_id": asked.rpc_id,
        "session_id": asked.session_id,
        "options": options,
        "tool_call": dict(asked.tool_call),
    }


def _nothing() -> None:
    return None
