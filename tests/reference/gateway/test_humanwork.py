"""The MCP server offers exactly the turn's tools, hands calls on, and lives through whatever the gateway does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.pipes import pipe_pair
from lasttick.model import tool_names
from lasttick.model.tool_names import ToolNameError, decode
from lasttick.reference.gateway.humanwork import configured_tools, serve_humanwork
from lasttick.targets.pipes import PipeClient

SECRET = "agent-secret-AbCdEf-0123456789"
ENVIRON = {
    "PLATFORM_API_URL": "http://platform.test:8000",
    "HUMANWORK_ORG_ID": "org-a",
    "HUMANWORK_RUN_ID": "run-1",
    "HUMANWORK_MCP_TOOLS": "order_lookup:lookup,shop:get-order",
    "AGENT_SERVICE_SECRET": SECRET,
}


def answers(status: int, body: Any) -> Callable[[httpx.Request], httpx.Response]:
    return lambda request: httpx.Response(status, json=body)


RESULT = answers(200, {"ok": True, "result": {"order": "A-1"}})


def session(
    body: Callable[[PipeClient], Coroutine[Any, Any, Any]],
    gateway: Callable[[httpx.Request], Any] = RESULT,
    *,
    era: str = "handshake",
    **environ: str,
) -> Any:
    """`body` with a client that is connected over byte pipes, in virtual time; the server has ended after it."""

    async def main(loop: VirtualLoop) -> Any:
        ours, theirs = pipe_pair()
        transport = httpx.MockTransport(gateway)
        serving = asyncio.create_task(serve_humanwork({**ENVIRON, **environ}, theirs, transport=transport))
        client = PipeClient(ours, era)
        await client.open()
        try:
            return await body(client)
        finally:
            await client.close()
            await serving

    return run_virtual(main)


async def listed(client: PipeClient) -> list[dict[str, Any]]:
    return list((await client.request("tools/list", {}))["result"]["tools"])


async def call(client: PipeClient, name: str = "order_lookup__lookup", arguments: Any = None) -> tuple[bool, str]:
    """Whether it is an error, and the text."""
    answer = await client.request("tools/call", {"name": name, "arguments": arguments or {}})
    [content] = answer["result"]["content"]
    assert content["type"] == "text"
    return answer["result"].get("isError", False), content["text"]


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_it_offers_exactly_the_configured_tools(era: str) -> None:
    tools = session(listed, era=era)
    assert [decode(tool["name"]) for tool in tools] == ["order_lookup:lookup", "shop:get-order"]
    assert [tool["name"] for tool in tools] == ["order_lookup__lookup", "shop__getZ2dZorder"]
    assert all(tool["inputSchema"] == {"type": "object", "additionalProperties": True} for tool in tools)
    assert "order_lookup:lookup" in tools[0]["description"]


@pytest.mark.parametrize("value", ["", "${HUMANWORK_MCP_TOOLS}", "${env:HUMANWORK_MCP_TOOLS}"])
def test_an_absent_list_is_no_tools(value: str) -> None:
    assert session(listed, HUMANWORK_MCP_TOOLS=value) == []
    assert configured_tools({}) == {}


def test_it_has_nothing_else_to_offer() -> None:
    """A server with resources or prompts adds four more tools to every model request (ruling 10)."""

    async def hello(client: PipeClient) -> Any:
        return (await client.request("resources/list", {}), await client.request("prompts/list", {}))

    for answer in session(hello):
        assert answer["error"]["code"] == -32601

    async def main(loop: VirtualLoop) -> Any:
        ours, theirs = pipe_pair()
        serving = asyncio.create_task(serve_humanwork(ENVIRON, theirs))
        client = PipeClient(ours, "handshake")
        capabilities = (await client.open())["result"]["capabilities"]
        await client.close()
        await serving
        return capabilities

    assert list(run_virtual(main)) == ["tools"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("order_lookup", "'order_lookup' names no tool action"),
        ("a:b,", "'' names no tool action"),
        (",", "'' names no tool action"),
        ("a:b, c:d", "' c:d' names no tool action"),
        ("a:b:c", "'a:b:c' names no tool action"),
        ("a:b\udcff", "names no tool action"),
        ("a:b,${X}", "names no tool action"),
        ("a-b:c,d:e,a_b:c", "'a-b:c' and 'a_b:c'"),
    ],
)
def test_a_list_that_can_not_be_served_is_refused_at_the_start(value: str, said: str) -> None:
    async def main(loop: VirtualLoop) -> list[bytes]:
        ours, theirs = pipe_pair()
        with pytest.raises(ToolNameError, match=said):
            await serve_humanwork({**ENVIRON, "HUMANWORK_MCP_TOOLS": value}, theirs)
        return [line async for line in ours.lines()]

    assert run_virtual(main) == [], "its parent sees the end of the stream"


def test_a_pair_twice_is_one_tool() -> None:
    assert configured_tools({"HUMANWORK_MCP_TOOLS": "a:b,a:b"}) == {"a__b": "a:b"}


PARTS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"), exclude_characters=":,"), min_size=1)


@given(st.lists(st.tuples(PARTS, PARTS).map(":".join), min_size=1, max_size=5, unique_by=tool_names.folded))
def test_every_list_of_pairs_is_offered_whole_and_in_order(pairs: list[str]) -> None:
    if any(c.isspace() for c in "".join(pairs)):
        return
    listed = ",".join(pairs)
    tools = configured_tools({"HUMANWORK_MCP_TOOLS": listed})
    assert list(tools.values()) == pairs
    assert [decode(name) for name in tools] == pairs
    assert all(name == tool_names.folded(name) for name in tools), "no folding changes it"


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_call_is_handed_on_and_its_result_back(era: str) -> None:
    asked: list[httpx.Request] = []

    def gateway(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"ok": True, "result": {"order": "A-1", "note": "é"}})

    arguments = {"order_id": "A-1", "deep": [{"x": None}]}
    said = session(lambda client: call(client, "shop__getZ2dZorder", arguments), gateway, era=era)
    assert said == (False, '{"order":"A-1","note":"é"}')
    [request] = asked
    assert json.loads(request.content) == {
        "orgId": "org-a",
        "runId": "run-1",
        "toolName": "shop",
        "action": "get-order",
        "input": arguments,
    }
    assert request.headers["x-agent-secret"] == SECRET


@pytest.mark.parametrize(
    "name",
    ["shop__refund", "order_lookup:lookup", "order_lookup_lookup", "mcp__humanwork__order_lookup__lookup", "", "é"],
)
def test_any_other_name_is_not_configured(name: str) -> None:
    def gateway(request: httpx.Request) -> httpx.Response:
        raise AssertionError("the gateway is not asked")

    async def body(client: PipeClient) -> Any:
        return await call(client, name), await listed(client)

    (is_error, text), tools = session(body, gateway)
    assert is_error
    assert text.startswith("TOOL_NOT_CONFIGURED: ")
    assert len(tools) == 2


def test_a_tool_of_another_turn_is_not_configured() -> None:
    is_error, text = session(call, HUMANWORK_MCP_TOOLS="${HUMANWORK_MCP_TOOLS}")
    assert (is_error, text.split(":")[0]) == (True, "TOOL_NOT_CONFIGURED")


def page(request: httpx.Request) -> httpx.Response:
    return httpx.Response(500, html=f"<html>{SECRET}")


def down(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


async def slow(request: httpx.Request) -> httpx.Response:
    await asyncio.sleep(3_600)
    raise AssertionError


def surprising(request: httpx.Request) -> httpx.Response:
    raise RuntimeError(SECRET)


TROUBLE: dict[str, tuple[Callable[[httpx.Request], Any], str]] = {
    "refused": (answers(403, {"code": "NOT_IN_MANIFEST", "message": "not this one"}), "NOT_IN_MANIFEST: not this one"),
    "third party": (answers(504, {"code": "UPSTREAM_TIMEOUT", "message": "late"}), "UPSTREAM_TIMEOUT: late"),
    "garbage": (answers(200, ["?"]), "GATEWAY_GARBAGE: "),
    "page": (page, "GATEWAY_ERROR: "),
    "down": (down, "GATEWAY_UNREACHABLE: "),
    "slow": (slow, "GATEWAY_TIMEOUT: "),
    "surprising": (surprising, "INTERNAL_ERROR: "),
}


@pytest.mark.parametrize(("gateway", "said"), TROUBLE.values(), ids=TROUBLE)
def test_trouble_is_a_tool_error_within_30_s_and_the_server_lives(
    gateway: Callable[[httpx.Request], Any], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    fine: list[bool] = []

    async def once(request: httpx.Request) -> httpx.Response:
        if fine:
            return httpx.Response(200, json={"ok": True, "result": 7})
        answer = gateway(request)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def body(client: PipeClient) -> Any:
        began_s = asyncio.get_running_loop().time()
        first = await call(client)
        took_s = asyncio.get_running_loop().time() - began_s
        fine.append(True)
        return first, took_s, await call(client), await listed(client)

    (is_error, text), took_s, second, tools = session(body, once)
    assert is_error
    assert text.startswith(said)
    assert took_s < 30
    assert second == (False, "7")
    assert len(tools) == 2
    assert SECRET not in text + caplog.text


def test_a_slow_call_holds_up_no_other() -> None:
    async def gateway(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(json.loads(request.content)["input"]["s"])
        return httpx.Response(200, json={"ok": True, "result": 1})

    async def body(client: PipeClient) -> float:
        late = asyncio.create_task(call(client, arguments={"s": 20}))
        await call(client, arguments={"s": 1})
        now_s = asyncio.get_running_loop().time()
        await late
        return now_s

    assert session(body, gateway) == 1


@pytest.mark.parametrize("result", ["\ud800", {"\udfff": "\U0001f600"}, "a" * 500_000, 10**100, 1e300])
def test_any_result_reaches_the_other_side(result: Any) -> None:
    content = json.dumps({"ok": True, "result": result}).encode()
    is_error, text = session(call, lambda request: httpx.Response(200, content=content))
    assert not is_error
    assert json.loads(text) == result


def test_lines_that_are_no_messages_are_passed_over() -> None:
    async def body(client: PipeClient) -> Any:
        for line in (b"nonsense\n", b"\xff\xfe\n", b"[]\n", b"{}\n", b"\n", b"[" * 10_000 + b"\n"):
            client._end.write(line)
        client.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": 7}})
        return await call(client)

    assert session(body) == (False, '{"order":"A-1"}')


def test_the_end_of_the_file_ends_a_call_in_flight() -> None:
    async def main(loop: VirtualLoop) -> float:
        ours, theirs = pipe_pair()
        serving = asyncio.create_task(serve_humanwork(ENVIRON, theirs, transport=httpx.MockTransport(slow)))
        client = PipeClient(ours, "handshake")
        await client.open()
        calling = asyncio.create_task(call(client))
        await asyncio.sleep(1)
        await client.close()
        await serving
        calling.cancel()
        return loop.time()

    assert run_virtual(main) == 1


# As a program, on real stdio.
COMMAND = [sys.executable, "-m", "lasttick.reference.gateway.humanwork"]


def hello() -> str:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}) + "\n"


def child_environ(**environ: str) -> dict[str, str]:
    """What the agent program gives a child, and where this very code lies."""
    base = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return {**base, **ENVIRON, **environ}


class Recording(BaseHTTPRequestHandler):
    bodies: list[Any]

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        answer = b'{"ok":true,"result":{"nonce":"n-77"}}'
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal."""


def test_as_a_program_on_real_stdio() -> None:
    handler = type("Handler", (Recording,), {"bodies": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environ(PLATFORM_API_URL=f"http://127.0.0.1:{server.server_port}"),
            text=True,
        ) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(hello())
            child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            call = {"name": "order_lookup__lookup", "arguments": {"order_id": "A-1"}}
            child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + "\n")
            child.stdin.flush()
            lines = [json.loads(child.stdout.readline()) for _ in range(2)]
            child.stdin.close()
            assert child.wait(timeout=20) == 0
            assert child.stderr is not None
            assert child.stderr.read() == ""
        server.shutdown()
    assert lines[1]["result"]["content"] == [{"type": "text", "text": '{"nonce":"n-77"}'}]
    assert [body["runId"] for body in handler.bodies] == ["run-1"]  # type: ignore[attr-defined]


def test_as_a_program_it_says_why_it_does_not_start() -> None:
    environ = child_environ(HUMANWORK_MCP_TOOLS="a-b:c,a_b:c")
    done = subprocess.run(COMMAND, input="", env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "'a-b:c' and 'a_b:c'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_as_a_program_it_ends_at_a_signal(number: int) -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environ(), text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(hello())
        child.stdin.flush()
        child.stdout.readline()
        child.send_signal(number)
        assert child.wait(timeout=5) == -number


def test_as_a_program_it_ends_quietly_when_nobody_listens() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=child_environ(), text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        child.stdin.write(hello())
        child.stdin.close()
        assert child.wait(timeout=20) == 1
        assert child.stderr.read() == ""
