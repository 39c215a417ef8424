"""Tools: whom does the vault see in this scope? Source: contract vaultclaw 6, 7; VC-04."""

from __future__ import annotations

from typing import Any

from lasttick.model.vaultclaw.envelope import Success
from lasttick.model.vaultclaw.masking import masked_token
from lasttick.reference.vaultclaw.config import BASE_URL, TIMEOUT_MS
from lasttick.reference.vaultclaw.required import required_text
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of
from lasttick.reference.vaultclaw.vault import VaultSession


async def configure(call: ToolCall) -> Success:
    token = required_text(call.arguments, "token")
    timeout_ms = call.arguments.integer("timeout_ms")
    session = VaultSession(
        token, call.arguments.string("base_url") or BASE_URL, timeout_ms if timeout_ms > 0 else TIMEOUT_MS
    )
    call.parts.sessions.configure(call.scope, session)
    return Success(shown(session))


async def status(call: ToolCall) -> Success:
    session = call.parts.sessions.status(call.scope)
    return Success({"configured": False} if session is None else shown(session))


async def clear(call: ToolCall) -> Success:
    call.parts.sessions.clear(call.scope)
    return Success({"cleared": True})


def shown(session: VaultSession) -> dict[str, Any]:
    return {
        "configured": True,
        "base_url": session.base_url,
        "timeout_ms": session.timeout_ms,
        "token": masked_token(session.token),
    }


TOOLS: tuple[Tool, ...] = (
    Tool(
        "vaultclaw_session_configure",
        "Say which agent token, and which vault, the calls of this tenant use. Nothing is checked with the vault yet.",
        properties_of(token="s", base_url="s", timeout_ms="i"),
        configure,
        ("token",),
    ),
    Tool("vaultclaw_session_status", "Whether this tenant has a session; its token is masked.", {}, status),
    Tool("vaultclaw_session_clear", "Forget the session of this tenant.", {}, clear),
)
