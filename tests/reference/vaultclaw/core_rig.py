"""A vault that notes what it is sent, and the tools around it: what the tests of the server's core share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.masking import KnownTokens
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.dialer import Dialer
from lasttick.reference.vaultclaw.rpc import Rpc
from lasttick.reference.vaultclaw.sessions import Sessions
from lasttick.reference.vaultclaw.tool import Parts, Tool
from lasttick.reference.vaultclaw.tools import connectors, documents, sessions, slots

TOKEN = "agent-T0ken-9f86d081884c7d659a2feaa0"
TOOLS = (*sessions.TOOLS, *connectors.TOOLS, *documents.TOOLS, *slots.TOOLS)
Answer = Callable[[httpx.Request], Any]


class FakeVault(httpx.AsyncBaseTransport):
    """Notes each request; `answer` makes the answer (JSON, bytes, or a whole response, also as a coroutine), or raises.

    No model of a vault: the one with states is lasttick_fakes.vaultd.
    """

    def __init__(self, answer: Answer = lambda request: {}) -> None:
        self.answer = answer
        self.asked: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.asked.append(request)
        answer = self.answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(200, content=answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    @property
    def calls(self) -> list[str]:
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.asked]


@dataclass
class Rig:
    """One server's core around a vault. `call` gives an envelope, `rpc` a whole answer."""

    vault: FakeVault
    environ: dict[str, str] = field(default_factory=dict)
    tools: Sequence[Tool] = TOOLS
    dialled: list[str | None] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = VaultclawConfig.from_env(self.environ, Path("/nowhere"))
        clock, chance = VirtualClock(asyncio.get_running_loop()), Chance(7)
        self.tokens = KnownTokens()
        dialer = Dialer(self._dial)
        self.sessions = Sessions(config, dialer, chance, self.tokens)
        unused: Any = None
        parts = Parts(clock, chance, self.sessions, unused, unused)
        self.core = Rpc(self.tools, parts, self.tokens, self.said.append)

    def _dial(self, socket_path: str | None) -> httpx.AsyncBaseTransport:
        self.dialled.append(socket_path)
        return self.vault

    async def rpc(self, method: str, params: Any = None, *, scope: str = "default") -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.core.handle(json.dumps(message).encode(), scope)
        assert answer is not None
        value: dict[str, Any] = json.loads(answer)
        assert value["id"] == 1
        return value

    async def call(self, name: str, /, arguments: Any = None, *, scope: str = "default") -> dict[str, Any]:
        result = (await self.rpc("tools/call", {"name": f"vaultclaw_{name}", "arguments": arguments}, scope=scope))[
            "result"
        ]
        envelope: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == envelope
        assert set(envelope) == {"ok", "data", "error", "meta"}
        return envelope

    async def configure(self, token: str = TOKEN, *, scope: str = "default", **more: Any) -> dict[str, Any]:
        return await self.call("session_configure", {"token": token, **more}, scope=scope)


def with_rig(
    body: Callable[[Rig], Coroutine[Any, Any, Any]],
    answer: Answer = lambda request: {},
    *,
    tools: Any = TOOLS,
    **environ: str,
) -> Any:
    """What `body` gives, in virtual time."""

    async def main(loop: VirtualLoop) -> Any:
        return await body(Rig(FakeVault(answer), environ, tools))

    return run_virtual(main)


def refusal(status: int, code: Any = None, message: Any = None, details: Any = None) -> Answer:
    """A vault that answers everything with this error."""
    body = {"error": {"code": code, "message": message, "details": details}}
    return lambda request: httpx.Response(status, json=body)
