"""How do the suite's fixtures get onto a real server? Handlers that stand before the server's own and pass on the rest.

The server keeps its door, its session watch, its ids in flight and its error mapping: the suite then drives those, not
a toy. Fixtures hold no device and take no lease. They are for a test build: a start option loads this module, a warning
says so, and nothing else imports it. Source: contract mcp_conformance, section 4; HA-21.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError

from lasttick.ports import Entropy
from lasttick.reference.conformance import documents
from lasttick.reference.conformance.asking import Asking
from lasttick.reference.conformance.state import SignedState
from lasttick.reference.conformance.tools import Context, FixtureTools

log = logging.getLogger(__name__)
Page: TypeAlias = types.PaginatedRequestParams


class ConformanceFixtures:
    """`fit` them onto one server, before it runs."""

    def __init__(self, entropy: Entropy) -> None:
        self._bus = InMemorySubscriptionBus()
        self._asking = Asking(SignedState(entropy))
        self._tools = FixtureTools(self._asking, self._bus)

    def fit(self, server: Server[Any]) -> None:
        """The fixtures, beside what `server` offers already."""
        log.warning("the fixtures of the MCP conformance suite are served: a test build, not for real devices")
        listed, called = server.get_request_handler("tools/list"), server.get_request_handler("tools/call")
        schema_of = server.get_tool_input_schema
        assert listed is not None, "fixtures are fitted onto a server that lists tools"
        assert called is not None, "fixtures are fitted onto a server that calls tools"

        async def list_tools(ctx: Context, params: Page) -> types.ListToolsResult:
            # Fixtures first: the suite tries headers on the first tool, with no arguments.
            own: Any = await listed.handler(ctx, params)
            return types.ListToolsResult(tools=[*self._tools.tools, *own.tools])

        async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Any:
            if params.name in self._tools:
                return await self._tools.call(ctx, params)
            return await called.handler(ctx, params)

        def input_schema(name: str) -> Mapping[str, Any] | None:
            return self._tools.schema(name) or (None if schema_of is None else schema_of(name))

        server.get_tool_input_schema = input_schema
        for method, kind, handler in (
            ("tools/list", Page, list_tools),
            ("tools/call", types.CallToolRequestParams, call_tool),
            ("resources/list", Page, _list_resources),
            ("resources/templates/list", Page, _list_templates),
            ("resources/read", types.ReadResourceRequestParams, _read_resource),
            ("resources/subscribe", types.SubscribeRequestParams, _nothing),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, _nothing),
            ("prompts/list", Page, _list_prompts),
            ("prompts/get", types.GetPromptRequestParams, self._get_prompt),
            ("completion/complete", types.CompleteRequestParams, _complete),
            ("logging/setLevel", types.SetLevelRequestParams, _nothing),
            ("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(self._bus)),
        ):
            server.add_request_handler(method, kind, handler)  # type: ignore[arg-type]

    async def _get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name == documents.ASKING_PROMPT:
            return self._asking.prompt(params.input_responses or {})
        found = documents.prompt(params.name, params.arguments or {})
        if found is None:
            raise MCPError(
                types.INVALID_PARAMS,
                "unknown prompt; expected a name of prompts/list; list them and ask again",
                {"reason": "unknown_prompt"},
            )
        return found


async def _list_resources(ctx: Context, params: Page) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=documents.RESOURCES)


async def _list_templates(ctx: Context, params: Page) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=documents.TEMPLATES)


async def _read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    found = documents.resource(params.uri)
    if found is None:
        raise not_found(params.uri)
    return types.ReadResourceResult(contents=[found])


async def _list_prompts(ctx: Context, params: Page) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=documents.PROMPTS)


async def _complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    return documents.completion(params)


async def _nothing(ctx: Context, params: object) -> types.EmptyResult:
    return types.EmptyResult()


def not_found(uri: str) -> MCPError:
    """There is nothing at `uri` (MCP specification 2026-07-28, resources: error handling)."""
    return MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
