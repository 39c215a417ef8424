"""Frames to the host leave in the order in which they were committed, one at a time, over whichever link there is.

What no link took stays in the ledger, and goes to the next host or is sent by the next adapter: a person hears at least
once of everything. Source: contract lineup C-1, C-8.
"""

from __future__ import annotations

import asyncio

from lasttick.model.lineup.frames import out_frame
from lasttick.reference.lineup.ledger import NOT_BEGUN
from lasttick.reference.lineup.links import HostLink
from lasttick.reference.lineup.workshop import Workshop


class HostOut:
    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._host: HostLink | None = None
        self._sending: asyncio.Task[None] | None = None

    @property
    def is_attached(self) -> bool:
        return self._host is not None

    def attach(self, host: HostLink) -> None:
        """A frame that the last host had not taken yet goes to this one."""
        self.detach()
        self._host = host
        self.wake()

    def detach(self) -> None:
        self._host = None
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def wake(self) -> None:
        """There may be something to send."""
        has_begun = self._shop.ledger.epoch != NOT_BEGUN  # before that, cards of a dead adapter look open
        if has_begun and self._host is not None and self._sending is None:
            self._sending = self._shop.spawn(self._send(self._host))

    async def _send(self, host: HostLink) -> None:
        while (found := self._shop.ledger.unsent()) is not None:
            self._shop.step(f"before frame: host {found.type}")
            try:
                await host.send(out_frame(found.type, found.payload, found.conversation_id))
            except ConnectionError:
                if self._host is host:
                    self._host = None
                break
            self._shop.step(f"after frame: host {found.type}")
            with self._shop.writing("host took"):
                self._shop.ledger.host_took(found.row)
        if self._sending is asyncio.current_task():
            self._sending = None
