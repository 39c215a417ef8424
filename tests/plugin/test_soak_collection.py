"""A soak is collected when it is named, however it is named, and never by the way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.plugin.conftest import Project

from lasttick.soak_collection import left_out

ONE = """
@scenario("HA-18")
async def test_{name}(world: World) -> None: ...
"""


@pytest.fixture
def soaks(project: Project) -> Project:
    project.write(ONE.format(name="short"))
    folder = project.path / "scenarios" / "soak"
    folder.mkdir()
    (folder / "test_long.py").write_text("from lasttick import World, scenario\n" + ONE.format(name="long"))
    for package in (project.path / "scenarios", folder, project.path / "scenarios" / "own"):
        (package / "__init__.py").touch()
    return project


def collected(project: Project, *arguments: str) -> list[str]:
    result = project.pytester.runpytest_inprocess("--collect-only", "-q", *arguments)
    lines = (line for line in result.stdout.lines if "::" in line)
    return sorted(line.rpartition("::")[2].removeprefix("test_") for line in lines)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["scenarios"], ["short"]),
        (["scenarios", "scenarios/soak/test_long.py::test_long"], ["long", "short"]),
        (["--pyargs", "scenarios.soak"], ["long"]),
    ],
)
def test_a_soak_is_collected_only_when_it_is_named(
    soaks: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: list[str]
) -> None:
    monkeypatch.syspath_prepend(str(soaks.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "scenarios"]:
        monkeypatch.delitem(sys.modules, name)  # this project's own, if a test before has loaded them
    assert collected(soaks, *arguments) == expected


@pytest.mark.parametrize(
    ("argument", "start", "expected"),
    [
        ("scenarios", "", True),
        (".", "", True),
        ("scenarios/own", "", True),
        ("scenarios/soaked", "", True),
        ("scenarios/soak", "", False),
        ("scenarios/soak/", "", False),
        ("scenarios/soak/test_long.py::test_long[soak]", "", False),
        (".", "scenarios/soak", False),
        ("../soak/test_long.py", "scenarios/own", False),
    ],
)
def test_a_path_names_it_from_wherever_it_starts(tmp_path: Path, argument: str, start: str, expected: bool) -> None:
    for folder in ("own", "soak", "soaked"):
        (tmp_path / "scenarios" / folder).mkdir(parents=True)
    assert left_out(tmp_path / "scenarios" / "soak", [argument], tmp_path / start, modules=False) == expected


def test_a_packages_own_name_need_not_be_where_it_lies(tmp_path: Path) -> None:
    folder = tmp_path / "checkout" / "scenarios" / "soak"
    folder.mkdir(parents=True)
    assert not left_out(folder, ["lasttick.scenarios.soak"], tmp_path, modules=True)
    assert not left_out(folder, ["lasttick.scenarios.soak.test_hostagent"], tmp_path, modules=True)
    assert left_out(folder, ["lasttick.scenarios.hostagent"], tmp_path, modules=True)
    assert left_out(folder, ["lasttick.scenarios.soak"], tmp_path, modules=False)


def test_a_file_of_that_name_is_no_soak(tmp_path: Path) -> None:
    (tmp_path / "soak").touch()
    assert not left_out(tmp_path / "soak", ["elsewhere"], tmp_path, modules=False)
