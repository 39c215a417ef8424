"""What does a host agent have besides tools? Nothing, and it says so with empty lists instead of unknown methods.

The official suite asks every server for its resources and prompts, and so do many clients before they look at the
answer to `initialize`. That answer does not announce them: a real agent that reads it offers its model four more tools
that find nothing. Revision 2026-07-28 has no `initialize`, and the suite wants `server/discover` to announce what is
answered. Source: contract mcp_conformance, section 4 (what a server must pass without fixtures); HA-21.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams


def fit(server: Server[Any]) -> None:
    """The methods that list nothing, and the one that finds nothing; unannounced to clients of the handshake era."""
    announced = server.get_capabilities

    def get_capabilities(*args: Any, **named: Any) -> types.ServerCapabilities:
        capabilities = announced(*args, **named)
        if is_announced(named.get("protocol_version")):
            return capabilities
        return capabilities.model_copy(update={"resources": None, "prompts": None})

    server.get_capabilities = get_capabilities  # type: ignore[method-assign]
    server.add_request_handler("resources/list", Page, list_resources)
    server.add_request_handler("resources/templates/list", Page, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", Page, list_prompts)


def is_announced(protocol_version: str | None) -> bool:
    return protocol_version in MODERN_PROTOCOL_VERSIONS


async def list_resources(ctx: Context, params: Page) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


async def list_templates(ctx: Context, params: Page) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


async def list_prompts(ctx: Context, params: Page) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Nothing is anywhere (MCP specification 2026-07-28, resources: error handling)."""
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri, "reason": "unknown_resource"})
