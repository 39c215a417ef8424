"""The wheel holds all that a checkout runs with, and nothing that could collide with somebody else's packages."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

import lasttick

ROOT = Path(__file__).parents[2]
CARRIED = {
    "harness/lasttick": "lasttick",
    "fakes/lasttick_fakes": "lasttick_fakes",
    "scenarios": "lasttick/scenarios",
}


@pytest.mark.parametrize(("source", "target"), CARRIED.items(), ids=list(CARRIED))
def test_no_file_is_left_behind(wheel: Path, source: str, target: str) -> None:
    folder = ROOT / source
    wanted = {
        f"{target}/{file.relative_to(folder).as_posix()}"
        for file in folder.rglob("*")
        if file.is_file() and file.parent.name != "__pycache__"
    }
    assert wanted
    assert sorted(wanted - set(ZipFile(wheel).namelist())) == []


def test_it_installs_two_packages_and_no_more(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in ZipFile(wheel).namelist()}
    assert tops == {"lasttick", "lasttick_fakes", f"lasttick-{lasttick.__version__}.dist-info"}
