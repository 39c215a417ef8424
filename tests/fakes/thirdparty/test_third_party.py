"""Does the third party do its four actions, log every request, and break as it is told?"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.targets.transports import memory_transport
from lasttick_fakes.thirdparty import SHAPES, BadTrouble, ThirdParty, Trouble
from lasttick_fakes.thirdparty.trouble import TroubleList, garbage, parse

Story = Callable[[ThirdParty, httpx.AsyncClient], Awaitable[None]]
ORDER = {"order_id": "A-1", "nonce": "n-77"}


def with_third_party(story: Story, events: list[tuple[str, dict[str, Any]]] | None = None) -> None:
    async def main(loop: VirtualLoop) -> None:
        heard = [] if events is None else events
        third = ThirdParty(VirtualClock(loop), lambda kind, data: heard.append((kind, data)))
        third.put_order("A-1", nonce="n-77")
        third.put_product("P-1", price=3)
        network = Network()
        network.serve("third:80", third)
        async with httpx.AsyncClient(transport=memory_transport(network), base_url="http://third") as client:
            await story(third, client)

    run_virtual(main)


@pytest.mark.parametrize(
    ("path", "given", "result"),
    [
        ("/order_lookup/lookup", {"order_id": "A-1"}, {"order": ORDER}),
        ("/shop/get_order", {"order_id": "A-1"}, {"order": ORDER}),
        ("/shop/get_product", {"product_id": "P-1"}, {"product": {"product_id": "P-1", "price": 3}}),
        ("/shop/refund", {"order_id": "A-1", "reason": "late"}, {"order": {**ORDER, "refunded": True}}),
    ],
)
def test_an_action_answers_with_the_record(path: str, given: dict[str, Any], result: dict[str, Any]) -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        answer = await client.post(path, json=given)
        assert (answer.status_code, answer.json()) == (200, result)
        assert [(seen.path, seen.status) for seen in third.log()] == [(path, 200)]

    with_third_party(story)


def test_only_a_refund_changes_anything() -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        await client.post("/order_lookup/lookup", json={"order_id": "A-1"})
        assert third.business.orders["A-1"] == ORDER
        await client.post("/shop/refund", json={"order_id": "A-1"})
        assert (await client.get("/data/orders/A-1")).json() == {**ORDER, "refunded": True}

    with_third_party(story)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/order_lookup/lookup", b'{"order_id": "B-2"}', 404),
        ("POST", "/order_lookup/lookup", b"{}", 400),
        ("POST", "/order_lookup/lookup", b'{"order_id": 7}', 400),
        ("POST", "/order_lookup/lookup", b'{"order_id": ""}', 400),
        ("POST", "/order_lookup/lookup", b"", 400),
        ("POST", "/order_lookup/lookup", b"[]", 400),
        ("POST", "/order_lookup/lookup", b'{"order_id": NaN}', 400),
        ("POST", "/order_lookup/lookup", b'{"order_id": "A-1", "total": 1e999}', 400),
        ("POST", "/order_lookup/lookup", b"[" * 100_000, 400),
        ("POST", "/order_lookup/lookup", b"\xff\xfe", 400),
        ("POST", "/order_lookup/lookup", b"x" * ((1 << 20) + 1), 413),
        ("POST", "/order_lookup/other", b"{}", 404),
        ("POST", "/", b"{}", 404),
        ("POST", "/order_lookup/lookup/", b"{}", 404),
        ("GET", "/order_lookup/lookup", b"", 405),
        ("DELETE", "/shop/refund", b"", 405),
    ],
)
def test_what_it_cannot_do_is_refused_in_three_parts_and_logged(
    method: str, path: str, body: bytes, status: int
) -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        answer = await client.request(method, path, content=body)
        assert answer.status_code == status, answer.text
        message = answer.json()["error"]
        assert "; expected" in message or "known are" in message
        assert [seen.status for seen in third.log()] == [status]

    with_third_party(story)


def test_the_log_has_each_request_as_it_came() -> None:
    events: list[tuple[str, dict[str, Any]]] = []

    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        headers = {"x-api-key": "k-1", "X-Correlation-Id": "run-1"}
        await client.post("/order_lookup/lookup", json={"order_id": "A-1"}, headers=headers)
        await asyncio.sleep(2)
        await client.post("/nothing", content=b"\xff")
        first, second = third.log()
        assert (first.seq, first.t_ns, first.method) == (1, 0, "POST")
        assert (first.header("X-Api-Key"), json.loads(first.body)) == ("k-1", {"order_id": "A-1"})
        assert (second.seq, second.t_ns, second.body, second.status) == (2, 2_000_000_000, "\xff", 400)
        told = (await client.get("/log")).json()["log"]
        assert told == [first.as_json(), second.as_json()]
        assert (await client.get("/log?after=1")).json()["log"] == [second.as_json()]
        assert (await client.get("/log?after=x")).status_code == 400

    with_third_party(story, events)
    assert events[0] == (
        "third.request",
        {"seq": 1, "method": "POST", "path": "/order_lookup/lookup", "body": '{"order_id":"A-1"}', "run_id": "run-1"},
    )
    assert events[1] == ("third.answer", {"seq": 1, "status": 200})
    assert "k-1" not in repr(events)


def test_data_can_be_put_over_the_wire_and_reset() -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        assert (await client.put("/data/orders/B-2", json={"nonce": "x"})).json() == {"nonce": "x", "order_id": "B-2"}
        assert (await client.put("/data/products/P-2", json={})).json() == {"product_id": "P-2"}
        assert (await client.put("/data/people/1", json={})).status_code == 404
        assert (await client.get("/data/orders/none")).status_code == 404
        assert (await client.put("/data/orders/B-2", content=b"no")).status_code == 400
        assert (await client.put("/data/orders/B-2", content=b'{"total": -1e999}')).status_code == 400
        assert not third.log(), "the tests' own requests are not the business's"
        await client.post("/order_lookup/lookup", json={"order_id": "B-2"})
        await client.post("/trouble", json={"kind": "down"})
        assert (await client.post("/reset")).json() == {"ok": True}
        answer = await client.post("/order_lookup/lookup", json={"order_id": "A-1"})
        assert answer.status_code == 404
        assert [seen.seq for seen in third.log()] == [2]

    with_third_party(story)


def test_slow_is_late_and_done_all_the_same_when_the_caller_has_left() -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        third.trouble(Trouble("slow", s=5, path="/shop/refund", count=2))
        loop = asyncio.get_running_loop()
        await client.post("/order_lookup/lookup", json={"order_id": "A-1"})
        assert loop.time() == 0, "another path is not slow"
        await client.post("/shop/refund", json={"order_id": "A-1"})
        assert loop.time() == 5
        third.put_order("B-2")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await client.post("/shop/refund", json={"order_id": "B-2"})
        assert "refunded" not in third.business.orders["B-2"]
        await asyncio.sleep(5)
        assert third.business.orders["B-2"]["refunded"] is True
        await client.post("/shop/refund", json={"order_id": "B-2"})
        assert loop.time() == 11, "the count is used up"

    with_third_party(story)


@pytest.mark.parametrize("status", [500, 503, 599])
def test_5xx_is_a_page_and_does_nothing(status: int) -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        third.trouble(Trouble("5xx", status=status, count=1))
        answer = await client.post("/shop/refund", json={"order_id": "A-1"})
        assert answer.status_code == status
        assert "html" in answer.headers["content-type"]
        assert third.business.orders["A-1"] == ORDER
        assert (await client.post("/shop/refund", json={"order_id": "A-1"})).status_code == 200

    with_third_party(story)


def test_down_breaks_the_connection_and_does_nothing() -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        third.trouble(Trouble("down"))
        for _ in range(2):
            with pytest.raises(httpx.TransportError):
                await client.post("/shop/refund", json={"order_id": "A-1"})
        assert third.business.orders["A-1"] == ORDER
        assert [seen.status for seen in third.log()] == [0, 0]
        third.heal()
        assert (await client.post("/shop/refund", json={"order_id": "A-1"})).status_code == 200

    with_third_party(story)


@pytest.mark.parametrize("shape", SHAPES)
def test_garbage_is_200_and_nothing_that_the_business_says(shape: str) -> None:
    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        answer = await client.post("/trouble", json={"kind": "garbage", "shape": shape})
        assert answer.status_code == 200, answer.text
        answer = await client.post("/shop/refund", json={"order_id": "A-1"})
        assert (answer.status_code, answer.content) == (200, garbage(shape))
        assert third.business.orders["A-1"] == ORDER
        assert (await client.post("/trouble", json={"kind": "heal"})).status_code == 200
        assert (await client.post("/shop/refund", json={"order_id": "A-1"})).json()["order"]["refunded"] is True

    with_third_party(story)


def test_troubles_count_their_own_requests_and_the_oldest_wins() -> None:
    troubles = TroubleList()
    troubles.add(Trouble("down", skip=1, count=2, path="/a"))
    troubles.add(Trouble("5xx", count=3))
    met = [troubles.meet(path) for path in ("/a", "/b", "/a", "/a", "/a")]
    assert [None if trouble is None else trouble.kind for trouble in met] == ["5xx", "5xx", "down", "down", None]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "nap"},
        {"kind": ["slow"]},
        {"kind": "slow", "s": -1},
        {"kind": "slow", "s": "5"},
        {"kind": "slow", "s": True},
        {"kind": "slow", "s": float("inf")},
        {"kind": "5xx", "status": 404},
        {"kind": "5xx", "status": 600},
        {"kind": "garbage", "shape": "other"},
        {"kind": "down", "path": 7},
        {"kind": "down", "count": 0},
        {"kind": "down", "count": True},
        {"kind": "down", "skip": -1},
        {"kind": "down", "often": 3},
    ],
)
def test_trouble_that_cannot_be_read_changes_nothing(body: dict[str, Any]) -> None:
    with pytest.raises(BadTrouble, match=r"(expected|known are|give one)"):
        parse(body)

    async def story(third: ThirdParty, client: httpx.AsyncClient) -> None:
        answer = await client.post("/trouble", content=json.dumps(body).encode())
        assert answer.status_code == 400
        assert (await client.post("/order_lookup/lookup", json={"order_id": "A-1"})).status_code == 200

    with_third_party(story)
