"""What does `lasttick mutants run` say at its end, and when is it red?"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from lasttick.cli.errors import FAILED, PASSED
from lasttick.mutants import Mutant, catalogue
from lasttick.requirements import load_catalogue
from lasttick.sweep.kills import Fate

COMMAND = importlib.import_module("lasttick.cli.mutants")  # `lasttick.cli` has a group of commands of that name
CLAIMS = {"hostagent/a": ("HA-01",), "gateway/b": ("GW-01", "GW-02")}


def played(monkeypatch: pytest.MonkeyPatch, *, survivor: str | None = None, blunt: str | None = None) -> list[str]:
    """The command without the play: every mutant is killed by a scenario of its own, but `survivor`. The systems asked
    for."""
    systems: list[str] = []

    def of_system(system: str, of: Sequence[Mutant], **_: Any) -> Any:
        systems.append(system)
        return [
            Fate(one.id, one.breaks, one.id != survivor, (f"{system}/killer",), (), one.id == blunt) for one in of
        ], {id_: ids for id_, ids in CLAIMS.items() if id_.startswith(system)}

    monkeypatch.setattr(COMMAND, "_of_system", of_system)
    return systems


def run(pattern: str | None, *, as_json: bool = False) -> Any:
    return COMMAND.run_mutants(pattern, seed=1, workers="1", as_json=as_json)


def test_without_a_pattern_every_system_is_played_and_what_no_mutant_shows_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = played(monkeypatch)
    assert run(None) == PASSED
    assert systems == ["gateway", "hostagent", "lineup", "vaultclaw"]
    said = capsys.readouterr().err
    assert "unproven claim: gateway/b on GW-02" in said
    count = len(catalogue())
    assert f"lasttick: {count} of {count} mutants killed, 3 claims unproven" in said


def test_with_a_pattern_nothing_is_said_of_claims(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert played(monkeypatch) == []
    assert run("gateway/redaction-off") == PASSED
    said = capsys.readouterr().err
    assert "lasttick: 1 of 1 mutants killed\n" in said
    assert "claim" not in said


@pytest.mark.parametrize(
    ("wrong", "said"), [("survivor", "survived: no scenario of GW-09 turned red"), ("blunt", "is too blunt")]
)
def test_a_survivor_and_a_blunt_one_are_red_and_named(
    wrong: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played(monkeypatch, **{wrong: "gateway/redaction-off"})
    assert run("gateway/*", as_json=True) == FAILED
    out, err = capsys.readouterr()
    assert f"lasttick: gateway/redaction-off {said}" in err
    (told,) = [one for one in json.loads(out)["mutants"] if one["id"] == "gateway/redaction-off"]
    assert (told["killed"], told["too_blunt"]) == (wrong != "survivor", wrong == "blunt")


def test_a_requirement_in_scope_without_a_mutant_is_red(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    played(monkeypatch)
    left = [one for one in catalogue() if one.breaks != "GW-16"]
    monkeypatch.setattr("lasttick.mutants.catalogue", lambda: left)
    assert run(None) == FAILED
    assert "lasttick: GW-16 has no mutant" in capsys.readouterr().err
    assert load_catalogue()["GW-16"].planned is None
