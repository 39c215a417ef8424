"""`lasttick init`: a profile that runs, a schema for editors, and nothing of the user's overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lasttick.cli import execute
from lasttick.laws.profiles.init import profile_text, profiles


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", profiles())
def test_a_profile_and_what_to_set(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["init", "--profile", name]) == 0
    assert (tmp_path / "lasttick.toml").read_text() == profile_text(name)
    told = capsys.readouterr().out
    assert told.startswith("lasttick.toml is written\nnext: set ")
    assert told.endswith(", then lasttick check --plan\n")


def test_the_variables_without_a_default_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    execute(["init", "--profile", "seed-hostagent", "--out", "mine.toml"])
    assert capsys.readouterr().out == (
        "mine.toml is written\nnext: set LASTTICK_TARGET_URL, LASTTICK_TOKEN, then lasttick check --config mine.toml "
        "--plan\n"
    )


def test_the_help_names_every_profile(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    execute(["init", "--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in profiles())


def test_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["init", "--schema"]) == 0
    assert "lease" in json.loads((tmp_path / "lasttick.schema.json").read_text())["properties"]
    assert "#:schema ./lasttick.schema.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no profile is named"),
        (["--profile", "lease-que"], "there is no profile 'lease-que'"),
        (["--profile", "lease-queue", "--schema"], "--profile and --schema are two files"),
        (["--profile", "lease-queue", "--out", "none/x.toml"], "none/x.toml can not be written"),
    ],
)
def test_what_cannot_be_is_exit_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["init", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"lasttick: {said}")
    assert "\n  expected: " in told
    assert "\n  next: " in told


def test_a_file_of_the_user_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lasttick.toml").write_text("mine")
    assert execute(["init", "--profile", "lease-queue"]) == 2
    assert (tmp_path / "lasttick.toml").read_text() == "mine"
    assert "lasttick.toml is there already" in capsys.readouterr().err
