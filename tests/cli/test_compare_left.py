"""What does `lasttick compare` leave behind when it is ended, or when a side fails? No process, whoever started it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lasttick.compare.sides import own_command

from .conftest import PROJECT, Command

PATH = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
PROC = Path("/proc")
WITHIN_S = 30.0
HELPED = shlex.join(["sh", "-c", f"sleep 300 & {own_command()}"])
"""A peer behind a shell, with a helper of its own."""

pytestmark = pytest.mark.skipif(not (PROC / "self/environ").exists(), reason="looks for what is left in /proc")


def left(folder: Path) -> list[str]:
    """Command lines of running processes that were given this temporary folder, as all that compare starts are."""
    found = []
    for process in PROC.glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended meanwhile, or is another user's
            continue
    return found


def soon(holds: Callable[[], bool], what: Callable[[], object]) -> None:
    end_s = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < end_s, what()
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)], ids=["INT", "TERM", "KILL"]
)
def test_nothing_runs_on_when_it_is_ended(number: signal.Signals, code: int, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    folder = tmp_path / "temporary"
    folder.mkdir()
    with errors.open("wb") as file:
        compare = subprocess.Popen(
            [sys.executable, "-m", "lasttick", "compare", "vaultclaw", "--peer", HELPED, "--callers", "0"],
            env={**os.environ, "PYTHONPATH": PATH, "TMPDIR": str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=file,
            # A shell's background job ignores SIGINT, and so would what it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        soon(lambda: b"script 2 of" in errors.read_bytes(), errors.read_text)
        running = left(folder)
        assert any("sleep 300" in line for line in running), running
        assert sum("serve vaultclaw" in line for line in running) > 1, running
        compare.send_signal(number)
        assert compare.wait(WITHIN_S) == code
    finally:
        compare.kill()
        compare.wait()
    soon(lambda: not left(folder), lambda: left(folder))
    assert "Traceback" not in errors.read_text()
    assert number == signal.SIGKILL or list(folder.iterdir()) == []


@pytest.mark.parametrize("peer", ["true", "sh -c 'sleep 300 & exit 3'"])
def test_a_peer_that_ends_at_once_takes_ours_with_it(peer: str, command: Command, tmp_path: Path) -> None:
    """Ours is still starting when the peer has failed already."""
    done = command("compare", "vaultclaw", "--peer", peer, "--only", "vault/plans", TMPDIR=str(tmp_path))
    assert done.returncode == 3, done.stderr
    assert "lasttick: the peer did not start; it said: nothing\n  expected: " in done.stderr
    assert done.stderr.rstrip().endswith(peer)
    soon(lambda: not left(tmp_path), lambda: left(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_peer_is_found_from_where_it_was_named(command: Command, tmp_path: Path) -> None:
    """It is started in another folder."""
    (tmp_path / "peer").write_text(f"#!/bin/sh\nexec {own_command()}\n")
    (tmp_path / "peer").chmod(0o755)
    done = command("compare", "vaultclaw", "--peer", "./peer", "--only", "vault/plans", "--callers", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_peer_that_dies_while_it_is_measured_costs_the_figures_alone(command: Command, tmp_path: Path) -> None:
    """The second server of a peer is the measured one."""
    dies = f"test -e {tmp_path}/once && exec false; touch {tmp_path}/once; exec {own_command()}"
    done = command(
        "compare", "vaultclaw", "--peer", shlex.join(["sh", "-c", dies]), "--only", "vault/plans", "--callers", "2"
    )
    assert done.returncode == 0, done.stderr
    assert "PASS VC-21: " in done.stdout
    assert "connector_execute_job" not in done.stdout
    assert "figures: not measured: StartRefused\n  expected: " in done.stderr
