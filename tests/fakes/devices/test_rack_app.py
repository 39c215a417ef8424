"""Is the rack on the wire the same rack, and does every bad request get one clear JSON message?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick_fakes.devices import Rack, rack_app, trouble


def over_the_wire(rack: Rack, story: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def body() -> None:
        transport = httpx.ASGITransport(app=rack_app(rack))
        async with httpx.AsyncClient(transport=transport, base_url="http://rack") as client:
            await story(client)

    asyncio.run(body())


def test_list_act_and_read_the_log(rack) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        devices = (await client.get("/v1/devices")).json()["devices"]
        phone = {"device_id": "phone-1", "platform": "android", "scale": 1, "width_px": 180, "height_px": 324}
        assert devices[0] == {**phone, "health": "ok", "running": 0, "fence": 0}
        assert [device["scale"] for device in devices] == [1, 2, 3]
        assert (await client.get("/v1/devices/phone-1")).json() == devices[0]
        tap = {"tool": "tap", "arguments": {"x": 50, "y": 60}}
        answer = await client.post("/v1/devices/phone-1/perform", json=tap)
        assert answer.json() == {"result": {"ok": True, "hit": "home/messages", "screen": "messages"}}
        start = {"seq": 1, "t_ns": 0, "device_id": "phone-1", "kind": "start", "call": 1, **tap, "outcome": None}
        end = {**start, "seq": 2, "kind": "end", "outcome": "ok"}
        assert (await client.get("/v1/log")).json() == {"log": [start, end], "dropped": 0}
        assert (await client.get("/v1/log?after=1")).json() == {"log": [end], "dropped": 0}

    over_the_wire(rack, story)


def test_a_cleared_rack_has_no_devices_and_a_new_log(rack) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        await client.post("/v1/devices/phone-1/perform", json={"tool": "tap", "arguments": {"x": 1, "y": 1}})
        assert (await client.delete("/v1/devices")).status_code == 200
        assert (await client.get("/v1/devices")).json() == {"devices": []}
        assert (await client.get("/v1/log")).json() == {"log": [], "dropped": 0}
        assert (await client.post("/v1/devices", json={"devices": "phone-1"})).status_code == 201

    over_the_wire(rack, story)


def test_trouble_and_health_during_an_action(clock, rack) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        body = trouble.slow("tap", 5).as_json()
        assert (await client.post("/v1/devices/phone-1/trouble", json=body)).json()["health"] == "ok"
        tap = asyncio.create_task(
            client.post("/v1/devices/phone-1/perform", json={"tool": "tap", "arguments": {"x": 1, "y": 1}})
        )
        await clock.advance(1)
        during = (await client.get("/v1/devices/phone-1")).json()
        assert (during["health"], during["running"]) == ("ok", 1)
        await client.post("/v1/devices/phone-1/trouble", json={"kind": "disconnect"})
        answer = await tap
        assert (answer.status_code, answer.json()["error"][:26]) == (502, "phone-1 is disconnected; a")
        assert (await client.get("/v1/devices/phone-1")).json()["health"] == "offline"

    over_the_wire(rack, story)


def test_a_dropped_connection_does_not_stop_the_action(clock, rack) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        rack.device("phone-1").trouble(trouble.slow("*", 10))
        body = {"tool": "launch_app", "arguments": {"app": "notes"}}
        call = asyncio.create_task(client.post("/v1/devices/phone-1/perform", json=body))
        await clock.advance(1)
        call.cancel()
        await clock.advance(9)
        assert rack.device("phone-1").state.screen == "notes"
        assert [entry.kind for entry in rack.log.entries()] == ["start", "end"]

    over_the_wire(rack, story)


def test_more_devices_can_be_registered_all_or_none(rack) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        added = await client.post("/v1/devices", json={"devices": "phone-7,ipad-7=ios@3"})
        assert (added.status_code, [d["device_id"] for d in added.json()["devices"]]) == (201, ["phone-7", "ipad-7"])
        refused = await client.post("/v1/devices", json={"devices": "phone-8,phone-7"})
        assert refused.status_code == 400
        assert "'phone-7' is named twice" in refused.json()["error"]
        assert (await client.get("/v1/devices/phone-8")).status_code == 404

    over_the_wire(rack, story)


PERFORM = "/v1/devices/phone-1/perform"


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "words"),
    [
        ("POST", PERFORM, b"{", 400, "the body is not JSON"),
        ("POST", PERFORM, b"\xff", 400, "the body is not JSON"),
        ("POST", PERFORM, b"[" * 100_000, 400, "the body is not JSON"),
        ("POST", PERFORM, b'{"tool": "tap", "arguments": {"x": NaN, "y": 1}}', 400, "NaN is not a JSON number"),
        ("POST", PERFORM, b'{"tool": "tap", "arguments": {"x": 1e999, "y": 1}}', 400, "x = inf; expected a finite"),
        ("POST", PERFORM, b"[]", 400, "expected a JSON object with tool and arguments"),
        ("POST", PERFORM, b'{"tool": "tap"}', 400, "expected a JSON object with tool and arguments"),
        ("POST", PERFORM, b'{"tool": 1, "arguments": {}}', 400, "tool must be text and arguments an object"),
        ("POST", PERFORM, b'{"tool": "tap", "arguments": []}', 400, "tool must be text and arguments an object"),
        ("POST", PERFORM, b'{"tool": "fly", "arguments": {}}', 400, "unknown tool 'fly'; a device has"),
        (
            "POST",
            PERFORM,
            b'{"tool": "tap", "arguments": {"x": "1", "y": 1}}',
            400,
            "x = '1'; expected a finite number",
        ),
        ("POST", PERFORM, b'{"tool": "input_text", "arguments": {"text": "\\ud800"}}', 400, "lone surrogates"),
        ("POST", PERFORM, b'{"tool": "tap", "arguments": {"x": 999, "y": 1}}', 502, "is off the screen of phone-1"),
        ("POST", PERFORM, b" " * 1_000_001, 413, "over 1000000 bytes"),
        ("POST", "/v1/devices/none/perform", b"{}", 404, "unknown device 'none'"),
        ("GET", "/v1/devices/n%C3%B6ne", None, 404, "unknown device 'n\\xf6ne'"),
        ("POST", "/v1/devices", b'{"devices": []}', 400, "devices is []; expected text as for --devices"),
        ("POST", "/v1/devices", b'{"devices": "a=b"}', 400, "device a has the platform 'b'"),
        ("POST", "/v1/devices/phone-1/trouble", b'{"kind": "melt"}', 400, "unknown trouble kind 'melt'"),
        ("POST", "/v1/devices/phone-1/trouble", b"7", 400, "7 is no trouble"),
        ("GET", "/v1/log?after=-1", None, 400, "after = '-1'; expected the seq"),
        ("GET", "/v2", None, 404, "see the rack's wire"),
        ("DELETE", "/v1/devices/phone-1", None, 405, "see the rack's wire"),
    ],
    ids=lambda value: f"{len(value)}-bytes" if isinstance(value, bytes) else None,
)
def test_a_bad_request_gets_one_json_message(rack, method, path, content, status, words) -> None:
    async def story(client: httpx.AsyncClient) -> None:
        answer = await client.request(method, path, content=content)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])
        assert words in answer.json()["error"]
        assert "Traceback" not in answer.text

    over_the_wire(rack, story)
    assert status == 502 or rack.log.entries() == []


def test_a_client_that_leaves_in_the_middle_of_its_body_starts_nothing(rack) -> None:
    async def body() -> None:
        sent: list[Any] = []
        messages: AsyncIterator[dict[str, Any]] = _messages(
            {"type": "http.request", "body": b'{"tool"', "more_body": True}, {"type": "http.disconnect"}
        )
        scope = {"type": "http", "method": "POST", "path": PERFORM, "query_string": b"", "headers": []}

        async def send(message: Any) -> None:
            sent.append(message)

        await rack_app(rack)(scope, messages.__anext__, send)

    asyncio.run(body())
    assert rack.log.entries() == []


async def _messages(*messages: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    for message in messages:
        yield message
