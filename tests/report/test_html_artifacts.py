"""Pictures in the report: inside the page, bounded, and only what really is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasttick.evidence import ScenarioResult
from lasttick.report import html_artifacts
from lasttick.report.html_artifacts import PICTURE_BYTES_MAX, PNG, artifacts_html, shown

PICTURE = PNG + b"rest"


def left(*names: str) -> ScenarioResult:
    return ScenarioResult("a/b/c", ("HA-17",), (), "pass", "", 0.1, 1.0, artifacts=names)


def html(folder: Path, result: ScenarioResult) -> str:
    return str(artifacts_html(folder, result, shown([result])) or "")


def test_a_picture_is_in_the_page_and_other_files_are_linked(tmp_path: Path) -> None:
    (tmp_path / "board.png").write_bytes(PICTURE)
    (tmp_path / "log.txt").write_text("<said>")
    page = html(tmp_path, left("board.png", "log.txt"))
    assert "data:image/png;base64,iVBORw0KGgpyZXN0" in page
    assert 'alt="board"' in page
    assert 'href="log.txt"' in page
    assert page.count("<img") == 1
    assert html(tmp_path, left()) == ""


@pytest.mark.parametrize("content", [b"<svg onload=alert(1)>", b"", PNG + bytes(PICTURE_BYTES_MAX), None])
def test_what_is_no_picture_too_large_or_gone_is_only_named(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "board.png").write_bytes(content)
    page = html(tmp_path, left("board.png"))
    assert "<img" not in page
    assert 'href="board.png"' in page


@pytest.mark.parametrize("name", ["../out.png", "/out.png", "a/../../out.png"])
def test_a_name_that_leads_out_is_neither_read_nor_linked(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "out.png").write_bytes(PICTURE)
    page = html(folder, left(name))
    assert "<img" not in page
    assert "href" not in page


def test_the_page_holds_so_many_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_artifacts, "PICTURES_MAX", 2)
    names = [f"{number}.png" for number in range(4)]
    for name in names:
        (tmp_path / name).write_bytes(PICTURE)
    assert html(tmp_path, left(*names)).count("<img") == 2
