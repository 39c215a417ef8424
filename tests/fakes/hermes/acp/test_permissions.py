"""What comes of each answer to a permission question, of none, of one too late, and of two questions at once?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from lasttick_fakes.hermes import HABITS
from lasttick_fakes.model import Call, Say

from .bench import HOME, RM, AcpBench, on_acp_bench

BOTH = pytest.mark.parametrize("version", sorted(HABITS))
TICK_S = 0.001


def selected(option_id: str) -> dict[str, Any]:
    return {"result": {"outcome": {"outcome": "selected", "optionId": option_id}}}


NO = [
    selected("deny"),
    selected("never offered"),
    {"result": {"outcome": {"outcome": "cancelled"}}},
    {"result": {"outcome": {"outcome": "selected"}}},
    {"result": {}},
    {"result": None},
    {"error": {"code": -32603, "message": "cannot ask"}},
    {},
]


@BOTH
@pytest.mark.parametrize("answer", [*NO, selected("allow_session"), selected("allow_always"), selected("allow_once")])
def test_an_edit_is_made_after_a_plain_yes_only(version: str, answer: dict[str, Any], tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_WRITE")
        params = await bench.asked(0)
        assert [option["optionId"] for option in params["options"]] == ["allow_once", "deny"]
        assert not (tmp_path / "note.txt").exists()
        bench.send({"jsonrpc": "2.0", "id": 0, **answer})
        assert (await bench.answer(prompt))["result"]["stopReason"] == "end_turn"
        allowed = answer == selected("allow_once")
        assert (tmp_path / "note.txt").exists() == allowed
        wrote = [{"session_id": params["sessionId"], "tool": "write_file", "path": "note.txt", "bytes": 6}]
        assert bench.heard("hermes.wrote") == (wrote if allowed else [])
        assert not bench.updates("tool_call_update"), "an edit has no end for the client"

    on_acp_bench(tmp_path, story)


@pytest.mark.parametrize("answer", [*NO, selected("deny_always"), selected("allow_once"), selected("allow_session")])
def test_a_command_runs_after_a_yes_only(answer: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "scratch-dir/deep").mkdir(parents=True)

    async def story(bench: AcpBench) -> None:
        await bench.start()
        session_id = await bench.new_session()
        prompt = bench.prompt(session_id, "S_RM")
        await bench.asked(0)
        assert (tmp_path / "scratch-dir").exists()
        bench.send({"jsonrpc": "2.0", "id": 0, **answer})
        assert (await bench.answer(prompt))["result"]["stopReason"] == "end_turn"
        allowed = answer in (selected("allow_once"), selected("allow_session"))
        assert (tmp_path / "scratch-dir").exists() != allowed
        ran = [{"session_id": session_id, "command": RM, "how": "real", "exit_code": 0}]
        assert bench.heard("hermes.ran") == (ran if allowed else [])
        assert [one["status"] for one in bench.updates("tool_call_update")] == ["completed" if allowed else "failed"]

    on_acp_bench(tmp_path, story)


@BOTH
def test_two_questions_are_open_at_once_and_may_be_answered_in_any_order(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_WRITE2")
        for rpc_id in (0, 1):
            await bench.asked(rpc_id)
        assert len(bench.updates("tool_call")) == 2
        bench.choose(1, "allow_once")
        await asyncio.sleep(1)
        assert not (tmp_path / "a.txt").exists()
        assert (tmp_path / "b.txt").read_text() == "b\n"
        bench.choose(0, "deny")
        await bench.answer(prompt)
        assert not (tmp_path / "a.txt").exists()

    on_acp_bench(tmp_path, story)


@pytest.mark.parametrize("early_s", [TICK_S, 0.0, -TICK_S])
def test_after_60_s_it_denies_by_itself_and_an_answer_comes_too_late(early_s: float, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_WRITE")
        await bench.asked(0)
        since_s = next(t_s for t_s, f in bench.frames if f.get("method") == "session/request_permission")
        await bench.loop.until(since_s + 60 - early_s)
        bench.choose(0, "allow_once")
        await bench.answer(prompt)
        await asyncio.sleep(1)
        in_time = early_s > 0
        assert (tmp_path / "note.txt").exists() == in_time
        assert [one["counts"] for one in bench.heard("hermes.answered")] == [in_time]
        assert len(bench.heard("hermes.denied_itself")) == (not in_time)

    on_acp_bench(tmp_path, story)


def test_only_the_first_answer_with_the_very_id_counts(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_WRITE")
        await bench.asked(0)
        for other in ("0", False, 1, None, [0]):
            bench.send({"jsonrpc": "2.0", "id": other, **selected("allow_once")})
        bench.choose(0, "deny")
        bench.choose(0, "allow_once")
        await bench.answer(prompt)
        assert not (tmp_path / "note.txt").exists()
        assert [one["counts"] for one in bench.heard("hermes.answered")] == [False] * 5 + [True, False]

    on_acp_bench(tmp_path, story)


def test_allow_always_writes_the_class_into_the_configuration_and_the_comments_are_gone(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_RM2")
        await bench.asked(0)
        bench.choose(0, "allow_always")
        await bench.answer(prompt)
        text = bench.files[HOME / "config.yaml"]
        assert yaml.safe_load(text) == {**yaml.safe_load(bench.config), "command_allowlist": ["recursive delete"]}
        assert "operator" in bench.config
        assert "operator" not in text
        bench.hang_up()
        await bench.wait_for_end()
        await bench.start()  # the next process has read it
        await bench.answer(bench.prompt(await bench.new_session(), "S_RM"))
        assert len(bench.heard("hermes.ran")) == 3

    on_acp_bench(tmp_path, story)


@BOTH
def test_what_the_helper_model_approved_is_remembered_by_the_older_version(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        bench.config = bench.config.replace("manual", "smart")
        bench.model.script("<command>", Say("APPROVE"), helper=True)
        await bench.start()
        await bench.answer(bench.prompt(await bench.new_session(), "S_RM2"))
        reviews = [one for one in bench.model.requests() if "<command>" in str(one.body)]
        assert len(reviews) == (1 if version == "0.17.0" else 2)

    on_acp_bench(tmp_path, story)


@BOTH
def test_the_default_of_the_newer_version_is_to_ask_the_helper_model(version: str, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        bench.config = bench.config.replace("approvals: {mode: manual}", "")
        await bench.start()
        bench.prompt(await bench.new_session(), "S_RM")
        await bench.asked(0)
        assert len([one for one in bench.model.requests() if one.helper]) == (version == "0.19.0")

    on_acp_bench(tmp_path, story)


@pytest.mark.parametrize(
    ("mode", "path", "asks"),
    [
        ("default", "a.txt", True),
        ("weird", "a.txt", True),
        ("accept_edits", "a.txt", False),
        ("accept_edits", "/etc/nothing", True),
        ("dont_ask", "/etc/nothing", False),
        ("dont_ask", "deep/.git/config", True),
        ("dont_ask", ".ssh/known", True),
        ("dont_ask", "deep/.env", True),
    ],
)
def test_the_mode_decides_which_edits_are_asked(mode: str, path: str, asks: bool, tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        bench.model.script("EDIT", Call.one("write_file", path=path, content="x"), Say("done"))
        await bench.start()
        session_id = await bench.new_session()
        assert (await bench.call("session/set_mode", sessionId=session_id, modeId=mode))["result"] == {}
        prompt = bench.prompt(session_id, "EDIT")
        if asks:
            await bench.asked(0)
            bench.choose(0, "allow_once")
        await bench.answer(prompt)
        assert bool(bench.permissions()) == asks
        assert not Path("/etc/nothing").exists(), "a fake writes nothing outside its folder"
        wrote = [one["path"] for one in bench.heard("hermes.wrote")]
        assert wrote == ([] if path.startswith("/") else [path])

    on_acp_bench(tmp_path, story)


@pytest.mark.parametrize(
    ("offers", "shown", "written"),
    [("deny,allow_once", ["deny", "allow_once"], True), ("allow_once", ["allow_once"], True), ("", [], False)],
)
def test_it_offers_other_options_when_told_to(offers: str, shown: list[str], written: bool, tmp_path: Path) -> None:
    """For a client that takes the usual options for the only ones."""

    async def story(bench: AcpBench) -> None:
        bench.environ["HERMES_FAKE_OFFERS"] = offers
        await bench.start()
        prompt = bench.prompt(await bench.new_session(), "S_WRITE")
        params = await bench.asked(0)
        assert [option["optionId"] for option in params["options"]] == shown
        bench.send({"jsonrpc": "2.0", "id": 0, **selected("allow_once")})
        assert (await bench.answer(prompt))["result"]["stopReason"] == "end_turn"
        assert (tmp_path / "note.txt").exists() == written

    on_acp_bench(tmp_path, story)
