"""The adapter: what the agent asks becomes a card, what a person answers goes back, once.

Everything that arrives is judged at once and in the order in which it was read; a change is committed before anything
of it leaves. So there is one history, in the ledger, and no interleaving inside of a step of it.
Source: contract lineup C-1 to C-9, rules 1 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from lasttick.model.lineup.frames import INVENTORY, Cancel, Message, ResultFrame, read_frame
from lasttick.model.lineup.records import DEFAULT_CONVERSATION, Inventory, PermissionAsked, Refused
from lasttick.ports import Clock, Entropy
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup import permissions, restart
from lasttick.reference.lineup.agent_process import AgentProcess
from lasttick.reference.lineup.gateway_cards import GatewayCards
from lasttick.reference.lineup.host_out import HostOut
from lasttick.reference.lineup.ledger import REFUSED, Ledger, Step
from lasttick.reference.lineup.links import AgentLink, HostLink
from lasttick.reference.lineup.turns import Turns
from lasttick.reference.lineup.workshop import Workshop

RESPONSE_TIMEOUT_S = 300.0
REFUSED_CHARS_MAX = 4_000
"""Of a frame that could not be read, as the ledger keeps it."""


class Adapter:
    """Between one agent process at a time and one chat host at a time. It is HostEvents; each process that it starts is
    AgentEvents of its own link, so that a dead one is heard no more.

    `agent_factory` makes the link to a new agent process, and knows its command and folder. The process is started for
    the first prompt, and again after it ended. `step` is called with the name of every commit and every frame, before
    and after it; what it raises kills the adapter at that instant. The adapter closes the ledger. `gateway` hears the
    questions of a gateway-native source. `permission_life_s`: less than the agent waits before it denies by itself;
    None: 55, for one that waits 60 (rule 2).
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        entropy: Entropy,
        agent_factory: Callable[[], AgentLink],
        *,
        response_timeout_s: float = RESPONSE_TIMEOUT_S,
        permission_life_s: float | None = None,
        step: Step | None = None,
    ) -> None:
        life = None if permission_life_s is None else timedelta(seconds=permission_life_s)
        self._shop = Workshop(ledger, clock, entropy, step, life)
        self._host = HostOut(self._shop)
        self._turns = Turns(self._shop, agent_factory, response_timeout_s)
        self.gateway = GatewayCards(self._shop, self._turns.cards, lambda: self._host.is_attached)
        self._turns.listen(self, self.gateway.answers)
        self._shop.on_commit = self._host.wake

    async def start(self) -> None:
        """Begin an epoch and settle what an older one left. Raises StartError for a ledger that cannot be."""
        self._shop.begin_epoch()
        try:
            restart.recover(self._shop, self._turns)
        except ValueError as error:
            raise StartError(
                f"the ledger cannot be taken over: {error}",
                "legal pairs of states only (contract lineup C-4)",
                "name another ledger file and keep this one for whoever looks into it",
            ) from error

    async def stop(self) -> None:
        """End the agent and close the ledger. Cards that are open are closed by the next start. Idempotent."""
        self._shop.abandon()
        await self._turns.stop()

    def abandon(self) -> None:
        """What a killed process does: from now on nothing is written, sent or waited for."""
        self._shop.abandon()

    async def ended(self) -> None:
        """Returns when the adapter is over: stopped, or because it could not write its ledger."""
        await self._shop.ended.wait()

    # -- HostEvents

    def attach(self, host: HostLink) -> None:
        """A host is there. It gets what no host took before it; its inventory is not known yet."""
        self._turns.inventory = Inventory()
        self._host.attach(host)

    def host_gone(self) -> None:
        """To be called before the next host is attached."""
        self._turns.inventory = Inventory()
        self._host.detach()

    def frame(self, data: bytes, read_ns: int) -> None:
        if self._shop.ended.is_set():
            return
        read = read_frame(data)
        if isinstance(read, Message):
            self._turns.said(read)
        elif isinstance(read, ResultFrame):
            self._turns.cards.result(read, read_ns)
        elif isinstance(read, Inventory):
            self._published(read)
        elif isinstance(read, Cancel):
            self._turns.cancel(read.conversation_id)
        else:
            self._unreadable(data, read)

    # -- ProcessEvents

    def updated(self, conversation_id: str, update: Mapping[str, Any]) -> None:
        if not self._shop.ended.is_set():
            self._turns.updated(conversation_id, update)

    def permission(self, process: AgentProcess, conversation_id: str | None, asked: PermissionAsked) -> None:
        if self._shop.ended.is_set():
            return
        if conversation_id is not None:
            self._turns.heard(conversation_id)
        permissions.ask(self._shop, self._turns.cards, process, conversation_id, asked)

    def refused(self, conversation_id: str | None, reason: str, body: Any) -> None:
        """Something of the agent that is no card: audited, and answered by whoever read it."""
        if not self._shop.ended.is_set():
            with self._shop.writing("agent refused"):
                self._shop.ledger.audit("call", "rejected", reason, body, conversation_id=conversation_id)

    def gone(self, process: AgentProcess, reason: str) -> None:
        self._turns.gone(process, reason)

    def _published(self, inventory: Inventory) -> None:
        tools = [] if inventory.tools is None else list(inventory.tools)
        with self._shop.writing("inventory") as later:
            body = {"revision": inventory.revision, "tools": tools}
            self._shop.ledger.message(DEFAULT_CONVERSATION, "in", "host", INVENTORY, body)
            later.append(lambda: setattr(self._turns, "inventory", inventory))

    def _unreadable(self, data: bytes, refused: Refused) -> None:
        text = data[:REFUSED_CHARS_MAX].decode("utf-8", "backslashreplace")
        body = {"reason": refused.reason, "data": text, "bytes": len(data)}
        with self._shop.writing("frame refused"):
            seq = self._shop.ledger.message(DEFAULT_CONVERSATION, "in", "host", REFUSED, body)
            self._shop.ledger.audit(
                "result", "rejected", refused.reason, body, conversation_id=DEFAULT_CONVERSATION, seq=seq
            )
