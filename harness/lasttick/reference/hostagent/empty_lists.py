"""What does a host agent have besides tools? Nothing, and it says so with empty lists instead of unknown methods.

The official suite asks every server for its resources and prompts, and so do many clients before they look at the
answer to `initialize`. Source: contract mcp_conformance, section 4 (what a server must pass without fixtures); HA-21.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Page = types.PaginatedRequestParams


def fit(server: Server[Any]) -> None:
    """The methods that list nothing, and the one that finds nothing."""
    server.add_request_handler("resources/list", Page, list_resources)
    server.add_request_handler("resources/templates/list", Page, list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read_resource)
    server.add_request_handler("prompts/list", Page, list_prompts)


async def list_resources(ctx: Context, params: Page) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


async def list_templates(ctx: Context, params: Page) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


async def list_prompts(ctx: Context, params: Page) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[])


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Nothing is anywhere (MCP specification 2026-07-28, resources: error handling)."""
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri, "reason": "unknown_resource"})
