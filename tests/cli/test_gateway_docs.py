"""What docs/gateway.md tells a reader to type does what it says, and what it names is there."""

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

from lasttick import mutants
from lasttick.model import tool_call
from lasttick.model.tool_call import Refusal

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "gateway.md").read_text()
SERVE, TRY, _, SCENARIOS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
MARK = "@@"


@pytest.fixture
def port(tmp_path: Path) -> Iterator[str]:
    """The port on which what the first block serves is ready."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        free = str(bound.getsockname()[1])
    program, *arguments = shlex.split(SERVE.replace("8770", free))
    assert program == "lasttick"
    process = subprocess.Popen(
        [sys.executable, "-m", "lasttick", *arguments],
        cwd=tmp_path,
        env=environ(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith(b"{"):
        assert line, "the gateway did not start"
    assert json.loads(line)["name"] == "gateway"
    yield free
    process.terminate()
    process.communicate(timeout=20)


def environ() -> dict[str, str]:
    secrets = ("AGENT_SERVICE_SECRET", "RUNNER_JWT_SECRET", "PLATFORM_ADMIN_TOKEN", "DATABASE_URL")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LASTTICK_", "PYTEST_")) and name not in (*secrets, "PYTHONDONTWRITEBYTECODE")
    }
    return {**kept, "PYTHONPATH": os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])}


def test_what_the_second_terminal_shows(port: str, tmp_path: Path) -> None:
    script = re.sub(r"^#.*", f"echo; echo {MARK}", TRY.replace("8770", port), flags=re.MULTILINE)
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=environ(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers = [json.loads(text) for text in done.stdout.split(MARK)[1:]]
    chat, ended, other, ledger = answers
    assert "a snail" in chat["answer"]
    assert ended["code"] == "RUN_NOT_ACTIVE"
    assert other["code"] == "RUN_NOT_FOUND"
    seen = [(row["run_id"], row["status"], row["outcome"]) for row in ledger["rows"]]
    assert seen == [(chat["run_id"], 200, "OK"), (chat["run_id"], 409, "RUN_NOT_ACTIVE")]


def test_the_order_of_the_checks_is_the_models() -> None:
    shown = [(int(status), code) for status, code in re.findall(r"^\| (\d{3}) \| `([A-Z_]+)` \|", PAGE, re.MULTILINE)]
    refusals = [value for value in vars(tool_call).values() if isinstance(value, Refusal)]
    assert shown == [(refusal.status, refusal.code) for refusal in refusals]


def test_every_ruling_that_a_mutant_names_is_told() -> None:
    told = {int(number) for number in re.findall(r"^(\d+)\. ", PAGE, re.MULTILINE)}
    assert told == set(range(1, 13))
    assert {mutant.ruling for mutant in mutants.catalogue() if mutant.system == "gateway"} - {None} <= told


def commands() -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in SCENARIOS.strip().splitlines()]


def test_the_mutants_that_are_named_are_there() -> None:
    named = re.findall(r"mutant[: ](gateway/\S+)", SCENARIOS)
    assert named
    for mutant_id in named:
        mutants.find(mutant_id)


@pytest.mark.parametrize("words", [words for words in commands() if "--target" in words or words[0] == "explain"])
def test_a_command_about_scenarios(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(PROJECT / "scenarios")
    done = subprocess.run(
        [sys.executable, "-m", "lasttick", *words],
        cwd=tmp_path,
        env=environ(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (1 if "--target" in words else 0), done.stdout[-2000:] + done.stderr[-2000:]
    assert ("GW-06" if words[0] == "explain" else "FAIL gateway/tenant/") in done.stdout


@pytest.mark.parametrize("name", re.findall(r"`(?:gateway/)?([a-z-]+)`", PAGE.rpartition("```")[2]))
def test_every_group_of_scenarios_that_is_named_is_there(name: str) -> None:
    assert (PROJECT / "scenarios" / "gateway" / f"test_{name.replace('-', '_')}.py").is_file()
