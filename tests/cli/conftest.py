"""The command in this process, and as a process of its own in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command() -> Command:
    """`command("run", "x", cwd=folder)`: exit code, standard output and standard error of a real process."""

    def call(*arguments: str, cwd: Path = PROJECT, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(PROJECT / "harness"), str(PROJECT / "fakes")])
        return subprocess.run(
            [sys.executable, "-m", "lasttick", *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100", "PYTEST_ADDOPTS": "", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call
