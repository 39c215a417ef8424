"""The server on its standard streams: two framings, every kind of message, and nothing but protocol on the output.

Source: contract vaultclaw 2, 3, 7; ruling 19.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lasttick import World, scenario

from .steps_tools import PREFIX, REQUEST, TOOLS

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}
IDS = [0, -1, 2.5, 1e300, "", "abc", "\u00e9\u0000", True, False, [], [1, {"a": None}], {}, {"b": [1], "a": "x"}]
STATUS = PREFIX + "session_status"


def calling(params: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": params}


VERSIONS: list[Any] = ["1.0", "2", 2, " 2.0", [], {}, True, False, 0]
METHODS: list[Any] = ["", "Tools/List", "resources/list", "prompts/list", " ping", None, 7, []]
PARAMS: list[Any] = [[], "x", 1, True, {"name": 7}, {"name": ["a"]}]
ARGUMENTS: list[Any] = [[], "x", 0, False, [1]]
NAMES: list[Any] = [None, {}, {"name": ""}, {"name": "  "}, {"name": "session_status"}, {"name": STATUS.upper()}]
BAD: list[tuple[int, dict[str, Any]]] = [
    *((-32600, {"jsonrpc": version, "method": "ping"}) for version in VERSIONS),
    *((-32601, {"method": method}) for method in METHODS),
    (-32601, {}),
    (-32602, {"method": "tools/call"}),
    *((-32602, calling(params)) for params in PARAMS),
    *((-32602, calling({"name": STATUS, "arguments": arguments})) for arguments in ARGUMENTS),
    *((-32601, calling(params)) for params in NAMES),
]
"""The code of what no request may say."""
GOOD: list[dict[str, Any]] = [
    *({"jsonrpc": one, "method": "ping"} for one in (None, "", "2.0")),
    calling({"name": STATUS}),
    calling({"name": f"\u2003{STATUS}\n", "arguments": None}),
    calling({"name": STATUS, "arguments": {}, "odd": 1}),
]


async def said(server: Any, data: bytes) -> Any:
    """The answer, one line, to one line."""
    server.stdio.write(data + b"\n")
    line = await server.stdio.line()
    assert line, "the server ended without an answer"
    return json.loads(line)


def framed(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def code_of(answer: Any) -> int:
    assert set(answer) <= {"jsonrpc", "id", "error"}, answer
    assert answer["jsonrpc"] == "2.0"
    assert isinstance(answer["error"]["message"], str)
    return int(answer["error"]["code"])


@scenario("VC-01")
async def test_the_surface(world: World) -> None:
    """initialize answers one revision whatever is asked; the list has exactly the 40 tools of the contract, by name in
    byte order, each with its schema and none with a trace of paging."""
    client = (await world.vaultclaw(via="stdio")).client()
    for params in (None, {}, {"protocolVersion": "2026-07-28"}, {"protocolVersion": 5}):
        assert await client.rpc("initialize", params, id="i") == {
            "jsonrpc": "2.0",
            "id": "i",
            "result": {
                "protocolVersion": "2024-11-05",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "accords-mcp", "version": "0.1.0"},
            },
        }
    answer = await client.rpc("tools/list", {"cursor": "x"})
    assert answer is not None
    assert set(answer["result"]) == {"tools"}
    listed = answer["result"]["tools"]
    names = [tool["name"] for tool in listed]
    assert len(TOOLS) == 40
    assert names == sorted(PREFIX + name for name in TOOLS)
    for tool in listed:
        assert set(tool) == {"name", "description", "inputSchema"}, tool
        assert tool["description"], tool
        expected = TOOLS[tool["name"].removeprefix(PREFIX)].schema
        assert {**tool["inputSchema"], "required": sorted(tool["inputSchema"].get("required", []))} == {
            **expected,
            "required": sorted(expected.get("required", [])),
        }, tool["name"]
        assert ("required" in tool["inputSchema"]) == ("required" in expected), tool["name"]


@scenario("VC-01")
async def test_each_message_is_answered_in_its_own_framing(world: World) -> None:
    """Lines and headed messages in any mixture, blank lines between them, headers in any case and order, a body with
    newlines in it; each answer has the framing of its message, byte for byte."""
    server = await world.vaultclaw(via="stdio")
    stdio = server.stdio
    headed = framed(PING)
    for sent in (PING + b"\n", b"\n\r\n  \n" + PING + b"\r\n", b" \t" + PING + b"\n"):
        stdio.write(sent)
        assert json.loads(await stdio.line()) == PONG, sent
    several = b"X-Other: 1\r\ncontent-LENGTH:%d\r\nContent-Type: application/json\r\n\r\n"
    pretty = json.dumps(json.loads(PING), indent=1).encode()
    for sent in (
        headed,
        b"\n\n" + headed,
        framed(PING, several),
        framed(PING, b"Content-Length: %d\n\n"),
        framed(pretty),
    ):
        stdio.write(sent)
        head, blank, body = await stdio.line(), await stdio.line(), b""
        found = re.fullmatch(rb"Content-Length: ([0-9]+)\r", head)
        assert found is not None, (sent, head)
        assert blank == b"\r", (sent, blank)
        length = int(found[1])
        stdio.write(PING + b"\n")
        body = await stdio.line()
        assert [json.loads(body[:length]), json.loads(body[length:])] == [PONG, PONG], (sent, body)
    stdio.write(headed[:30])
    await world.settle()
    stdio.write(headed[30:] + PING + b"\n" + headed)
    assert [json.loads(await stdio.frame()), json.loads(await stdio.line()), json.loads(await stdio.frame())] == [
        PONG
    ] * 3


@scenario("VC-01")
async def test_an_id_comes_back_as_it_is(world: World) -> None:
    """An id of any type is echoed by value, also with an error; null is a request without an id in its answer; without
    an id nothing is answered, but it is carried out."""
    server = await world.vaultclaw(via="stdio")
    for one in IDS:
        for method in ("ping", "no/such"):
            answer = await said(server, json.dumps({"jsonrpc": "2.0", "id": one, "method": method}).encode())
            assert json.dumps(answer["id"], sort_keys=True) == json.dumps(one, sort_keys=True), (one, answer)
            assert ("result" in answer) == (method == "ping")
    assert (await said(server, b'{"id":12345678901234567890,"method":"ping"}'))["id"] == 12345678901234567000
    assert await said(server, b'{"id":null,"method":"ping"}') == {"jsonrpc": "2.0", "result": {}}
    configure = {"name": PREFIX + "session_configure", "arguments": {"token": "a-token-of-enough-length"}}
    for message in (
        {"method": "notifications/initialized"},
        {"method": "no/such"},
        {"method": "tools/call", "params": configure},
    ):
        server.stdio.write(json.dumps(message).encode() + b"\n")
    status = await server.client().call("session_status")
    assert status.data["configured"] is True, "a notification is carried out"


@scenario("VC-01")
async def test_what_is_no_message_is_an_error_and_not_the_end(world: World) -> None:
    """Batches, broken JSON, NUL, bytes that are no UTF-8, nesting without end and a line of 10 MB are each answered,
    and the next message is served as if nothing had been."""
    server = await world.vaultclaw(via="stdio")
    bad = [
        b"[]",
        b"[" + PING + b"]",
        b"{",
        b"{]}",
        b"{\x00}",
        b'{"id":1,"method":"ping"} x',
        b"[" * 100_000,
        b"{'id':1}",
    ]
    bad += [b'{"id":NaN,"method":"ping"}', b'{"a":' * 100_000]
    for line in bad:
        answer = await said(server, line)
        assert (code_of(answer), "id" in answer) == (-32700, False), line[:40]
    for body in (b"", b"7", b'"x"', b"null", b"\xff\xfe", b"\x00" * 9):
        server.stdio.write(framed(body))
        answer = json.loads(await server.stdio.frame())
        assert (code_of(answer), "id" in answer) == (-32700, False), body
    assert (await said(server, b'{"id":"\xff\xc3","method":"ping"}'))["result"] == {}
    long = "x" * 10_000_000
    answer = await said(server, json.dumps({"id": 2, "method": "ping", "params": long}).encode())
    assert answer == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert await said(server, PING) == PONG
    assert "Traceback" not in server.stderr()


@scenario("VC-01")
async def test_what_no_request_may_say_has_its_code(world: World) -> None:
    """The version, the method, the parameters, the tool's name: each wrong value has the code of JSON-RPC that the
    contract names, and what counts as absent is accepted."""
    client = (await world.vaultclaw(via="stdio")).client()
    for code, message in BAD:
        answer = await client.message({"id": 1, **message})
        assert answer is not None, message
        assert (code_of(answer), answer["id"]) == (code, 1), message
    for message in GOOD:
        answer = await client.message({"id": 1, **message})
        assert answer is not None, message
        assert answer["jsonrpc"] == "2.0", message
        assert answer["result"].get("structuredContent", {"ok": True})["ok"] is True, message


@scenario("VC-01")
async def test_a_last_line_without_newline_is_answered(world: World) -> None:
    """The input ends behind a message without a newline: it is answered, and the server ends with status 0, having
    written nothing else."""
    server = await world.vaultclaw(via="stdio")
    server.stdio.write(PING + b"\n\n" + PING)
    server.stdio.end()
    lines = (await server.stdio.rest()).splitlines()
    assert [json.loads(line) for line in lines] == [PONG, PONG]
    assert await server.ended() == 0


@scenario("VC-01")
@pytest.mark.parametrize(
    "header", [b"hello\r\n\r\n", b"Content-Length: x\r\n\r\n", b"\x00\r\n\r\n", b"\xef\xbb\xbf{}\n\n"]
)
async def test_a_header_block_without_a_length_is_the_end(world: World, header: bytes) -> None:
    """Where a message ends can not be known any more: what came before is answered, the server ends with status 1, and
    says why on standard error."""
    server = await world.vaultclaw(via="stdio")
    server.stdio.write(PING + b"\n" + header + PING + b"\n")
    assert [json.loads(line) for line in (await server.stdio.rest()).splitlines()] == [PONG]
    assert await server.ended() == 1
    assert "Traceback" not in server.stderr()


@scenario("VC-01")
@pytest.mark.parametrize("how", ["end of file", "sigterm"])
async def test_the_end_cuts_a_wait(world: World, how: str) -> None:
    """The input ends, or the server is told to stop, in the midst of an approval_wait of ten minutes: it ends within
    one poll, with status 0 and without an answer to it."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw(via="stdio")
    client = server.client()
    await client.configure()
    job = await vaultd.control("POST", "/control/jobs", {"tenant": "default", "states": [{"status": "PENDING"}]})
    handle = {"kind": "JOB", "job_id": job["job_id"]}
    arguments = {"handle": handle, "timeout_ms": 600_000, "poll_interval_ms": 250}
    call = {"id": 9, "method": "tools/call", "params": {"name": PREFIX + "approval_wait", "arguments": arguments}}
    server.stdio.write(json.dumps(call).encode() + b"\n" + PING + b"\n")
    polls = f"GET /v0/jobs/{job['job_id']}"
    while (await vaultd.calls()).count(polls) < 2:
        await world.advance(0.25)
    asked_s = world.now_s
    if how == "sigterm":
        await server.stop()
    else:
        server.stdio.end()
        assert await server.ended() == 0
    # A wait that goes on would take ten minutes; in real time a process also takes a while to end.
    assert world.now_s - asked_s <= (0.25 if world.mode == "virtual" else 4.0)
    answers = [json.loads(line) for line in (await server.stdio.rest()).splitlines()]
    assert [answer["id"] for answer in answers] in ([], [1]), "the wait was answered"


@scenario("VC-01")
@pytest.mark.parametrize("how", ["end of file", "sigterm"])
async def test_the_end_waits_for_another_call(world: World, how: str) -> None:
    """The same in the midst of a call that is no wait: it is finished and answered, then the server ends."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw(via="stdio")
    await server.client().configure()
    await vaultd.trouble("slow", s=1.0, path="/v0/connectors/execute")
    params = {"name": PREFIX + "connector_execute", "arguments": {"request": REQUEST}}
    server.stdio.write(json.dumps({"id": 9, "method": "tools/call", "params": params}).encode() + b"\n")
    while "POST /v0/connectors/execute" not in await vaultd.calls():
        await world.advance(0.25)
    if how == "sigterm":
        await server.stop()
    else:
        server.stdio.end()
        assert await server.ended() == 0
    (answer,) = [json.loads(line) for line in (await server.stdio.rest()).splitlines()]
    assert (answer["id"], answer["result"]["structuredContent"]["ok"]) == (9, True), answer
    assert len(await vaultd.effects()) == 1


@scenario("VC-01", needs=["scale"])
async def test_told_to_stop_it_ends_within_five_seconds(world: World) -> None:
    """A vault that never answers keeps a call in flight for a minute: told to stop, the server ends within 5 s."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw(via="stdio")
    await server.client().configure(timeout_ms=60_000)
    await vaultd.trouble("hang")
    server.stdio.write(b'{"id":9,"method":"tools/call","params":{"name":"vaultclaw_connectors_list"}}\n')
    await world.advance(1.0)
    asked_s = world.now_s
    await server.stop()
    assert world.now_s - asked_s <= 5.0
    assert await server.stdio.rest() == b""
