"""A real SDK server (low level, both eras) to hold the raw client against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

URL = "http://host/mcp"


@dataclass
class Peer:
    """The server's side: what it saw, and a gate that calls of the tool `wait` stop at."""

    transport: httpx.AsyncBaseTransport
    url: str = URL
    headers: list[dict[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0


def _server(peer_of: Callable[[], Peer]) -> Server[Any]:
    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="add", input_schema={"type": "object"})])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        peer = peer_of()
        peer.headers.append(dict(ctx.request.headers))
        if params.name == "busy":
            raise MCPError(code=-32000, message="device busy", data={"reason": "device_busy"})
        if params.name == "wait":
            peer.entered.set()
            try:
                await peer.gate.wait()
            except asyncio.CancelledError:
                peer.cancelled += 1
                raise
        arguments = params.arguments or {}
        total = sum(arguments.values())
        return CallToolResult(content=[TextContent(type="text", text=f'{{"sum": {total}}}')])

    return Server("peer", on_list_tools=list_tools, on_call_tool=call_tool)


@asynccontextmanager
async def _running(json_response: bool) -> AsyncIterator[Peer]:
    server = _server(lambda: peer)
    app = server.streamable_http_app(
        json_response=json_response,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    peer = Peer(httpx.ASGITransport(app=app))  # type: ignore[arg-type]
    async with server.session_manager.run():
        yield peer


@pytest.fixture(params=[True, False], ids=["json", "sse"])
def running(request: pytest.FixtureRequest) -> Callable[[], AbstractAsyncContextManager[Peer]]:
    """`async with running() as peer`: the SDK server, answering in JSON and in SSE."""
    return lambda: _running(request.param)
