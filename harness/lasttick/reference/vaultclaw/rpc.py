"""What does one JSON-RPC message get for an answer? The whole protocol, for both transports.

A plain surface and not the MCP SDK's: the answer to initialize is one fixed revision, a result never has `isError`, ids
may be of any type, and `id: null` is a request; the SDK can send none of that. Source: contract vaultclaw 3, 4; VC-01.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lasttick.model.vaultclaw import json_text
from lasttick.model.vaultclaw.arguments import Arguments, as_object, string
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.model.vaultclaw.masking import KnownTokens
from lasttick.reference.vaultclaw.tool import Parts, Tool, ToolCall
from lasttick.reference.vaultclaw.wire import encoded, text_of

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
INITIALIZED = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "accords-mcp", "version": "0.1.0"},
}
LAST_POLL_S = 0.25
"""What a wait still gets when nobody waits for it any more: the shortest poll interval, so that a decision which is
there already is not lost (ruling 19: within one poll)."""


class RpcError(Exception):
    """A JSON-RPC error: `code` and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WaitCut(Exception):
    """A wait was ended because its caller or the server goes away: there is no answer."""


class Rpc:
    """The surface of one server. `say` takes one line for standard error."""

    def __init__(self, tools: Sequence[Tool], parts: Parts, tokens: KnownTokens, say: Callable[[str], None]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._listed = {"tools": [self._tools[name].as_json() for name in json_text.byte_order(self._tools)]}
        self._parts = parts
        self._tokens = tokens
        self._say = say

    async def handle(self, message: bytes, scope: str, ended: asyncio.Event | None = None) -> bytes | None:
        """The answer to one message; None when there is none. `ended`: once set, a wait of this message is cut."""
        try:
            request = json_text.parse(message)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            return encoded({"jsonrpc": "2.0", "error": _error(RpcError(PARSE_ERROR, _NO_OBJECT))})
        try:
            answer = {"result": await self._result(request, scope, ended or asyncio.Event())}
        except RpcError as error:
            answer = {"error": _error(error)}
        except WaitCut:
            return None
        if "id" not in request:
            return None
        named = {} if request["id"] is None else {"id": request["id"]}
        return encoded({"jsonrpc": "2.0", **named, **answer})

    async def _result(self, request: Mapping[str, Any], scope: str, ended: asyncio.Event) -> Any:
        if request.get("jsonrpc") not in (None, "", "2.0"):
            raise RpcError(INVALID_REQUEST, "jsonrpc names another version; expected 2.0 (JSON-RPC 2.0); correct it")
        match request.get("method"):
            case "initialize":
                return INITIALIZED
            case "ping" | "notifications/initialized":
                return {}
            case "tools/list":
                return self._listed
            case "tools/call":
                tool, arguments = self._call_of(request.get("params", ...))
                return await self._called(tool, ToolCall(arguments, scope, self._parts), ended)
        raise RpcError(
            METHOD_NOT_FOUND,
            "this method is unknown; expected initialize, ping, tools/list or tools/call (contract vaultclaw 3); "
            "send one of those",
        )

    def _call_of(self, params: Any) -> tuple[Tool, Arguments]:
        """The tool and the arguments that `params` name. Raises RpcError."""
        if params is None:
            params = {}
        if not isinstance(params, dict):
            raise _bad_params("params", "an object")
        name, arguments = params.get("name", ""), params.get("arguments")
        if not isinstance(name, str):
            raise _bad_params("name", "a string")
        if arguments is not None and not isinstance(arguments, dict):
            raise _bad_params("arguments", "an object")
        tool = self._tools.get(json_text.trim(name))
        if tool is None:
            raise RpcError(
                METHOD_NOT_FOUND, "this tool is unknown; expected a name of tools/list; list them and call again"
            )
        return tool, Arguments(arguments)

    async def _called(self, tool: Tool, call: ToolCall, ended: asyncio.Event) -> dict[str, Any]:
        """The result of tools/call. Raises WaitCut."""
        try:
            work = tool.run(call)
            return self._answer((await (_unless(ended, work) if tool.waits else work)).as_json())
        except ToolFailure as failure:
            return self._answer(failure.as_json())
        except WaitCut:
            raise
        except Exception as error:
            return self._answer(self._unforeseen(tool.name, error).as_json())

    def _answer(self, envelope: Mapping[str, Any]) -> dict[str, Any]:
        shown = masked(envelope, self._tokens)
        texts = [text_of(shown), *approval_text(shown)]
        return {"structuredContent": shown, "content": [{"type": "text", "text": text} for text in texts]}

    def _unforeseen(self, name: str, error: Exception) -> ToolFailure:
        # Only its kind and place: what an unforeseen error says may hold anything of this process.
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = "?" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"
        self._say(f"{name} failed inside the server: {type(error).__name__} in {place}")
        return ToolFailure(
            "MCP_INTERNAL",
            f"{name} failed inside the server; expected an answer or a failure that is named; its standard error says "
            "where, please report it",
        )


def masked(envelope: Mapping[str, Any], tokens: KnownTokens) -> dict[str, Any]:
    """An envelope that shows no token (ruling 17). What is always the server's own (codes, `ok`) stays as it is."""
    error = envelope["error"]
    if error is not None:
        shown = {name: tokens.masked(error[name]) for name in ("message", "vault_code", "details")}
        error = {**error, **shown}
    return {
        **envelope,
        "data": tokens.masked(envelope["data"]),
        "error": error,
        "meta": tokens.masked(envelope["meta"]),
    }


def approval_text(envelope: Mapping[str, Any]) -> list[str]:
    """The second text of a hand-off, for agents that do not read JSON; none for any other envelope."""
    error = envelope["error"]
    if error is None or error["code"] != "MCP_APPROVAL_REQUIRED":
        return []
    approval = as_object(error["details"].get("approval"))
    if approval is None:
        return []
    pending = as_object(approval.get("pending_approval")) or {}
    url = string(approval.get("remote_attestation_url")) or string(pending.get("remote_attestation_url"))
    lines = {
        "Kind": string(approval.get("kind")),
        "Challenge ID": string(approval.get("challenge_id")),
        "Pending ID": string(approval.get("pending_id")),
        "Attestation URL": f"[{url}]({url})" if url else "",
    }
    listed = [f"{name}: {value}" for name, value in lines.items() if value]
    last = "When it is decided, or to wait for it: call vaultclaw_approval_wait with the handle in next_action."
    return ["\n".join(["A person must approve this first.", *listed, last])]


async def _unless(ended: asyncio.Event, work: Awaitable[Success]) -> Success:
    """What `work` gives. Raises WaitCut when `ended` is set, and one more poll did not bring an end."""
    tasks = (asyncio.ensure_future(work), asyncio.ensure_future(ended.wait()))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            await asyncio.wait(tasks[:1], timeout=LAST_POLL_S)
        if not tasks[0].done():
            raise WaitCut
        return tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _bad_params(name: str, expected: str) -> RpcError:
    return RpcError(
        INVALID_PARAMS,
        f"{name} of tools/call is of another type; expected {expected} (contract vaultclaw 3); correct it",
    )


def _error(error: RpcError) -> dict[str, Any]:
    return {"code": error.code, "message": str(error)}


_NO_OBJECT = "the message is no JSON object; expected one JSON-RPC request, batches are not supported; send it alone"
