"""How does the server speak over HTTP? One JSON-RPC message in, one out; the tenant is in a header.

No session id and no stream: a plain ASGI application, whose requests run side by side. A client that goes away ends its
wait, and only that (ruling 19). Source: contract vaultclaw 5; VC-03.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from lasttick.model.vaultclaw.envelope import Meta, ToolFailure
from lasttick.model.vaultclaw.json_text import trim
from lasttick.reference.vaultclaw.config import STRICT_VARIABLE
from lasttick.reference.vaultclaw.rpc import Rpc
from lasttick.reference.vaultclaw.sessions import DEFAULT_SCOPE
from lasttick.reference.vaultclaw.wire import encoded

ALIAS = "/mcp"
HEALTH = ("/healthz", "/v1/healthz")
TENANT_HEADERS = ("X-Accords-Tenant-Id", "X-OpenClaw-Tenant-Id", "X-Tenant-Id")
BODY_MAX = 1 << 20
DRAIN_MAX = 16 << 20
"""How much of a body that is too long is still taken in: a client that is cut off while it sends sees no answer."""
JSON_TYPE = "application/json; charset=utf-8"
Receive = Callable[[], Awaitable[Any]]
Headers = Sequence[tuple[bytes, bytes]]


class HttpBridge:
    """The ASGI application. `stop` when the server stops."""

    def __init__(self, rpc: Rpc, path: str, *, strict: bool) -> None:
        self._rpc = rpc
        self._paths = (path, ALIAS)
        self._strict = strict
        self._open: dict[asyncio.Event, None] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    async def stop(self, limit_s: float) -> None:
        """Cut the waits in flight, and those that still begin; let other calls end, if they do in time."""
        self._stopping = True
        for ended in self._open:
            ended.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), limit_s)

    async def __call__(self, scope: Any, receive: Receive, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http" and (response := await self._response(scope, receive)) is not None:
            await response(scope, receive, send)

    async def _response(self, scope: Mapping[str, Any], receive: Receive) -> Response | None:
        """None: nobody is there any more."""
        path, method = scope["path"], scope["method"]
        if path in self._paths:
            return await self._rpc_response(scope["headers"], receive) if method == "POST" else _not_allowed("POST")
        if path not in HEALTH:
            return Response("404 page not found\n", 404, media_type="text/plain")
        if method not in ("GET", "HEAD"):
            return _not_allowed("GET, HEAD")
        health = _json(200, encoded({"ok": True, "service": "accords-mcp"}))
        if method == "HEAD":
            health.body = b""  # its headers stay those of GET
        return health

    async def _rpc_response(self, headers: Headers, receive: Receive) -> Response | None:
        tenant = tenant_of(headers)
        if not tenant and self._strict:
            return _json(400, encoded(no_tenant()))
        body = await _read(receive)
        if body is None:
            return None
        ended = asyncio.Event()
        if self._stopping:
            ended.set()
        self._open[ended] = None
        self._idle.clear()
        watch = asyncio.ensure_future(_watch(receive, ended))
        try:
            answer = await self._rpc.handle(body, tenant or DEFAULT_SCOPE, ended)
        finally:
            del self._open[ended]
            if not self._open:
                self._idle.set()
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
        return Response(status_code=204) if answer is None else _json(200, answer)


def tenant_of(headers: Headers) -> str:
    """The first tenant header that is not blank, in the order of their names; "" when there is none.

    Bytes that are no UTF-8 stay apart from each other: two tenants are never one scope.
    """
    for name in TENANT_HEADERS:
        for key, value in headers:
            if key.lower() == name.lower().encode() and (tenant := trim(value.decode("utf-8", "surrogateescape"))):
                return tenant
    return ""


def no_tenant() -> dict[str, Any]:
    """The envelope of strict mode for a request that says no tenant."""
    failure = ToolFailure(
        "MCP_TENANT_HEADER_REQUIRED",
        f"no tenant header is set; expected one of {', '.join(TENANT_HEADERS)} (strict mode); send one, or switch "
        f"{STRICT_VARIABLE} off",
        {"required_headers": list(TENANT_HEADERS), "strict_env_var": STRICT_VARIABLE},
    )
    return {**failure.as_json(), "meta": Meta(vault_http_status=400).as_json()}


async def _read(receive: Receive) -> bytes | None:
    """The first `BODY_MAX` bytes of the body; None when the client goes away first."""
    body = bytearray()
    size = 0
    while size <= DRAIN_MAX:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        body += chunk[: BODY_MAX - len(body)]
        if not message.get("more_body", False):
            break
    return bytes(body)


async def _watch(receive: Receive, ended: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    ended.set()


async def _lifespan(receive: Receive, send: Any) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _not_allowed(methods: str) -> Response:
    return Response("method not allowed\n", 405, {"allow": methods}, "text/plain")


def _json(status: int, content: bytes) -> Response:
    return Response(content, status, {"content-type": JSON_TYPE})
