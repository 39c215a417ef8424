"""What docs/device-leases.md says to type for two host agents over one Redis does what it says."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ..contracts.shared_servers import need, own_name

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "device-leases.md").read_text(encoding="utf-8")
PORTS = ("7001", "8765", "8766", "8790")
LIMIT_S = 60
FEW = " --only lease/exclusive"
"""The other laws on two hosts cost time; tests/laws/test_two_hosts_live.py plays them."""


def free_ports(count: int) -> list[str]:
    bound = [socket.socket() for _ in range(count)]
    try:
        for one in bound:
            one.bind(("127.0.0.1", 0))
        return [str(one.getsockname()[1]) for one in bound]
    finally:
        for one in bound:
            one.close()


def script(redis: str) -> str:
    """Both shell blocks of the page, with other ports, another table of leases, and fewer laws."""
    serve, check = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert serve.count("redis://127.0.0.1:6379/0#try") == 1
    serve = serve.replace("redis://127.0.0.1:6379/0#try", redis)
    assert serve.count(" &\n") == 4
    ready = 'for part in 1 2 3 4; do until grep -q \'"url"\' "err-$part"; do sleep 0.1; done; done\n'
    for part in range(1, 5):
        serve = serve.replace(" &\n", f" 2> err-{part} > /dev/null &PART\n", 1)
    text = serve.replace("&PART", "&") + ready + check.replace("lasttick check\n", f"lasttick check{FEW}\n")
    for shown, free in zip(PORTS, free_ports(len(PORTS)), strict=True):
        assert shown in text
        text = text.replace(shown, free)
    return text


@pytest.fixture
def redis_url() -> str:
    """With keys that nobody else uses."""
    return f"{need('redis')}#{own_name()}"


def test_two_host_agents_to_try(tmp_path: Path, redis_url: str) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "lasttick"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lasttick "$@"\n')
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LASTTICK_", "PYTEST_"))}
    path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
    shell = subprocess.Popen(
        ["bash", "-e", "-c", script(redis_url)],
        cwd=tmp_path,
        env={**kept, "PATH": f"{tmp_path / 'bin'}:{kept['PATH']}", "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = shell.communicate(timeout=LIMIT_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGTERM)  # the parts, which the page leaves running
    errors = "\n".join(file.read_text() for file in sorted(tmp_path.glob("err-*")))
    assert shell.returncode == 0, said + errors
    assert "2 PASS" in said or said.count("PASS") >= 2, said
    assert "PASS          lease/exclusive" in said, said
