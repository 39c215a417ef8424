"""Is the agent the same as a program of its own, with real pipes, sockets, children and files?"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import SystemClock
from lasttick_fakes.hermes.acp.frames import LINE_BYTES_MAX
from lasttick_fakes.hermes.child_env import INHERITED
from lasttick_fakes.model import Call, FakeModel, Say

from ..test_as_a_program import served

CONFIG = """
model: {{default: scripted-model, provider: custom, base_url: "http://127.0.0.1:{port}/v1", api_key: sk-test}}
approvals: {{mode: manual}}
"""
PROGRAM = (sys.executable, "-m", "lasttick_fakes.hermes", "acp")


class Client:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []

    def send(self, frame: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")

    async def next_with(self, rpc_id: int) -> dict[str, Any]:
        """The next frame with this id, theirs or ours."""
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            while True:
                self.seen.append(json.loads(await self.process.stdout.readline()))
                if self.seen[-1].get("id") == rpc_id:
                    return self.seen[-1]

    async def call(self, rpc_id: int, method: str, **params: Any) -> dict[str, Any]:
        self.send({"id": rpc_id, "method": method, "params": params})
        return await self.next_with(rpc_id)


async def started(env: Mapping[str, str], *arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    env = {**{name: os.environ[name] for name in sorted(INHERITED) if name in os.environ}, **env}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return await asyncio.create_subprocess_exec(
        *PROGRAM, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=LINE_BYTES_MAX
    )


def test_an_allowed_edit_is_on_disk_and_in_the_log_and_the_program_ends_with_its_input(tmp_path: Path) -> None:
    home, folder, log = tmp_path / "home", tmp_path / "work", tmp_path / "log.jsonl"
    home.mkdir()
    folder.mkdir()

    async def main() -> None:
        model = FakeModel(SystemClock())
        content = "x" * 100_000 + "é"
        model.script("WRITE", Call.one("write_file", path="a.txt", content=content), Say("done"))
        async with served(model) as port:
            (home / "config.yaml").write_text(CONFIG.format(port=port))
            env = {"HERMES_HOME": str(home), "HERMES_FAKE_LOG": str(log), "HERMES_FAKE_PACE": "0"}
            client = Client(await started(env, "--version", "0.17.0"))
            answer = await client.call(0, "initialize", protocolVersion=1)
            assert answer["result"]["agentInfo"]["version"] == "0.17.0"
            session_id = (await client.call(1, "session/new", cwd=str(folder), mcpServers=[]))["result"]["sessionId"]
            prompt = [{"type": "text", "text": "WRITE"}]
            client.send({"id": 7, "method": "session/prompt", "params": {"sessionId": session_id, "prompt": prompt}})
            asked = await client.next_with(0)
            assert asked["method"] == "session/request_permission"
            assert not (folder / "a.txt").exists()
            client.send({"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
            assert (await client.next_with(7))["result"]["stopReason"] == "end_turn"
            assert client.process.stdin is not None
            client.process.stdin.close()
            async with asyncio.timeout(10):
                assert await client.process.wait() == 0
            assert client.process.stderr is not None
            assert await client.process.stderr.read() == b""
        assert (folder / "a.txt").stat().st_size == 100_002
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        wrote = [line["data"] for line in lines if line["kind"] == "hermes.wrote"]
        assert wrote == [{"session_id": session_id, "tool": "write_file", "path": "a.txt", "bytes": 100_002}]
        sent = [line["data"]["frame"] for line in lines if line["kind"] == "hermes.sent"]
        assert [frame for frame in sent if frame in client.seen] == client.seen, "the log has what the client read"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("env", "arguments", "said"),
    [
        ({}, ["--version", "1.0"], "'1.0'"),
        ({}, ["now"], "expected acp [--version 0.17.0|0.19.0]"),
        ({"HERMES_FAKE_VERSION": "1.0"}, [], "expected one of 0.17.0, 0.19.0"),
        ({"HERMES_FAKE_PACE": "fast"}, [], "expected a number from 0"),
        ({"HERMES_FAKE_ASK_S": "-1"}, [], "expected a number from 0"),
        ({"HERMES_FAKE_LOG": "/nowhere/at/all"}, [], "No such file"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line_with_status_2(
    env: dict[str, str], arguments: list[str], said: str
) -> None:
    async def main() -> None:
        process = await started(env, *arguments)
        async with asyncio.timeout(30):
            out, err = await process.communicate()
        assert (process.returncode, out) == (2, b"")
        assert said in err.decode()
        assert len(err.splitlines()) == 1

    asyncio.run(main())
