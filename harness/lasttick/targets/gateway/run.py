"""A run that a scenario holds open: what may be called while a turn lasts, and what may not when it is over.

The stand-in for the agent keeps every turn until it is told the answer. Nothing else of the platform knows of it.
Source: contract gateway, run lifecycle, ruling 12.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lasttick.targets.gateway.wire import ChatAnswer, Reply

if TYPE_CHECKING:
    from lasttick.targets.gateway.handle import Gateway
    from lasttick.targets.world import World

Send = Callable[..., Awaitable[Reply]]


class Turns:
    """The stand-in's turns, over its wire."""

    def __init__(self, send: Send, agent_url: str) -> None:
        self._send = send
        self._url = agent_url

    async def waiting(self, text: str) -> dict[str, Any]:
        """The wire of the turn with this text, as soon as the stand-in has it."""
        answer = await self._send("POST", f"{self._url}/turns/wait", {"text": text})
        assert answer.ok, f"no turn came to the agent: HTTP {answer.http_status}: {answer.body}"
        return dict(answer.body)

    async def end(self, text: str, said: str) -> None:
        answer = await self._send("POST", f"{self._url}/turns/end", {"text": text, "answer": said})
        assert answer.ok, f"the turn could not be ended: HTTP {answer.http_status}: {answer.body}"


@dataclass(slots=True)
class OpenRun:
    """An active run. `wire` is what the platform sent the agent."""

    id: str
    org_id: str
    wire: Mapping[str, Any]
    _gateway: Gateway
    _turns: Turns
    _text: str
    _chat: asyncio.Task[ChatAnswer]

    @classmethod
    async def begin(
        cls, world: World, gateway: Gateway, turns: Turns, org_id: str, options: Mapping[str, Any]
    ) -> OpenRun:
        text = options.get("text") or f"open run {world.next_ref('o')}"
        rest = {name: value for name, value in options.items() if name != "text"}
        chat = world.start(gateway.chat(org_id, text, **rest))
        waiting = world.start(turns.waiting(text))
        # A platform that refuses the chat never asks the agent.
        await asyncio.wait({chat, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            raise AssertionError(f"the chat ended without a turn of the agent: {chat.result()}")
        wire = waiting.result()
        assert wire["run_id"] is not None, f"the turn has no run: {wire}"
        return cls(wire["run_id"], org_id, wire, gateway, turns, text, chat)

    async def call(self, name_action: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Reply:
        """A tool call in this run, by its own org unless `org_id` says otherwise. Options: those of `Gateway.call`."""
        return await self._gateway.call(self.id, name_action, arguments, **{"org_id": self.org_id, **options})

    async def end(self, answer: str = "done") -> ChatAnswer:
        """The agent answers, so the run is finished; what the person got."""
        await self._turns.end(self._text, answer)
        return await self._chat

    async def ended(self) -> ChatAnswer:
        """Wait for the end of a run that somebody else ends; what the person got."""
        return await self._chat

    async def broken_off(self) -> None:
        """Wait for the chat to break off, because the platform was killed. Raises AssertionError if it did not."""
        import httpx

        try:
            answer = await self._chat
        except httpx.TransportError:
            return
        raise AssertionError(f"expected a chat that broke off, got {answer}")
