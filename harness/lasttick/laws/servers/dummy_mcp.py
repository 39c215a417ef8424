"""How do the dummies speak MCP? By hand and without an SDK, whose sessions would refuse what a dummy has to agree to.

Streamable HTTP of the handshake era and of 2026-07-28, answers in JSON. Every session id is taken, also an ended one
and nobody's. Not here: streams, notifications of its own, resumption. The official client can talk to it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from lasttick.laws.servers import asgi
from lasttick.laws.servers.asgi import Refused, Request

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, DENIED = -32700, -32600, -32601, -32602, -32000
_META = "io.modelcontextprotocol/protocolVersion"
_INFO = {"name": "lasttick-dummy", "version": "1"}
_CAPABILITIES: dict[str, Any] = {"tools": {}}


class Denied(Exception):
    """A call is refused; the message says so."""


class _Fault(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None, status: int = 200) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}
        self.status = status


class McpFace:
    """The MCP side of one dummy: whose names `tools` gives are listed, `call` is asked for any name.

    `call` gives a JSON object, or raises Denied, or Refused for what cannot be.
    """

    def __init__(
        self,
        tools: Callable[[Request], Sequence[str]],
        call: Callable[[str, dict[str, Any], Request], Awaitable[dict[str, Any]]],
    ) -> None:
        self._tools = tools
        self._do = call
        self._sessions = 0

    async def answer(self, request: Request, send: Any) -> None:
        """One request to the endpoint."""
        if request.method == "DELETE":
            await asgi.answer(send, 200, None)
            return
        if request.method != "POST":
            said = f"{request.method[:20]} is nothing here; expected POST or DELETE (a dummy has no streams); use one"
            await asgi.answer(send, 405, {"error": said}, {"allow": "POST, DELETE"})
            return
        message: Any = None
        try:
            message = _message(request.body)
            if "id" not in message:
                await asgi.answer(send, 202, None)
                return
            result, headers = await self._result(message["method"], message.get("params") or {}, request)
            await asgi.answer(send, 200, {"jsonrpc": "2.0", "id": message["id"], "result": result}, headers)
        except _Fault as fault:
            found = message.get("id") if message is not None else None
            await asgi.answer(send, fault.status, {"jsonrpc": "2.0", "id": found, "error": fault.error})

    async def _result(
        self, method: str, params: dict[str, Any], request: Request
    ) -> tuple[dict[str, Any], dict[str, str]]:
        modern = _META in (params.get("_meta") or {})
        of_era: dict[str, Any] = {"resultType": "complete"} if modern else {}
        # What a client of 2026-07-28 may keep, and for how long: nothing.
        kept: dict[str, Any] = {"ttlMs": 0, "cacheScope": "private"} if modern else {}
        match method:
            case "initialize":
                self._sessions += 1
                asked = params.get("protocolVersion")
                version = asked if isinstance(asked, str) and asked != MODERN else HANDSHAKE
                told = {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": _INFO}
                return told, {"mcp-session-id": f"dummy-{self._sessions}"}
            case "server/discover":
                told = {"supportedVersions": [MODERN], "capabilities": _CAPABILITIES, "serverInfo": _INFO}
                return {**told, **of_era, **kept}, {}
            case "ping":
                return {}, {}
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self._tools(request)]
                return {"tools": tools, **of_era, **kept}, {}
            case "tools/call":
                return {**await self._call(params, request), **of_era}, {}
        raise _Fault(NO_METHOD, f"no method {method[:100]!r}; expected one of MCP's for tools; use one of them")

    async def _call(self, params: dict[str, Any], request: Request) -> dict[str, Any]:
        name, args = params.get("name"), params.get("arguments")
        args = {} if args is None else args
        if not isinstance(name, str) or not isinstance(args, dict):
            raise _Fault(INVALID_PARAMS, "a call without a name or with arguments that are no object; correct it")
        try:
            said = await self._do(name, args, request)
        except Denied as denied:
            raise _Fault(DENIED, str(denied), {"reason": "denied"}) from None
        except Refused as refused:
            raise _Fault(INVALID_PARAMS, str(refused)) from None
        return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said, "isError": False}


def _message(body: bytes) -> dict[str, Any]:
    """Raises _Fault for what is no JSON-RPC request or notification."""
    try:
        message = asgi.parse_json(body)
    except Refused as refused:
        raise _Fault(PARSE_ERROR, str(refused), status=400) from None
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        raise _Fault(INVALID_REQUEST, "no JSON-RPC request; expected one object with a method; correct it", status=400)
    if not isinstance(message.get("params") or {}, dict):
        raise _Fault(INVALID_REQUEST, "params is no object; expected one (MCP specification); correct it", status=400)
    return message
