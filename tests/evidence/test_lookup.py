"""Which run is meant, and what it holds, also when an older lasttick wrote it or nobody should trust it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lasttick.evidence import (
    EvidenceError,
    ScenarioResult,
    find_run,
    read_catalogue,
    read_manifest,
    recorded_events,
    run_argument,
)

NAME = "20260102T120000Z-ab12"


def test_a_run_has_three_names(make_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run()
    monkeypatch.chdir(folder.parents[2])
    for name in ("latest", NAME, f"reports/runs/{NAME}", "reports/latest", str(folder)):
        assert find_run(name) == folder
        assert run_argument(find_run(name)) == NAME


def test_a_run_elsewhere_is_named_by_its_folder(
    make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run()
    monkeypatch.chdir(tmp_path / "reports")
    assert run_argument(folder) == f"runs/{NAME}"
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert run_argument(folder) == str(folder)


def test_an_unknown_run_says_which_there_are(
    make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvidenceError, match="there is no run in reports/runs"):
        find_run("latest")
    make_run()
    with pytest.raises(EvidenceError, match=f"no run '20200101T000000Z-x'[^$]*the newest there: {NAME}"):
        find_run("20200101T000000Z-x")


def test_the_manifest_comes_back(make_run: Callable[..., Path]) -> None:
    manifest = read_manifest(make_run())
    assert (manifest.run, manifest.seed, manifest.mode, manifest.examples_max) == (NAME, 7, "virtual", None)
    assert manifest.targets == {"hostagent": "reference"}
    assert "mcp" in manifest.versions


def test_a_manifest_of_an_older_lasttick(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    document = json.loads((folder / "manifest.json").read_text())
    del document["run"], document["examples_max"]
    (folder / "manifest.json").write_text(json.dumps(document))
    assert read_manifest(folder).run == NAME


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "can not be read"),
        ("{", "has another shape"),
        ("[]", "has another shape"),
        ('{"version": 9}', "version 9"),
        ('{"version": 1}', "'started'"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(EvidenceError, match=says):
        read_manifest(tmp_path)


def test_the_catalogue_comes_back(make_run: Callable[..., Path]) -> None:
    folder = make_run()
    assert read_catalogue(folder) == {"HA-05": "At most one holder."}
    (folder / "catalogue.json").write_text("{}")
    with pytest.raises(EvidenceError, match=r"catalogue\.json can not be read"):
        read_catalogue(folder)
    (folder / "catalogue.json").unlink()
    assert read_catalogue(folder) == {}


@pytest.mark.parametrize("path", ["/etc/passwd", "traces/../../x"])
def test_a_trace_outside_the_run_is_not_read(tmp_path: Path, path: str) -> None:
    result = ScenarioResult("a/b/c", ("HA-01",), (), "pass", "", 0.0, 0.0, trace=path)
    with pytest.raises(EvidenceError, match="a path that stays in the run folder"):
        recorded_events(tmp_path, result)


def test_no_trace_has_no_events(tmp_path: Path) -> None:
    assert recorded_events(tmp_path, ScenarioResult("a/b/c", ("HA-01",), (), "pass", "", 0.0, 0.0)) == []
