"""The link and the fake `hermes acp`, which were written apart: do they understand each other? (LU-01, LU-02)"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from lasttick.engine.clock import SystemClock
from lasttick.model.lineup.records import PromptEnd
from lasttick.reference.lineup.acp_agent import AcpAgent
from lasttick.reference.lineup.links import AgentGone
from lasttick_fakes.hermes.child_env import INHERITED
from lasttick_fakes.hermes.children import Children
from lasttick_fakes.model import Call, FakeModel, Say

from ...fakes.hermes.acp.bench import ENV, AcpBench, on_acp_bench
from ...fakes.hermes.acp.test_as_a_program import CONFIG, PROGRAM
from ...fakes.hermes.test_as_a_program import served
from .links_rig import Seen


def linked(bench: AcpBench) -> AcpAgent:
    return AcpAgent(bench.programs, bench.clock, ["hermes", "acp"], ENV, cwd=str(bench.folder))


async def asked(seen: Seen, count: int) -> list:
    """The permission requests, once there are so many."""
    async with asyncio.timeout(60):
        while len(seen.of("permission")) < count:
            await asyncio.sleep(0.01)
    return [event[1] for event in seen.of("permission")]


@pytest.mark.parametrize("version", ["0.17.0", "0.19.0"])
def test_two_edits_at_once_are_answered_out_of_order_and_only_one_is_done(tmp_path: Path, version: str) -> None:
    async def story(bench: AcpBench) -> None:
        bench.version = version
        seen = Seen()
        link = linked(bench)
        await link.start(seen)
        session = await link.new_session()
        prompt = asyncio.create_task(link.prompt(session, ["please run S_WRITE2"]))
        first, second = await asked(seen, 2)
        assert (first.rpc_id, second.rpc_id) == (0, 1)
        assert not list(tmp_path.iterdir())
        await link.answer(second.rpc_id, "allow_once")
        await link.answer(first.rpc_id, "deny")
        assert await prompt == PromptEnd("end_turn", has_usage=True)
        assert [file.name for file in tmp_path.iterdir()] == ["b.txt"]
        chunks = [e[2] for e in seen.of("updated") if e[2]["sessionUpdate"] == "agent_message_chunk"]
        assert "".join(chunk["content"]["text"] for chunk in chunks).strip() == "both finished"
        assert seen.of("refused") == seen.of("undecodable") == []
        await link.stop()

    on_acp_bench(tmp_path, story)


def test_a_cancel_while_a_permission_is_open_ends_in_an_error_and_a_new_session_works(tmp_path: Path) -> None:
    """Rule 5: the agent itself does not take its question back."""

    async def story(bench: AcpBench) -> None:
        seen = Seen()
        link = linked(bench)
        await link.start(seen)
        session = await link.new_session()
        prompt = asyncio.create_task(link.prompt(session, ["please run S_WRITE"]))
        [question] = await asked(seen, 1)
        await link.cancel(session)
        await link.answer(question.rpc_id, None)
        assert await prompt == PromptEnd(None, error_code=-32603)
        assert await link.prompt(session, ["please run S_TEXT"]) == PromptEnd("end_turn", has_usage=False)
        assert await link.prompt(await link.new_session(), ["please run S_TEXT"]) == PromptEnd("end_turn", True)
        assert not list(tmp_path.iterdir())
        await link.stop()

    on_acp_bench(tmp_path, story)


def test_an_agent_that_is_killed_is_gone(tmp_path: Path) -> None:
    async def story(bench: AcpBench) -> None:
        seen = Seen()
        link = linked(bench)
        await link.start(seen)
        prompt = asyncio.create_task(link.prompt(await link.new_session(), ["please run S_WRITE"]))
        [question] = await asked(seen, 1)
        await bench.programs.kill(0)
        with pytest.raises(AgentGone):
            await prompt
        with pytest.raises(AgentGone):
            await link.answer(question.rpc_id, "allow_once")
        assert len(seen.of("gone")) == 1
        await link.stop()

    on_acp_bench(tmp_path, story)


def environment(home: Path) -> dict[str, str]:
    env = {name: os.environ[name] for name in sorted(INHERITED) if name in os.environ}
    return {**env, "HERMES_HOME": str(home), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_the_same_over_a_real_process(tmp_path: Path) -> None:
    """The file is absent before the answer, there after it, and the program ends with its input."""
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()

    async def main() -> None:
        model = FakeModel(SystemClock())
        model.script("WRITE", Call.one("write_file", path="a.txt", content="é\n"), Say("done"))
        model.script("*", Say("title"), helper=True)
        children = Children(tmp_path / "stderr.log")
        async with asyncio.timeout(60), served(model) as port:
            (home / "config.yaml").write_text(CONFIG.format(port=port))
            seen = Seen()
            link = AcpAgent(children, SystemClock(), PROGRAM, environment(home), cwd=str(folder))
            await link.start(seen)
            prompt = asyncio.create_task(link.prompt(await link.new_session(), ["WRITE"]))
            [question] = await asked(seen, 1)
            assert not (folder / "a.txt").exists()
            await link.answer(question.rpc_id, "allow_once")
            assert (await prompt).stop_reason == "end_turn"
            assert (folder / "a.txt").read_bytes() == "é\n".encode()
            await link.stop()
            [process] = [stream.process for stream in children._started]
            assert await process.wait() == 0
            assert seen.of("gone") == []
            await children.close()

    asyncio.run(main())


def test_a_real_program_that_is_no_agent_is_gone(tmp_path: Path) -> None:
    """It writes what is no protocol, then ends; or was never there."""

    async def main() -> list[tuple]:
        seen = Seen()
        children = Children(tmp_path / "stderr.log")
        argv = [sys.executable, "-c", "print('usage: agent'); print('[]', end='')"]
        with pytest.raises(AgentGone, match="closed its output"):
            await AcpAgent(children, SystemClock(), argv, {}, cwd="/").start(seen)
        with pytest.raises(AgentGone, match="does not start"):
            await AcpAgent(children, SystemClock(), [str(tmp_path / "none")], {}, cwd="/").start(seen)
        await children.close()
        return seen.all

    assert [event[0] for event in asyncio.run(main())] == ["refused", "refused"]
