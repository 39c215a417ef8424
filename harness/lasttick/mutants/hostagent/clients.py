"""Wrong host agents: what clients written by others stumble over, and our own clients do not (HA-19)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types as types

from lasttick.mutants import Mutant
from lasttick.reference.hostagent.mcp_server import McpEndpoint, MCPError

Wrap = Callable[..., Any]
KNOWN = {"roots", "sampling", "elicitation", "experimental", "tasks"}


def strict_about_capabilities(right: Wrap) -> Wrap:
    """What a newer client can do is an error."""

    async def _on_message(self: McpEndpoint, ctx: Any, call_next: Any) -> Any:
        if ctx.method == "initialize" and set((ctx.params or {}).get("capabilities", {})) - KNOWN:
            raise MCPError(types.INVALID_PARAMS, "unknown capability", {"reason": "bad_arguments"})
        return await right(self, ctx, call_next)

    return _on_message


MUTANTS = [
    Mutant(
        id="hostagent/unknown-capability-refused",
        breaks="HA-19",
        text="A client that says it can do something new is not let in.",
        killed_by="hostagent/inspector-frames/what-the-inspector-sends-is-served",
        patch=lambda seam: seam.wrap(McpEndpoint, "_on_message", strict_about_capabilities),
    ),
]
