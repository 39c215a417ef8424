"""`lasttick conformance` without the suite: what it refuses, and what it says when there is nothing to run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lasttick.cli import execute


@pytest.mark.parametrize(
    "arguments",
    [
        ["--system", "gateway"],
        ["--suite", "9.9"],
        ["--revision", "1999-01-01"],
        ["--mutant", "hostagent/no-such-thing"],
        ["--system", "vaultclaw", "--mutant", "hostagent/error-as-tool-result"],
        ["--system", "vaultclaw", "--revision", "2026-07-28"],
        ["--suite", "0.1.16", "--revision", "2026-07-28"],
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["conformance", "mcp", *arguments]) == 2
    err = capsys.readouterr().err
    assert "expected:" in err
    assert "next:" in err


def test_without_the_suite_nothing_runs_and_the_way_to_get_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["conformance", "mcp", "--json", "--tools", str(tmp_path)]) == 4
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert (said["version"], said["verdict"], said["runs"]) == (1, "inconclusive", [])
    assert "lasttick conformance install" in err
    assert str(tmp_path) in err


def test_an_installation_that_fails_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho v24.0.0\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert execute(["conformance", "install", "--tools", str(tmp_path / "tools")]) == 3
    assert "no npm on PATH" in capsys.readouterr().err
