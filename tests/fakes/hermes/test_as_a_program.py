"""Is the fake the same with real processes and sockets, and does it leave none behind?"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn

from lasttick.engine.clock import SystemClock
from lasttick_fakes.model import Call, FakeModel, Say

CHILD = """
import json, os, sys
print("hello from the child", file=sys.stderr, flush=True)
open(os.environ["SEEN"], "a").write(json.dumps({"pid": os.getpid(), "env": dict(os.environ)}) + "\\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}},
        "tools/list": {"tools": [{"name": "lookup", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "nonce n-77"}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}), flush=True)
open(os.environ["SEEN"], "a").write("ended\\n")
"""


@contextlib.asynccontextmanager
async def served(model: FakeModel) -> AsyncIterator[int]:
    server = uvicorn.Server(uvicorn.Config(model, port=0, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


def home_with(tmp_path: Path, port: int, *, command: str = sys.executable) -> Path:
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "config.yaml").write_text(
        f"model: {{default: m, base_url: 'http://127.0.0.1:{port}/v1', api_key: k}}\n"
        "mcp_discovery_timeout: 20\n"
        "mcp_servers:\n"
        f"  humanwork:\n    command: {command}\n    args: ['{tmp_path / 'child.py'}']\n"
        f"    env: {{SEEN: '{tmp_path / 'seen'}', SECRET: '${{AGENT_SERVICE_SECRET}}'}}\n"
    )
    return tmp_path


async def run(home: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "lasttick_fakes.hermes",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, "HOME": str(home), "HERMES_HOME": str(home), "AGENT_SERVICE_SECRET": "sekret", **env},
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def test_one_turn_over_real_processes(tmp_path: Path) -> None:
    async def main() -> None:
        model = FakeModel(SystemClock())
        model.script("look", Call.one("lookup"), Call.one("terminal", command="echo $$"), Say("It says {results} 你好"))
        async with served(model) as port:
            home = home_with(tmp_path, port)
            code, out, err = await run(home, "chat", "-Q", "-t", "humanwork,terminal", "-q", "look", "-Q")
            assert code == 0, err
            assert out.startswith("It says nonce n-77 {")
            assert out.endswith(" 你好\n")
            assert "session_id: 2" in err
            assert model.requests()[-1].tools == ("mcp__humanwork__lookup", "process", "terminal")
        started, ended = (home / "seen").read_text().splitlines()
        assert ended == "ended", "it had its end of file"
        assert '"SECRET": "sekret"' in started
        assert '"AGENT_SERVICE_SECRET"' not in started
        assert "hello from the child" in (home / "logs/mcp-stderr.log").read_text()
        assert "hello from the child" not in err

    asyncio.run(main())


def test_the_older_version_by_its_variable_and_an_unknown_one(tmp_path: Path) -> None:
    async def main() -> None:
        model = FakeModel(SystemClock())
        model.script("*", Say("hi", reasoning="thought\n"))
        async with served(model) as port:
            home = home_with(tmp_path, port)
            arguments = ("chat", "-Q", "-t", "humanwork", "-q", "hello")
            assert (await run(home, *arguments, HERMES_FAKE_VERSION="0.17.0"))[1] == "hi\n"
            assert model.requests()[-1].tools == ("mcp_humanwork_lookup",)
            code, out, err = await run(home, *arguments, HERMES_FAKE_VERSION="0.18.0")
            assert (code, out) == (2, "")
            assert "expected one of 0.17.0, 0.19.0" in err

    asyncio.run(main())


def test_a_command_that_is_not_there_leaves_the_model_without_tools(tmp_path: Path) -> None:
    async def main() -> None:
        model = FakeModel(SystemClock())
        model.script("*", Say("hi"))
        async with served(model) as port:
            home = home_with(tmp_path, port, command="/nonexistent/python")
            config = (home / "config.yaml").read_text()
            (home / "config.yaml").write_text(config.replace("timeout: 20", "timeout: 0.2"))
            assert (await run(home, "chat", "-Q", "-t", "humanwork", "-q", "hello"))[:2] == (0, "hi\n")
            assert model.requests()[-1].tools is None

    asyncio.run(main())
