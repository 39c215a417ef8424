"""Wrong versions of how the server speaks: on its standard streams and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from lasttick.model.vaultclaw import framing
from lasttick.model.vaultclaw.envelope import Success
from lasttick.model.vaultclaw.framing import Frame, Framer
from lasttick.mutants import Mutant
from lasttick.reference.vaultclaw import http_bridge, rpc, start_up, stdio
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.rpc import Rpc
from lasttick.reference.vaultclaw.tool import Tool

STDIO = "vaultclaw/stdio/"
HTTP = "vaultclaw/http/"


def as_a_line(self: Frame, answer: bytes) -> bytes:
    """A line, whatever the message came in."""
    return answer + b"\n"


def without_required(right: Any) -> Callable[..., Any]:
    """Schemas that require nothing."""

    def as_json(self: Tool) -> dict[str, Any]:
        entry: dict[str, Any] = right(self)
        schema = {name: value for name, value in entry["inputSchema"].items() if name != "required"}
        return {**entry, "inputSchema": schema}

    return as_json


def never_ends(self: Framer) -> None:
    """A last line waits for its newline for ever."""


async def to_its_end(ended: asyncio.Event, work: Awaitable[Success]) -> Success:
    """Nobody cuts a wait."""
    return await work


def unknown_is_invalid(right: Any) -> Callable[..., Any]:
    """A tool that is not known counts as wrong parameters."""

    def call_of(self: Rpc, params: Any) -> Any:
        try:
            return right(self, params)
        except rpc.RpcError as error:
            raise rpc.RpcError(rpc.INVALID_PARAMS, str(error)) from error

    return call_of


def in_small_letters(right: Any) -> Callable[..., str]:
    """Tenants whose names differ in case only are one."""

    def tenant_of(headers: Sequence[tuple[bytes, bytes]]) -> str:
        tenant: str = right(headers)
        return tenant.lower()

    return tenant_of


def with_status_0(right: Any) -> Callable[..., Any]:
    """The strict refusal has the meta of an ordinary failure."""

    def no_tenant() -> dict[str, Any]:
        envelope: dict[str, Any] = right()
        return {**envelope, "meta": {**envelope["meta"], "vault_http_status": 0}}

    return no_tenant


def elsewhere(config: VaultclawConfig) -> bool:
    return False


async def not_seen(receive: Any, ended: asyncio.Event) -> None:
    """Nobody notices that a client is gone."""


MUTANTS: list[Mutant] = [
    Mutant(
        "vaultclaw/answers-in-lines-only",
        breaks="VC-01",
        text="a message with a Content-Length is answered with a bare line",
        killed_by=STDIO + "each-message-is-answered-in-its-own-framing",
        patch=lambda seam: seam.replace(Frame, "wrapped", as_a_line),
    ),
    Mutant(
        "vaultclaw/schema-requires-nothing",
        breaks="VC-01",
        text="the schemas of tools/list leave out which arguments are required",
        killed_by=STDIO + "the-surface",
        patch=lambda seam: seam.wrap(Tool, "as_json", without_required),
    ),
    Mutant(
        "vaultclaw/long-line-is-the-end",
        breaks="VC-01",
        text="a message of more than a mebibyte ends the server",
        killed_by=STDIO + "what-is-no-message-is-an-error-and-not-the-end",
        patch=lambda seam: seam.replace(framing, "MESSAGE_MAX", 1 << 20),
    ),
    Mutant(
        "vaultclaw/last-line-is-lost",
        breaks="VC-01",
        text="a last message without a newline is not answered",
        killed_by=STDIO + "a-last-line-without-newline-is-answered",
        patch=lambda seam: seam.replace(Framer, "end", never_ends),
    ),
    Mutant(
        "vaultclaw/unknown-tool-is-bad-parameters",
        breaks="VC-01",
        text="an unknown tool is answered with -32602 in place of -32601",
        killed_by=STDIO + "what-no-request-may-say-has-its-code",
        patch=lambda seam: seam.wrap(Rpc, "_call_of", unknown_is_invalid),
    ),
    Mutant(
        "vaultclaw/wait-outlives-its-input",
        breaks="VC-01",
        text="the end of the input does not cut an approval_wait",
        killed_by=STDIO + "the-end-cuts-a-wait[end of file]",
        patch=lambda seam: seam.replace(rpc, "_unless", to_its_end),
    ),
    Mutant(
        "vaultclaw/stop-drops-the-call",
        breaks="VC-01",
        text="SIGTERM drops a call in flight that is no wait, although it was carried out",
        killed_by=STDIO + "the-end-waits-for-another-call[sigterm]",
        patch=lambda seam: seam.replace(stdio, "STOP_S", 0.0),
    ),
    Mutant(
        "vaultclaw/vault-is-itself-unnoticed",
        breaks="VC-01",
        text="a vault URL that leads back to the server is not warned about",
        killed_by="vaultclaw/start-up/a-vault-that-is-the-server-itself-is-warned-about",
        patch=lambda seam: seam.replace(start_up, "points_at_itself", elsewhere),
    ),
    Mutant(
        "vaultclaw/last-tenant-header-wins",
        breaks="VC-03",
        text="of several tenant headers the one of the least precedence counts",
        killed_by=HTTP + "a-header-names-the-scope",
        patch=lambda seam: seam.replace(http_bridge, "TENANT_HEADERS", http_bridge.TENANT_HEADERS[::-1]),
    ),
    Mutant(
        "vaultclaw/tenants-in-small-letters",
        breaks="VC-03",
        text="two tenants whose names differ in case only share a session",
        killed_by=HTTP + "a-header-names-the-scope",
        patch=lambda seam: seam.wrap(http_bridge, "tenant_of", in_small_letters),
    ),
    Mutant(
        "vaultclaw/strict-refusal-without-status",
        breaks="VC-03",
        text="the meta of the strict refusal says status 0",
        killed_by=HTTP + "strict-mode-needs-a-tenant[1]",
        patch=lambda seam: seam.wrap(http_bridge, "no_tenant", with_status_0),
    ),
    Mutant(
        "vaultclaw/body-past-its-limit",
        breaks="VC-03",
        text="more than the first mebibyte of a body is read",
        killed_by=HTTP + "what-is-answered-and-how-much-is-read",
        patch=lambda seam: seam.replace(http_bridge, "BODY_MAX", 2 << 20),
    ),
    Mutant(
        "vaultclaw/health-at-one-path",
        breaks="VC-03",
        text="/v1/healthz is not found",
        killed_by=HTTP + "each-path-answers-its-own[/v1/mcp]",
        patch=lambda seam: seam.replace(http_bridge, "HEALTH", ("/healthz",)),
    ),
    Mutant(
        "vaultclaw/wait-outlives-its-client",
        breaks="VC-03",
        text="the vault is polled on for a client that went away",
        killed_by=HTTP + "a-client-that-goes-away-ends-its-wait",
        patch=lambda seam: seam.replace(http_bridge, "_watch", not_seen),
    ),
]
