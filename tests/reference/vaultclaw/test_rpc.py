"""The JSON-RPC surface, message by message. Source: contract vaultclaw 3, 4; VC-01, VC-02."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw import json_text
from lasttick.model.vaultclaw.envelope import Success, ToolFailure
from lasttick.reference.vaultclaw.tool import Tool, ToolCall, properties_of

from .core_rig import TOKEN, TOOLS, FakeVault, Rig, with_rig


async def broken(call: ToolCall) -> Success:
    raise RuntimeError(f"{TOKEN} in /some/path")


async def waiting(call: ToolCall) -> Success:
    await call.parts.clock.sleep(call.arguments.integer("s"))
    return Success("waited")


async def handed_off(call: ToolCall) -> Success:
    raise ToolFailure("MCP_APPROVAL_REQUIRED", "ask", {"approval": call.arguments.object("approval")})


EXTRA = (
    Tool("vaultclaw_broken", "Fails in a way nobody thought of.", {}, broken),
    Tool("vaultclaw_waiting", "Waits.", properties_of(s="i"), waiting, waits=True),
    Tool("vaultclaw_handed_off", "Needs a person.", properties_of(approval="o"), handed_off),
)


def answered(message: Any) -> Any:
    """What one message gets: bytes as they are, anything else as JSON."""
    data = message if isinstance(message, bytes) else json.dumps(message).encode()

    async def main(loop: VirtualLoop) -> Any:
        rig = Rig(FakeVault(), tools=(*TOOLS, *EXTRA))
        answer = await rig.core.handle(data, "default")
        assert not [line for line in rig.said if "Traceback" in line]
        return None if answer is None else json.loads(answer)

    return run_virtual(main)


def request(method: Any = "ping", **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **more}


def code(message: Any) -> int:
    answer = answered(message)
    assert set(answer) - {"id"} == {"jsonrpc", "error"}
    assert set(answer["error"]) == {"code", "message"}
    value: int = answer["error"]["code"]
    return value


def call(name: Any, arguments: Any = None) -> Any:
    return answered(request("tools/call", params={"name": name, "arguments": arguments}))["result"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", None, 7])
def test_initialize_is_always_the_same(version: Any) -> None:
    assert answered(request("initialize", params={"protocolVersion": version})) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "accords-mcp", "version": "0.1.0"},
        },
    }


@pytest.mark.parametrize("method", ["ping", "notifications/initialized"])
def test_what_is_answered_with_nothing_in_it(method: str) -> None:
    assert answered(request(method)) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_tools_are_listed_by_name_with_their_schemas() -> None:
    tools = answered(request("tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == sorted(tool.name for tool in (*TOOLS, *EXTRA))
    for tool in tools:
        assert set(tool) == {"name", "description", "inputSchema"}
        assert tool["inputSchema"]["type"] == "object"
    by_name = {tool["name"]: tool["inputSchema"] for tool in tools}
    assert by_name["vaultclaw_session_configure"] == {
        "type": "object",
        "properties": {"token": {"type": "string"}, "base_url": {"type": "string"}, "timeout_ms": {"type": "integer"}},
        "required": ["token"],
    }
    assert by_name["vaultclaw_connectors_list"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "message",
    [b"", b"{", b"null", b"7", b'"x"', b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b'{"a":"\0"}', b"\xff"],
)
def test_no_object_is_a_parse_error_without_an_id(message: bytes) -> None:
    answer = answered(message)
    assert answer["error"]["code"] == -32700
    assert "id" not in answer


def test_invalid_utf8_inside_a_string_is_replaced() -> None:
    assert answered(b'{"id":"\xff","method":"ping"}') == {"jsonrpc": "2.0", "id": "\ufffd", "result": {}}


@pytest.mark.parametrize("version", ["1.0", "2", " 2.0", 2, 2.0, [], False])
def test_another_version(version: Any) -> None:
    assert code({**request(), "jsonrpc": version}) == -32600


@pytest.mark.parametrize("version", ["", "2.0", None])
def test_no_version_counts_as_the_right_one(version: Any) -> None:
    assert "result" in answered({**request(), "jsonrpc": version})
    assert "result" in answered({"id": 1, "method": "ping"})


@pytest.mark.parametrize(
    ("given", "echoed"),
    [(1, 1), (1.0, 1), ("a", "a"), ([1], [1]), ({"b": None}, {"b": None}), (True, True), (2**64, 18446744073709552000)],
)
def test_ids_are_echoed_by_value(given: Any, echoed: Any) -> None:
    assert answered({**request(), "id": given})["id"] == echoed


def test_a_big_id_is_a_64_bit_float() -> None:
    assert answered(b'{"id":12345678901234567890,"method":"ping"}')["id"] == 12345678901234567000


def test_id_null_is_a_request_whose_answer_has_no_id() -> None:
    assert answered({**request(), "id": None}) == {"jsonrpc": "2.0", "result": {}}


@pytest.mark.parametrize("more", [{"method": "nope"}, {"jsonrpc": "1"}, {"method": "tools/call"}, {}])
def test_a_notification_gets_nothing(more: Any) -> None:
    assert answered({"jsonrpc": "2.0", "method": "ping", **more}) is None


def test_a_notification_is_carried_out() -> None:
    async def body(rig: Rig) -> Any:
        params = {"name": "vaultclaw_session_configure", "arguments": {"token": TOKEN}}
        message = {"jsonrpc": "2.0", "method": "tools/call", "params": params}
        assert await rig.core.handle(json.dumps(message).encode(), "default") is None
        return (await rig.call("session_status"))["data"]["configured"]

    assert with_rig(body) is True


@pytest.mark.parametrize("method", [None, "", "tools", "resources/list", 7, [], {}])
def test_unknown_methods(method: Any) -> None:
    assert code(request(method)) == -32601


def test_no_method() -> None:
    assert code({"id": 1}) == -32601


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ("absent", -32602),
        ([], -32602),
        ("x", -32602),
        (7, -32602),
        ({"name": 7}, -32602),
        ({"name": None}, -32602),
        ({"name": "vaultclaw_session_status", "arguments": []}, -32602),
        ({"name": "vaultclaw_session_status", "arguments": "{}"}, -32602),
        (None, -32601),
        ({}, -32601),
        ({"name": "  "}, -32601),
        ({"name": "session_status"}, -32601),
        ({"name": "VAULTCLAW_SESSION_STATUS"}, -32601),
    ],
)
def test_bad_calls(params: Any, expected: int) -> None:
    assert code(request("tools/call", **({} if params == "absent" else {"params": params}))) == expected


@pytest.mark.parametrize("arguments", [None, {}, {"unknown": 1}])
def test_a_known_tool_gives_a_result(arguments: Any) -> None:
    result = call(" vaultclaw_session_status ", arguments)
    assert set(result) == {"structuredContent", "content"}  # never isError
    [content] = result["content"]
    assert content["type"] == "text"
    assert json.loads(content["text"]) == result["structuredContent"]
    assert result["structuredContent"] == {
        "ok": True,
        "data": {"configured": False},
        "error": None,
        "meta": {"request_id": "", "vault_http_status": 0, "vault_code": ""},
    }


def test_a_failure_is_a_result_too() -> None:
    envelope = call("vaultclaw_connectors_list")["structuredContent"]
    assert (envelope["ok"], envelope["data"]) == (False, None)
    assert set(envelope["error"]) == {"code", "category", "message", "retryable", "vault_code", "details"}
    assert envelope["error"]["details"] == {}
    assert envelope["meta"] == {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def test_what_nobody_foresaw_is_internal_and_tells_nothing() -> None:
    async def body(rig: Rig) -> Any:
        return await rig.call("broken"), rig.said

    envelope, said = with_rig(body, tools=EXTRA)
    assert (envelope["error"]["code"], envelope["error"]["details"]) == ("MCP_INTERNAL", {})
    assert "/some/path" not in str(envelope)
    [line] = said
    assert "RuntimeError in broken:" in line
    assert TOKEN not in line


APPROVAL = {"kind": "JOB", "challenge_id": "ch_1", "pending_id": "apj_1", "remote_attestation_url": "https://a.test/x"}


@pytest.mark.parametrize(
    ("approval", "lines"),
    [
        (
            APPROVAL,
            [
                "Kind: JOB",
                "Challenge ID: ch_1",
                "Pending ID: apj_1",
                "Attestation URL: [https://a.test/x](https://a.test/x)",
            ],
        ),
        ({"kind": "PLAN_RUN", "pending_id": "", "pending_approval": None}, ["Kind: PLAN_RUN"]),
        (
            {"kind": "JOB", "pending_approval": {"remote_attestation_url": "https://b.test"}},
            ["Kind: JOB", "Attestation URL: [https://b.test](https://b.test)"],
        ),
    ],
)
def test_a_hand_off_has_a_second_text(approval: Any, lines: list[str]) -> None:
    content = call("vaultclaw_handed_off", {"approval": approval})["content"]
    assert len(content) == 2
    first, *told, last = content[1]["text"].split("\n")
    assert told == lines
    assert first
    assert "vaultclaw_approval_wait" in last


def test_a_wait_is_cut_when_nobody_waits_any_more() -> None:
    """The decision may be there already, so it gets one shortest poll; a call that does not wait is finished."""

    async def main(loop: VirtualLoop) -> Any:
        rig = Rig(FakeVault(), tools=EXTRA)
        ended = asyncio.Event()
        loop.call_later(5, ended.set)
        message = request("tools/call", params={"name": "vaultclaw_waiting", "arguments": {"s": 600}})
        answer = await rig.core.handle(json.dumps(message).encode(), "default", ended)
        cut_s = loop.time()
        quick = {**message, "params": {"name": "vaultclaw_waiting", "arguments": {"s": 0}}}
        return answer, cut_s, await rig.core.handle(json.dumps(quick).encode(), "default", ended)

    answer, cut_s, last = run_virtual(main)
    assert (answer, cut_s) == (None, 5.25)
    assert b"waited" in last


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=15,
)
FIELDS = {
    "jsonrpc": JSON | st.just("2.0"),
    "id": JSON,
    "method": JSON | st.sampled_from(["initialize", "ping", "tools/list", "tools/call"]),
    "params": JSON
    | st.fixed_dictionaries({}, optional={"name": JSON | st.just("vaultclaw_connector_get"), "arguments": JSON}),
}


@given(message=st.fixed_dictionaries({}, optional=FIELDS) | JSON)
@example(message={"id": [], "method": "tools/call", "params": {"name": "vaultclaw_connector_get", "arguments": {}}})
def test_any_json_gets_a_whole_answer_or_none(message: Any) -> None:
    answer = answered(message)
    if isinstance(message, dict) and "id" not in message:
        assert answer is None
        return
    assert set(answer) - {"id"} in ({"jsonrpc", "result"}, {"jsonrpc", "error"})
    if isinstance(message, dict) and message["id"] is not None:
        assert answer["id"] == json_text.parse(json.dumps(message["id"]))
    else:
        assert "id" not in answer


@given(data=st.binary(max_size=200))
def test_any_bytes_get_an_answer(data: bytes) -> None:
    answer = answered(data)
    assert answer is None or answer["jsonrpc"] == "2.0"
