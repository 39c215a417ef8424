"""The driver over the rack's wire: what it asks, and what each failure becomes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.network import Network
from lasttick.ports import DeviceDriver, DeviceInfo, DriverError, Drivers
from lasttick.reference.hostagent.rack_client import RackClient, RackDriver
from lasttick.targets.transports import memory_transport
from lasttick_fakes.devices import Rack, Trouble, parse_devices, rack_app

PHONE = {"device_id": "phone 1/x", "platform": "android", "scale": 1, "width_px": 1080, "height_px": 2400}


def run(body: Callable[[], Awaitable[None]]) -> None:
    run_virtual(lambda _: body())  # type: ignore[arg-type,return-value]


def client(answer: Callable[[httpx.Request], Any], **options: Any) -> RackClient:
    return RackClient("http://rack", transport=httpx.MockTransport(answer), **options)


async def phone(answer: Callable[[httpx.Request], Any]) -> RackDriver:
    def with_list(request: httpx.Request) -> Any:
        if request.url.path == "/v1/devices":
            return httpx.Response(200, json={"devices": [PHONE]})
        return answer(request)

    return (await client(with_list).drivers())[0]


def test_it_is_a_rack_and_a_driver() -> None:
    async def body() -> None:
        driver = await phone(lambda _: httpx.Response(500))
        assert driver.info == DeviceInfo("phone 1/x", "android", 1, 1080, 2400)
        drivers: Drivers = client(lambda _: httpx.Response(500))
        one: DeviceDriver = driver
        assert drivers
        assert one

    run(body)


def test_perform_sends_the_call_and_waits_without_a_time_out() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"result": {"ok": True}})

    async def body() -> None:
        driver = await phone(answer)
        assert await driver.perform("tap", {"x": 1, "y": 2.5}) == {"ok": True}

    run(body)
    (request,) = seen
    assert (request.method, request.url.raw_path) == ("POST", b"/v1/devices/phone%201%2Fx/perform")
    assert json.loads(request.content) == {"tool": "tap", "arguments": {"x": 1, "y": 2.5}}
    assert request.extensions["timeout"]["read"] is None
    assert request.extensions["timeout"]["pool"] is None


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(502, json={"error": "screen is off"}), r"^screen is off$"),
        (httpx.Response(409, json={"error": "already running"}), r"^already running$"),
        (httpx.Response(409), r"^the rack says an action is already running \(phone 1/x\)$"),
        (httpx.Response(404, text="nope"), r"^the rack does not know the device \(phone 1/x\)$"),
        (httpx.Response(500, text="<html>"), r"^the rack answered HTTP 500 \(phone 1/x\)$"),
        (httpx.Response(200, text="{"), "cannot be read"),
        (httpx.Response(200, json=[]), "cannot be read"),
        (httpx.Response(200, json={"result": 7}), "is not an object"),
    ],
)
def test_a_failed_action_is_a_driver_error(response: httpx.Response, message: str) -> None:
    async def body() -> None:
        driver = await phone(lambda _: response)
        with pytest.raises(DriverError, match=message):
            await driver.perform("tap", {"x": 1, "y": 1})

    run(body)


def test_a_rack_that_is_gone() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    async def body() -> None:
        driver = await phone(gone)
        with pytest.raises(DriverError, match="the rack cannot be reached: connection refused"):
            await driver.perform("tap", {"x": 1, "y": 1})
        assert await driver.health() == "offline"
        with pytest.raises(DriverError, match="cannot be reached"):
            await client(gone).drivers()

    run(body)


@pytest.mark.parametrize(
    ("then", "asked"),
    [
        ([{"running": 1}, httpx.ConnectError("refused"), httpx.Response(500), {"running": 1}, {"running": 0}], 5),
        ([{"running": 0}], 1),
        ([httpx.Response(404, json={"error": "no such device"})], 1),
        ([{}], 1),  # a rack that never tells what runs
    ],
)
def test_a_connection_that_breaks_under_an_action_does_not_end_it(then: list[Any], asked: int) -> None:
    """Otherwise the lease would end under the action, and another holder would meet it on the device (HA-05, HA-07)."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            raise httpx.ReadError("connection reset")
        seen.append(request.url.path)
        now = then.pop(0)
        if isinstance(now, Exception):
            raise now
        return now if isinstance(now, httpx.Response) else httpx.Response(200, json={**PHONE, **now})

    async def body() -> None:
        driver = await phone(answer)
        with pytest.raises(DriverError, match="the rack cannot be reached: connection reset"):
            await driver.perform("tap", {"x": 1, "y": 1})

    run(body)
    assert len(seen) == asked


@pytest.mark.parametrize(
    ("response", "health"),
    [
        (httpx.Response(200, json={**PHONE, "health": "ok"}), "ok"),
        (httpx.Response(200, json={**PHONE, "health": "offline"}), "offline"),
        (httpx.Response(200, json={**PHONE, "health": "error"}), "error"),
        (httpx.Response(200, json={**PHONE, "health": "dizzy"}), "error"),
        (httpx.Response(200, text="{"), "error"),
        (httpx.Response(500), "error"),
        (httpx.Response(404), "offline"),
    ],
)
def test_health(response: httpx.Response, health: str) -> None:
    async def body() -> None:
        assert await (await phone(lambda _: response)).health() == health

    run(body)


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(503),
        httpx.Response(200, text="{"),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"devices": [{"device_id": "x"}]}),
    ],
)
def test_a_list_that_cannot_be_used(response: httpx.Response) -> None:
    async def body() -> None:
        with pytest.raises(DriverError, match="list of"):
            await client(lambda _: response).drivers()

    run(body)


def test_only_its_own_devices() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"devices": [{**PHONE, "device_id": name} for name in ("c", "a", "b")]})

    async def body() -> None:
        found = await client(answer, only=["a", "c"]).drivers()
        assert [driver.info.device_id for driver in found] == ["c", "a"]
        with pytest.raises(DriverError, match="no device y, z; it has 3 others"):
            await client(answer, only=["z", "a", "y"]).drivers()

    run(body)


def test_against_the_fake_rack() -> None:
    """The same wire on both sides: actions, health during an action, and a failure's own words."""

    async def body() -> None:
        clock = VirtualClock(asyncio.get_running_loop())
        rack = Rack(clock, parse_devices("phone-1,ipad-1=ios@2"))
        network = Network()
        network.serve("rack:80", rack_app(rack))
        drivers = await RackClient("http://rack", transport=memory_transport(network)).drivers()
        assert [(d.info.device_id, d.info.platform, d.info.scale) for d in drivers] == [
            ("phone-1", "android", 1),
            ("ipad-1", "ios", 2),
        ]
        driver = drivers[0]
        assert (await driver.perform("tap", {"x": 1, "y": 1}))["ok"] is True
        rack.device("phone-1").trouble(Trouble("slow", "tap", 90))
        call = asyncio.create_task(driver.perform("tap", {"x": 2, "y": 2}))
        await asyncio.sleep(45)
        assert await driver.health() == "ok"
        assert (await call)["ok"] is True
        assert clock.now_ns() >= 90 * 10**9
        rack.device("phone-1").trouble(Trouble("disconnect"))
        assert await driver.health() == "offline"
        with pytest.raises(DriverError):
            await driver.perform("tap", {"x": 1, "y": 1})

    run(body)
