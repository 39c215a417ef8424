"""What docs/approvals.md tells a reader to type does what it says, and what it names is there."""

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
from lasttick.targets.vaultclaw.smoke.groups import GROUPS
from lasttick.targets.vaultclaw.smoke.talk import SCOPES

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "approvals.md").read_text()
BLOCKS = {
    section.partition("\n")[0]: re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    for section in PAGE.split("\n## ")
}
(VAULTD, VAULTCLAW, TRY), (SMOKE,), (SCENARIOS,) = (
    BLOCKS[name] for name in ("Try it", "Smoke suite", "Scenarios and mutants")
)
MARK = "@@"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """What the first two blocks serve, on free ports; a text with theirs in the place of the page's."""
    folder = tmp_path_factory.mktemp("approvals")
    ports = Ports(folder)
    with ports.served(VAULTD, "vaultd"), ports.served(VAULTCLAW, "vaultclaw"):
        yield ports


class Ports:
    """The page's ports and those that are free, and a shell with `lasttick` in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free = {"8787": _free(), "8790": _free()}
        program = folder / "lasttick"
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m lasttick "$@"\n')
        program.chmod(0o755)

    def served(self, script: str, name: str) -> Served:
        return Served(self.command(f"exec env {script}"), self.environ(), self._folder, name)

    def command(self, script: str) -> list[str]:
        for ours, free in self._free.items():
            script = script.replace(ours, free)
        return ["bash", "-e", "-c", script]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(script),
            cwd=self._folder,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def environ(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LASTTICK_", "PYTEST_", "VC_", "VAULT_", "ACCORDS_"))
        }
        path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
        return {**kept, "PYTHONPATH": path, "PATH": f"{self._folder}{os.pathsep}{os.environ['PATH']}"}


class Served:
    """A block of the page that serves, while this lasts."""

    def __init__(self, command: list[str], environ: dict[str, str], folder: Path, name: str) -> None:
        self._name = name
        self._process = subprocess.Popen(
            command, cwd=folder, env=environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )

    def __enter__(self) -> None:
        assert self._process.stderr is not None
        while not (line := self._process.stderr.readline()).startswith(b"{"):
            assert line, f"{self._name} did not start"
        assert json.loads(line)["name"] == self._name

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=20)


def _free() -> str:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return str(bound.getsockname()[1])


def test_what_the_third_terminal_shows(here: Ports) -> None:
    done = here.run(re.sub(r"^#.*", f"echo; echo {MARK}", TRY, flags=re.MULTILINE))
    assert done.returncode == 0, done.stdout + done.stderr
    session, mail, by_agent, by_person, wait, effects = [json.loads(text) for text in done.stdout.split(MARK)[1:]]
    assert session["result"]["structuredContent"]["data"]["token"] == "***"
    error = mail["result"]["structuredContent"]["error"]
    assert error["code"] == "MCP_APPROVAL_REQUIRED"
    assert error["details"]["approval"]["next_action"]["arguments"]["handle"]["job_id"] == "job_1"
    assert by_agent["error"]["code"] == "FORBIDDEN"
    assert (by_person["item"]["state"], by_person["item"]["decided_by"]) == ("DENIED", "Pat")
    data = wait["result"]["structuredContent"]["data"]
    assert (data["terminal_status"], data["decision_outcome"]) == ("DENIED", "DENY")
    assert effects == {"effects": []}


def test_the_smoke_suite_as_typed(here: Ports) -> None:
    done = here.run(SMOKE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("PASS          Session")


def test_the_groups_and_scopes_are_those_of_the_suite() -> None:
    rows = re.findall(
        r"^\| (\w+) \| [^|]+ \| ([^|]+) \|$",
        PAGE.partition("## Smoke suite")[2].partition("| variable")[0],
        re.MULTILINE,
    )
    named = [(name, re.findall(r"`([\w.]+)`", scopes)) for name, scopes in rows]
    assert [name for name, _ in named[1:]] == [group.name for group in GROUPS]
    assert sorted({scope for _, scopes in named for scope in scopes}) == sorted(set(SCOPES.values()))


def test_the_mutants_that_are_named_are_there() -> None:
    named = re.findall(r"(?:mutant:|--mutant )(vaultclaw/[\w-]+)", PAGE)
    assert len(named) >= 3
    for mutant_id in named:
        mutants.find(mutant_id)


@pytest.mark.parametrize("line", [line for line in SCENARIOS.splitlines() if "--target" in line or "explain" in line])
def test_a_command_about_scenarios(here: Ports, line: str, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(PROJECT / "scenarios")
    done = here.run(f"cd {shlex.quote(str(tmp_path))}; {line}")
    assert done.returncode == (1 if "--target" in line else 0), done.stdout[-2000:] + done.stderr[-2000:]
    assert ("VC-20" if "explain" in line else "FAIL vaultclaw/tenants/") in done.stdout
