"""How do Node, the suite and the Inspector get onto this machine? By pip and npm, in exact versions, into one folder.

Both are asked as the user has set them up; which registry they use is their business. What is there already is left.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lasttick.conformance import toolbox
from lasttick.conformance.toolbox import INSPECTOR, INSPECTOR_PACKAGE, NODE_MIN, NODE_WHEEL, SUITE_PACKAGE, SUITES

STEP_S = 600.0
TAIL_LINES = 12
Say = Callable[[str], None]


class InstallFailed(Exception):
    """A step failed: which command, what it said last, what to do."""

    exit_code = 3


def install(folder: Path, say: Say) -> toolbox.Toolbox:
    """Everything that is missing in `folder`. Raises InstallFailed; what was installed by then stays."""
    there = toolbox.look(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if there.node is None:
        _node(folder, say)
    for version in SUITES:
        if version not in there.suites:
            _npm(f"{SUITE_PACKAGE}@{version}", toolbox.suite_root(folder, version), say)
    if there.inspector is None:
        _npm(f"{INSPECTOR_PACKAGE}@{INSPECTOR}", toolbox.inspector_root(folder), say)
    there = toolbox.look(folder)
    if (lacks := there.lacks(*SUITES, inspector=True)) is not None:
        raise InstallFailed(f"installed, and still {lacks}")
    return there


def _node(folder: Path, say: Say) -> None:
    root = toolbox.python_root(folder)
    say(f"{NODE_WHEEL} with pip, into {root}")
    python = root / "bin" / "python"
    _run([sys.executable, "-m", "venv", str(root)], "a Python that can make virtual environments (venv, ensurepip)")
    _run(
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE_WHEEL],
        f"a registry that pip reaches, or Node {NODE_MIN} or newer on PATH",
    )


def _npm(package: str, root: Path, say: Say) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailed(
            f"there is no npm on PATH to install {package}\n  expected: the npm of any Node (the one in {NODE_WHEEL} "
            "does not start by itself)\n  next: install Node with npm by your system's packages, and run this again"
        )
    say(f"{package} with npm, into {root}")
    root.mkdir(parents=True, exist_ok=True)
    _run(
        [npm, "install", "--no-audit", "--no-fund", "--no-save", "--loglevel", "error", "--prefix", str(root), package],
        "a registry that npm reaches",
    )


def _run(command: Sequence[str], expected: str) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=STEP_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallFailed(_told(command, str(error), expected)) from None
    if done.returncode != 0:
        tail = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[-TAIL_LINES:])
        raise InstallFailed(_told(command, f"exit code {done.returncode}:\n    {tail}", expected))


def _told(command: Sequence[str], what: str, expected: str) -> str:
    line = " ".join(command)
    return f"`{line}` failed: {what}\n  expected: {expected}\n  next: run that command by hand, mend it, and try again"
