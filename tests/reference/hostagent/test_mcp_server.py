"""The MCP endpoint from outside: real bytes, both eras."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from lasttick.reference.hostagent import tools
from lasttick.reference.hostagent.mcp_server import ShortenSessionIds, security, session_of

from .server_rig import HANDSHAKE, MODERN, PNG, RawClient, Rig, send, with_rig


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_tools_list_is_the_eleven_tools_with_closed_schemas(era: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await (await rig.client(era)).rpc("tools/list")
        listed = answer.json["result"]["tools"]
        assert [tool["name"] for tool in listed] == list(tools.TOOLS)
        assert len(listed) == 11
        for tool in listed:
            assert tool["description"]
            assert tool["inputSchema"] == tools.TOOLS[tool["name"]].input_schema

    with_rig(body)


def test_both_eras_list_the_same_tools() -> None:
    async def body(rig: Rig) -> None:
        old = await (await rig.client()).rpc("tools/list")
        new = await (await rig.client("modern")).rpc("tools/list")
        assert old.json["result"]["tools"] == new.json["result"]["tools"]

    with_rig(body)


@pytest.mark.parametrize("json_response", [True, False])
def test_a_session_calls_and_leases(json_response: bool) -> None:
    async def body(rig: Rig) -> None:
        alice = await RawClientOf(rig, json_response)
        answer = await alice.call("tap", device_id="phone-1", x=1, y=2.5)
        assert answer["result"]["structuredContent"] == {"ok": True}
        assert json.loads(answer["result"]["content"][0]["text"]) == {"ok": True}
        assert rig.phone.arguments == [{"x": 1, "y": 2.5}]
        assert (await rig.held())["phone-1"].id == alice.session

    with_rig(body, json_response=json_response)


async def RawClientOf(rig: Rig, json_response: bool) -> RawClient:
    client = RawClient(rig.app)
    if json_response:
        return await client.open()

    class Sse(RawClient):
        async def post(self, message, headers=None):  # type: ignore[no-untyped-def]
            answer = await super().post(message, headers)
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                answer.body = next(line[6:] for line in answer.body.splitlines() if line.startswith(b"data: {"))
            return answer

    return await Sse(rig.app).open()


def test_a_screenshot_is_an_image_with_its_scale() -> None:
    async def body(rig: Rig) -> None:
        rig.ipad.answers["take_screenshot"] = {"png_base64": PNG, "width_px": 100, "height_px": 200}
        result = (await (await rig.client()).call("take_screenshot", device_id="ipad-1"))["result"]
        assert result["content"] == [{"type": "image", "data": PNG, "mimeType": "image/png"}]
        assert result["structuredContent"] == {"width_px": 100, "height_px": 200, "scale": 2}

    with_rig(body)


def test_modern_clients_have_no_session() -> None:
    async def body(rig: Rig) -> None:
        client = await rig.client("modern")
        for tool, spec in tools.TOOLS.items():
            if spec.leased:
                arguments = {"x": 1, "y": 1, "x1": 1, "x2": 1, "y1": 1, "y2": 1, "text": "t", "app": "a", "icon": "i"}
                fitting = {key: value for key, value in arguments.items() if key in spec.properties}
                answer = await client.call(tool, device_id="phone-1", **fitting)
                assert answer["error"]["code"] == -32001
                assert answer["error"]["message"] == "cannot determine MCP session"
                assert answer["error"]["data"]["reason"] == "no_session"
        listed = (await client.call("list_devices"))["result"]["structuredContent"]["devices"]
        assert [row["device_id"] for row in listed] == ["ipad-1", "phone-1"]
        status = (await client.call("device_status", device_id="ipad-1"))["result"]["structuredContent"]
        assert status == {
            "device_id": "ipad-1",
            "platform": "ios",
            "scale": 2,
            "width_px": 100,
            "height_px": 200,
            "status": "idle",
            "owner": None,
        }
        assert rig.phone.log == []
        assert await rig.held() == {}

    with_rig(body)


def test_a_modern_request_with_a_stale_session_header_neither_holds_nor_ends_it() -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        await alice.tap()
        modern = await rig.client("modern")
        modern.session = alice.session
        assert (await modern.tap())["error"]["data"]["reason"] == "no_session"
        assert (await modern.rpc("no/such/method")).status == 404
        assert "phone-1" in await rig.held()
        assert (await alice.tap())["result"]

    with_rig(body)


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("no_such_tool", {}, "unknown_tool"),
        ("tap", {"device_id": "phone-1", "x": True, "y": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": float("nan"), "y": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": float("inf"), "y": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": 10**400, "y": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-1", "x": 1, "y": 1, "z": 1}, "bad_arguments"),
        ("tap", {"device_id": "phone-9", "x": 1, "y": 1}, "unknown_device"),
        ("device_status", {"device_id": "phone-9"}, "unknown_device"),
        ("list_devices", {"device_id": "phone-1"}, "bad_arguments"),
    ],
)
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_bad_calls_are_invalid_params_and_leave_nothing(
    era: str, tool: str, arguments: dict, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(rig: Rig) -> None:
        client = await rig.client(era)
        answer = await client.call(tool, **arguments)
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["reason"] == reason
        assert await rig.held() == {}
        assert rig.phone.log == []

    with_rig(body)
    assert_no_traceback(caplog)


def assert_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "params",
    [
        b"{}",
        b"[]",
        b"null",
        b'{"name":null}',
        b'{"name":"tap","arguments":[1]}',
        b'{"name":"tap","arguments":"x"}',
        b'{"name":7,"arguments":{}}',
        b'{"name":"\\ud800","arguments":{}}',
        b'{"name":"input_text","arguments":{"device_id":"phone-1","text":"\\ud800"}}',
        b'{"name":"tap","arguments":{"device_id":"\\udfff","x":1,"y":1}}',
        b'{"name":"tap","arguments":{"\\ud800":1}}',
        b'{"name":"tap","arguments":{"device_id":"phone-1","x":1e999,"y":1}}',
    ],
)
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_odd_frames_get_one_error_and_no_traceback(era: str, params: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        client = await rig.client(era)
        if era == "modern" and params.startswith(b"{"):
            prefix = b"io.modelcontextprotocol/"
            meta = b'"_meta":{"' + prefix + b'protocolVersion":"2026-07-28","' + prefix + b'clientCapabilities":{}}'
            params_ = b"{" + meta + (b"," if params != b"{}" else b"") + params[1:]
        else:
            params_ = params
        headers = client.headers("tools/call")
        name = json.loads(params).get("name") if params.startswith(b"{") else None
        if era == "modern" and isinstance(name, str) and name.isascii():
            headers["mcp-name"] = name
        frame = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params_ + b"}"
        answer = await client.post(frame, headers)
        error = answer.json["error"]
        assert error["code"] in (-32602, -32700, -32600, -32020), error
        assert await rig.held() == {}
        assert rig.phone.log == []
        assert (await (await rig.client()).tap())["result"]

    with_rig(body)
    assert_no_traceback(caplog)


@pytest.mark.parametrize(
    ("frame", "status"),
    [
        (b"", 400),
        (b"not json", 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"tools/call"}', 400),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400),
        (b"\xff\xfe", 400),
        (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 400),
        (b"x" * (4 * 1024 * 1024 + 1), 413),
    ],
)
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_malformed_frames(era: str, frame: bytes, status: int, caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        client = await rig.client(era)
        answer = await client.post(frame, client.headers("tools/list"))
        assert answer.status == status
        assert answer.json["error"]["code"] in (-32600, -32602, -32700)
        assert (await (await rig.client()).tap())["result"]

    with_rig(body)
    assert_no_traceback(caplog)


def test_both_paths_answer_and_nothing_redirects() -> None:
    async def body(rig: Rig) -> None:
        for path in ("/mcp", "/mcp/"):
            params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
            frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
            assert (await send(rig.app, "POST", path, RawClient(rig.app).headers(), frame)).status == 200
        assert (await send(rig.app, "POST", "/mcp/x", RawClient(rig.app).headers(), frame)).status == 404

    with_rig(body)


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "POST"])
def test_without_the_token_nothing_is_reached(method: str) -> None:
    async def body(rig: Rig) -> None:
        headers = {**RawClient(rig.app).headers(), "authorization": "Bearer wrong"}
        for path in ("/mcp", "/mcp/", "/mcp?access_token=right-token-AbC&token=right-token-AbC"):
            answer = await send(rig.app, method, path, headers)
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert len(rig.endpoint.sessions) == 0

    with_rig(body)


def test_unserved_methods_leave_no_session() -> None:
    async def body(rig: Rig) -> None:
        for method in ("GET", "HEAD", "DELETE", "OPTIONS", "PUT"):
            assert (await send(rig.app, method, "/mcp", RawClient(rig.app).headers())).status in (400, 405)
        assert len(rig.endpoint.sessions) == 0

    with_rig(body)


def test_a_delete_frees_the_leases_before_its_answer() -> None:
    async def body(rig: Rig) -> None:
        alice, bob = await rig.client(), await rig.client()
        await alice.tap()
        assert (await bob.tap())["error"]["data"]["busy_owner"] == f"mcp_session:{alice.session[:8]}"
        assert (await alice.delete()).status == 200
        assert (await bob.tap())["result"]
        assert (await alice.tap())["status"] == 404
        assert (await rig.held())["phone-1"].id == bob.session

    with_rig(body)


def test_a_delete_during_a_call_frees_the_lease_when_the_driver_ends() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 90
        alice, bob = await rig.client(), await rig.client()
        call = asyncio.create_task(alice.tap())
        await rig.loop.advance(10)
        assert (await alice.delete()).status == 200
        assert (await call)["status"] == 500
        await rig.loop.until(89.999)
        assert (await bob.tap())["error"]["data"]["reason"] == "device_busy"
        await rig.loop.until(90)
        assert await rig.held() == {}
        assert rig.phone.log == [(0, "start", "tap"), (90, "end", "tap")]
        rig.phone.takes_s.clear()
        assert (await bob.tap())["result"]

    with_rig(body)


@pytest.mark.parametrize("takes_s", [0, 5])
@pytest.mark.parametrize("steps", range(24))
def test_a_delete_at_any_step_of_a_call_leaves_nothing(steps: int, takes_s: float) -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = takes_s
        alice = await rig.client()

        async def delete() -> int:
            for _ in range(steps):
                await asyncio.sleep(0)
            return (await alice.delete()).status

        first, second, deleted = await asyncio.gather(alice.tap(), alice.tap(), delete())
        assert deleted == 200
        assert {first["status"], second["status"]} <= {200, 404, 500}
        await rig.loop.until(2 * takes_s)
        assert await rig.held() == {}
        assert rig.phone.overlaps == 0
        assert rig.calls._running == {}
        assert len(rig.endpoint.sessions) == 0

    with_rig(body)


def test_an_idle_session_ends_and_frees_its_leases_through_the_exit_stack() -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        await alice.tap()
        await rig.loop.until(29.9)
        assert "phone-1" in await rig.held()
        await rig.loop.until(30.1)
        assert await rig.held() == {}
        assert len(rig.endpoint.sessions) == 0
        assert (await alice.tap())["status"] == 404

    with_rig(body, session_idle_s=30, ttl_s=1_000)


def test_stopping_ends_every_session_also_with_an_open_stream() -> None:
    ended: list[str] = []
    sessions: list[str] = []

    async def body(rig: Rig) -> None:
        alice = await rig.client()
        await alice.tap()
        sessions.append(str(alice.session))

        async def told(session_id: str) -> None:
            ended.append(session_id)

        rig.endpoint.sessions._on_end = told
        rig.stream = asyncio.create_task(send(rig.app, "GET", "/mcp", alice.headers()))  # type: ignore[attr-defined]
        await rig.loop.advance(1)
        assert ended == []

    with_rig(body)
    assert ended == sessions


def test_the_wire_alone_ends_a_session_when_the_sdk_renames_its_private_parts() -> None:
    async def body(rig: Rig) -> None:
        rig.endpoint._note_session = lambda ctx: None
        alice, bob = await rig.client(), await rig.client()
        await alice.tap()
        await alice.delete()
        assert (await bob.tap())["result"]

    with_rig(body)


def test_a_cancelled_request_keeps_the_lease_until_the_driver_ends() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 90
        alice, bob = await rig.client(), await rig.client()
        call = asyncio.create_task(alice.tap(id=77))
        await rig.loop.advance(10)
        await alice.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})
        assert (await call)["error"]["code"] == -32800
        await rig.loop.until(80)
        assert (await bob.tap())["error"]["data"]["reason"] == "device_busy"
        await rig.loop.until(149.999)
        assert (await bob.tap())["error"]["data"]["reason"] == "device_busy"
        await rig.loop.until(150)
        assert (await bob.tap())["result"]

    with_rig(body)


def test_only_leased_calls_renew() -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        await alice.tap()
        for second in (20, 40, 59):
            await rig.loop.until(second)
            await alice.rpc("ping")
            await alice.rpc("tools/list")
            await alice.call("list_devices")
            busy = (await alice.call("device_status", device_id="phone-1"))["result"]["structuredContent"]
            assert (busy["status"], busy["owner"]) == ("busy", "mcp")
        await rig.loop.until(60)
        assert await rig.held() == {}

    with_rig(body)


def test_ids_in_flight_are_not_given_to_two_calls() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        alice = await rig.client()
        first = asyncio.create_task(alice.tap(id=7))
        await rig.loop.advance(1)
        for twin in (7, "7"):
            second = await alice.rpc("tools/list", id=twin)
            assert second.status == 409
            assert second.json["error"]["data"]["reason"] == "duplicate_request_id"
        assert (await first)["result"]["structuredContent"] == {"ok": True}
        assert (await alice.rpc("tools/list", id=7)).status == 200
        bob = await rig.client()
        assert (await bob.rpc("tools/list", id=7)).status == 200

    with_rig(body)


def test_the_sdk_mixes_up_1_and_the_text_1_so_the_guard_must_not_tell_them_apart() -> None:
    """Why ids are compared as text: without the guard the second call is given the first one's answer."""

    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        rig.ipad.takes_s["tap"] = 20
        alice = await rig.client()
        rig.endpoint._in_flight.claim = lambda *_: True
        first = asyncio.create_task(alice.tap("phone-1", id=1))
        await rig.loop.advance(1)
        second = asyncio.create_task(alice.tap("ipad-1", id="1"))
        await rig.loop.advance(12)
        assert not first.done()
        assert (await second)["id"] == 1
        first.cancel()

    with_rig(body)


@pytest.mark.parametrize("sse", [False, True])
def test_an_id_stays_taken_while_a_dropped_call_runs(sse: bool) -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        alice = await RawClientOf(rig, not sse)
        first = asyncio.create_task(alice.tap(id=7))
        await rig.loop.advance(1)
        first.cancel()
        await rig.loop.settle()
        assert (await alice.rpc("tools/list", id=7)).status == 409
        await rig.loop.until(10)
        assert (await alice.rpc("tools/list", id=7)).json["result"]["tools"]

    with_rig(body, json_response=not sse)


def test_foreign_hosts_and_origins_are_refused() -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        for change, status in [
            ({"host": "evil.example:8765"}, 421),
            ({"host": "127.0.0.1:1"}, 421),
            ({"host": "192.168.1.5:8765"}, 421),
            ({"origin": "http://evil.example"}, 403),
            ({"origin": "http://127.0.0.1:8765"}, 200),
            ({"host": "localhost:8765"}, 200),
        ]:
            answer = await alice.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, {**alice.headers(), **change})
            assert answer.status == status, change

    with_rig(body, port=8765)


def test_one_more_host_is_allowed_and_no_other() -> None:
    settings = security(8765, "192.168.1.5")
    assert "192.168.1.5:8765" in settings.allowed_hosts
    assert len(settings.allowed_hosts) == 4
    assert "[fe80::1]:8765" in security(8765, "fe80::1").allowed_hosts
    assert security(None, None).allowed_hosts == ["127.0.0.1:*", "localhost:*", "[::1]:*"]


def test_no_whole_session_id_and_no_token_reaches_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []

    async def body(rig: Rig) -> None:
        alice, bob, carol = await rig.client(), await rig.client(), await rig.client()
        seen.extend([alice.session, bob.session, "a-session-of-a-client's own making"])
        await alice.tap()
        await bob.tap()
        rig.phone.answers["tap"] = RuntimeError("boom")
        await alice.tap()
        await alice.delete()
        await alice.tap()
        carol.session = "a-session-of-a-client's own making"
        await carol.tap()
        await rig.loop.advance(100)

    with_rig(body, session_idle_s=50)
    text = caplog.text
    assert "idle timeout" in text
    assert "Created new transport with session ID: " + seen[0][:8] in text
    for secret in [*seen, "right-token-AbC"]:
        assert secret not in text


def test_the_filter_leaves_other_lines_alone() -> None:
    record = logging.LogRecord("x", 20, "f", 1, "StreamableHTTP session manager started", (), None)
    assert ShortenSessionIds().filter(record)
    assert record.getMessage() == "StreamableHTTP session manager started"


def test_session_of_reads_headers_as_the_sdk_does() -> None:
    twice = [(b"mcp-session-id", b"one"), (b"mcp-session-id", b"two")]
    assert session_of({"headers": twice}) == "one"
    assert session_of({"headers": [*twice, (b"mcp-protocol-version", MODERN.encode())]}) is None
    assert session_of({"headers": [*twice, (b"mcp-protocol-version", HANDSHAKE.encode())]}) == "one"
    assert session_of({"headers": [*twice, (b"mcp-protocol-version", b"nonsense")]}) is None
    assert session_of({"headers": []}) is None


def test_a_result_that_is_no_json_is_a_driver_error(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        for answer in ({"text": "\ud800"}, {"x": float("nan")}, {"x": b"bytes"}, ["no object"], None):
            rig.phone.answers["describe_screen"] = answer
            error = (await alice.call("describe_screen", device_id="phone-1"))["error"]
            assert (error["code"], error["data"]["reason"]) == (-32000, "driver_error")
        for answer in ({"width_px": 1}, {"png_base64": 5}, {"png_base64": "\ud800"}, {"png_base64": "", "x": b""}):
            rig.phone.answers["take_screenshot"] = answer
            error = (await alice.call("take_screenshot", device_id="phone-1"))["error"]
            assert error["data"]["reason"] == "driver_error"

    with_rig(body)
    assert [record.levelno for record in caplog.records if record.exc_info] == [logging.WARNING] * 9


def test_a_fault_inside_the_host_agent_tells_the_client_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        async def broken(*_: object) -> object:
            raise RuntimeError("secret detail")

        rig.store.begin_use = broken
        error = (await (await rig.client()).tap())["error"]
        assert (error["code"], error["message"]) == (-32603, "internal error")

    with_rig(body)
    assert "secret detail" in caplog.text


def test_a_dropped_post_while_sending_its_body_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        alice = await rig.client()
        messages = [{"type": "http.request", "body": b'{"json', "more_body": True}, {"type": "http.disconnect"}]

        async def receive() -> dict:
            return messages.pop(0)

        async def sent(message: dict) -> None:
            raise AssertionError(message)

        headers = [(k.encode(), v.encode()) for k, v in alice.headers().items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "query_string": b""}
        await rig.endpoint.app(scope, receive, sent)

    with_rig(body)
    assert_no_traceback(caplog)
