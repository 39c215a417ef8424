"""The installed package runs beside folders named `harness`, `fakes` and `scenarios` of somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lasttick.requirements import collect_claims

ROOT = Path(__file__).parents[2]
# Cheap ones, and each imports something of its own folder; the first is a property.
PLAYED = [
    "hostagent/lease/free-exactly-at-ttl",
    "hostagent/pin/one-session-drives-two-phones-at-once",
    "journeys/long-call/a-call-outlives-its-lease",
]
NAMES = [name.rpartition("/")[2].replace("-", "_") for name in PLAYED]
WHERE = """
import importlib, json, sys
modules = ["lasttick", "lasttick_fakes", "lasttick.scenarios", "lasttick.scenarios.hostagent.steps"]
print(json.dumps({"files": [importlib.import_module(name).__file__ for name in modules], "path": sys.path}))
"""


def verdicts(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "reports" / "latest" / "verdicts.json").read_text()))


def test_what_is_imported_is_what_was_installed(project: Any) -> None:
    done = project.python("-c", WHERE)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert all(Path(file).is_relative_to(project.environment) for file in told["files"]), told["files"]
    assert not [entry for entry in told["path"] if Path(entry) in (ROOT, ROOT / "harness", ROOT / "fakes")]


def test_pytest_knows_the_plugin_once(project: Any) -> None:
    done = project.python("-m", "pytest", "-VV")
    assert done.returncode == 0, done.stderr
    plugins = [line for line in (done.stdout + done.stderr).splitlines() if "lasttick" in line and "plugin.py" in line]
    assert len(plugins) == 1, done.stdout + done.stderr
    assert str(project.environment) in plugins[0]


def test_pytest_plays_the_packaged_scenarios(project: Any) -> None:
    done = project.python(
        *("-m", "pytest", "--pyargs", "lasttick.scenarios", "-k", " or ".join(NAMES), "-q", "-n", "2")
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    played = verdicts(project.folder)["scenarios"]
    assert sorted(entry["id"] for entry in played) == PLAYED
    assert {entry["verdict"] for entry in played} == {"pass"}


@pytest.mark.parametrize("place", ["project", "elsewhere"])
def test_the_command_runs_packaged_scenarios(place: str, request: pytest.FixtureRequest) -> None:
    project = request.getfixturevalue(place)
    done = project.lasttick("run", PLAYED[0])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    (entry,) = verdicts(project.folder)["scenarios"]
    assert (entry["id"], entry["verdict"]) == (PLAYED[0], "pass")


def test_an_id_does_not_depend_on_what_pytest_was_asked_for(elsewhere: Any) -> None:
    done = elsewhere.python("-m", "pytest", "--pyargs", "lasttick.scenarios.journeys.test_long_call", "-q")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert [entry["id"] for entry in verdicts(elsewhere.folder)["scenarios"]] == [PLAYED[2]]
    again = elsewhere.lasttick("replay", "latest")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "1 the same" in again.stdout


def test_the_demo_needs_no_set_up(project: Any) -> None:
    done = project.lasttick("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lease/exclusive: one holder at every instant" in done.stdout


def test_the_requirements_name_the_packaged_scenarios(project: Any) -> None:
    done = project.lasttick("requirements", "--json")
    assert done.returncode == 0, done.stderr
    named = {name for entry in json.loads(done.stdout)["requirements"] for name in entry["scenarios"]}
    assert named == {claim.scenario for claim in collect_claims(ROOT / "scenarios")}
