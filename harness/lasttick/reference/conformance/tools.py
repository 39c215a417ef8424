"""Which tools does the suite call? Each of them here, one small coroutine per tool.

What a tool sends while it runs (log lines, progress, questions) goes on the stream of its own call, so a server that
answers in plain JSON has nowhere to put it: serve event streams to the suite.
Source: contract mcp_conformance, section 3; the texts are those that the suite's own scenarios describe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from lasttick.reference.conformance.asking import PREFIX, Asking, Outcome, ask, elicit, said, sample
from lasttick.reference.conformance.content import DEFAULTS, ENUMS, NO_ARGUMENTS, PNG, RICH_SCHEMA, WAV, form

Context: TypeAlias = ServerRequestContext[Any, Any]
Params: TypeAlias = types.CallToolRequestParams
Run: TypeAlias = Callable[[Context, Params], Awaitable[Outcome]]

STEP_S = 0.05
LOG_LEVEL = "io.modelcontextprotocol/logLevel"


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    inner = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=inner)


def text(value: str) -> types.TextContent:
    return types.TextContent(type="text", text=value)


class FixtureTools:
    """`tools` as they are listed; `call` runs one of them."""

    def __init__(self, asking: Asking, bus: InMemorySubscriptionBus) -> None:
        self._asking = asking
        self._bus = bus
        self._runs: dict[str, Run] = {}
        self.tools: list[types.Tool] = []
        self._add("test_simple_text", "Gives one text.", self._simple_text)
        self._add("test_image_content", "Gives a red pixel.", self._image)
        self._add("test_audio_content", "Gives a moment of silence.", self._audio)
        self._add("test_embedded_resource", "Gives a resource inside its result.", self._embedded)
        self._add("test_multiple_content_types", "Gives a text, an image and a resource.", self._mixed)
        self._add("test_tool_with_logging", "Says three log lines while it runs.", self._logging)
        self._add("test_error_handling", "Always fails.", self._error)
        self._add("test_tool_with_progress", "Tells its progress in three steps.", self._progress)
        self._add("test_sampling", "Asks the client's model.", self._sampling, form(prompt="string"))
        self._add("test_elicitation", "Asks the client's user.", self._elicitation, form(message="string"))
        self._add("test_elicitation_sep1034_defaults", "Asks with default values.", self._defaults)
        self._add("test_elicitation_sep1330_enums", "Asks with five kinds of choices.", self._enums)
        self._add("json_schema_2020_12_tool", "Has a rich schema.", self._simple_text, RICH_SCHEMA)
        self._add("test_missing_capability", "Needs a client that can sample.", self._missing_capability)
        self._add("test_logging_tool", "Logs if the request asks for it.", self._logging)
        self._add("test_streaming_elicitation", "Asks in its result, not on its stream.", self._streaming)
        self._add("test_trigger_tool_change", "Says that the tools changed.", self._tools_changed)
        self._add("test_trigger_prompt_change", "Says that the prompts changed.", self._prompts_changed)
        region = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
        self._add("test_header_parameter", "Has a parameter that a header repeats.", self._simple_text, region)
        for name, (_, description) in asking.tools.items():
            self._add(PREFIX + name, description, self._input_required)

    def __contains__(self, name: object) -> bool:
        return name in self._runs

    def schema(self, name: str) -> dict[str, Any] | None:
        return next((tool.input_schema for tool in self.tools if tool.name == name), None)

    async def call(self, ctx: Context, params: Params) -> Outcome:
        """One call of a fixture. Raises MCPError where the protocol says so."""
        return await self._runs[params.name](ctx, params)

    def _add(self, name: str, description: str, run: Run, schema: dict[str, Any] | None = None) -> None:
        self.tools.append(types.Tool(name=name, description=description, input_schema=schema or NO_ARGUMENTS))
        self._runs[name] = run

    # -- contents

    async def _simple_text(self, ctx: Context, params: Params) -> Outcome:
        return said("This is a simple text response for testing.")

    async def _image(self, ctx: Context, params: Params) -> Outcome:
        return types.CallToolResult(content=[image()])

    async def _audio(self, ctx: Context, params: Params) -> Outcome:
        return types.CallToolResult(content=[types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")])

    async def _embedded(self, ctx: Context, params: Params) -> Outcome:
        inner = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        return types.CallToolResult(content=[inner])

    async def _mixed(self, ctx: Context, params: Params) -> Outcome:
        inner = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return types.CallToolResult(content=[text("Multiple content types test:"), image(), inner])

    async def _error(self, ctx: Context, params: Params) -> Outcome:
        failed = text("This tool intentionally returns an error for testing")
        return types.CallToolResult(content=[failed], is_error=True)

    # -- notifications

    async def _logging(self, ctx: Context, params: Params) -> Outcome:
        await _log(ctx, "Tool execution started")
        await asyncio.sleep(STEP_S)
        await _log(ctx, "Tool processing data")
        await asyncio.sleep(STEP_S)
        await _log(ctx, "Tool execution completed")
        return said("The tool has logged.")

    async def _progress(self, ctx: Context, params: Params) -> Outcome:
        for done in (0, 50, 100):
            if done:
                await asyncio.sleep(STEP_S)
            await ctx.session.report_progress(done, 100)
        return said("The tool has told its progress.")

    async def _tools_changed(self, ctx: Context, params: Params) -> Outcome:
        await self._bus.publish(ToolsListChanged())
        return said("The tools changed.")

    async def _prompts_changed(self, ctx: Context, params: Params) -> Outcome:
        await self._bus.publish(PromptsListChanged())
        return said("The prompts changed.")

    # -- questions to the client

    async def _sampling(self, ctx: Context, params: Params) -> Outcome:
        if not ctx.session.check_client_capability(types.ClientCapabilities(sampling=types.SamplingCapability())):
            return _cannot("sampling")
        request = sample(str((params.arguments or {}).get("prompt", "")), 100)
        answer = await ctx.session.send_request(request, types.CreateMessageResult, metadata=_on_this_call(ctx))
        shown = answer.content.text if isinstance(answer.content, types.TextContent) else answer.content.type
        return said(f"LLM response: {shown}")

    async def _elicitation(self, ctx: Context, params: Params) -> Outcome:
        schema = form(username="string", email="string")
        schema["properties"]["username"]["description"] = "User's response"
        schema["properties"]["email"]["description"] = "User's email address"
        message = str((params.arguments or {}).get("message", ""))
        return await _elicited(ctx, message, schema, "User response: action={action}, content={content}")

    async def _defaults(self, ctx: Context, params: Params) -> Outcome:
        done = "Elicitation completed: action={action}, content={content}"
        return await _elicited(ctx, "Please check these values", DEFAULTS, done)

    async def _enums(self, ctx: Context, params: Params) -> Outcome:
        done = "Elicitation completed: action={action}, content={content}"
        return await _elicited(ctx, "Please choose", ENUMS, done)

    # -- 2026-07-28

    async def _missing_capability(self, ctx: Context, params: Params) -> Outcome:
        if not ctx.session.check_client_capability(types.ClientCapabilities(sampling=types.SamplingCapability())):
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                "this tool needs a client that can sample; expected sampling among its capabilities (MCP "
                "specification, capabilities); declare it, or call another tool",
                {"requiredCapabilities": {"sampling": {}}},
            )
        return said("The client can sample.")

    async def _streaming(self, ctx: Context, params: Params) -> Outcome:
        if params.input_responses:
            return said("The question was answered.")
        return ask(streamed=elicit("Is somebody there?", form(answer="string")))

    async def _input_required(self, ctx: Context, params: Params) -> Outcome:
        can = ctx.session.client_capabilities or types.ClientCapabilities()
        return await self._asking.call(params.name.removeprefix(PREFIX), params, can)


def _on_this_call(ctx: Context) -> ServerMessageMetadata:
    return ServerMessageMetadata(related_request_id=ctx.request_id)


async def _log(ctx: Context, data: str) -> None:
    """In 2026-07-28 nothing is logged to a client that does not ask for it in the request."""
    if ctx.protocol_version >= "2026" and LOG_LEVEL not in ((ctx.params or {}).get("_meta") or {}):
        return
    params = types.LoggingMessageNotificationParams(level="info", data=data)
    notification = types.LoggingMessageNotification(params=params)
    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)


async def _elicited(ctx: Context, message: str, schema: dict[str, Any], shown: str) -> Outcome:
    if not ctx.session.check_client_capability(types.ClientCapabilities(elicitation=types.ElicitationCapability())):
        return _cannot("elicitation")
    answer = await ctx.session.send_request(elicit(message, schema), types.ElicitResult, metadata=_on_this_call(ctx))
    return said(shown.format(action=answer.action, content=answer.content))


def _cannot(capability: str) -> types.CallToolResult:
    failed = text(f"the client has no {capability}; expected one that declares it; call with another client")
    return types.CallToolResult(content=[failed], is_error=True)
