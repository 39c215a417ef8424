"""Bytes and arguments that no well-behaved client sends: one clear error each, and nothing happens to any device."""

from __future__ import annotations

import json
import logging
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps import listening

BODY_BYTES_MAX = 4 * 1024 * 1024
MALFORMED: dict[str, tuple[bytes, int, int]] = {
    "empty": (b"", 400, -32700),
    "not-json": (b"tap phone-1", 400, -32700),
    "cut-off": (b'{"jsonrpc":"2.0","id":1,"method":"tools/li', 400, -32700),
    "bad-utf-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 400, -32700),
    "utf-16": ('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'.encode("utf-16"), 400, -32700),
    "nested-deep": (b"[" * 100_000, 400, -32700),
    "scalar": (b"7", 400, -32600),
    "null": (b"null", 400, -32600),
    "batch": (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600),
    "batch-of-none": (b"[]", 400, -32600),
    "other-json-rpc": (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400, -32600),
    "no-method": (b'{"jsonrpc":"2.0","id":1}', 400, -32600),
    "method-is-a-number": (b'{"jsonrpc":"2.0","id":1,"method":5}', 400, -32600),
    "params-are-a-list": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 400, -32600),
    "id-is-null": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 400, -32600),
    "id-is-a-fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', 400, -32600),
    "id-is-true": (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', 400, -32600),
    "id-is-an-object": (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400, -32600),
    "no-tool": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, -32602),
    "tool-is-a-number": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', 200, -32602),
    "arguments-are-a-list": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tap","arguments":[]}}',
        200,
        -32602,
    ),
    "unknown-tool": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"reboot"}}', 200, -32602),
    "unknown-method": (b'{"jsonrpc":"2.0","id":1,"method":"tools/run"}', 200, -32601),
    "oversized": (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * BODY_BYTES_MAX + b'"}', 413, -32600),
}


@scenario("HA-10")
@pytest.mark.parametrize("frame", list(MALFORMED))
async def test_a_malformed_frame_gets_one_clear_error(world: World, frame: str) -> None:
    """A client with the right token sends bytes that are no proper message.
    It gets one JSON-RPC error in words, no traceback is written or sent, and the host goes on serving."""
    body, status, code = MALFORMED[frame]
    host = await world.hostagent()
    alice = await host.client("alice")
    with listening(world) as log:
        reply = await alice.raw.post(body)
    assert reply.http_status == status, f"HTTP {reply.http_status}: {reply.body[:200]!r}"
    assert reply.error is not None, f"expected a JSON-RPC error, got {reply.body[:200]!r}"
    assert reply.error.code == code
    assert len(reply.messages) == 1
    assert 0 < len(reply.error.message) < 500
    assert b"Traceback" not in reply.body
    assert log.tracebacks() == 0
    assert log.at_least(logging.ERROR) == []
    assert await host.busy() == []
    assert (await alice.tap("phone-1")).ok


@scenario("HA-10")
async def test_an_oversized_header_is_refused_in_one_answer(world: World) -> None:
    """A request carries a session id of a hundred thousand characters.
    It is refused with a client error, the header is in no log and no answer, and the host goes on serving."""
    host = await world.hostagent()
    alice = await host.client("alice")
    with listening(world) as log:
        reply = await alice.raw.send("POST", b"{}", {"mcp-session-id": "f" * 100_000})
    assert 400 <= reply.http_status < 500
    assert b"f" * 1_000 not in reply.body
    assert b"Traceback" not in reply.body
    assert log.tracebacks() == 0
    assert not any("f" * 100 in text for text in log.at_least(logging.INFO))
    assert (await alice.tap("phone-1")).ok


TOOLS = {
    "take_screenshot": (),
    "tap": ("x", "y"),
    "swipe": ("x1", "y1", "x2", "y2", "duration_ms"),
    "input_text": ("text",),
    "launch_app": ("app",),
    "find_text": ("text",),
    "find_icon": ("icon",),
    "get_ui_tree": (),
    "describe_screen": (),
    "list_devices": (),
    "device_status": (),
}
SCALAR = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
)
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
NEAR = st.integers(0, 100) | st.sampled_from(["Messages", "messages", 1e6, 1e7, -1, 2.5, 10**400]) | JSON
ANY_DEVICE = st.sampled_from(["phone-1", "phone-1", "phone-1", "phone-9", "", 7])


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Any tool with any JSON; mostly near to what it takes, so that good calls occur too."""
    tool = draw(st.sampled_from(list(TOOLS)) | st.text(max_size=12))
    arguments = {"device_id": draw(ANY_DEVICE)} | {name: draw(NEAR) for name in TOOLS.get(tool, ())}
    for name in draw(st.lists(st.sampled_from([*arguments, "extra"]), max_size=1)):
        arguments[name] = draw(JSON)
    for name in draw(st.lists(st.sampled_from(list(arguments)), max_size=1)):
        del arguments[name]
    return tool, arguments


@scenario("HA-10", sees=("well-called", "refused"))
@settings(max_examples=6)
@given(sent=st.lists(calls(), min_size=4, max_size=8))
@example(sent=[("tap", {"device_id": "phone-1", "x": True, "y": 1}), ("tap", {"device_id": "phone-1", "x": 1, "y": 1})])
@example(sent=[("input_text", {"device_id": "phone-1", "text": "\ud800"}), ("tap", {"device_id": "phone-1"})])
@example(sent=[("swipe", {"device_id": "phone-1", "x1": 10**400, "y1": 0, "x2": 0, "y2": 0})])
async def test_any_json_for_any_tool_is_answered_and_leases_only_what_is_well_called(
    world: World, sent: list[tuple[str, dict[str, Any]]]
) -> None:
    """A client calls known and unknown tools with any JSON. Calls that the published schema refuses are -32602.
    Only a call that it accepts, on a device that exists, takes the lease; nothing crashes the host."""
    host = await world.hostagent()
    alice = await host.client("alice")
    schemas = {tool["name"]: tool["inputSchema"] for tool in await alice.list_tools()}
    held = False
    with listening(world) as log:
        for tool, arguments in sent:
            answer = await alice.call(tool, **arguments)
            shown = json.dumps([tool, arguments])[:200]
            if tool in schemas and _fits(arguments, schemas[tool]) and arguments.get("device_id") != "phone-9":
                held = held or tool not in ("list_devices", "device_status")
                assert answer.ok or answer.reason == "driver_error", f"{shown}: {answer.error}"
                world.saw("well-called")
            else:
                assert answer.error is not None, f"{shown} must be refused"
                expected = -32700 if _lone(json.dumps(arguments, ensure_ascii=False)) else -32602
                assert answer.error.code == expected, f"{shown}: {answer.error}"
                assert expected == -32700 or answer.reason in ("bad_arguments", "unknown_device", "unknown_tool")
                world.saw("refused")
            if not held:
                assert await host.busy() == [], f"{shown} must not lease"
    assert await host.busy() == ["phone-1"] * held
    assert log.at_least(logging.ERROR) == []
    devices = (await alice.call("list_devices")).value["devices"]
    assert [device["device_id"] for device in devices] == ["phone-1"]


def _fits(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    """What the published schema says; a lone surrogate is no Unicode text, whatever a validator makes of it."""
    if _lone(json.dumps(arguments, ensure_ascii=False)):
        return False
    return jsonschema.Draft202012Validator(schema).is_valid(arguments)


def _lone(text: str) -> bool:
    """Half a surrogate pair: JSON can write it, but it is no text."""
    return any("\ud800" <= char <= "\udfff" for char in text)
