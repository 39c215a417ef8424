"""What does a JSON-RPC answer say? One Reply, the same for HTTP and for stdio. Source: contract laws, "Binding"."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lasttick.laws.reply import Reply
from lasttick.laws.wire.answers import DEPTH_MAX, deeper_than, http_raw, lines_of, shortened, text_of, value_of
from lasttick.laws.wire.message import Message

PAGES_MAX = 100
"""Pages of one tools/list."""


def call_params(message: Message) -> dict[str, Any]:
    """`params` of the tools/call that a message is."""
    params: dict[str, Any] = {"name": message.what, "arguments": dict(message.args)}
    if message.meta:
        params["_meta"] = dict(message.meta)
    return params


def rpc_reply(
    message: Mapping[str, Any],
    request_id: int | None,
    data: bytes,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """`message`: the answer to `request_id` (None: whatever its id), as it was found in `data`; `status`, `headers`:
    those of its HTTP answer.
    """
    text = text_of(data)
    headers = headers or {}
    raw = shortened(text) if status is None else http_raw(status, headers, text)

    def failed(error: Any, body: Any = None, meta: Any = None, lines: tuple[str, ...] = ()) -> Reply:
        return Reply(False, status, headers, body, error, meta, lines, raw=raw)

    if deeper_than(message, data):
        return failed({"message": f"answer nested deeper than {DEPTH_MAX} levels", "body": shortened(text, 200)})
    if message.get("error") is not None or "result" not in message:
        return failed(message.get("error"))
    given = message.get("id")
    if request_id is not None and (type(given) is not int or given != request_id):
        return failed(
            {"message": f"the answer is for the id {given!r}, not for {request_id}", "body": shortened(text, 200)}
        )
    body, lines, meta = _tool_result(message["result"])
    if isinstance(message["result"], dict) and message["result"].get("isError") is True:
        return failed({"message": "\n".join(lines) or "isError", "body": body}, body, meta, lines)
    # A result under an HTTP error is no success.
    return Reply(status is None or 200 <= status < 300, status, headers, body, None, meta, lines, raw=raw)


def not_json_rpc(status: int, headers: Mapping[str, str], data: bytes) -> Reply:
    """A whole HTTP answer to a JSON-RPC request that is none: a web page, a proxy's words, a door's refusal."""
    text = text_of(data)
    error = {"message": "not JSON-RPC", "body": shortened(text, 200)}
    raw = http_raw(status, headers, text)
    return Reply(False, status, headers, value_of(text), error, None, lines_of(text), raw=raw)


async def all_tools(page: Callable[[str | None], Awaitable[Reply]]) -> Reply:
    """tools/list by `page(cursor)` to its last page: body = {"tools": [...]}. A page that fails is the answer."""
    tools: list[Any] = []
    cursors: list[str] = []
    while True:
        reply = await page(cursors[-1] if cursors else None)
        if not reply.ok:
            return reply
        found = reply.body.get("tools") if isinstance(reply.body, dict) else None
        if not isinstance(found, list):
            return _bad_list(reply, "tools/list gave no list of tools")
        tools += found
        cursor = reply.body.get("nextCursor")
        if cursor is None:
            body = {**reply.body, "tools": tools}
            return Reply(True, reply.status, reply.headers, body, None, reply.meta, raw=reply.raw)
        if not isinstance(cursor, str) or cursor in cursors or len(cursors) >= PAGES_MAX:
            return _bad_list(
                reply, f"tools/list does not end: cursor {str(cursor)[:80]!r} after {len(cursors) + 1} pages"
            )
        cursors.append(cursor)


def _bad_list(reply: Reply, what: str) -> Reply:
    return Reply(False, reply.status, reply.headers, reply.body, {"message": what, "body": reply.body}, raw=reply.raw)


def _tool_result(result: Any) -> tuple[Any, tuple[str, ...], Any]:
    """Body, lines and meta. What is no tool's result (initialize, tools/list) is the body as it is."""
    if not isinstance(result, dict):
        return result, (), None
    meta = result.get("_meta")
    content = result.get("content")
    if not isinstance(content, list):
        if result.get("structuredContent") is None:
            return result, (), meta
        content = []
    texts = [text for item in content if isinstance(text := _text(item), str)]
    lines = tuple(line for text in texts for line in lines_of(text))
    if result.get("structuredContent") is not None:
        return result["structuredContent"], lines, meta
    return value_of("\n".join(texts)), lines, meta


def _text(item: Any) -> Any:
    """The text of one content: its own, or that of an embedded resource."""
    if not isinstance(item, dict):
        return None
    held = item.get("resource")
    return held.get("text") if isinstance(held, dict) else item.get("text")
