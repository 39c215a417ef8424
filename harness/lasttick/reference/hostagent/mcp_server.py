"""How do the tools reach an MCP client? The one module of the host agent that knows the MCP SDK (2.3.x).

From the outside in: bearer door, session watch, ids in flight, the SDK's transport, and below it one handler for all
tools. It serves both eras: clients of the handshake revisions have a session, which is their holder; requests of
2026-07-28 have none and hold by a lease handle (ruling 7), or get -32001 `no_session` where handles are off.
Source: contract hostagent, rulings 6 to 11; facts about the SDK: contract mcp_sdk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.routing import BaseRoute, Route

from lasttick.model import errors
from lasttick.model.errors import ToolError
from lasttick.model.lease import Holder
from lasttick.ports import AsgiApp, Entropy, LeaseStore, StoreUnavailable
from lasttick.reference.hostagent import empty_lists, handles, in_flight, tools
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.door import Door
from lasttick.reference.hostagent.session_watch import Sessions, SessionWatch

log = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Drives phones and tablets. Call list_devices first. A device is yours from your first call on it until you stop "
    "calling for a while; a busy device answers at once with reason device_busy. Bounds and screenshots are in pixels; "
    "tap at tap_point, which is in tap units. Without a session, the result of your first call on a device carries a "
    f"lease handle in _meta, key {handles.META_KEY}: present it in the _meta of your next calls on that device."
)
STOP_TELL_S = 1.0
"""How long a stop waits for a lease store to hear of a session's end: what it does not hear ends a TTL later."""
SDK_LOGGERS = ("mcp.server.streamable_http_manager", "mcp.server.streamable_http")
WHOLE_SESSION_ID = re.compile(r"(?<=session id: ).+|(?<=ing session: ).+|[0-9a-f]{32}", re.IGNORECASE | re.DOTALL)

Context = ServerRequestContext[Any, Any]
HolderOf = Callable[[Context], Holder | None]


@dataclass(frozen=True, slots=True)
class McpOptions:
    """How the MCP endpoint is served. `port` None: not known yet, any port of the hosts is accepted."""

    json_response: bool = True
    session_idle_s: float | None = 1_800.0
    max_sessions: int = 10_000
    max_body_bytes: int = in_flight.MAX_BODY_BYTES
    port: int | None = None
    extra_host: str | None = None
    """One non-loopback host name or address, when both switches of HA-01 are set."""
    version: str = ""
    open_door: bool = False
    """No token is asked for: only for the MCP conformance suite, which can send none."""
    stateless_handles: bool = True
    """Clients without a session may hold devices by a lease handle."""


class ShortenSessionIds(logging.Filter):
    """The SDK logs whole session ids, which are keys to sessions (HA-02): keep the first 8 characters of each."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        short = WHOLE_SESSION_ID.sub(lambda found: found.group()[:8], text)
        if short != text:
            record.msg, record.args = short, ()
        return True


_SHORTEN = ShortenSessionIds()


def session_of(scope: Any) -> str | None:
    """The session id of an HTTP request, seen as the SDK sees it: the first of each header, and none in 2026-07-28.

    A session id on a request of the modern era is ignored there, so it must not count here either: its 404 for an
    unknown method would end a session that is alive.
    """
    version = session_id = None
    for name, value in scope["headers"]:
        if name == b"mcp-session-id" and session_id is None:
            session_id = value.decode("latin-1")
        elif name == b"mcp-protocol-version" and version is None:
            version = value.decode("latin-1")
    return session_id if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS else None


def holder_of(ctx: Context) -> Holder | None:
    """Who makes this call: the session of its HTTP request. None in the modern era and without HTTP headers."""
    session_id = session_of(ctx.request.scope) if ctx.request is not None else None
    return None if session_id is None else Holder("mcp", session_id)


def security(port: int | None, extra_host: str | None) -> TransportSecuritySettings:
    """The Host and Origin headers that are served: loopback on our port, and one more host if both switches say so."""
    hosts = ["127.0.0.1", "localhost", "[::1]"]
    if extra_host is not None:
        hosts.append(f"[{extra_host}]" if ":" in extra_host and not extra_host.startswith("[") else extra_host)
    suffix = "*" if port is None else str(port)
    allowed = [f"{host}:{suffix}" for host in hosts]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"http://{host}" for host in allowed])


def routes(app: AsgiApp) -> list[BaseRoute]:
    """Both spellings are the endpoint itself; a mount would answer one of them with a 307 (ruling 11)."""
    return [Route("/mcp", endpoint=app), Route("/mcp/", endpoint=app)]


def refuse(error: ToolError) -> NoReturn:
    """A failed call is a JSON-RPC error, never a tool result that says it went wrong (ruling 9)."""
    raise MCPError(error.code, error.message, error.data) from None


class McpEndpoint:
    """The MCP side of one host agent. Put `routes` into the console's app and stay inside `running()` while it serves.

    An endpoint runs once: the SDK's session manager cannot be started again. `verify` is the door's question about a
    token; `entropy` makes lease handles, without it there are none; `resolver` says who a call is from, in
    place of `holder_of`, on transports that have no headers; `fit` may put more onto the SDK's server before it runs
    (the fixtures of a test build).
    """

    def __init__(
        self,
        *,
        calls: LeasedCalls,
        store: LeaseStore,
        verify: Callable[[str], bool],
        options: McpOptions | None = None,
        entropy: Entropy | None = None,
        resolver: HolderOf | None = None,
        fit: Callable[[Server[Any]], None] | None = None,
    ) -> None:
        options = options or McpOptions()
        self._stopping = False
        self._calls = calls
        self._store = store
        self._resolver = resolver
        self._entropy = entropy if options.stateless_handles else None
        self._tools = [
            types.Tool(name=spec.name, description=spec.description, input_schema=spec.input_schema)
            for spec in tools.TOOLS.values()
        ]
        self.sessions = Sessions(self.end_session)
        self.server: Server[Any] = Server(
            "lasttick-hostagent",
            version=options.version,
            instructions=INSTRUCTIONS,
            get_tool_input_schema=_input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self.server.middleware[:] = [self._on_message]
        (fit or empty_lists.fit)(self.server)
        self._manager = StreamableHTTPSessionManager(
            self.server,
            json_response=options.json_response,
            security_settings=security(options.port, options.extra_host),
            session_idle_timeout=options.session_idle_s,
            max_request_body_size=options.max_body_bytes,
            max_sessions=options.max_sessions,
        )
        self._in_flight = in_flight.InFlight(
            StreamableHTTPASGIApp(self._manager), session_of, max_body_bytes=options.max_body_bytes
        )
        watched = SessionWatch(self._in_flight, session_of, self.sessions)
        self.app: AsgiApp = watched if options.open_door else Door(watched, verify)
        self.routes: list[BaseRoute] = routes(self.app)
        for name in SDK_LOGGERS:
            logging.getLogger(name).addFilter(_SHORTEN)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While inside, requests are served. On the way out every session ends."""
        async with self._manager.run():
            try:
                yield
            finally:
                self._stopping = True
                # Before the SDK ends its sessions: it waits, shielded, for somebody to take the answers of open calls.
                await self._in_flight.aclose()

    async def end_session(self, session_id: str) -> None:
        """A session is over: its leases go now, or when its running driver calls end (rulings 6 and 8)."""
        try:
            async with asyncio.timeout(STOP_TELL_S if self._stopping else None):
                await self._store.end_holder(Holder("mcp", session_id))
        except (StoreUnavailable, TimeoutError) as error:
            # The session is over all the same; the store tells the others when it can.
            log.warning("the end of session %s is not in the lease store yet: %s", session_id[:8], error)

    async def call_tool(
        self,
        holder: Holder | None,
        name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> types.CallToolResult:
        """One call, as an MCP result; `meta` is the request's `_meta`. Raises ToolError."""
        device_id = arguments.get("device_id")
        if holder is not None or self._entropy is None or not isinstance(device_id, str) or not tools.is_leased(name):
            return self._as_result(await self._calls.run(holder, name, arguments), name, arguments)
        handle = handles.presented(meta)
        if handle is not None:
            known = handles.holder_of_handle(handle, device_id)
            return self._as_result(await self._calls.run(known, name, arguments, own_only=True), name, arguments)
        handle = handles.mint(self._entropy)
        new = handles.holder_of_handle(handle, device_id)
        result = self._as_result(await self._calls.run(new, name, arguments, handle=handle), name, arguments)
        result.meta = {handles.META_KEY: handle}
        return result

    def _as_result(self, result: dict[str, Any], name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        png = result.pop("png_base64") if name == "take_screenshot" else None
        try:
            text = tools.as_text(result)
        except (TypeError, ValueError, RecursionError) as error:
            log.warning("the result of %s is no JSON", name, exc_info=error)
            raise errors.driver_error(str(arguments.get("device_id", "")), f"the result is no JSON: {error}") from None
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        if png is not None:
            content = [types.ImageContent(type="image", data=png, mime_type="image/png")]
        return types.CallToolResult(content=content, structured_content=result)

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if params is not None and params.cursor is not None:
            refuse(errors.bad_arguments("tools/list", "cursor", "unknown", "no cursor, as there is one page"))
        return types.ListToolsResult(tools=self._tools)

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            holder = (self._resolver or holder_of)(ctx)
            return await self.call_tool(holder, params.name, params.arguments or {}, meta=_meta(params))
        except ToolError as error:
            return refuse(error)
        except Exception:
            log.exception("%s failed inside the host agent", errors.shown(params.name))
            raise MCPError(types.INTERNAL_ERROR, "internal error", {"reason": "internal_error"}) from None

    async def _on_message(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Runs around every message of every session: notes the session, and names what a malformed call got wrong."""
        self._note_session(ctx)
        if ctx.method == "tools/call":
            try:
                _check_shape(ctx.params)
            except ToolError as error:
                refuse(error)
        return await call_next(ctx)

    def _note_session(self, ctx: Context) -> None:
        """Second signal of a session's end: the SDK closes the connection on DELETE, idle limit and stop alike.

        `_connection` is a private name of the SDK; a test of each of the three ends guards it (contract mcp_sdk, 3b).
        """
        connection = ctx.session._connection
        session_id = connection.session_id
        if session_id is not None and "lasttick" not in connection.state:
            connection.state["lasttick"] = True
            self.sessions.opened(session_id)
            connection.exit_stack.push_async_callback(self.sessions.ended, session_id)


def _check_shape(params: Mapping[str, Any] | None) -> None:
    """What the SDK would refuse without a reason. Raises ToolError `bad_arguments`."""
    given = params or {}
    name, arguments = given.get("name"), given.get("arguments")
    if not isinstance(name, str) or name != errors.sendable(name):
        raise errors.bad_arguments("tools/call", "name", "missing or no text", "the name of a tool as a string")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise errors.bad_arguments("tools/call", "arguments", f"of type {type(arguments).__name__}", "a JSON object")


def _meta(params: types.CallToolRequestParams) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any] | None", params.meta)


def _input_schema(name: str) -> Mapping[str, Any] | None:
    spec = tools.TOOLS.get(name)
    return None if spec is None else spec.input_schema
