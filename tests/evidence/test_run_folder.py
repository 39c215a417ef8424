"""The run folder: whole files under the documented names, a pointer at the newest, and not more than twenty kept."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from lasttick.evidence import EvidenceError, RunFolder, ScenarioResult, read_verdicts

UTC_NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
KEYS = ["version", "run", "started", "seed", "mode", "examples_max", "targets", "command_line", "versions"]
FILES = ["SHA256SUMS", "junit.xml", "manifest.json", "verdicts.json"]
RESULT = ScenarioResult("a/b/c", ("HA-01",), (), "pass", "", 0.1, 1.0)


def test_a_whole_run(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, utc=UTC_NOON, short_id="ab12")
    assert folder.path == tmp_path / "runs" / "20260102T120000Z-ab12"
    folder.write_manifest(
        seed=7, mode="virtual", started=UTC_NOON, command_line=["lasttick", "run"], targets={"hostagent": "reference"}
    )
    folder.finish([RESULT], seed=7, mode="virtual")
    assert os.readlink(tmp_path / "latest") == "runs/20260102T120000Z-ab12"
    assert read_verdicts(tmp_path / "latest").counts["pass"] == 1
    manifest = json.loads((tmp_path / "latest" / "manifest.json").read_text())
    assert list(manifest) == KEYS
    assert manifest["started"] == "2026-01-02T12:00:00Z"
    assert {"python", "lasttick", "mcp"} <= set(manifest["versions"])
    assert sorted(path.name for path in folder.path.iterdir()) == FILES


def test_the_name_is_utc(tmp_path: Path) -> None:
    there = UTC_NOON.astimezone(timezone(timedelta(hours=9)))
    assert RunFolder.create(tmp_path, utc=there, short_id="x").path.name == "20260102T120000Z-x"


def test_latest_moves_and_twenty_are_kept(tmp_path: Path) -> None:
    (tmp_path / "runs" / "my own notes").mkdir(parents=True)
    for number in range(23):
        folder = RunFolder.create(tmp_path, utc=UTC_NOON + timedelta(seconds=number), short_id="x")
        folder.finish([RESULT], seed=number, mode="virtual")
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert names[-1] == "my own notes"
    assert len(names) == 21
    assert names[0] == "20260102T120003Z-x"
    assert read_verdicts(tmp_path / "latest").seed == 22
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "runs"]


def test_a_linked_run_is_never_dropped_through(tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    kept.mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "20200101T000000Z-x").symlink_to(kept)
    for number in range(21):
        folder = RunFolder.create(tmp_path, utc=UTC_NOON + timedelta(seconds=number), short_id="x")
        folder.finish([RESULT], seed=1, mode="virtual")
    assert kept.is_dir()


def test_the_same_folder_twice_is_refused(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, utc=UTC_NOON, short_id="x")
    with pytest.raises(EvidenceError, match="exists already"):
        RunFolder.create(tmp_path, utc=UTC_NOON, short_id="x")


def test_a_short_id_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="letters and digits"):
        RunFolder.create(tmp_path, utc=UTC_NOON, short_id="../x")


def test_a_reports_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("")
    with pytest.raises(EvidenceError) as caught:
        RunFolder.create(tmp_path / "reports", utc=UTC_NOON, short_id="x")
    assert "can not be written: Not a directory" in str(caught.value)
    assert "\n  next: " in str(caught.value)


def test_latest_that_is_somebodys_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "latest" / "mine").write_text("kept")
    folder = RunFolder.create(tmp_path, utc=UTC_NOON, short_id="x")
    with pytest.raises(EvidenceError, match="can not be pointed at this run"):
        folder.finish([RESULT], seed=1, mode="virtual")
    assert (tmp_path / "latest" / "mine").read_text() == "kept"
    assert read_verdicts(folder.path).seed == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "runs"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder.create(tmp_path, utc=UTC_NOON, short_id="x")
    folder.finish([RESULT], seed=1, mode="virtual")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lasttick.evidence.files.os.replace", full)
    with pytest.raises(EvidenceError, match="No space left"):
        folder.finish([RESULT], seed=2, mode="virtual")
    monkeypatch.undo()
    assert read_verdicts(folder.path).seed == 1
    assert not list(folder.path.glob(".*"))
