"""`lasttick serve vaultclaw` as a process whose streams are not all there. Source: contract vaultclaw 2; VC-01."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROJECT = Path(__file__).parents[2]
PING = '{"id": 1, "method": "ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def served(redirection: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """What came out of a server that was asked for one ping, started by a shell with `redirection`."""
    command = f"echo {shlex.quote(PING)} | exec {shlex.quote(sys.executable)} -m lasttick serve vaultclaw {redirection}"
    env = environ(folder)
    return subprocess.run(["sh", "-c", command], env=env, cwd=folder, capture_output=True, timeout=60, check=False)


def environ(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VC_", "VAULT_", "ACCORDS_"))}
    return {**kept, "PYTHONPATH": path, "ACCORDS_MCP_CATALOG_DIR": str(folder / "catalog")}


@pytest.mark.parametrize(
    ("redirection", "said"),
    [("", PONG), ("<&-", b""), (">&-", b""), ("2>&-", PONG), ("<&- >&- 2>&-", b"")],
)
def test_a_closed_stream_is_an_empty_one(redirection: str, said: bytes, tmp_path: Path) -> None:
    """No input is the end of input, so status 0; nothing but protocol comes out, also where no line can be said."""
    done = served(redirection, tmp_path)
    assert (done.returncode, done.stdout) == (0, said), done.stderr.decode()
    lines = done.stderr.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ([] if "2>" in redirection else ["vaultclaw"])


def test_a_failing_start_without_standard_error_says_nothing_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / "catalog").touch()
    done = served("2>&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_taken_port_names_the_variable_that_says_it(tmp_path: Path) -> None:
    """This server has no --port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "lasttick", "serve", "vaultclaw"]
        env = {**environ(tmp_path), "ACCORDS_MCP_HTTP_ADDR": address}
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"cannot listen on {address}: Address already in use; expected a free port ")
    assert done.stderr.endswith("; choose another port in ACCORDS_MCP_HTTP_ADDR, or 0 for a free one\n")


def test_the_official_client_starts_it_and_calls_a_tool(tmp_path: Path) -> None:
    """As an MCP client's configuration has it: a command and its environment, and standard streams between them."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "lasttick", "serve", "vaultclaw"],
        env={**environ(tmp_path), "VC_AGENT_TOKEN": "vc-agent", "VC_BASE_URL": "http://127.0.0.1:9"},
    )

    async def talk() -> tuple[str, list[str], dict[str, Any]]:
        with (tmp_path / "errors").open("w") as errors:
            async with stdio_client(server, errlog=errors) as streams, ClientSession(*streams) as session:
                named = (await session.initialize()).server_info.name
                tools = [tool.name for tool in (await session.list_tools()).tools]
                answer = await session.call_tool("vaultclaw_session_status", {})
                assert not answer.is_error
                return named, tools, answer.structured_content or {}

    named, tools, told = asyncio.run(talk())
    assert named == "accords-mcp"
    assert len(tools) == 40
    assert told["data"] == {"configured": True, "base_url": "http://127.0.0.1:9", "timeout_ms": 20_000, "token": "***"}


@pytest.mark.parametrize("text", [None, "no JSON", "[]"], ids=["none", "text", "list"])
def test_a_daemon_that_cannot_read_what_it_remembered_does_not_begin(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    if text is not None:
        file.write_text(text)
    command = [sys.executable, "-m", "lasttick", "serve", "vaultd", "--port", "0", "--state", str(file)]
    done = subprocess.run(command, env=environ(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"lasttick: the state in {file} cannot be read: ")
    assert done.stderr.endswith("; expected what GET /state answered; give such a file\n")
