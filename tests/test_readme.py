"""The README shows what the command really prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lasttick.cli import execute

ROOT = Path(__file__).parents[1]


def test_the_readme_shows_the_demos_real_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert execute(["demo"]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.strip().splitlines())
    shown = re.search(r"<!-- demo.*?-->\n```\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert printed == shown.group(1), "run `lasttick demo` and put its output into the README"


def test_the_replay_command_of_the_demo_works(tmp_path: Path) -> None:
    command = re.search(r"replay: lasttick (run \S+ --target \S+)", (ROOT / "README.md").read_text())
    assert command is not None
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    done = subprocess.run(
        [sys.executable, "-m", "lasttick", *command.group(1).split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert "two holders of phone-1" in done.stdout
