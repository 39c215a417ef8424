"""The recorder: what a call leaves in its log, over MCP in both eras and over HTTP, and what it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.network import Network
from lasttick.laws.servers import asgi, effect_log
from lasttick.laws.servers.recorder import Recorder
from lasttick.targets.transports import memory_transport
from lasttick_fakes.client import McpClient

ORIGIN = "127.0.0.1:7003"
URL = f"http://{ORIGIN}"
JSONS = st.recursive(st.none() | st.integers() | st.floats() | st.text(), st.lists)


class Rig:
    """A running recorder and ways to it."""

    def __init__(self, recorder: Recorder, network: Network) -> None:
        self.recorder = recorder
        self.network = network
        self.transport = memory_transport(network)
        self.http = httpx.AsyncClient(transport=self.transport, base_url=URL)

    def mcp(self, **options: Any) -> McpClient:
        return McpClient(f"{URL}/mcp", token="secret-of-alice", transport=self.transport, **options)

    async def effects(self, after: int | None = None) -> list[dict[str, Any]]:
        query = "" if after is None else f"?after={after}"
        return list((await self.http.get(f"/effects{query}")).json()["effects"])


@asynccontextmanager
async def running() -> AsyncIterator[Rig]:
    network = Network()
    async with Recorder(VirtualClock(asyncio.get_running_loop())).running() as recorder:
        network.serve(ORIGIN, recorder.app)
        rig = Rig(recorder, network)
        yield rig
        await rig.http.aclose()


def play(body: Callable[[Rig], Awaitable[None]]) -> None:
    async def main(_: Any) -> None:
        async with running() as rig:
            await body(rig)

    run_virtual(main)


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize(("tool", "kind"), [("ltread", "read"), ("ltwrite", "write")])
def test_an_mcp_call_is_logged_whole(era: Any, tool: str, kind: str) -> None:
    async def body(rig: Rig) -> None:
        client = rig.mcp(era=era)
        assert (await client.open()).ok
        reply = await client.request(
            "tools/call",
            {"name": tool, "arguments": {"mark": "lt-1-alice", "resource": "r1", "deep": {"x": [1]}}},
            headers={"x-leak": "canary"},
        )
        assert reply.structured == {"ok": True, "mark": "lt-1-alice"}
        (effect,) = await rig.effects()
        assert effect["seq"] == 1
        assert (effect["mark"], effect["tool"], effect["kind"], effect["resource"]) == ("lt-1-alice", tool, kind, "r1")
        assert effect["args"] == {"mark": "lt-1-alice", "resource": "r1", "deep": {"x": [1]}}
        assert effect["headers"]["authorization"] == "Bearer secret-of-alice"
        assert effect["headers"]["x-leak"] == "canary"
        assert json.loads(effect["body"])["params"]["name"] == tool
        assert effect["at"] <= effect["end"] < effect["at"] + 5

    play(body)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_finds_two_tools_of_known_class(mode: str) -> None:
    async def body(rig: Rig) -> None:
        async with (
            httpx2.AsyncClient(transport=memory_transport(rig.network, httpx2)) as http,
            Client(streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode) as client,
        ):
            tools = (await client.list_tools()).tools
            assert [(tool.name, tool.annotations.read_only_hint) for tool in tools] == [
                ("ltread", True),
                ("ltwrite", False),
            ]
            result = await client.call_tool("ltwrite", {"mark": "lt-2"})
            assert (result.is_error, result.structured_content) == (False, {"ok": True, "mark": "lt-2"})
        assert [effect.mark for effect in rig.recorder.effects] == ["lt-2"]

    play(body)


@pytest.mark.parametrize(("path", "tool"), [("/read", "ltread"), ("/write", "ltwrite")])
@pytest.mark.parametrize("shape", ["json", "data", "params"])
def test_an_http_call_is_logged_whole(path: str, tool: str, shape: str) -> None:
    async def body(rig: Rig) -> None:
        given: dict[str, Any] = {shape: {"mark": "lt-3", "more": "a b"}}
        answer = await rig.http.post(path, headers=[("x-twice", "1"), ("x-twice", "2")], **given)
        assert (answer.status_code, answer.json()) == (200, {"ok": True, "mark": "lt-3"})
        (effect,) = await rig.effects()
        assert (effect["tool"], effect["args"]) == (tool, {"mark": "lt-3", "more": "a b"})
        assert effect["headers"]["x-twice"] == "1, 2"
        assert effect["body"].encode() == answer.request.content

    play(body)


def test_effects_after_a_number_and_cleared() -> None:
    async def body(rig: Rig) -> None:
        for mark in ("a", "b", "c"):
            await rig.http.post("/read", json={"mark": mark})
        assert [effect["mark"] for effect in await rig.effects(1)] == ["b", "c"]
        assert await rig.effects(3) == []
        assert (await rig.http.delete("/effects")).json() == {"effects": []}
        assert await rig.effects() == []
        await rig.http.post("/read", json={"mark": "d"})
        assert [(effect["seq"], effect["mark"]) for effect in await rig.effects(3)] == [(4, "d")]

    play(body)


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect_log, "KEPT_MAX", 3)

    async def body(rig: Rig) -> None:
        for number in range(5):
            await rig.http.post("/read", json={"mark": str(number)})
        assert [effect["mark"] for effect in await rig.effects()] == ["2", "3", "4"]
        assert [effect["mark"] for effect in await rig.effects(1)] == ["2", "3", "4"]
        assert [effect["mark"] for effect in await rig.effects(4)] == ["4"]

    play(body)


def test_every_message_is_in_the_requests_whatever_it_was() -> None:
    """A credential may leak in a list or an initialize too, or in a body that nobody can read."""

    async def body(rig: Rig) -> None:
        client = rig.mcp()
        await client.open()
        await client.list_tools()
        await rig.http.post("/write", content=b"\xff canary", headers={"content-type": "application/json"})
        await rig.http.put("/elsewhere?canary=1", content=b"x")
        await rig.http.get("/effects")
        found = (await rig.http.get("/requests")).json()["requests"]
        assert [(entry["method"], entry["path"]) for entry in found] == [
            ("POST", "/mcp"),
            ("POST", "/mcp"),
            ("POST", "/mcp"),
            ("POST", "/write"),
            ("PUT", "/elsewhere"),
        ]
        assert {entry["headers"].get("authorization") for entry in found[:3]} == {"Bearer secret-of-alice"}
        assert "tools/list" in found[2]["body"]
        assert found[3]["body"] == "\xff canary"
        assert found[4]["query"] == {"canary": "1"}
        assert [entry["seq"] for entry in (await rig.http.get("/requests?after=4")).json()["requests"]] == [5]
        assert await rig.effects() == []

    play(body)


# -- bad input


@pytest.mark.parametrize("arguments", [{}, {"mark": ""}, {"mark": 7}, {"mark": None}])
def test_a_call_without_a_mark_has_happened_and_is_told_so(arguments: dict[str, Any]) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.http.post("/write", json=arguments)
        assert answer.status_code == 400
        client = rig.mcp()
        await client.open()
        reply = await client.request("tools/call", {"name": "ltwrite", "arguments": arguments})
        assert reply.is_error_result
        for said in (answer.json()["error"], reply.structured["error"]):
            assert "a call without a mark; expected one" in said
        assert [(effect["mark"], effect["kind"]) for effect in await rig.effects()] == [(None, "write")] * 2

    play(body)


@pytest.mark.parametrize("hold_s", [-1, 601, "long", True, [], None, "nan", "1e999"])
def test_a_hold_that_is_no_time_to_wait_does_not_happen(hold_s: Any) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.http.post("/write", json={"mark": "a", "hold_s": hold_s})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("hold_s is ")
        client = rig.mcp()
        await client.open()
        reply = await client.request("tools/call", {"name": "ltwrite", "arguments": {"mark": "a", "hold_s": hold_s}})
        assert reply.is_error_result
        assert reply.structured["error"].startswith("hold_s is ")
        assert await rig.effects() == []

    play(body)


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        (b"{", 400, "the body is not JSON"),
        (b"[1]", 400, "the body is a JSON list; expected an object or a form"),
        (b'{"mark": NaN}', 400, "NaN is not a JSON number"),
        (b"[" * 100_000, 400, "the body is nested too deep"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, 400, "expected at most 100 levels"),
        (b" " * (asgi.BODY_BYTES_MAX + 1), 413, "expected at most that many"),
    ],
)
def test_a_body_that_cannot_be_read(content: bytes, status: int, says: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.http.post("/write", content=content)
        assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.text
        assert answer.json()["error"].count(";") >= 2
        assert await rig.effects() == []

    play(body)


def test_arguments_as_deep_as_the_sdk_reads_them() -> None:
    async def body(rig: Rig) -> None:
        client = rig.mcp()
        await client.open()
        for levels in (50, 150, 5_000):
            deep = '{"a":' * levels + "1" + "}" * levels
            head = f'{{"jsonrpc":"2.0","id":{levels},"method":"tools/call","params":{{"name":"ltwrite","arguments":'
            assert (await client.post(f"{head}{deep}}}}}".encode())).http_status < 500
        assert len(await rig.effects()) >= 1

    play(body)


@pytest.mark.parametrize("path", ["/effects?after=-1", "/effects?after=x", "/effects?after=", "/requests?after=1.5"])
def test_a_number_that_is_none(path: str) -> None:
    async def body(rig: Rig) -> None:
        answer = await rig.http.get(path)
        assert answer.status_code == 400
        assert "expected the seq of an entry" in answer.json()["error"]

    play(body)


def test_a_tool_and_a_path_that_are_not_there() -> None:
    async def body(rig: Rig) -> None:
        client = rig.mcp()
        await client.open()
        reply = await client.call("ltdelete", mark="a")
        assert reply.error is not None
        assert reply.error.code == -32602
        assert "expected ltread or ltwrite" in reply.error.message
        answer = await rig.http.get("/write")
        assert answer.status_code == 404
        assert "GET /write is nothing here; expected POST /mcp" in answer.json()["error"]
        assert await rig.effects() == []

    play(body)


@settings(max_examples=25, deadline=None)
@given(arguments=st.dictionaries(st.text(), JSONS))
def test_any_arguments_can_be_read_back(arguments: dict[str, Any]) -> None:
    """The answer to GET /effects is JSON whatever was sent."""
    arguments.pop("hold_s", None)

    async def body(rig: Rig) -> None:
        client = rig.mcp()
        await client.open()
        await client.request("tools/call", {"name": "ltwrite", "arguments": {**arguments, "mark": "a"}})
        answer = await rig.http.get("/effects")

        def no_constant(name: str) -> None:
            raise AssertionError(name)

        effects = json.loads(answer.content, parse_constant=no_constant)["effects"]
        assert [effect["mark"] for effect in effects] in (["a"], [])  # the SDK may refuse what is no JSON

    play(body)


# -- time


def test_a_call_that_is_held_lasts_that_long_on_the_clock_it_was_given() -> None:
    async def body(rig: Rig) -> None:
        call = asyncio.ensure_future(rig.http.post("/write", json={"mark": "a", "hold_s": 90}))
        await asyncio.sleep(30)
        assert [(effect["at"], effect["end"]) for effect in await rig.effects()] == [(0.0, None)]
        assert (await call).json()["ok"]
        assert asyncio.get_running_loop().time() == 90
        assert [(effect["at"], effect["end"]) for effect in await rig.effects()] == [(0.0, 90.0)]

    play(body)


def test_a_call_that_is_cut_off_at_the_resource_ends_there() -> None:
    async def body(rig: Rig) -> None:
        client = rig.mcp()
        await client.open()
        call = client.start_call("ltwrite", mark="a", hold_s=90)
        await asyncio.sleep(30)
        await client.cancel(call.request_id)
        await asyncio.sleep(5)
        assert [effect.end for effect in rig.recorder.effects] == [30.0]
        await call.drop()

    play(body)


def test_a_stop_ends_what_is_held() -> None:
    async def body(_: Any) -> None:
        async with running() as rig:
            client = rig.mcp()
            await client.open()
            stream = await client.open_stream()
            assert stream.refused is None
            calls = [
                asyncio.ensure_future(client.call("ltwrite", mark="a", hold_s=500)),
                asyncio.ensure_future(rig.http.post("/write", json={"mark": "b", "hold_s": 500})),
            ]
            await asyncio.sleep(10)
        await asyncio.wait(calls)
        assert [effect.end for effect in rig.recorder.effects] == [10.0, 10.0]
        assert asyncio.get_running_loop().time() == 10

    run_virtual(body)
