"""What a forked child can be made to suffer, and what its parent learns of it."""

import os
from pathlib import Path

import pytest

from lasttick.targets.forked import NOBODY, Barrier, Forked, kill_at, meet_at_making


def test_the_parent_learns_how_it_ended() -> None:
    assert Forked(lambda: "done").wait().text == "done"
    failed = Forked(lambda: str(1 // 0)).wait()
    assert (failed.ok, failed.killed) == (False, False)
    assert "ZeroDivisionError" in failed.text


def test_it_dies_before_the_step_it_was_told(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "one").touch()
        (tmp_path / "two").touch()

    end = Forked(work, folder=tmp_path, step=kill_at(1)).wait()
    assert end.killed
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_write_past_the_limit_kills_it(tmp_path: Path) -> None:
    file = tmp_path / "file"

    def work() -> None:
        with file.open("wb", buffering=0) as out:
            out.write(b"12345")
            out.write(b"67890")

    assert Forked(work, file_bytes_max=7).wait().ok, "a short write is no error"
    assert Forked(work, file_bytes_max=5).wait().killed
    assert file.read_bytes() == b"12345"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_it_gives_up_the_rights_of_root(tmp_path: Path) -> None:
    assert "PermissionError" in Forked((tmp_path / "file").touch, uid=NOBODY).wait().text


def test_children_meet_before_either_makes_a_file(tmp_path: Path) -> None:
    def work() -> str:
        seen = (tmp_path / "file").exists()
        (tmp_path / "file").touch()
        return str(seen)

    barrier = Barrier(2)
    children = [Forked(work, folder=tmp_path, step=meet_at_making(barrier)) for _ in range(2)]
    barrier.open()
    assert [child.wait().text for child in children] == ["False", "False"]
    barrier.close()
