"""What a JSON-RPC answer says, and lists of tools over several pages."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.reply import Reply, find
from lasttick.laws.wire.rpc import all_tools, not_json_rpc, rpc_reply

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=10,
)


def text(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": each} for each in texts]


def told(message: dict[str, Any], *, id: int | None = 3, **more: Any) -> Reply:
    message = {"jsonrpc": "2.0", "id": 3, **message}
    return rpc_reply(message, id, json.dumps(message).encode(), **more)


@pytest.mark.parametrize(
    ("result", "body", "lines"),
    [
        ({"content": text("x"), "structuredContent": {"a": 1}}, {"a": 1}, ("x",)),
        ({"structuredContent": []}, [], ()),
        ({"content": text('{"a": 1}')}, {"a": 1}, ('{"a": 1}',)),
        ({"content": text('{"a": 1}'), "structuredContent": None}, {"a": 1}, ('{"a": 1}',)),
        ({"content": text("plain\nwords\n")}, "plain\nwords\n", ("plain", "words")),
        ({"content": text("a", "b")}, "a\nb", ("a", "b")),
        ({"content": []}, None, ()),
        ({"content": [{"type": "image", "data": "AAAA"}]}, None, ()),
        ({"content": [{"type": "resource", "resource": {"uri": "x:y", "text": "held"}}]}, "held", ("held",)),
        ({"content": [None, 3, {"text": 4}, {"resource": {}}]}, None, ()),
        ({"protocolVersion": "2025-11-25"}, {"protocolVersion": "2025-11-25"}, ()),
        ({"content": "no list"}, {"content": "no list"}, ()),
        ([1], [1], ()),
        (None, None, ()),
    ],
)
def test_a_result(result: Any, body: Any, lines: tuple[str, ...]) -> None:
    reply = told({"result": result})
    assert (reply.ok, reply.body, reply.lines, reply.error) == (True, body, lines, None)


def test_meta_and_what_http_said_of_it() -> None:
    reply = told({"result": {"content": [], "_meta": {"lease": "l-1"}}}, status=200, headers={"x": "y"})
    assert find(reply.document(), "/meta/lease") == "l-1"
    assert (reply.status, reply.headers) == (200, {"x": "y"})
    assert reply.raw.startswith('HTTP 200 {"jsonrpc"')
    assert told({"result": {}}).raw.startswith('{"jsonrpc"')


def test_a_result_under_an_http_error_is_not_ok() -> None:
    assert not told({"result": {"content": []}}, status=500).ok
    assert told({"result": {"content": []}}, status=201).ok


def test_a_tool_that_says_is_error() -> None:
    reply = told({"result": {"isError": True, "content": text('{"reason": "busy"}')}})
    assert not reply.ok
    assert reply.error == {"message": '{"reason": "busy"}', "body": {"reason": "busy"}}
    assert reply.body == {"reason": "busy"}
    assert told({"result": {"isError": True, "content": []}}).error == {"message": "isError", "body": None}
    assert told({"result": {"isError": False, "content": []}}).ok
    assert told({"result": {"isError": "yes", "content": []}}).ok


def test_an_error_is_kept_as_it_is() -> None:
    error = {"code": -32000, "message": "busy", "data": {"reason": "device_busy"}}
    reply = told({"error": error}, status=200)
    assert (reply.ok, reply.error, reply.body) == (False, error, None)
    assert find(reply.document(), "/error/data/reason") == "device_busy"
    assert told({"error": "odd"}).error == "odd"
    # A transport's own error has no id, or one of its own.
    assert told({"error": error, "id": "server-error"}).error == error
    # JSON-RPC 1 sends both.
    assert told({"error": None, "result": 1}).ok


def test_neither_result_nor_error() -> None:
    assert not told({}).ok


def test_the_id() -> None:
    assert not told({"result": 1}, id=4).ok
    assert told({"result": 1, "id": "any"}, id=None).ok


@given(JSON, JSON)
def test_no_message_makes_an_exception(result: Any, error: Any) -> None:
    for message in ({"result": result}, {"error": error}, {"result": {"content": result, "structuredContent": error}}):
        reply = told(message)
        reply.document()
        assert reply.ok or "result" not in message or (isinstance(result, dict) and result.get("isError") is True)


@given(st.binary(max_size=100))
def test_no_bytes_make_an_exception(data: bytes) -> None:
    assert not not_json_rpc(200, {}, data).ok


def pages(*replies: Reply) -> tuple[Reply, list[str | None]]:
    asked: list[str | None] = []

    async def page(cursor: str | None) -> Reply:
        asked.append(cursor)
        return replies[min(len(asked), len(replies)) - 1]

    return asyncio.run(all_tools(page)), asked


def page(*names: str, cursor: Any = None) -> Reply:
    more = {} if cursor is None else {"nextCursor": cursor}
    return Reply(True, 200, body={"tools": [{"name": name} for name in names], **more}, raw=str(names))


def names(reply: Reply) -> list[str]:
    return [tool["name"] for tool in reply.body["tools"]]


def test_every_cursor_is_followed() -> None:
    reply, asked = pages(page("a", cursor="1"), page("b", cursor="2"), page("c"))
    assert names(reply) == ["a", "b", "c"]
    assert asked == [None, "1", "2"]
    assert "nextCursor" not in reply.body


def test_a_page_that_fails_is_the_answer() -> None:
    failed = Reply(False, 401)
    assert pages(page("a", cursor="1"), failed)[0] is failed


@pytest.mark.parametrize("body", [None, [], {}, {"tools": {}}, "x"])
def test_no_list(body: Any) -> None:
    reply, _ = pages(Reply(True, 200, body=body))
    assert not reply.ok
    assert reply.error["message"] == "tools/list gave no list of tools"


@pytest.mark.parametrize("cursor", ["same", 7, ["x"]])
def test_a_list_without_end(cursor: Any) -> None:
    reply, asked = pages(page("a", cursor=cursor))
    assert not reply.ok
    assert reply.error["message"].startswith("tools/list does not end: cursor")
    assert len(asked) <= 2


def test_more_pages_than_anybody_has() -> None:
    async def page_of(cursor: str | None) -> Reply:
        return page("a", cursor=f"{cursor}+")

    reply = asyncio.run(all_tools(page_of))
    assert reply.error["message"].endswith("after 101 pages")
