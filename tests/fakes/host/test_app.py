"""Can everything that a person does be done over HTTP, and is what cannot be done refused with its status?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lasttick.engine.network import Network
from lasttick.engine.pipes import pipe_pair
from lasttick.targets.transports import memory_transport
from lasttick_fakes.host import HostApp, LineWire, Wire

from .bench import ONE_FIELD, HostBench, with_host

Story = Callable[[HostBench, httpx.AsyncClient], Awaitable[None]]


def with_app(story: Story) -> None:
    async def inner(bench: HostBench) -> None:
        async def connect() -> Wire:
            ours, bench.adapter = pipe_pair()
            return LineWire(ours)

        network = Network()
        network.serve("host:80", HostApp(bench.host, connect))
        async with httpx.AsyncClient(transport=memory_transport(network), base_url="http://host") as client:
            await story(bench, client)

    with_host(inner)


async def ok(client: httpx.AsyncClient, path: str, body: Any) -> dict[str, Any]:
    got = await client.post(path, json=body)
    assert got.status_code == 200, got.text
    return dict(got.json())


def test_a_card_is_listed_clicked_and_listed_no_longer_as_open() -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        await bench.card()
        (listed,) = (await client.get("/cards?state=emitted")).json()["cards"]
        assert (listed["call_id"], listed["data"]["subject"]["text"]) == ("call_1", "note.txt")
        await ok(client, "/conversations/default/click", {"call_id": "call_1", "action": "Deny"})
        assert (await bench.reads())["payload"]["result"] == {"action_id": "action_02"}
        await bench.state("call_1", "completed", "accepted", None)
        assert (await client.get("/cards?state=emitted")).json()["cards"] == []
        (closed,) = (await client.get("/conversations/default")).json()["cards"]
        assert (closed["state"], closed["disposition"]) == ("completed", "accepted")

    with_app(story)


def test_saying_typing_closing_answering_cancelling_publishing_and_raw_bytes() -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        await bench.card("a", ONE_FIELD, "input")
        said = await ok(client, "/conversations/default/say", {"text": "hello"})
        await ok(client, "/conversations/default/type", {"call_id": "a", "text": "tea"})
        await ok(client, "/conversations/default/type", {"call_id": "a", "values": {"task": "tea"}})
        await ok(client, "/conversations/default/dismiss", {"call_id": "a"})
        await ok(client, "/conversations/default/answer", {"call_id": "zz", "status": "completed", "result": 3})
        await ok(client, "/conversations/default/cancel", {})
        await ok(client, "/inventory", {"revision": "r1", "tools": {}})
        await client.post("/raw", content=b'{"v": 9}')
        payloads = [(await bench.reads()).get("payload") for _ in range(8)]
        assert payloads == [
            {"message_id": said["message_id"], "text": "hello"},
            {"call_id": "a", "status": "completed", "result": {"text": "tea"}},
            {"call_id": "a", "status": "completed", "result": {"values": {"task": "tea"}}},
            {"call_id": "a", "status": "cancelled", "result": None},
            {"call_id": "zz", "status": "completed", "result": 3},
            {},
            {"revision": "r1", "capabilities": []},
            None,
        ]
        log = (await client.get("/log?after=2")).json()["log"]
        assert [line["way"] for line in log] == ["sent"] * 8

    with_app(story)


ANSWER = {"call_id": "call_1", "status": "completed", "result": {"action_id": "action_01"}, "wait_s": 5}


def test_an_answer_waits_for_what_the_adapter_says_to_it_and_to_no_other() -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        await bench.card()
        other = {**ANSWER, "result": {"action_id": "action_02"}}
        sent = [
            asyncio.create_task(ok(client, path, body))
            for path, body in (
                ("/conversations/default/answer", other),
                ("/conversations/default/answer", ANSWER),
                ("/conversations/elsewhere/answer", ANSWER),
            )
        ]
        for _ in sent:
            await bench.reads()
        await bench.state("call_1", "emitted", "rejected", "no", conversation_id="default")
        await bench.state("call_1", None, "rejected", "wrong conversation", conversation_id="elsewhere")
        await bench.state("call_1", "completed", "accepted", None, conversation_id="default")
        told = [(await one)["told"] for one in sent]
        assert [(one["state"], one["disposition"], one["reason"]) for one in told] == [
            ("emitted", "rejected", "no"),
            ("completed", "accepted", None),
            (None, "rejected", "wrong conversation"),
        ]
        (card,) = (await client.get("/cards?call_id=call_1")).json()["cards"]
        assert card["outcome"] == "action_01", "the answer that was taken"
        assert (await client.get("/cards?call_id=call_2")).json()["cards"] == []

    with_app(story)


def test_an_answer_to_which_nothing_is_said_is_504() -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        await bench.card()
        got = await client.post("/conversations/default/answer", json=ANSWER)
        assert (got.status_code, list(got.json())) == (504, ["error"])
        await bench.state("call_1", "expired", None, "expired")
        (card,) = (await client.get("/cards")).json()["cards"]
        assert card["outcome"] == "expired"

    with_app(story)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/conversations/default/answer", {**ANSWER, "wait_s": 61}, 400),
        ("/conversations/default/answer", {**ANSWER, "wait_s": True}, 400),
        ("/conversations/default/dance", {}, 404),
        ("/conversations/default/click", {"call_id": "zz", "action": "Deny"}, 404),
        ("/conversations/default/click", {"call_id": "call_1", "action": "Maybe"}, 400),
        ("/conversations/default/click", {"call_id": "call_1", "action": "Deny", "times": 0}, 400),
        ("/conversations/default/click", {"action": "Deny"}, 400),
        ("/conversations/default/say", {"text": 3}, 400),
        ("/inventory", {"revision": "r", "tools": {"lamp": 3}}, 400),
        ("/link", {"up": "yes"}, 400),
    ],
)
def test_what_cannot_be_done_is_refused(path: str, body: Any, status: int) -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        await bench.card()
        got = await client.post(path, json=body)
        assert (got.status_code, list(got.json())) == (status, ["error"])

    with_app(story)


def test_the_link_goes_down_and_up() -> None:
    async def story(bench: HostBench, client: httpx.AsyncClient) -> None:
        assert await ok(client, "/link", {"up": False}) == {"up": False}
        assert (await client.post("/conversations/default/say", json={"text": "x"})).status_code == 409
        assert await ok(client, "/link", {"up": True}) == {"up": True}
        await ok(client, "/conversations/default/say", {"text": "x"})

    with_app(story)
