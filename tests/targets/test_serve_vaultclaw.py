"""`lasttick serve vaultclaw` as a process whose streams are not all there. Source: contract vaultclaw 2; VC-01."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PING = '{"id": 1, "method": "ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def served(redirection: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """What came out of a server that was asked for one ping, started by a shell with `redirection`."""
    command = f"echo {shlex.quote(PING)} | exec {shlex.quote(sys.executable)} -m lasttick serve vaultclaw {redirection}"
    path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VC_", "VAULT_", "ACCORDS_"))}
    env = {**kept, "PYTHONPATH": path, "ACCORDS_MCP_CATALOG_DIR": str(folder / "catalog")}
    return subprocess.run(["sh", "-c", command], env=env, cwd=folder, capture_output=True, timeout=60, check=False)


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
