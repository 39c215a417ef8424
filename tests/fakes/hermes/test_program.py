"""Does one run of the fake print, ask and end as the program does? (contract hermes, sections 2 and 6; measured)"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from lasttick_fakes.hermes import HABITS
from lasttick_fakes.hermes.builtin import DEFAULT_TOOLS
from lasttick_fakes.model import Call, Say

from .bench import ARGV, HOME, Bench, Child, on_bench, text

BOTH = pytest.mark.parametrize("version", sorted(HABITS))
NAMES = {"0.17.0": "mcp_humanwork_lookup", "0.19.0": "mcp__humanwork__lookup"}


@BOTH
def test_a_turn_with_a_tool_call_ends_in_the_answer(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.model.script("look", Call.one("lookup", order_id="A-1"), Say("It says: {result}"))
        finished = await bench.run("please look")
        assert finished.returncode == 0
        assert finished.stdout == "It says: order A-1, nonce n-77, from the third party\n"
        assert re.fullmatch(r"\nsession_id: 20260101_000000_[0-9a-f]{6}\n", finished.stderr)
        first, second = bench.model.requests()
        assert first.tools == second.tools == (NAMES[version],)
        assert list(first.body) == ["messages", "model", "max_tokens", "stream", "stream_options", "tools"]
        assert first.authorization == "Bearer sk-test"
        assert [message["role"] for message in second.messages] == ["system", "user", "assistant", "tool"]
        assert second.messages[2]["tool_calls"][0]["function"]["arguments"] == '{"order_id":"A-1"}'
        assert bench.child.calls() == [{"name": "lookup", "arguments": {"order_id": "A-1"}}]
        assert bench.child.starts[0][:2] == ("child", ("one", "two"))

    on_bench(story)


def test_the_child_hears_the_recorded_handshake() -> None:
    async def story(bench: Bench) -> None:
        await bench.run()
        about = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}},
            "clientInfo": {"name": "mcp", "version": "0.1.0"},
        }
        assert bench.child.heard == [
            {"method": "initialize", "params": about, "jsonrpc": "2.0", "id": 0},
            {"method": "notifications/initialized", "jsonrpc": "2.0"},
            {"method": "tools/list", "jsonrpc": "2.0", "id": 1},
        ]
        assert bench.child.eofs == 0, "it is told when the run is over"
        await bench.programs.ended()
        assert bench.child.eofs == 1

    on_bench(story)


@BOTH
def test_an_unknown_toolset_is_warned_of_before_the_answer(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        finished = await bench.run(argv=["hermes", "chat", "-Q", "-t", "humanwork, nosuch,other", "-q", "hello"])
        assert finished.stdout == "Warning: Unknown toolsets: nosuch, other\nplain answer\n"
        assert bench.tools() == (NAMES[version],)

    on_bench(story)


def test_the_long_name_of_a_server_warns_and_works() -> None:
    async def story(bench: Bench) -> None:
        finished = await bench.run(argv=["hermes", "chat", "-Q", "-t", "mcp-humanwork", "-q", "hello"])
        assert finished.stdout.startswith("Warning: Unknown toolsets: mcp-humanwork\n")
        assert bench.tools() == ("mcp__humanwork__lookup",)

    on_bench(story)


def test_a_toolset_that_is_not_there_leaves_no_list_of_tools_but_the_child_is_started() -> None:
    async def story(bench: Bench) -> None:
        await bench.run(argv=["hermes", "chat", "-Q", "-t", "nosuch", "-q", "hello"])
        assert bench.tools() is None
        assert "tools" not in bench.model.requests()[0].body
        assert len(bench.child.starts) == 1

    on_bench(story)


@pytest.mark.parametrize("toolsets", [[], ["-t", "all"], ["-t", "*"]])
def test_without_toolsets_the_model_gets_everything(toolsets: list[str]) -> None:
    async def story(bench: Bench) -> None:
        await bench.run(argv=["hermes", "chat", "-Q", *toolsets, "-q", "hello"])
        assert bench.tools() == tuple(sorted([*DEFAULT_TOOLS, "mcp__humanwork__lookup"]))
        assert len(DEFAULT_TOOLS) == 18

    on_bench(story)


def test_a_toolset_of_its_own_stands_beside_a_server() -> None:
    async def story(bench: Bench) -> None:
        await bench.run(argv=["hermes", "chat", "-Q", "-t", "terminal,humanwork", "-q", "hello"])
        assert bench.tools() == ("mcp__humanwork__lookup", "process", "terminal")

    on_bench(story)


@pytest.mark.parametrize(
    ("version", "display", "shown"),
    [
        ("0.19.0", "", True),
        ("0.17.0", "", False),
        ("0.19.0", "display: {show_reasoning: false}\n", False),
        ("0.17.0", "display: {show_reasoning: true}\n", True),
    ],
)
def test_what_the_model_thought_goes_before_the_answer(version: str, display: str, shown: bool) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.config(display)
        bench.model.script("think", Say("the answer", reasoning="one\ntwo\nhalf a line"))
        finished = await bench.run("think")
        lines = finished.stdout.splitlines()
        assert lines[-1] == "the answer"
        assert lines[2:-1] == (["one", "two", "half a lineone", "two"] if shown else [])
        assert finished.stdout.startswith("\r\n┌─ Reasoning ─" if shown else "the answer")

    on_bench(story)


def test_the_answer_is_trimmed_and_its_last_line_last() -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("two", Say("one\ntwo\n\n"))
        assert (await bench.run("two")).stdout == "one\ntwo\n"

    on_bench(story)


def test_an_empty_answer_is_asked_for_four_times() -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("empty", Say(" "))
        finished = await bench.run("empty")
        assert (finished.returncode, len(bench.model.requests())) == (0, 4)
        assert "No reply" in finished.stdout

    on_bench(story)


def test_a_model_that_never_ends_is_ended() -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("ever", Call.one("lookup"))
        finished = await bench.run("ever")
        assert (finished.returncode, len(bench.model.requests())) == (0, 90)

    on_bench(story)


@pytest.mark.parametrize("argv", [ARGV[:-1], (*ARGV, "")])
def test_without_a_prompt_it_shows_its_screen_and_leaves_without_a_turn(argv: tuple[str, ...]) -> None:
    async def story(bench: Bench) -> None:
        finished = await bench.run(argv=argv)
        assert finished.returncode == 0
        assert not bench.model.requests()
        assert finished.stdout.strip().splitlines()[-1] == "Goodbye! ⚕", "which is what an agent then takes as answer"
        assert "humanwork (stdio) — 1 tool(s)" in finished.stdout

    on_bench(story)


@pytest.mark.parametrize(
    "argv",
    [
        ["hermes"],
        ["hermes", "dance"],
        ["hermes", "chat", "--nonsense", "-q", "hello"],
        ["hermes", "chat", "-q"],
        ["hermes", "chat", "-q", "-t"],
        ["hermes", "chat", "hello"],
    ],
)
def test_a_bad_command_line_is_status_2_and_starts_nothing(argv: list[str]) -> None:
    async def story(bench: Bench) -> None:
        finished = await bench.run(argv=argv)
        assert (finished.returncode, finished.stdout) == (2, "")
        assert finished.stderr.startswith("hermes: error: ")
        assert finished.stderr.endswith("correct the command\n")
        assert not bench.child.starts

    on_bench(story)


def test_a_prompt_with_line_breaks_and_odd_characters_arrives_whole() -> None:
    async def story(bench: Bench) -> None:
        prompt = "hello\n\x00 'quoted' \ud800 你好 -t x"
        await bench.run(prompt)
        assert bench.model.requests()[0].messages[1]["content"] == prompt.replace("\ud800", "?")

    on_bench(story)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, ""),
        ("", ""),
        ("model: {default: m}\n", ""),
        ("mcp_servers: [\n", "Failed to parse"),
        ("- a\n", "holds a list"),
        ("just text\n", "holds a str"),
        ("a: *nobody\n", "Failed to parse"),
        ("a: !python/object:os.system {}\n", "Failed to parse"),
    ],
)
def test_without_a_model_it_says_how_to_set_one_up(config: str | None, message: str) -> None:
    async def story(bench: Bench) -> None:
        if config is None:
            del bench.files[HOME / "config.yaml"]
        else:
            bench.files[HOME / "config.yaml"] = config
        finished = await bench.run()
        assert finished.returncode == 1
        assert "isn't configured yet" in finished.stdout
        assert message in finished.stderr
        assert bool(message) == bool(finished.stderr)
        assert not bench.child.starts

    on_bench(story)


@BOTH
def test_a_model_that_cannot_be_reached_is_tried_three_times_and_is_status_1(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.network.serve("model:80", bench.model).up = False
        finished = await bench.run()
        assert (finished.returncode, finished.stdout) == (1, "API call failed after 3 retries: Connection error.\n")
        assert bench.loop.time() == 7

    on_bench(story)


def answering(status: int, content: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": content})

    return app


@BOTH
def test_a_model_that_fails_is_tried_again_and_one_that_refuses_is_not(version: str) -> None:
    async def story(bench: Bench) -> None:
        bench.version = version
        bench.network.serve("model:80", answering(500, b'{"error": {"message": "boom"}}'))
        finished = await bench.run()
        assert (finished.returncode, finished.stdout) == (1, "API call failed after 3 retries: HTTP 500: boom\n")
        bench.network.serve("model:80", answering(400, b"no"))
        before_s = bench.loop.time()
        finished = await bench.run()
        assert bench.loop.time() == before_s
        assert finished.returncode == 1
        if version == "0.17.0":
            assert (finished.stdout, finished.stderr[:20]) == ("", "Error: HTTP 400: no\n")
        else:
            assert finished.stdout == "HTTP 400: no\n"

    on_bench(story)


GARBAGE = [b"", b"nope", b'{"choices": 7}', b'{"choices": [7]}', b"[]", b"[" * 100_000, b'{"choices": [{"delta": 7}]}']
GARBAGE += [b'{"choices": [{"delta": {"content": 7, "tool_calls": [7, {"index": "x", "function": 7}]}}]}']


@pytest.mark.parametrize("content", [b"", b"<html>", *(b"data: " + event + b"\n\n" for event in GARBAGE)])
def test_garbage_of_the_model_never_ends_in_a_traceback(content: bytes) -> None:
    async def story(bench: Bench) -> None:
        bench.network.serve("model:80", answering(200, content))
        finished = await bench.run()
        assert finished.returncode in (0, 1)
        assert finished.stdout

    on_bench(story)


def test_a_run_that_is_cancelled_leaves_nothing_behind() -> None:
    async def story(bench: Bench) -> None:
        bench.model.script("slow", Say("late", after_s=100))
        bench.programs.children["other"] = Child(x=text("x"))
        bench.programs.children["other"].delay_s = 50
        bench.config("  other: {command: other}\nmcp_discovery_timeout: 10\n")
        for after_s in (0, 5, 20):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(after_s):
                    await bench.run("slow")
        await asyncio.sleep(200)  # the model's own side of what was cancelled

    on_bench(story)


def test_the_same_run_twice_is_the_same_run() -> None:
    ends: list[Any] = []

    async def story(bench: Bench) -> None:
        bench.model.script("look", Call((("lookup", {"a": 1}), ("lookup", {"b": 2}))), Say("{results}"))
        finished = await bench.run("look")
        ends.append((finished, [asked.raw for asked in bench.model.requests()], bench.child.heard))

    on_bench(story)
    on_bench(story)
    assert ends[0] == ends[1]
