"""What goes over the wire to the cloud, and what each answer becomes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.loop import run_virtual
from lasttick.reference.hostagent.cloud_client import CloudClient, CloudError, CloudRefused, HostUnknown


def run(body: Callable[[], Awaitable[None]]) -> None:
    run_virtual(lambda _: body())  # type: ignore[arg-type,return-value]


def test_the_requests() -> None:
    seen: list[tuple[str, str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), json.loads(request.content) if request.content else None))
        return httpx.Response(204 if request.method == "GET" else 200)

    async def body() -> None:
        cloud = CloudClient("http://cloud", transport=httpx.MockTransport(answer))
        devices = [{"device_id": "phone-1", "platform": "android", "status": "idle"}]
        beat = {"seq": 1, "devices": devices, "mcp_busy_device_ids": []}
        await cloud.register("host-1", devices)
        await cloud.heartbeat("host-1", beat)
        assert await cloud.claim("host-1", 20) is None
        await cloud.report("a/1", "failed", "why")
        await cloud.aclose()
        assert seen == [
            ("POST", "http://cloud/v1/hosts", {"host_id": "host-1", "devices": devices}),
            ("POST", "http://cloud/v1/hosts/host-1/heartbeat", beat),
            ("GET", "http://cloud/v1/hosts/host-1/assignments?wait_s=20", None),
            ("POST", "http://cloud/v1/assignments/a%2F1/result", {"status": "failed", "failure_reason": "why"}),
        ]

    run(body)


@pytest.mark.parametrize(
    ("answer", "seq"),
    [
        ('{"taken": false, "last_seq": 57}', 57),
        ('{"taken": true, "last_seq": 57}', None),
        ('{"taken": false}', None),
        ('{"taken": false, "last_seq": true}', None),
        ('{"taken": false, "last_seq": "57"}', None),
        ('{"last_seq": 57}', None),
        ("[57]", None),
        ("57", None),
        ("", None),
        ("<html>", None),
        ("[" * 100_000, None),
    ],
)
def test_a_heartbeat_that_was_not_taken_says_how_far_the_cloud_is(answer: str, seq: int | None) -> None:
    async def body() -> None:
        transport = httpx.MockTransport(lambda request: httpx.Response(200, text=answer))
        cloud = CloudClient("http://cloud", transport=transport)
        assert await cloud.heartbeat("host-1", {"seq": 1}) == seq
        await cloud.aclose()

    run(body)


def test_a_claim_brings_the_assignment() -> None:
    assignment = {"assignment_id": "a-1", "device_id": "phone-1", "kind": "goal", "goal": "tap OK"}

    async def body() -> None:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=assignment))
        assert await CloudClient("http://cloud", transport=transport).claim("h", 20) == assignment

    run(body)


@pytest.mark.parametrize(
    ("response", "error", "message"),
    [
        (httpx.Response(404), HostUnknown, "HTTP 404"),
        (httpx.Response(409), CloudRefused, "HTTP 409"),
        (httpx.Response(503), CloudError, "HTTP 503"),
        (httpx.Response(307, headers={"location": "http://elsewhere"}), CloudError, "HTTP 307"),
        (httpx.Response(200, text="{"), CloudError, "not JSON"),
        (httpx.Response(200, json=[1]), CloudError, "not a JSON object"),
    ],
)
def test_a_useless_answer_to_a_claim(response: httpx.Response, error: type[CloudError], message: str) -> None:
    async def body() -> None:
        cloud = CloudClient("http://cloud", transport=httpx.MockTransport(lambda _: response))
        with pytest.raises(CloudError, match=message) as caught:
            await cloud.claim("h", 20)
        assert type(caught.value) is error

    run(body)


def test_an_unknown_assignment_is_refused_not_an_unknown_host() -> None:
    async def body() -> None:
        cloud = CloudClient("http://cloud", transport=httpx.MockTransport(lambda _: httpx.Response(404)))
        with pytest.raises(CloudRefused) as caught:
            await cloud.report("a-1", "succeeded", None)
        assert type(caught.value) is CloudRefused

    run(body)


def test_a_cloud_that_is_gone() -> None:
    def gone(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("")

    async def body() -> None:
        cloud = CloudClient("http://cloud", transport=httpx.MockTransport(gone))
        with pytest.raises(CloudError, match="the cloud cannot be reached: ConnectError"):
            await cloud.register("h", [])

    run(body)


def test_every_request_is_bounded_a_long_poll_by_its_wait_too() -> None:
    async def never(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(1e6)
        raise AssertionError

    async def body() -> None:
        loop = asyncio.get_running_loop()
        cloud = CloudClient("http://cloud", transport=httpx.MockTransport(never), request_s=10.0)
        with pytest.raises(CloudError, match="did not answer POST /v1/hosts in 10 s"):
            await cloud.register("h", [])
        assert loop.time() == 10.0
        with pytest.raises(CloudError, match="in 30 s"):
            await cloud.claim("h", 20)
        assert loop.time() == 40.0

    run(body)
