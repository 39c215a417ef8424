"""What a run may call, and how that list travels from the platform to the agent.

The same list of `slug:action` is the run's manifest, the wire's `mcp_tools` and the child's `HUMANWORK_MCP_TOOLS`
(GW-11). When it is empty nothing of it may exist anywhere, not even an empty field: with the flag off every byte is as
it was before there were tools (GW-12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TOOLSET = "humanwork"
"""The one toolset: the MCP server's name in the agent's configuration and the value of `-t`."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a turn gets: toolset names for the agent and `slug:action` pairs. Both empty, or neither."""

    toolsets: tuple[str, ...] = ()
    mcp_tools: tuple[str, ...] = ()


def resolve_specialist_toolsets(flag: Any, name_actions: Sequence[str]) -> Resolved:
    """`flag` is the org's `tool_dispatch_enabled`; only true itself is ON, so a text "false" stays OFF."""
    if flag is not True or not name_actions:
        return Resolved()
    return Resolved((TOOLSET,), tuple(name_actions))


def run_metadata(role: str, channel: str, mcp_tools: Sequence[str]) -> dict[str, Any]:
    """The metadata of a new run: exactly two keys, and `runtimeManifest` only when the run has tools."""
    metadata: dict[str, Any] = {"inboundMessageRole": role, "channel": channel}
    if mcp_tools:
        metadata["runtimeManifest"] = {"allowedTools": list(mcp_tools)}
    return metadata


def allowed_tools(metadata: Any) -> tuple[str, ...]:
    """The pairs of a stored manifest. Anything malformed allows nothing; a text is no list of its characters."""
    manifest = metadata.get("runtimeManifest") if isinstance(metadata, dict) else None
    tools = manifest.get("allowedTools") if isinstance(manifest, dict) else None
    return tuple(tool for tool in tools if isinstance(tool, str)) if isinstance(tools, list) else ()


def in_manifest(metadata: Any, name_action: str) -> bool:
    """Does the run's stored metadata, of any JSON shape, list this pair, letter for letter?"""
    return name_action in allowed_tools(metadata)


def chat_wire(
    *,
    conversation_id: str,
    text: str,
    org_id: str | None,
    run_id: str | None,
    toolsets: Sequence[str] = (),
    mcp_tools: Sequence[str] = (),
) -> dict[str, Any]:
    """The body of `POST /v1/chat`, keys in the order of the wire. `run_id` None: a turn without a run (consultation,
    or no dispatch org), which gets no tools. `toolsets` and `mcp_tools` are absent when empty."""
    body: dict[str, Any] = {"conversation_id": conversation_id, "text": text, "org_id": org_id, "run_id": run_id}
    if toolsets:
        body["toolsets"] = list(toolsets)
    if mcp_tools:
        body["mcp_tools"] = list(mcp_tools)
    return body
