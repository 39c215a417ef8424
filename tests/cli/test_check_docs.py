"""What docs/check.md tells a newcomer to type does what it says, and the profile that it shows is one."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lasttick.laws.gate.baseline import parse_baseline
from lasttick.laws.gate.scope import read_scope
from lasttick.laws.profiles.init import profiles
from lasttick.laws.profiles.load import loads
from lasttick.laws.profiles.profile import LeaseVerbs

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "check.md").read_text()
LIMIT_S = 60
"""The whole set of laws on our own host agent, TTL 2 s, in real time."""


def blocks(kind: str) -> list[str]:
    found = re.findall(rf"^( *)```{kind}\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", text, flags=re.MULTILINE) for indent, text in found]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[list[str]]:
    """What each shell block is, with a free port; the first one is being served."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
    serve, gate = (text.replace("8765", port) for text in blocks("sh"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "lasttick"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lasttick "$@"\n')
    program.chmod(0o755)
    process = subprocess.Popen(
        shlex.split(serve), cwd=tmp_path, env=environ(tmp_path), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith(b"{"):
        assert line, "the host agent did not start"
    assert json.loads(line)["name"] == "hostagent"
    yield [serve, gate]
    process.terminate()
    process.communicate(timeout=20)


def environ(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LASTTICK_", "PYTEST_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
    return {**kept, "PATH": f"{folder / 'bin'}:{kept['PATH']}", "PYTHONPATH": path}


def test_two_minutes_on_ours(terminal: list[str], tmp_path: Path) -> None:
    *before, last = terminal[1].strip().splitlines()
    assert last.startswith("lasttick check ")
    script = "\n".join([*before, 'echo "began $(date +%s.%N)"', last, 'echo "ended $(date +%s.%N)"'])
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=environ(tmp_path),
        capture_output=True,
        text=True,
        timeout=2 * LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"what each gap costs\n(  approval.*\n)+  clock.step        lease/clock-proof\n", done.stdout)
    assert "PASS          lease/exclusive" in done.stdout
    assert "FAIL" not in done.stdout
    assert "INCONCLUSIVE" not in done.stdout
    began, ended = (float(text) for text in re.findall(r"^(?:began|ended) (\S+)$", done.stdout, re.MULTILINE))
    assert ended - began < LIMIT_S
    scope = read_scope(tmp_path / "lasttick.scope")
    assert scope is not None
    assert scope.laws["lease/exclusive"].judged == "effects"
    assert "exit code 0" in (tmp_path / "summary.md").read_text()
    assert 'failures="0"' in (tmp_path / "junit.xml").read_text()


def test_the_profile_and_the_baseline_that_are_shown_load() -> None:
    profile, baseline = blocks("toml")
    loaded = loads(profile, "lasttick.toml", {"BROWSERS_URL": "http://127.0.0.1:1/mcp"})
    assert loaded.profile.lease.busy == "queues"
    assert [entry.law for entry in parse_baseline(baseline, ["lease/clock-proof"])] == ["lease/clock-proof"]


def test_what_runs_in_a_checkout_is_told_apart_from_what_runs_installed() -> None:
    words = "`pytest scenarios/laws --lasttick-config lasttick.toml -n 2` in a checkout"
    assert words in PAGE
    assert (PROJECT / "scenarios" / "laws").is_dir()


@pytest.mark.parametrize("name", LeaseVerbs.model_fields)
def test_every_key_of_a_lease_is_explained(name: str) -> None:
    assert f"`{name}`" in PAGE or f"`.{name}`" in PAGE or f"`lease.{name}`" in PAGE


def test_every_shipped_profile_is_named() -> None:
    for name in profiles():
        assert f"`{name}`" in PAGE
