"""A folder `scenarios` may be the project's, or of quite another tool: `lasttick` plays its own shipped ones then."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasttick.requirements import CatalogueError, collect_claims, scenarios_folder

ROOT = Path(__file__).parents[2]
BDD = 'from pytest_bdd import scenario\n\n@scenario("login.feature", "A wrong password")\ndef test_login(): ...\n'


def write(project: Path, name: str, content: bytes) -> None:
    path = project / "scenarios" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("__init__.py", b""),
        ("load/peak.yaml", b"users: 100\n"),
        ("test_login.py", BDD.encode()),
        ("test_login.py", b"from lastticket import scenario\n"),
        ("test_login.py", b"\xff\xfe\x00"),
        ("helpers.py", b"# lasttick reads test files only\n"),
    ],
)
def test_another_tools_folder_is_left_alone(tmp_path: Path, name: str, content: bytes) -> None:
    write(tmp_path, name, content)
    assert scenarios_folder(tmp_path) == ROOT / "scenarios"


@pytest.mark.parametrize(
    "content",
    [
        b"from lasttick import World, scenario\n",
        b"import lasttick\n",
        b'from ours import scenario\n@scenario("HA-06")\nasync def test_x(world): ...\n',
        b"@scenario(\n    'HA-06', 'HA-05')\nasync def test_x(world): ...\n",
    ],
)
def test_one_scenario_makes_it_the_projects(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "load/test_peak.py", BDD.encode())
    write(tmp_path, "own/deep/test_story.py", content)
    assert scenarios_folder(tmp_path) == tmp_path / "scenarios"


def test_an_empty_folder_is_the_projects_to_fill(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    assert scenarios_folder(tmp_path) == tmp_path / "scenarios"


def test_no_folder_at_all(tmp_path: Path) -> None:
    assert scenarios_folder(tmp_path) == ROOT / "scenarios"
    (tmp_path / "scenarios").write_text("a file\n")
    assert scenarios_folder(tmp_path) == ROOT / "scenarios"


@pytest.mark.parametrize("content", [b"from lasttick import scenario\ndef broken(:\n", b"# lasttick \xff\n"])
def test_a_scenario_that_can_not_be_parsed_is_named_not_passed_over(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "test_broken.py", content)
    with pytest.raises(CatalogueError, match=r"test_broken\.py can not be read"):
        collect_claims(scenarios_folder(tmp_path))


def test_a_scenario_that_can_not_be_opened_is_named_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "test_gone.py").symlink_to(tmp_path / "nowhere.py")
    with pytest.raises(CatalogueError, match=r"test_gone\.py can not be read"):
        collect_claims(scenarios_folder(tmp_path))
