"""Cancels at good and bad moments, the queue, sessions opened again, local commands, and lines that are no requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lasttick_fakes.hermes import HABITS
from lasttick_fakes.hermes.acp import Pace
from lasttick_fakes.model import Call, Say

from ..bench import Child
from .bench import AcpBench, on_acp_bench

BOTH = pytest.mark.parametrize("version", sorted(HABITS))
INTERNAL = {
    "code": -32603,
    "message": "Internal error",
    "data": {"details": "'NoneType' object has no attribute 'startswith'"},
}


def cancel(bench: AcpBench, session_id: str) -> None:
    bench.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})


@BOTH
def test_a_stuck_session_only_queues_and_a_new_one_in_the_same_process_works(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        await bench.start()
        stuck = await bench.new_session()
        prompt = bench.prompt(stuck, "S_TEXT")
        await asyncio.sleep(0.5)
        cancel(bench, stuck)
        assert (await bench.answer(prompt))["error"] == INTERNAL
        assert bench.heard("hermes.stuck") == [{"session_id": stuck}]
        await bench.call("session/load", sessionId=stuck, cwd=str(tmp_path), mcpServers=[])
        for count in (1, 2):
            answer = await bench.answer(bench.prompt(stuck, "S_TEXT"))
            assert answer["result"] == {"stopReason": "end_turn"}
            assert bench.text().endswith(f"Queued for the next turn. ({count} queued)")
        fresh = await bench.new_session()
        answer = await bench.answer(bench.prompt(fresh, "S_TEXT"))
        assert answer["result"]["usage"]["totalTokens"] == 110
        assert bench.text().endswith("hello from the scripted model")

    on_acp_bench(tmp_path, story)


def test_a_cancel_withdraws_no_question_and_the_prompt_ends_with_its_60_s(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_WRITE")
        await bench.asked(0)
        asked_s = bench.loop.time()
        cancel(bench, session_id)
        assert (await bench.answer(prompt))["error"] == INTERNAL
        assert 59.9 < bench.loop.time() - asked_s < 60.1
        assert not (tmp_path / "note.txt").exists()

    on_acp_bench(tmp_path, story)


def test_a_cancel_right_behind_its_prompt_is_heard_and_steer_takes_the_cancelled_up(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_TEXT")
        cancel(bench, session_id)
        assert (await bench.answer(prompt))["error"] == INTERNAL
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_LONG")
        await asyncio.sleep(2)
        cancel(bench, session_id)
        await bench.answer(prompt)
        await bench.answer(bench.prompt(session_id, "/steer rather S_TEXT"))
        told = [asked for asked in bench.model.requests() if not asked.helper][-1].messages[-1]
        assert told["content"] == "S_LONG\n\nUser correction/guidance after interrupt: rather S_TEXT"

    on_acp_bench(tmp_path, story)


@BOTH
def test_after_a_cancelled_answer_the_conversation_goes_on_as_each_version_does(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_LONG")
        await asyncio.sleep(1.6)
        cancel(bench, session_id)
        assert (await bench.answer(prompt))["result"]["stopReason"] == "cancelled"
        await bench.answer(bench.prompt(session_id, "S_TEXT"))
        told = [asked for asked in bench.model.requests() if not asked.helper][-1].messages[1:]
        if version == "0.17.0":
            assert told == [{"role": "user", "content": "S_LONG\n\nS_TEXT"}]
        else:
            assert [message["content"] for message in told] == ["S_LONG", "one two ", "S_TEXT"]

    on_acp_bench(tmp_path, story)


def test_a_cancel_before_the_first_piece_ends_well_and_one_of_an_idle_session_does_nothing(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.model.script("SLOW", Say("late", after_s=30))
        await bench.start()
        session_id = await bench.new_session()
        cancel(bench, session_id)
        cancel(bench, "nobody's")
        prompt = bench.prompt(session_id, "SLOW")
        await asyncio.sleep(10)
        cancel(bench, session_id)
        assert (await bench.answer(prompt))["result"]["stopReason"] == "cancelled"
        assert bench.text() == ""
        answer = await bench.answer(bench.prompt(session_id, "S_TEXT"))
        assert answer["result"]["stopReason"] == "end_turn"
        await asyncio.sleep(30)  # the model's server was left with its answer

    on_acp_bench(tmp_path, story)


def test_queued_prompts_run_inside_the_first_and_only_it_has_usage(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        first = bench.prompt(session_id, "S_LONG")
        await asyncio.sleep(0.1)
        for text in ("S_TEXT", "/queue S_CLARIFY"):
            assert (await bench.answer(bench.prompt(session_id, text)))["result"] == {"stopReason": "end_turn"}
        assert (await bench.answer(first))["result"]["usage"]["totalTokens"] == 110
        users = [update["content"]["text"] for update in bench.updates("user_message_chunk")]
        assert users == ["S_TEXT", "S_CLARIFY"]
        assert bench.text().endswith("hello from the scripted modelclarify finished")
        assert len(bench.updates("usage_update")) == 5, "opening, /queue, and one for each of three turns at the end"

    on_acp_bench(tmp_path, story)


def test_the_updates_of_a_new_session_may_come_after_the_next_request_and_the_title_after_the_turn(
    tmp_path: Path,
) -> None:
    async def story(bench: AcpBench) -> None:
        bench.pace = Pace(updates_s=0.5)
        bench.model.script("Assistant:", Say('"A title"', after_s=2), helper=True)
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_TEXT")
        assert not bench.updates("available_commands_update")
        await bench.answer(prompt)
        assert len(bench.updates("available_commands_update")) == 1
        assert not bench.updates("session_info_update")
        await bench.answer(bench.prompt(session_id, "S_LONG"))
        assert [update["title"] for update in bench.updates("session_info_update")] == ["A title"]

    on_acp_bench(tmp_path, story)


def test_the_blocks_of_a_prompt_are_the_lines_of_one_message(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        blocks = [{"type": "text", "text": "the rules"}, {"type": "image"}, {"type": "text", "text": "S_TEXT "}]
        await bench.call("session/prompt", sessionId=session_id, prompt=blocks)
        assert bench.model.requests()[0].messages[-1] == {"role": "user", "content": "the rules\nS_TEXT"}
        answer = await bench.call("session/prompt", sessionId=session_id, prompt=[])
        assert answer["result"] == {"stopReason": "end_turn"}

    on_acp_bench(tmp_path, story)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/model", "Current model: scripted-model\nProvider: custom"),
        ("/model other", "Model switched to: other\nProvider: custom"),
        ("/tools", "Available tools (15):"),
        ("/context", "Conversation: 2 messages\n  user: 1, assistant: 1, tool: 0, system: 0"),
        ("/RESET", "Conversation history cleared."),
        ("/compact", "Context compression is disabled for this agent."),
        ("/queue", "Usage: /queue <prompt>"),
        ("/steer", "Usage: /steer <guidance>"),
        ("/queue later", "Queued for the next turn. (1 queued)"),
        ("/steer S_CLARIFY", "clarify finished"),
        ("/help\nme", "Available commands:"),
        ("/unknown S_CLARIFY", "clarify finished"),
    ],
)
def test_slash_commands_are_answered_locally(text: str, said: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        await bench.answer(bench.prompt(session_id, "S_TEXT"))
        await asyncio.sleep(1)
        before, asked = bench.text(), len(bench.model.requests())
        answer = await bench.answer(bench.prompt(session_id, text))
        assert bench.text().removeprefix(before).startswith(said)
        local = "S_CLARIFY" not in text
        assert ("usage" not in answer["result"]) == local
        assert (len(bench.model.requests()) == asked) == local

    on_acp_bench(tmp_path, story)


def test_unknown_sessions_are_no_errors(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        nobody = {"sessionId": "nope", "cwd": str(tmp_path), "mcpServers": []}
        assert (await bench.call("session/load", **nobody))["result"] == {}
        assert (await bench.call("session/fork", **nobody))["result"] == {"sessionId": ""}
        assert (await bench.call("session/set_mode", **nobody, modeId="default"))["result"] == {}
        assert (await bench.call("session/set_model", **nobody, modelId="m"))["result"] == {}
        option = {"configId": "c", "value": "v"}
        assert (await bench.call("session/set_config_option", **nobody, **option))["result"] == {}
        resumed = (await bench.call("session/resume", **nobody))["result"]
        assert resumed["_meta"]["hermes"]["sessionProvenance"]["acpSessionId"] != "nope", "it opens another"
        assert (await bench.call("session/list"))["result"] == {"sessions": []}

    on_acp_bench(tmp_path, story)


def test_a_session_opened_again_replays_edits_with_their_end_and_what_was_thought(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        for number, text in enumerate(("S_WRITE", "S_TODO", "S_TEXT")):
            prompt = bench.prompt(session_id, text)
            if number == 0:
                await bench.asked(0)
                bench.choose(0, "allow_once")
            await bench.answer(prompt)
        before = len(bench.frames)
        await bench.call("session/load", sessionId=session_id, cwd=str(tmp_path), mcpServers=[])
        kinds = [frame["params"]["update"]["sessionUpdate"] for _, frame in bench.frames[before:-1]]
        tool = ["tool_call", "tool_call_update"]
        said, user = "agent_message_chunk", "user_message_chunk"
        wanted = [user, said, *tool, said, user, *tool, "plan", said, user, "agent_thought_chunk", said]
        assert [kind for kind in kinds if kind != "session_info_update"] == wanted

    on_acp_bench(tmp_path, story)


@BOTH
def test_servers_of_a_new_session_are_there_for_all_and_broken_ones_are_not(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        bench.children.children["lookup-server"] = child = Child()
        bench.model.script("LOOK", Call.one("lookup"), Say("over"))
        given: list[Any] = [
            {"name": "s", "command": "lookup-server", "args": ["a"], "env": [{"name": "TOKEN", "value": "t"}]},
            {"name": "gone", "command": "nobody", "args": [], "env": []},
            {"name": "neither"},
            {"type": "http", "name": "cut", "url": "http://127.0.0.1:1/mcp", "headers": []},
            {"headers": 7},
            "text",
        ]
        await bench.start()
        await bench.call("session/new", cwd=str(tmp_path), mcpServers=given)
        ((command, args, env),) = child.starts
        assert (command, args, env["TOKEN"]) == ("lookup-server", ("a",), "t")
        other = await bench.call("session/new", cwd=str(tmp_path), mcpServers=given[:1])
        assert len(child.starts) == 1, "it is there already"
        await bench.answer(bench.prompt(other["result"]["sessionId"], "LOOK"))
        joint = "_" if version == "0.17.0" else "__"
        assert bench.updates("tool_call")[0]["title"] == f"mcp{joint}s{joint}lookup"
        assert "nonce n-77" in bench.updates("tool_call_update")[0]["rawOutput"]
        assert not bench.permissions()

    on_acp_bench(tmp_path, story)


def test_two_sessions_share_a_server_and_call_it_one_after_the_other(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        async def slow(end: Any, arguments: Any) -> dict[str, Any]:
            await asyncio.sleep(5)
            return {"content": [{"type": "text", "text": "done"}]}

        bench.children.children["lookup-server"] = child = Child(lookup=slow)
        bench.model.script("LOOK", Call.one("lookup"), Say("over"))
        await bench.start()
        given = [{"name": "s", "command": "lookup-server", "args": [], "env": []}]
        sessions = [
            (await bench.call("session/new", cwd=str(tmp_path), mcpServers=given))["result"]["sessionId"]
            for _ in range(2)
        ]
        for prompt in [bench.prompt(session_id, "LOOK") for session_id in sessions]:
            await bench.answer(prompt)
        assert (len(child.calls()), child.calling_max) == (2, 1)
        assert bench.loop.time() > 10

    on_acp_bench(tmp_path, story)


def test_the_same_story_gives_the_same_frames(tmp_path: Path) -> None:
    told: list[Any] = []

    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_WRITE2")
        await bench.asked(1)
        bench.choose(1, "deny")
        bench.choose(0, "deny")
        await bench.answer(prompt)
        await bench.answer(bench.prompt(session_id, "S_TODO"))
        told.append((bench.frames, bench.events))

    for _ in range(2):
        on_acp_bench(tmp_path, story)
    assert told[0] == told[1]


def test_what_is_no_request_is_passed_over_and_wrong_params_are_named(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        for line in (b"no json\n", b"[1]\n", b'"text"\n', b"\xff\n", b"\n", b"[" * 100_000 + b"\n"):
            bench.write(line)
        bench.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {}})
        bench.send({"jsonrpc": "2.0", "method": "session/unknown"})
        wrong: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
            ("session/new", {"cwd": 1, "mcpServers": {}}, [("cwd", "string_type"), ("mcpServers", "list_type")]),
            ("session/prompt", {"sessionId": session_id}, [("prompt", "missing")]),
            ("initialize", {"protocolVersion": True}, [("protocolVersion", "int_type")]),
        ]
        for method, params, problems in wrong:
            error = (await bench.call(method, **params))["error"]
            assert error["code"] == -32602
            assert [(one["loc"][0], one["type"]) for one in error["data"]["errors"]] == problems
        assert (await bench.call("fs/read_text_file"))["error"]["data"] == {"method": "fs/read_text_file"}
        assert len(bench.heard("hermes.ignored")) == 6

    on_acp_bench(tmp_path, story)


def test_a_killed_agent_says_nothing_more_and_the_next_one_counts_from_0_again(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        bench.prompt(await bench.new_session(), "S_WRITE")
        await bench.asked(0)
        await bench.programs.kill(0)
        await bench.wait_for_end()
        before = len(bench.frames)
        await bench.start()
        bench.prompt(await bench.new_session(), "S_WRITE")
        fresh = await bench.wait_for(lambda: [f for _, f in bench.frames[before:] if "options" in str(f.get("params"))])
        assert fresh[0]["id"] == 0
        assert not (tmp_path / "note.txt").exists()
        with pytest.raises(FileNotFoundError):
            await bench.programs.start("bash", ["acp"], {})

    on_acp_bench(tmp_path, story)


@BOTH
def test_a_model_that_does_not_answer_is_a_text_and_no_error(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        bench.model.script("SILENT", Say(" "))
        await bench.start()
        session_id = await bench.new_session()
        answer = await bench.answer(bench.prompt(session_id, "nobody has a script for this"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert "no script for the prompt" in bench.text()
        before = bench.text()
        answer = await bench.answer(bench.prompt(session_id, "SILENT"))
        assert answer["result"]["stopReason"] == "end_turn"
        assert bench.text().removeprefix(before).strip() == ""

    on_acp_bench(tmp_path, story)


@BOTH
def test_bad_arguments_and_made_up_tools_reach_nobody(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("no_such_tool", {}),
            ("write_file", {"path": "a.txt", "content": "a"}),
            ("memory", {}),
        )
        bench.model.script("MIXED", Call(calls), Say("over"))
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "MIXED")
        if version == "0.19.0":
            await bench.asked(0)
            bench.choose(0, "deny")
        await bench.answer(prompt)
        told = [m["content"] for m in bench.model.requests()[1].messages if m["role"] == "tool"]
        assert told[0].startswith("Tool 'no_such_tool' does not exist.")
        skipped = version == "0.17.0"
        assert all(("Skipped" in one) == skipped for one in told[1:])
        assert len(bench.updates("tool_call")) == (0 if skipped else 2)

    on_acp_bench(tmp_path, story)
