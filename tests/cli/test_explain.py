"""`explain` and `requirements`, on a small project with two scenarios and one mutant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from lasttick.cli import execute

SCENARIOS = '''
@scenario("HA-06")
async def test_free_exactly_at_ttl(world):
    """Held until t + TTL, free at it.

    More that is not shown.
    """

@scenario("HA-06", "HA-05")
async def test_long_call(world): ...
'''
TEXT = """
HA-06  (hostagent)
  A lease last used at t is held for every time before t + TTL and free from t + TTL on, in every
  operation; a call in flight pins it; wall-clock shifts change nothing, and suspended time does not
  count.
  source: seed 002, rows 9-10; rulings 1, 3, 4, 5
  laws: lease/outlives-long-call, lease/expires-exactly, lease/clock-proof
scenarios:
  hostagent/lease/free-exactly-at-ttl
      Held until t + TTL, free at it.
  hostagent/lease/long-call
mutants:
  hostagent/lease-expires-mid-call
      Forgets the calls in flight.
"""


@dataclass(frozen=True)
class Mutant:
    id: str = "hostagent/lease-expires-mid-call"
    breaks: str = "HA-06"
    text: str = "Forgets the calls in flight."


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "scenarios" / "hostagent" / "test_lease.py"
    file.parent.mkdir(parents=True)
    file.write_text(SCENARIOS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lasttick.mutants.catalogue", lambda: [Mutant()])
    return tmp_path


@pytest.mark.parametrize("id_", ["HA-06", "ha-06"])
def test_a_requirement(capsys: pytest.CaptureFixture[str], id_: str) -> None:
    assert execute(["explain", id_]) == 0
    assert capsys.readouterr().out.strip("\n") == TEXT.strip("\n")


def test_a_requirement_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["explain", "HA-05", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document) == ["version", "id", "system", "laws", "text", "source", "scenarios", "mutants", "planned"]
    assert document["scenarios"] == ["hostagent/lease/long-call"]
    assert document["mutants"] == []
    assert document["planned"] is None


def test_a_law_is_shown_by_its_requirements(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["explain", "lease/expires-exactly"]) == 0
    text = capsys.readouterr().out
    assert "requirements: HA-06" in text
    assert "hostagent/lease/long-call" in text
    assert execute(["explain", "lease/expires-exactly", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requirements"] == ["HA-06"]


def test_nothing_speaks_for_it_yet(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["explain", "GW-19"]) == 0
    text = capsys.readouterr().out
    assert "planned: the real agent" in text
    assert "scenarios: none\nmutants: none" in text


def test_requirements_as_json_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["requirements", "--json"]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert list(document) == ["version", "requirements"]
    assert document["version"] == 1
    assert len(document["requirements"]) == 85
    keys = ["id", "system", "laws", "text", "source", "scenarios", "mutants", "planned"]
    assert all(list(entry) == keys for entry in document["requirements"])
    by_id = {entry["id"]: entry for entry in document["requirements"]}
    assert by_id["HA-06"]["mutants"] == ["hostagent/lease-expires-mid-call"]
    assert "lasttick: HA-01 has no scenario and is not planned" in told.err


def test_requirements_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["requirements"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "HA-06  scenarios: 2, mutants: 1" in lines
    assert "GW-19  planned: the real agent" in lines


def test_a_broken_scenario_file_is_one_message(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "scenarios" / "test_broken.py").write_text("def broken(:\n")
    for arguments in (["explain", "HA-06"], ["requirements"], ["run"]):
        assert execute(arguments) == 2
        message = capsys.readouterr().err
        assert message.startswith("lasttick: test_broken.py can not be read: ")
        assert "\n  next: correct test_broken.py" in message
