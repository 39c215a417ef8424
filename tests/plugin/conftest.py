"""Scenarios of a small project of its own, played by pytest with the plugin in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

# A run inside this process forgets what it imported, and would import all of this again.
import lasttick.explore.bridge
import lasttick.report
import lasttick.targets.verdict
import lasttick.targets.virtual  # noqa: F401

REPOSITORY = Path(__file__).parents[2]
HEAD = """
import asyncio
import pytest
from hypothesis import example, given, settings, strategies as st
from lasttick import World, scenario
"""


class Ran:
    """One run of a project: what pytest said, and what is in the run folder."""

    def __init__(self, result: pytest.RunResult, project: Path) -> None:
        self.code = int(result.ret)
        self.out = result.stdout.str()
        self.err = result.stderr.str()
        # Where `latest` points now: the next run will move it.
        self.folder = (project / "reports" / "latest").resolve()

    @property
    def verdicts(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "verdicts.json").read_text()))

    @property
    def scenarios(self) -> dict[str, dict[str, Any]]:
        """The entries of verdicts.json by the last word of their id."""
        return {entry["id"].rpartition("/")[2]: entry for entry in self.verdicts["scenarios"]}

    @property
    def words(self) -> dict[str, str]:
        return {name: entry["verdict"] for name, entry in self.scenarios.items()}

    @property
    def hashes(self) -> dict[str, str]:
        return {name: entry["trace_sha256"] for name, entry in self.scenarios.items()}

    def events(self, name: str) -> list[dict[str, Any]]:
        """The trace of one scenario as it stands in the run folder."""
        path = self.folder / self.scenarios[name]["trace"]
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _as_at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest prints longer summaries where these are set, and the tests count what it says."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


class Project:
    """A folder with `scenarios/own/`; run it as often as needed."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makeini("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")

    def write(self, source: str, name: str = "story") -> None:
        """`scenarios/own/test_<name>.py`, the usual imports above."""
        file = self.path / "scenarios" / "own" / f"test_{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEAD + source)

    def run(self, *arguments: str) -> Ran:
        """Inside this process, which is quick."""
        return Ran(self.pytester.runpytest_inprocess("scenarios", *arguments), self.path)

    def run_apart(self, *arguments: str) -> Ran:
        """In a process of its own, which costs two seconds."""
        return Ran(self.pytester.runpytest_subprocess("scenarios", *arguments), self.path)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY / "harness"), str(REPOSITORY / "fakes")]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    # Without compiled files every child would compile all it imports again, for seconds.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return Project(pytester)
