"""How do the platform's tools reach the model? The `humanwork` MCP server, a child of the agent program on stdio.

It advertises exactly the pairs of `HUMANWORK_MCP_TOOLS`, in the portable code of ruling 8, and hands every call on to
the gateway, which alone decides. It knows nothing of the tools but their names, so every input is an open object. A
call that fails is a tool error with the gateway's code; the server lives on. `python -m
lasttick.reference.gateway.humanwork` runs it on the process's own stdin and stdout, until end of file.
Source: contract gateway "Parts", rulings 7, 8; GW-15, GW-18.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from lasttick.model import secret_fence, tool_names
from lasttick.model.errors import sendable, shown
from lasttick.model.manifest import TOOLSET
from lasttick.model.tool_names import ToolNameError
from lasttick.ports import LineStream
from lasttick.reference.gateway.platform_auth import setting
from lasttick.reference.gateway.tool_gateway_client import ToolFailed, ToolGatewayClient

log = logging.getLogger(__name__)

ANY_INPUT = {"type": "object", "additionalProperties": True}
NOT_CONFIGURED = "TOOL_NOT_CONFIGURED"
Context = ServerRequestContext[Any, Any]


def configured_tools(environ: Mapping[str, str]) -> dict[str, str]:
    """MCP name -> pair, in the order of `HUMANWORK_MCP_TOOLS`; none when it is absent, empty or a literal placeholder.

    Raises ToolNameError for a text that names no pair, and for two that the agent could not tell apart.
    """
    listed = setting(environ, secret_fence.MCP_TOOLS)
    pairs = [] if listed is None else listed.split(tool_names.LIST_SEPARATOR)
    names = {tool_names.encode(pair): pair for pair in pairs}
    tool_names.refuse_collisions(pairs)
    return names


class Humanwork:
    """The MCP server of one turn."""

    def __init__(self, tools: Mapping[str, str], gateway: ToolGatewayClient) -> None:
        self._tools = tools
        self._gateway = gateway
        self._listed = [
            types.Tool(name=name, description=_description(pair), input_schema=ANY_INPUT)
            for name, pair in tools.items()
        ]
        # No handler for resources or prompts: a server that has them adds tools to every model request.
        self.server: Server[Any] = Server(TOOLSET, on_list_tools=self._list_tools, on_call_tool=self._call_tool)

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await self._execute(params.name, params.arguments or {})
            return _text(json.dumps(result, ensure_ascii=False, separators=(",", ":")), is_error=False)
        except ToolFailed as failed:
            return _text(f"{failed.code}: {failed.message}", is_error=True)
        except Exception as error:
            # Only its kind: what an unforeseen error says may hold anything of this process.
            log.error("a call of %s failed inside humanwork: %s", shown(params.name), type(error).__name__)
            return _text("INTERNAL_ERROR: the call failed inside the MCP server", is_error=True)

    async def _execute(self, name: str, arguments: Mapping[str, Any]) -> Any:
        pair = self._tools.get(name)
        if pair is None:
            raise ToolFailed(
                NOT_CONFIGURED, f"{shown(name)} is no tool of this turn; expected one of tools/list; call one of those"
            )
        slug, action = tool_names.parted(pair)
        return await self._gateway.execute(slug, action, arguments)


async def serve_humanwork(
    environ: Mapping[str, str],
    stream: LineStream | None = None,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
) -> None:
    """Serve until the end of file, and close the stream then. `stream` None: this process's stdin and stdout.

    `environ` is the whole environment of the child. Raises ToolNameError when its tool list can not be served.
    """
    try:
        tools = configured_tools(environ)
        gateway = ToolGatewayClient(environ, transport=transport)
        try:
            server = Humanwork(tools, gateway).server
            file: Any = None if stream is None else _LineFile(stream)
            async with stdio_server(file, file) as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await gateway.aclose()
    finally:
        if stream is not None:
            stream.close()


class _LineFile:
    """A stream of lines as the text file that the SDK reads lines from and writes lines to."""

    def __init__(self, stream: LineStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._stream.lines():
            yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._stream.write(text.encode())

    async def flush(self) -> None:
        """Nothing is kept back."""


def _description(pair: str) -> str:
    return f"{pair} through the tool gateway. The arguments are the action's own input."


def _text(text: str, *, is_error: bool) -> types.CallToolResult:
    """A result may hold lone surrogates, which no encoder of the wire takes; escaped, they are still JSON."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=sendable(text))], is_error=is_error)


def main() -> int:
    """Exit status 2 for a tool list that can not be served; the reason is on standard error."""
    # The SDK reads in a thread that blocks: Ctrl-C would wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(serve_humanwork(os.environ))
    except ToolNameError as error:
        sys.stderr.write(f"humanwork does not start: {error}\n")
        return 2
    except BaseExceptionGroup as errors:
        if errors.split(BrokenPipeError)[1] is not None:
            raise
        # Nobody reads any more. Python's own end would try to write what is left, and complain.
        os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
