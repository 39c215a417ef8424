"""`lasttick check --only VC-22` as a process: the reference, a wrong version, another command; a fake vault."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import PROJECT, Command

PATH = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
SMOKE = ("check", "--only", "VC-22")
OWN = f"{shlex.quote(sys.executable)} -m lasttick serve vaultclaw"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of a smoke run before a fake vault, at TCP and at a Unix socket."""
    socket = tmp_path_factory.mktemp("v") / "s"
    arguments = ["serve", "vaultd", "--port", "0", "--unix", str(socket)]
    process = subprocess.Popen(
        [sys.executable, "-m", "lasttick", *arguments],
        env={**os.environ, "PYTHONPATH": PATH},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    assert process.stderr is not None
    url = json.loads(process.stderr.readline())["url"]
    yield {"VC_BASE_URL": url, "VC_AGENT_TOKEN": "vc-agent", "SOCKET": str(socket)}
    process.terminate()
    process.communicate(timeout=20)


def test_the_reference_passes(command: Command, vault: dict[str, str], tmp_path: Path) -> None:
    done = command(*SMOKE, cwd=tmp_path, **vault)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:6]] == [
        ["PASS", name] for name in ("Session", "Discovery", "Execute", "ExecuteJob", "Plan", "Approvals")
    ]
    assert lines[-1] == "6 PASS, 1 N.A.; exit code 0"
    assert "vc-agent" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == [], "something was left behind"


def test_a_unix_socket_goes_before_an_address(command: Command, vault: dict[str, str], tmp_path: Path) -> None:
    away = {"VC_BASE_URL": "http://127.0.0.1:9", "VC_AGENT_TOKEN": "vc-agent", "VC_UNIX_SOCKET": vault["SOCKET"]}
    assert command(*SMOKE, cwd=tmp_path, **away).returncode == 0


def test_another_command_takes_the_references_place(command: Command, vault: dict[str, str], tmp_path: Path) -> None:
    assert command(*SMOKE, "--target", f"vaultclaw=cmd:{OWN}", cwd=tmp_path, **vault).returncode == 0


def test_a_wrong_version_fails(command: Command, vault: dict[str, str], tmp_path: Path) -> None:
    done = command(*SMOKE, "--target", "vaultclaw=mutant:vaultclaw/cleared-session-goes-on", cwd=tmp_path, **vault)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("FAIL          Session")
    assert "after session_clear session_status shows" in done.stdout


@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("vaultclaw=cmd:/nowhere/at/all", 3, "/nowhere/at/all cannot be started"),
        ("vaultclaw=cmd:true", 3, "true did not answer session_configure"),
        ("vaultclaw=cmd:", 2, "--target is"),
        ("gateway=cmd:x", 2, "--target is"),
        ("vaultclaw=cmd:'", 2, "--target is"),
        ("vaultclaw=mutant:vaultclaw/nothing-such", 2, "unknown mutant"),
    ],
)
def test_what_is_no_server_is_said(
    command: Command, vault: dict[str, str], tmp_path: Path, target: str, code: int, said: str
) -> None:
    done = command(*SMOKE, "--target", target, cwd=tmp_path, **vault)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_echoes_fails_and_its_echo_shows_no_token(
    command: Command, vault: dict[str, str], tmp_path: Path
) -> None:
    done = command(*SMOKE, "--target", "vaultclaw=cmd:cat", cwd=tmp_path, **vault)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "expected the result of a tool" in done.stdout
    assert "vc-agent" not in done.stdout + done.stderr
    assert "[token]" in done.stdout


@pytest.mark.parametrize(
    ("more", "environment", "said"),
    [
        ((), {"VC_SMOKE_EXPECT_OUTCOME": "ALLOW"}, "VC_SMOKE_EXPECT_OUTCOME is 'ALLOW'"),
        ((), {"VC_AGENT_TOKEN": ""}, "VC_AGENT_TOKEN is not set"),
        (("--plan",), {}, "--only VC-22 with other options"),
        (("--only", "lease/exclusive"), {}, "--only VC-22 with other options"),
    ],
)
def test_what_was_asked_wrong_is_exit_2(
    command: Command,
    vault: dict[str, str],
    tmp_path: Path,
    more: tuple[str, ...],
    environment: dict[str, str],
    said: str,
) -> None:
    done = command(*SMOKE, *more, cwd=tmp_path, **{**vault, **environment})
    assert (done.returncode, done.stdout) == (2, ""), done.stdout + done.stderr
    assert said in done.stderr


def test_a_target_is_for_the_smoke_suite_only(command: Command, tmp_path: Path) -> None:
    done = command("check", "--target", "vaultclaw=cmd:x", cwd=tmp_path)
    assert done.returncode == 2
    assert "--target without --only VC-22" in done.stderr
