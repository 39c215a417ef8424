"""`lasttick run` as a user types it: a small project of its own, exit codes by verdict, and the run folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lasttick.cli.run import Gathered, exit_code
from lasttick.evidence import RunVerdicts, ScenarioResult, VerdictWord

SCENARIOS = '''
from lasttick import World, scenario

@scenario("HA-06")
async def test_passes(world: World) -> None:
    """Holds."""
    await world.advance(600)

@scenario("HA-06")
async def test_fails(world: World) -> None:
    await world.advance(60)
    assert 1 == 2

@scenario("HA-15", needs=("kill-process",))
async def test_not_here(world: World) -> None: ...
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    file = tmp_path / "scenarios" / "own" / "test_story.py"
    file.parent.mkdir(parents=True)
    file.write_text(SCENARIOS)
    return tmp_path


def test_exit_codes_and_the_run_folder(project: Path, command: Any) -> None:
    passed = command("run", "passes", "--seed", "7", cwd=project)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    document = json.loads((project / "reports" / "latest" / "verdicts.json").read_text())
    assert document["seed"] == 7
    assert document["requirements"] == {"HA-06": "pass"}
    assert (project / "reports" / "latest" / "junit.xml").is_file()
    assert (project / "reports" / "latest" / document["scenarios"][0]["trace"]).is_file()

    failed = command("run", cwd=project)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "replay: lasttick replay 20" in failed.stdout

    nothing = command("run", "own/*/not-here", cwd=project)
    assert nothing.returncode == 4, nothing.stdout + nothing.stderr
    assert "nothing was judged" in nothing.stderr


def test_json_is_alone_on_standard_output(project: Path, command: Any) -> None:
    told = command("run", "story", "--json", cwd=project)
    assert told.returncode == 1, told.stdout + told.stderr
    document = json.loads(told.stdout)
    assert document == json.loads((project / "reports" / "latest" / "verdicts.json").read_text())
    assert document["counts"] == {"pass": 1, "fail": 1, "inconclusive": 0, "not_applicable": 1}
    assert "own/test_story.py" in told.stderr


def test_a_file_that_does_not_import_is_a_usage_error(project: Path, command: Any) -> None:
    (project / "scenarios" / "own" / "test_other.py").write_text("import nothing_of_that_name\n")
    told = command("run", cwd=project)
    assert told.returncode == 2, told.stdout + told.stderr


def test_a_project_without_scenarios(tmp_path: Path, command: Any) -> None:
    (tmp_path / "scenarios").mkdir()
    told = command("run", cwd=tmp_path)
    assert told.returncode == 2
    assert "scenarios holds no scenario" in told.stderr


def test_a_reports_folder_that_can_not_be(project: Path, command: Any) -> None:
    (project / "reports").write_text("mine")
    told = command("run", cwd=project)
    assert told.returncode == 2
    assert told.stderr.startswith("lasttick: [Errno 20] Not a directory: 'reports/runs'\n  expected: ")
    assert (project / "reports").read_text() == "mine"


def run_with(*verdicts: VerdictWord) -> RunVerdicts:
    results = [ScenarioResult(f"a/b/{n}", ("HA-01",), (), word, "", 0.0, 0.0) for n, word in enumerate(verdicts)]
    return RunVerdicts.of(results, seed=1, mode="virtual")


@pytest.mark.parametrize(
    ("verdicts", "status", "code"),
    [
        (["pass", "not_applicable"], 0, 0),
        (["pass", "fail", "inconclusive"], 1, 1),
        (["pass", "inconclusive"], 1, 4),
        (["not_applicable"], 0, 4),
        ([], 5, 4),
        (["pass"], 1, 1),
        (["pass"], 2, 4),
        (["pass"], 3, 4),
        ([], 4, 2),
    ],
)
def test_exit_code(verdicts: list[VerdictWord], status: int, code: int) -> None:
    assert exit_code(run_with(*verdicts), status, Gathered()) == code


def test_exit_code_of_a_run_that_broke_off() -> None:
    gathered = Gathered()
    gathered.interrupted = True
    assert exit_code(run_with("pass"), 2, gathered) == 130
    gathered = Gathered()
    gathered.uncollected = True
    assert exit_code(run_with("fail"), 2, gathered) == 2
