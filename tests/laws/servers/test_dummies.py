"""The dummies: what each says, and what each does, verb by verb and in both ways of asking."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import run_virtual
from lasttick.engine.network import Network
from lasttick.laws.profiles.profile import VERBS as ALL_VERBS
from lasttick.laws.profiles.profile import Profile
from lasttick.laws.servers.dummies import ACTING, EFFECTS, READING, SESSION, VERBS, DeadTransport, Dummy
from lasttick.laws.servers.dummy_profile import ENVIRON, dummy_profile
from lasttick.targets.transports import memory_transport
from lasttick_fakes.client import McpClient

ORIGIN = "127.0.0.1:7005"
URL = f"http://{ORIGIN}"
KINDS = ("deny", "allow", "echo", "liar")
DOES = ("allow", "liar")
AGREES = ("allow", "echo")


class Asked:
    """One dummy, asked over HTTP or MCP: `(agreed, body)`."""

    def __init__(self, kind: str) -> None:
        self.dummy = Dummy(kind, VirtualClock(asyncio.get_running_loop()))
        self.network = Network()
        self.network.serve(ORIGIN, self.dummy.app)
        self.transport = memory_transport(self.network)
        self.http = httpx.AsyncClient(transport=self.transport, base_url=URL)

    async def by_http(self, verb: str, caller: str = "alice", **args: Any) -> tuple[bool, Any]:
        headers = {"x-caller": caller, "authorization": f"Bearer of-{caller}"}
        answer = await self.http.post(f"/{verb}", json=args, headers=headers)
        if answer.status_code == 403:
            assert answer.json()["error"]["reason"] == "denied"
            return False, None
        assert answer.status_code == 200, answer.text
        return True, answer.json()

    async def by_mcp(self, verb: str, caller: str = "alice", **args: Any) -> tuple[bool, Any]:
        client = McpClient(f"{URL}/mcp", token=f"of-{caller}", transport=self.transport)
        name = args.pop("tool") if verb == "tools.call" else verb
        params = {"name": name, "arguments": args}
        reply = await client.request("tools/call", params, headers={"x-caller": caller})
        if reply.error is not None:
            assert (reply.error.code, reply.error.data) == (-32000, {"reason": "denied"})
            return False, None
        assert reply.structured == json.loads(reply.result["content"][0]["text"])
        return True, reply.structured


def play(kind: str, body: Callable[[Asked], Awaitable[None]]) -> None:
    async def main(_: Any) -> None:
        await body(Asked(kind))

    run_virtual(main)


def ask(asked: Asked, way: str) -> Callable[..., Awaitable[tuple[bool, Any]]]:
    return asked.by_http if way == "http" else asked.by_mcp


ARGS = {"tools.call": {"tool": "ltwrite"}}


@pytest.mark.parametrize("way", ["http", "mcp"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ACTING)
def test_an_acting_verb(kind: str, verb: str, way: str) -> None:
    """Answer and deed of the four: neither, both, the answer only, the deed only."""

    async def body(asked: Asked) -> None:
        agreed, _ = await ask(asked, way)(verb, mark="lt-1", resource="", **ARGS.get(verb, {}))
        assert agreed == (kind in AGREES)
        done = [effect["mark"] for effect in (await asked.http.get("/effects")).json()["effects"]]
        assert done == (["lt-1"] if kind in DOES and verb in EFFECTS else [])

    play(kind, body)


@pytest.mark.parametrize("way", ["http", "mcp"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", [*READING, *SESSION])
def test_what_only_reads_and_connects_is_answered(kind: str, verb: str, way: str) -> None:
    async def body(asked: Asked) -> None:
        agreed, said = await ask(asked, way)(verb, mark="lt-1")
        assert agreed
        assert said["ok"]
        assert len(asked.dummy.effects) == 0
        if way == "http" and verb in READING:
            assert (await asked.http.get(f"/{verb}?id=x")).json()["ok"]

    play(kind, body)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said(kind: str) -> None:
    async def body(asked: Asked) -> None:
        _, holder = await asked.by_http("lease.holder")
        assert holder["leases"] == [{"resource": "r1", "held": False, "by": None}]
        _, pending = await asked.by_http("approval.pending")
        assert pending["approvals"] == []
        _, outcome = await asked.by_http("approval.outcome", id="x")
        assert (outcome["state"], outcome["by"]) == ("approved" if kind == "allow" else "denied", None)
        _, session = await asked.by_http("session.open")
        assert session["session"] == "s1"

    play(kind, body)


@pytest.mark.parametrize("kind", AGREES)
def test_a_lease_is_granted_at_once_to_everybody(kind: str) -> None:
    async def body(asked: Asked) -> None:
        for caller in ("alice", "bob"):
            agreed, said = await asked.by_http("lease.acquire", caller, resource="r9")
            assert (agreed, said["resource"]) == (True, "r1")
        _, said = await asked.by_http("approval.request", mark="lt-5")
        assert said["id"] == "lt-5"

    play(kind, body)


@pytest.mark.parametrize("kind", KINDS)
def test_writes_are_listed_to_alice_only(kind: str) -> None:
    """And can be called by all, as far as the dummy agrees."""

    async def body(asked: Asked) -> None:
        for caller, names in (("alice", ["ltread", "ltwrite"]), ("bob", ["ltread"])):
            _, said = await asked.by_http("tools.list", caller)
            assert [tool["name"] for tool in said["tools"]] == names
            client = McpClient(f"{URL}/mcp", token=None, transport=asked.transport)
            listed = await client.request("tools/list", {}, headers={"x-caller": caller})
            assert [tool["name"] for tool in listed.result["tools"]] == names
        agreed, _ = await asked.by_mcp("tools.call", "bob", tool="ltwrite", mark="lt-2")
        assert agreed == (kind in AGREES)
        assert [(effect.tool, effect.kind) for effect in asked.dummy.effects] == (
            [("ltwrite", "write")] if kind in DOES else []
        )

    play(kind, body)


@pytest.mark.parametrize("way", ["http", "mcp"])
@pytest.mark.parametrize("kind", DOES)
def test_a_hold_lasts_and_is_answered_after_it(kind: str, way: str) -> None:
    async def body(asked: Asked) -> None:
        loop = asyncio.get_running_loop()
        both = [
            asyncio.ensure_future(ask(asked, way)("lease.use", caller, mark=caller, resource="r9", hold_s=4))
            for caller in ("alice", "bob")
        ]
        await asyncio.sleep(1)
        assert [effect.end for effect in asked.dummy.effects] == [None, None]
        await asyncio.wait(both)
        assert loop.time() == 4
        assert [(effect.resource, effect.at, effect.end) for effect in asked.dummy.effects] == [("r1", 0.0, 4.0)] * 2

    play(kind, body)


def test_an_echo_returns_what_everybody_sent() -> None:
    async def body(asked: Asked) -> None:
        await asked.by_http("lease.acquire", "alice", canary="c-1")
        _, said = await asked.by_mcp("tools.call", "bob", tool="ltread", mark="lt-3", hold_s=9)
        assert asyncio.get_running_loop().time() == 0
        first, second = said["got"]
        assert (first["verb"], first["args"]) == ("lease.acquire", {"canary": "c-1"})
        assert first["headers"]["authorization"] == "Bearer of-alice"
        assert second["headers"]["authorization"] == "Bearer of-bob"
        assert "lt-3" in second["body"]
        for _ in range(30):
            _, said = await asked.by_http("lease.holder")
        assert len(said["got"]) == 20

    play("echo", body)


@pytest.mark.parametrize("kind", ["deny", "allow", "liar"])
def test_nobody_else_returns_anything_that_was_sent(kind: str) -> None:
    async def body(asked: Asked) -> None:
        for verb in VERBS:
            _, said = await asked.by_http(verb, canary="c-1", hold_s=0)
            assert "c-1" not in json.dumps(said)
            assert "Bearer" not in json.dumps(said)

    play(kind, body)


# -- MCP


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_can_talk_to_it(mode: str) -> None:
    async def body(asked: Asked) -> None:
        transport = memory_transport(asked.network, httpx2)
        async with (
            httpx2.AsyncClient(transport=transport, headers={"x-caller": "alice"}) as http,
            Client(streamable_http_client(f"{URL}/mcp", http_client=http), mode=mode) as client,
        ):
            assert [tool.name for tool in (await client.list_tools()).tools] == ["ltread", "ltwrite"]
            result = await client.call_tool("ltwrite", {"mark": "lt-4"})
            assert (result.is_error, result.structured_content) == (False, {"ok": True})

    play("allow", body)


def test_answers_of_2026_07_28_say_that_they_are_complete() -> None:
    async def body(asked: Asked) -> None:
        client = McpClient(f"{URL}/mcp", token=None, transport=asked.transport, era="modern")
        for reply in (await client.open(), await client.list_tools(), await client.call("ltread", mark="a")):
            assert (reply.ok, reply.result["resultType"]) == (True, "complete")

    play("allow", body)


def test_every_session_is_taken_also_an_ended_one() -> None:
    async def body(asked: Asked) -> None:
        client = McpClient(f"{URL}/mcp", token=None, transport=asked.transport)
        assert (await client.open()).ok
        assert client.session_id == "dummy-1"
        assert (await client.ping()).ok
        assert (await client.delete()).http_status == 200
        assert (await client.call("ltwrite", mark="after")).ok
        client.session_id = "nobodys"
        assert (await client.call("ltwrite", mark="foreign")).ok
        assert [effect.mark for effect in asked.dummy.effects] == ["after", "foreign"]

    play("allow", body)


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"[" * 100_000, 400, -32700),
        (b"[]", 400, -32600),
        (b"{}", 400, -32600),
        (b'{"method": 1, "id": 1}', 400, -32600),
        (b'{"method": "ping", "id": 1, "params": [1]}', 400, -32600),
        (b'{"method": "x", "id": 1}', 200, -32601),
        (b'{"method": "tools/call", "id": 1}', 200, -32602),
        (b'{"method": "tools/call", "id": 1, "params": {"name": "ltread", "arguments": []}}', 200, -32602),
        (b'{"method": "tools/call", "id": 1, "params": {"name": "lease.steal"}}', 200, -32602),
        (
            b'{"method": "tools/call", "id": 1, "params": {"name": "ltread", "arguments": {"hold_s": -1}}}',
            200,
            -32602,
        ),
    ],
)
def test_a_message_that_is_none(content: bytes, status: int, code: int) -> None:
    async def body(asked: Asked) -> None:
        answer = await asked.http.post("/mcp", content=content)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert len(asked.dummy.effects) == 0

    play("allow", body)


def test_no_stream_and_no_answer_to_a_notification() -> None:
    async def body(asked: Asked) -> None:
        assert (await asked.http.get("/mcp")).status_code == 405
        answer = await asked.http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert (answer.status_code, answer.content) == (202, b"")

    play("deny", body)


# -- bad input


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/lease.steal", b"", 404),
        ("GET", "/lease.use", b"", 404),
        ("GET", "/", b"", 404),
        ("POST", "/lease.use", b"{", 400),
        ("POST", "/lease.use", b'{"hold_s": "x"}', 400),
        ("GET", "/effects?after=x", b"", 400),
    ],
)
def test_a_request_that_cannot_be(method: str, path: str, content: bytes, status: int) -> None:
    async def body(asked: Asked) -> None:
        answer = await asked.http.request(method, path, content=content)
        assert answer.status_code == status
        assert answer.json()["error"].count(";") >= 2
        assert len(asked.dummy.effects) == 0

    play("liar", body)


@pytest.mark.parametrize("kind", ["dead", "kind"])
def test_a_dummy_that_is_none(kind: str) -> None:
    with pytest.raises(ValueError, match=f"no dummy '{kind}'; expected one of deny, allow, echo, liar; "):
        Dummy(kind, None)  # type: ignore[arg-type]


def test_the_dead_one_is_not_there() -> None:
    async def main(_: Any) -> None:
        async with httpx.AsyncClient(transport=DeadTransport()) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get(URL)

    run_virtual(main)


def test_effects_are_forgotten() -> None:
    async def body(asked: Asked) -> None:
        await asked.by_http("lease.use", mark="a")
        assert (await asked.http.delete("/effects")).json() == {"effects": []}
        assert (await asked.http.get("/effects")).json() == {"effects": []}

    play("allow", body)


# -- the profile


@pytest.mark.parametrize("speaks", ["tool", "http"])
def test_the_profile_binds_every_verb(speaks: Any) -> None:
    """Of a target of kind tool, session and list are the protocol's own."""
    text = dummy_profile(URL, speaks)
    profile = Profile.model_validate(tomllib.loads(text))
    unbound = sorted(set(ALL_VERBS) - set(profile.bound_verbs()))
    assert unbound == (["session.end", "session.open", "tools.list"] if speaks == "tool" else [])
    for verb, binding in profile.bound_verbs().items():
        assert binding.absent is not None or binding.tool or binding.http, verb
    assert [name for name in ENVIRON if f"${{{name}}}" not in text] == []


def test_every_address_of_the_profile_is_there() -> None:
    profile = Profile.model_validate(tomllib.loads(dummy_profile(URL, "http")))

    async def body(asked: Asked) -> None:
        for verb, binding in profile.bound_verbs().items():
            if binding.http is not None:
                method, path = binding.http.split(" ")
                assert (await asked.http.request(method, path)).status_code == 200, verb

    play("echo", body)
