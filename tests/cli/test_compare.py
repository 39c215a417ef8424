"""`lasttick compare`: what it says, and its exit codes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick.cli import execute
from lasttick.compare.sides import own_command


def test_without_a_peer_it_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", "vaultclaw", "--json"]) == 4
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "inconclusive"
    assert "no peer was given" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["gateway", "--peer", "true"],
        ["vaultclaw", "--peer", "no-such-program-anywhere"],
        ["vaultclaw", "--peer", "'"],
        ["vaultclaw", "--peer", "true", "--calls", "-1"],
        ["vaultclaw", "--peer", "true", "--callers", "1000"],
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", *arguments]) == 2
    assert "expected:" in capsys.readouterr().err


def test_a_corpus_of_nothing_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", "vaultclaw", "--peer", "true", "--only", "no-such-script"]) == 4
    assert "no-such-script" in capsys.readouterr().err


def test_a_peer_that_does_not_start_is_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["compare", "vaultclaw", "--peer", "false", "--only", "session/life", "--callers", "0"]) == 3
    assert "did not start" in capsys.readouterr().err


def compared(capsys: pytest.CaptureFixture[str], peer: str, only: str, *, code: int, callers: int = 0) -> Any:
    arguments = ["compare", "vaultclaw", "--peer", peer, "--only", only, "--callers", str(callers), "--json"]
    assert execute(arguments) == code
    return json.loads(capsys.readouterr().out)


def test_the_same_program_is_alike_and_both_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    told = compared(capsys, own_command(), "session/life", code=0, callers=2)
    assert (told["version"], told["verdict"], told["uncovered"]) == (1, "pass", [])
    assert told["equal"] == told["steps"] > 5
    assert [one["id"] for one in told["figures"]] == ["connector_execute_job_p50", "connector_execute_job_p99"]
    assert all(one["median"] > 0 and one["floor"] > 0 and one["ratio"] > 0 for one in told["figures"])


def test_a_reading_of_a_ruling_passes_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = compared(capsys, f"{own_command()} --mutant vaultclaw/follow-up-beats-attachment-default", "/6-", code=0)
    assert [one["ruling"] for one in told["rulings"] if one["shown"]] == ["6"]
    assert "1" in told["unexercised"]


def test_a_difference_without_a_ruling_fails(capsys: pytest.CaptureFixture[str]) -> None:
    told = compared(capsys, f"{own_command()} --mutant vaultclaw/tie-takes-the-first", "examples/routes", code=1)
    assert {one["step"] for one in told["uncovered"]} == {
        "examples/routes#9 route_resolve",
        "examples/routes#10 route_resolve",
    }
