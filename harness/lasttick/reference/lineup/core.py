"""The adapter: what the agent asks becomes a card, what a person answers goes back, once. Source: contract lineup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lasttick.model.lineup.records import PermissionAsked, RpcId
from lasttick.ports import Clock, Entropy
from lasttick.reference.lineup.ledger import Ledger, Step
from lasttick.reference.lineup.links import AgentLink, HostLink

RESPONSE_TIMEOUT_S = 300.0


class Adapter:
    """Between one agent process at a time and one chat host at a time. It is AgentEvents and HostEvents.

    `agent_factory` makes the link to a new agent process, which knows its command and folder. `step` is called with the
    name of every commit and every frame, before and after it; what it raises kills the adapter at that instant.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        entropy: Entropy,
        agent_factory: Callable[[], AgentLink],
        *,
        response_timeout_s: float = RESPONSE_TIMEOUT_S,
        step: Step | None = None,
    ) -> None:
        raise NotImplementedError

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def abandon(self) -> None:
        """What a killed process does: nothing any more."""

    def attach(self, host: HostLink) -> None: ...

    # HostEvents

    def frame(self, data: bytes, read_ns: int) -> None: ...

    def host_gone(self) -> None: ...

    # AgentEvents

    def updated(self, session_id: str, update: Mapping[str, Any]) -> None: ...

    def permission(self, asked: PermissionAsked) -> None: ...

    def refused(self, what: str, body: Any) -> None: ...

    def undecodable_permission(self, rpc_id: RpcId, body: Any, reason: str) -> None: ...

    def gone(self, reason: str) -> None: ...
