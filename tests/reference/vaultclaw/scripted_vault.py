"""A vault that answers from a script, in virtual time, for tests of single tools. It refuses what is not in the script.

It answers as the sender of the server does: an answer below 400, or a `ToolFailure`. `failing` makes such failures for
the few codes that these tools tell apart; the whole mapping has its own tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference.vaultclaw.tool import Parts, Tool, ToolCall
from lasttick.reference.vaultclaw.vault import Vault, VaultAnswer

REQUEST_ID = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Sent:
    """One call that reached the vault."""

    t_s: float
    method: str
    path: str
    query: dict[str, str]
    body: Any
    idempotency_key: str | None
    timeout_s: float | None


Reply = Any  # a body, a ToolFailure, or a function from Sent to one of these (it may be a coroutine function)


@dataclass(slots=True)
class ScriptedVault:
    """`script`: path -> a reply, or a list of replies of which the last one stays."""

    script: dict[str, Reply]
    latency_s: float = 0.0
    calls: list[Sent] = field(default_factory=list)

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        timeout_s: float | None = None,
    ) -> VaultAnswer:
        now_s = asyncio.get_running_loop().time()
        sent = Sent(now_s, method, path, dict(query or {}), body, idempotency_key, timeout_s)
        self.calls.append(sent)
        assert path in self.script, f"{method} {path} is not in the script; it has {sorted(self.script)}"
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.sleep(self.latency_s)
                reply = await self._reply(sent)
        except TimeoutError:
            raise failing(0, "NETWORK_ERROR") from None
        if isinstance(reply, ToolFailure):
            raise reply
        return VaultAnswer(200, REQUEST_ID, reply)

    async def _reply(self, sent: Sent) -> Any:
        reply = self.script[sent.path]
        if isinstance(reply, list):
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if callable(reply):
            reply = reply(sent)
        return await reply if asyncio.iscoroutine(reply) else reply

    @property
    def paths(self) -> list[str]:
        return [f"{call.method} {call.path.removeprefix('/v0')}" for call in self.calls]

    @property
    def instants(self) -> list[float]:
        return [call.t_s for call in self.calls]


@dataclass(slots=True)
class _Sessions:
    """One session for every scope, or none."""

    vault_made: Vault | None
    asked: int = 0

    def vault(self, scope: str) -> Vault:
        self.asked += 1
        if self.vault_made is None:
            raise ToolFailure("MCP_SESSION_NOT_CONFIGURED", "no session")
        return self.vault_made


def failing(status: int, vault_code: str, code: str = "MCP_INTERNAL", **details: Any) -> ToolFailure:
    """A mapped failure; `details`: of the vault's error."""
    vault_error = {"code": vault_code, "message": "no", "details": details or None}
    return ToolFailure(
        code,
        "no",
        {"request_id": REQUEST_ID, "vault_http_status": status, "vault_error": vault_error},
        retryable=status == 0 or status == 429 or status >= 500,
        vault_code=vault_code,
    )


def call_of(loop: VirtualLoop, vault: ScriptedVault | None, arguments: Mapping[str, Any]) -> ToolCall:
    sessions = cast(Any, _Sessions(Vault(vault) if vault is not None else None))
    parts = Parts(VirtualClock(loop), Chance(0), sessions, cast(Any, None), cast(Any, None))
    return ToolCall(Arguments(arguments), "default", parts)


def run_tool(tool: Tool, vault: ScriptedVault | None, **arguments: Any) -> dict[str, Any]:
    """The tool's envelope; `vault` None: there is no session."""

    async def main(loop: VirtualLoop) -> dict[str, Any]:
        return await envelope(tool, call_of(loop, vault, arguments))

    return run_virtual(main)


async def envelope(tool: Tool, call: ToolCall) -> dict[str, Any]:
    try:
        return (await tool.run(call)).as_json()
    except ToolFailure as failure:
        return failure.as_json()


def named(tools: tuple[Tool, ...], name: str) -> Tool:
    return next(tool for tool in tools if tool.name == f"vaultclaw_{name}")
