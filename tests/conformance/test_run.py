"""`lasttick conformance mcp` with the real suite, where it is installed."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from lasttick.cli import execute
from lasttick.conformance import own, play, toolbox

BOX = toolbox.look(toolbox.folder_of(os.environ))
NEWEST = toolbox.SUITES[-1]


def judged(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> Any:
    if (lacks := BOX.lacks(NEWEST)) is not None:
        pytest.skip(lacks)
    assert execute(["conformance", "mcp", "--json", "--suite", NEWEST, *arguments]) == code
    return json.loads(capsys.readouterr().out)


def test_the_vault_server_passes_what_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    said = judged(capsys, "--system", "vaultclaw", code=0)
    assert (said["version"], said["system"], said["verdict"]) == (1, "vaultclaw", "pass")
    (run,) = said["runs"]
    assert (run["revision"], run["required"], run["required_passed"]) == ("2025-11-25", 3, 3)


def test_a_wrong_host_agent_fails_where_it_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "WAYS", (play.SHUT,))
    wrong = "hostagent/failed-tool-is-protocol-error"
    said = judged(capsys, "--revision", "2026-07-28", "--mutant", wrong, code=1)
    assert [run["verdict"] for run in said["runs"]] == ["fail"]
    red = {one["name"] for run in said["runs"] for one in run["scenarios"] if one["verdict"] == "fail"}
    assert red == {"tools-call-error"}
    assert [one["id"] for one in said["own"] if one["verdict"] == "fail"] == [f"error-text/{era}" for era in own.ERAS]
