"""Kind tool of a command: a small MCP server of our own as a real child process, well behaved and not."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from lasttick.laws.wire import mcp_stdio
from lasttick.laws.wire.caller import CallerWire
from lasttick.laws.wire.mcp_stdio import _Lines
from lasttick.laws.wire.message import Message, WireError
from lasttick.laws.wire.place import Place

SERVER = r"""
import json, os, signal, sys, time

def out(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

def result(number, body, **more):
    out(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [], "structuredContent": body, **more}}))

print("starting up", file=sys.stderr, flush=True)
held = []
for line in sys.stdin:
    asked = json.loads(line)
    number, method, params = asked.get("id"), asked["method"], asked.get("params", {})
    if number is None:
        continue
    if method == "initialize":
        out("a log line on the wrong stream")
        out(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
        out(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "roots/list"}))
        out(json.dumps({"jsonrpc": "2.0", "id": True, "result": {}}))
        out(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"serverInfo": {"name": "tiny"}}}))
    elif method == "server/discover":
        out(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"seen": params["_meta"]}}))
    elif method == "tools/list":
        page = int(params.get("cursor", 0))
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        out(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"tools": [{"name": f"t{page}"}], **more}}))
    elif params["name"] == "env":
        result(number, dict(os.environ))
    elif params["name"] == "echo":
        result(number, params["arguments"], _meta=params.get("_meta"))
    elif params["name"] == "hold":
        held.append(number)
    elif params["name"] == "free":
        result(number, "free")
        for old in reversed(held):
            result(old, {"was": old})
    elif params["name"] == "fail":
        out(json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32000, "message": "busy"}}))
    elif params["name"] == "no-id":
        out(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}))
    elif params["name"] == "pid":
        result(number, os.getpid())
    elif params["name"] == "die":
        for n in range(30):
            print(f"last words {n}", file=sys.stderr)
        sys.stderr.flush()
        os._exit(3)
    elif params["name"] == "answer-and-die":
        result(number, "yes")
        os._exit(0)
    elif params["name"] == "heir":
        if os.fork() == 0:
            time.sleep(0.1)
            result(number, "late")
        os._exit(0)
    elif params["name"] == "close":
        os.close(1)
        time.sleep(60)
    elif params["name"] == "long":
        out("x" * 1_000 * params["arguments"]["kb"])
        result(number, "after")
    elif params["name"] == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        result(number, os.getpid())
        if os.fork() == 0:
            time.sleep(60)
        while True:
            time.sleep(60)
if os.environ.get("LINGER"):
    time.sleep(float(os.environ["LINGER"]))
sys.exit(7)
"""


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    return (sys.executable, str(script))


def play(story: Callable[[CallerWire], Awaitable[Any]], place: Place, **more: Any) -> None:
    async def body() -> None:
        wire = CallerWire(place, name="alice", **more)
        try:
            await story(wire)
        finally:
            await wire.close()

    asyncio.run(body())


def tool(name: str, **more: Any) -> Message:
    return Message("tool", name, timeout_s=5.0, **more)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z" if Path("/proc").exists() else True


def gone(pid: int) -> bool:
    """Within a moment: whoever adopts an orphan may take one."""
    for _ in range(200):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


def test_a_session_from_open_to_end(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        opened = await wire.open()
        assert (opened.ok, opened.status, opened.body) == (True, None, {"serverInfo": {"name": "tiny"}})
        assert [each["name"] for each in (await wire.list_tools(5.0)).body["tools"]] == ["t0", "t1", "t2"]
        reply = await wire.send(tool("echo", args={"x": "é\n"}, meta={"lease": "l-1"}))
        assert (reply.ok, reply.body, reply.meta) == (True, {"x": "é\n"}, {"lease": "l-1"})
        assert reply.raw.startswith('{"jsonrpc"')
        failed = await wire.send(tool("fail"))
        assert (failed.ok, failed.error) == (False, {"code": -32000, "message": "busy"})
        unread = await wire.send(tool("no-id"))
        assert (unread.ok, unread.error["message"]) == (False, "what?")
        pid = (await wire.send(tool("pid"))).body
        ended = await wire.end()
        assert (ended.ok, ended.body) == (True, {"exit_code": 7})
        assert not is_running(pid)
        after = await wire.send(tool("echo"))
        assert after.lost == "the process can not answer: its input was closed"

    play(story, Place(command=command))


def test_the_modern_era(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        opened = await wire.open()
        assert opened.body["seen"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        reply = await wire.send(tool("echo", meta={"mine": 1}))
        assert reply.meta["mine"] == 1
        assert reply.meta["io.modelcontextprotocol/clientInfo"]["name"] == "alice"

    play(story, Place(command=command, era="modern"))


def test_answers_are_matched_by_their_ids(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        flights = [asyncio.create_task(wire.send(tool("hold"))) for _ in range(3)]
        await asyncio.sleep(0)
        given_up = asyncio.create_task(wire.send(Message("tool", "hold", timeout_s=0.5)))
        assert (await given_up).lost == "no whole answer within 0.5 s"
        assert (await wire.send(tool("free"))).body == "free"
        replies = await asyncio.gather(*flights)
        # initialize was 1.
        assert [reply.body["was"] for reply in replies] == [2, 3, 4]

    play(story, Place(command=command))


def test_the_environment_is_what_the_profile_says(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THIS_PROCESS", "s3cr3t")

    async def story(wire: CallerWire) -> None:
        seen = (await wire.send(tool("env"))).body
        assert {name: seen.get(name) for name in ("A", "B", "PATH")} == {
            "A": "caller",
            "B": "target",
            "PATH": os.environ["PATH"],
        }
        assert "SECRET_OF_THIS_PROCESS" not in seen

    play(story, Place(command=command, env={"A": "target", "B": "target"}), env={"A": "caller"})


def test_a_process_that_dies_loses_every_call(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        waiting = asyncio.create_task(wire.send(tool("hold")))
        await asyncio.sleep(0.2)
        died = await wire.send(tool("die"))
        for reply in (died, await waiting, await wire.send(tool("echo"))):
            said = " | ".join(f"last words {n}" for n in range(10, 30))
            how = "the process can not answer: it ended with exit code 3; its standard error: "
            assert reply.lost == how + said
        assert (await wire.end()).body == {"exit_code": 3}

    play(story, Place(command=command))


def test_an_answer_before_the_death_counts(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        assert (await wire.send(tool("answer-and-die"))).body == "yes"

    async def late(wire: CallerWire) -> None:
        assert (await wire.send(tool("heir"))).body == "late"

    play(story, Place(command=command))
    play(late, Place(command=command))


def test_a_process_that_closes_its_output_is_as_good_as_dead(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        reply = await wire.send(tool("close"))
        assert reply.lost is not None
        assert "it closed its output; its standard error: starting up" in reply.lost

    play(story, Place(command=command))


def test_a_line_over_the_limit(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_stdio, "BODY_MAX", 100_000)

    async def story(wire: CallerWire) -> None:
        reply = await wire.send(tool("long", args={"kb": 200}))
        assert (reply.ok, reply.lost, reply.error["message"][:11]) == (False, None, "answer over")
        assert (await wire.send(tool("long", args={"kb": 50}))).body == "after"

    play(story, Place(command=command))


def test_lines_from_any_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_stdio, "BODY_MAX", 10)
    for size in range(1, 60):
        heard: list[bytes | None] = []
        lines = _Lines(heard.append)
        data = b"one\n\n" + b"x" * 35 + b"\ntwo\nhalf"
        for start in range(0, len(data), size):
            lines.feed(data[start : start + size])
        expected = [b"one", b"", None, b"two"] if size < 25 else heard
        assert heard == expected


def test_vanishing_kills_without_a_word(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        pid = (await wire.send(tool("pid"))).body
        flight = asyncio.create_task(wire.send(tool("hold")))
        await asyncio.sleep(0.1)
        await wire.vanish()
        assert (await flight).lost == "alice has vanished"
        assert not is_running(pid)
        with pytest.raises(WireError, match="alice has vanished"):
            await wire.send(tool("echo"))

    play(story, Place(command=command, env={"LINGER": "60"}))


def test_closing_leaves_no_process(command: tuple[str, ...]) -> None:
    pids: list[int] = []

    async def story(wire: CallerWire) -> None:
        pids.append((await wire.send(tool("pid"))).body)

    play(story, Place(command=command, env={"LINGER": "60"}))
    assert not is_running(pids[0])


def test_a_process_that_does_not_want_to_end(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_stdio, "END_S", 0.2)

    async def lingers(wire: CallerWire) -> None:
        await wire.open()
        assert (await wire.end()).body == {"exit_code": -15}

    play(lingers, Place(command=command, env={"LINGER": "60"}))

    async def stubborn(wire: CallerWire) -> None:
        pid = (await wire.send(tool("stubborn"))).body
        children = Path(f"/proc/{pid}/task/{pid}/children")
        for _ in range(100):
            if children.read_text().split():
                break
            await asyncio.sleep(0.01)
        (child,) = children.read_text().split()
        assert (await wire.end()).body == {"exit_code": -9}
        assert not is_running(pid)
        assert gone(int(child))

    play(stubborn, Place(command=command))


def test_nothing_was_started_so_nothing_ends(command: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        assert (await wire.end()).ok

    play(story, Place(command=command))


def test_a_process_that_never_reads(tmp_path: Path) -> None:
    async def story(wire: CallerWire) -> None:
        reply = await wire.send(Message("tool", "tap", args={"x": "a" * 1_000_000}, timeout_s=0.3))
        assert reply.lost == "no whole answer within 0.3 s"

    play(story, Place(command=(sys.executable, "-c", "import time; time.sleep(60)"), era="modern"))


@pytest.mark.parametrize("argv", [("no-such-program-9",), ("/",), ("a\x00b",), ()])
def test_a_program_that_cannot_be_started(argv: tuple[str, ...]) -> None:
    async def story(wire: CallerWire) -> None:
        for use in (wire.open(), wire.send(tool("echo"))):
            with pytest.raises(WireError, match=r"cannot be started: .*; expected a program on PATH .*; install it"):
                await use

    play(story, Place(command=argv))
