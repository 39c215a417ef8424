"""What reached the resource behind a gateway? A resource that only writes down: two tools of known class, and a log.

    POST /mcp            MCP, both eras: `ltread` (reads) and `ltwrite` (writes), arguments {mark, hold_s?, ...}
    POST /read, /write   the same two as HTTP, JSON or form
    GET  /effects?after=SEQ    {"effects": [{seq, mark, at, end, resource, tool, args, headers, body, kind}]}
    DELETE /effects      forget them; `seq` goes on
    GET  /requests?after=SEQ   {"requests": [{seq, at, method, path, query, headers, body}]}: every message to the first
                         two lines, and to paths that are none of these, whatever it was

Everything is logged with all its headers and the raw body, so that a leaked credential is found wherever it was put.
A call without a mark has happened too: it is logged with mark null and answered as an error. `hold_s`: how long the
call stays. `resource`: the argument of that name. Source: contract laws, "Marks"; issue 4, Recorder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from lasttick.laws.servers import asgi
from lasttick.laws.servers.asgi import Refused, Request
from lasttick.laws.servers.effect_log import KEPT_MAX, EffectLog, Kind, after_of
from lasttick.ports import Clock

TOOLS: dict[str, Kind] = {"ltread": "read", "ltwrite": "write"}
PATHS = {"/read": "ltread", "/write": "ltwrite"}
SCHEMA = {
    "type": "object",
    "properties": {
        "mark": {"type": "string", "description": "Names this call in the log."},
        "hold_s": {"type": "number", "description": "How long the call lasts, in seconds."},
    },
    "required": ["mark"],
    "additionalProperties": True,
}
NO_MARK = (
    "a call without a mark; expected one in the argument `mark`, as text (docs/check.md, Marks); it has happened and "
    "is logged without one: place {mark} in the binding"
)
STOP_S = 1.0
"""How long a stop waits for the answers of calls whose hold it has ended."""
_REQUEST = "lasttick.request"


class Recorder:
    """One recorder. Put `app` on a network and stay inside `running()` while it serves; it runs once.

    `effects` and `requests` may be read at any time.
    """

    def __init__(self, clock: Clock) -> None:
        self.effects = EffectLog(clock)
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT_MAX)
        self._clock = clock
        self._count = 0
        self._open = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        server: Server[Any] = Server("lasttick-recorder", on_list_tools=_list_tools, on_call_tool=self._call_tool)
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            # Who may reach a recorder is the business of who serves it.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=asgi.BODY_BYTES_MAX,
        )
        self._mcp = StreamableHTTPASGIApp(self._manager)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Recorder]:
        """While inside, MCP is served. On the way out calls that are held end, and then every session."""
        async with self._manager.run():
            try:
                yield self
            finally:
                self.effects.close()
                # The SDK cancels what is not answered, and waits for a reader that may never come.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(STOP_S):
                        await self._quiet.wait()

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            return
        try:
            request = await asgi.read_request(scope, receive)
            await self._route(request, scope, receive, send)
        except Refused as refused:
            await asgi.refuse(send, refused)
        except asgi.ClientGone:
            return

    async def _route(self, request: Request, scope: Any, receive: Any, send: Any) -> None:
        match request.method, request.path.rstrip("/"):
            case "GET", "/effects":
                await asgi.answer(send, 200, self.effects.as_json(request))
            case "DELETE", "/effects":
                self.effects.clear()
                await asgi.answer(send, 200, {"effects": []})
            case "GET", "/requests":
                after = after_of(request)
                found = [entry for entry in self.requests if entry["seq"] > after]
                await asgi.answer(send, 200, {"requests": found})
            case _, "/mcp":
                self._note(request)
                scope["state"] = {**scope.get("state", {}), _REQUEST: request}
                with self._unanswered(request):
                    await self._mcp(scope, _Replay(request.body, receive), send)
            case "POST", ("/read" | "/write") as path:
                self._note(request)
                await asgi.answer(send, *await self._http_call(PATHS[path], request))
            case _:
                self._note(request)
                raise Refused(
                    404,
                    f"{request.method} {request.path[:100]} is nothing here; expected POST /mcp, /read, /write, or "
                    "GET or DELETE /effects (lasttick serve recorder --help); correct the address",
                )

    @contextlib.contextmanager
    def _unanswered(self, request: Request) -> Iterator[None]:
        """Counts the calls that a stop waits for; a stream (GET) ends with its session."""
        counts = request.method == "POST"
        self._open += counts
        if self._open:
            self._quiet.clear()
        try:
            yield
        finally:
            self._open -= counts
            if not self._open:
                self._quiet.set()

    def _note(self, request: Request) -> None:
        self._count += 1
        self.requests.append(
            {
                "seq": self._count,
                "at": self._clock.now_ns() / 1e9,
                "method": request.method,
                "path": request.path,
                "query": dict(request.query),
                "headers": dict(request.headers),
                "body": request.text,
            }
        )

    async def _http_call(self, tool: str, request: Request) -> tuple[int, dict[str, Any]]:
        effect = await self.effects.happen(tool, TOOLS[tool], request.arguments(), request)
        if effect.mark is None:
            return 400, {"error": NO_MARK}
        return 200, {"ok": True, "mark": effect.mark}

    async def _call_tool(
        self, ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in TOOLS:
            raise MCPError(
                types.INVALID_PARAMS,
                f"no tool {params.name[:100]!r}; expected {' or '.join(TOOLS)} (serve recorder --help); correct it",
            )
        try:
            assert ctx.request is not None, "there is no way in but HTTP"
            request = ctx.request.scope["state"][_REQUEST]
            effect = await self.effects.happen(params.name, TOOLS[params.name], params.arguments or {}, request)
        except Refused as refused:
            return _result({"error": str(refused)}, is_error=True)
        if effect.mark is None:
            return _result({"error": NO_MARK}, is_error=True)
        return _result({"ok": True, "mark": effect.mark})


async def _list_tools(
    ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    tools = [
        types.Tool(
            name=name,
            description=f"{kind.capitalize()}s nothing but its log: a call of known class.",
            input_schema=SCHEMA,
            annotations=types.ToolAnnotations(read_only_hint=kind == "read", destructive_hint=kind == "write"),
        )
        for name, kind in TOOLS.items()
    ]
    return types.ListToolsResult(tools=tools)


def _result(value: Mapping[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=json.dumps(value))]
    return types.CallToolResult(content=content, structured_content=dict(value), is_error=is_error)


class _Replay:
    """An ASGI `receive` that gives a body that was read already, and then what `receive` gives."""

    def __init__(self, body: bytes, receive: Any) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Any:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
