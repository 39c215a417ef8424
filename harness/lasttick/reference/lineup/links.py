"""The two sides of the adapter, as its core sees them: the agent and the chat host.

Everything that arrives is handed on synchronously, in the order in which it was read, before anybody waits for
anything: an answer must never overtake the text before it. What goes out is awaited. Source: contract lineup, "Parts".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lasttick.model.lineup.records import PermissionAsked, PromptEnd, RpcId


class AgentGone(Exception):
    """The agent's process ended, or its stdout closed. Whoever waits for an answer of it gets this."""


class AgentEvents(Protocol):
    """What the core hears from the agent."""

    def updated(self, session_id: str, update: Mapping[str, Any]) -> None:
        """A `session/update`, also of a kind that nobody knows."""
        ...

    def permission(self, asked: PermissionAsked) -> None: ...

    def refused(self, what: str, body: Any) -> None:
        """The link answered a request or dropped a message by itself; `what` is the reason for the audit."""
        ...

    def undecodable_permission(self, rpc_id: RpcId, body: Any, reason: str) -> None:
        """A permission request that cannot be read: the link has answered `cancelled` (C-9)."""
        ...

    def gone(self, reason: str) -> None: ...


class AgentLink(Protocol):
    """One agent process. Methods raise AgentGone; a JSON-RPC error of a prompt is its end, not an exception."""

    async def start(self, events: AgentEvents) -> None:
        """Spawn it and initialize. Raises AgentGone."""
        ...

    async def new_session(self) -> str: ...

    async def prompt(self, session_id: str, texts: Sequence[str]) -> PromptEnd:
        """One prompt: each text a block of its own. Returns after every update that came before its response."""
        ...

    async def cancel(self, session_id: str) -> None:
        """The notification; the prompt ends by itself, in one of two ways."""
        ...

    async def answer(self, rpc_id: RpcId, option_id: str | None) -> None:
        """Answer a permission request; None: cancelled."""
        ...

    async def stop(self) -> None: ...


class HostEvents(Protocol):
    """What the core hears from the host."""

    def frame(self, data: bytes, read_ns: int) -> None:
        """One frame as it came: JSON, or anything else."""
        ...

    def host_gone(self) -> None: ...


class HostLink(Protocol):
    """One connection to a chat host."""

    async def send(self, frame: Mapping[str, Any]) -> None:
        """One frame. Raises ConnectionError when the host is gone."""
        ...
