"""Scenarios are found in the source: nothing is imported, so a file that would not import still answers."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from lasttick.requirements import CatalogueError, collect_claims, matches, nearby, scenario_id, scenarios_folder

SOURCE = '''
import a_module_that_does_not_exist
import lasttick
from lasttick import scenario

@scenario("HA-06", "HA-05", rung="memory")
@given(ticks=st.integers())
async def test_free_exactly_at_ttl(world, ticks):
    """A phone last used at t is held until t + TTL.

        One tick before, a second agent is refused.
    """

@lasttick.scenario("HA-04")
def test_second_session_is_busy(world): ...

def test_not_a_scenario(): ...
'''


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_claims_are_read_without_importing(tmp_path: Path) -> None:
    write(tmp_path, "hostagent/test_lease.py", SOURCE)
    write(tmp_path, "hostagent/helpers.py", SOURCE)
    first, second = collect_claims(tmp_path)
    assert first.scenario == "hostagent/lease/free-exactly-at-ttl"
    assert first.ids == ("HA-06", "HA-05")
    assert first.where == "hostagent/test_lease.py:8"
    assert first.text.splitlines()[0] == "A phone last used at t is held until t + TTL."
    assert (second.scenario, second.ids, second.text) == ("hostagent/lease/second-session-is-busy", ("HA-04",), "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", "can not be read"),
        ("@scenario(*IDS)\ndef test_x(): ...\n", "test_a.py:2: the ids of this scenario can not be read"),
        ("@scenario()\ndef test_x(): ...\n", "@scenario()"),
        ("@scenario\ndef test_x(): ...\n", "@scenario"),
        ("@scenario(6)\ndef test_x(): ...\n", "@scenario(6)"),
    ],
)
def test_a_scenario_that_can_not_be_read(tmp_path: Path, text: str, says: str) -> None:
    write(tmp_path, "test_a.py", text)
    with pytest.raises(CatalogueError) as caught:
        collect_claims(tmp_path)
    assert says in str(caught.value)
    assert "\n  next: " in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogueError, match=r"test_a\.py can not be read"):
        collect_claims(tmp_path)


def test_the_projects_scenarios_come_first(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    assert scenarios_folder(tmp_path) == tmp_path / "scenarios"


def test_ids() -> None:
    assert scenario_id(PurePath("hostagent/test_lease.py"), "test_free_at_ttl") == "hostagent/lease/free-at-ttl"
    assert scenario_id(PurePath("a_b/c/test_d_e.py"), "test_f[g_h/i]") == "a-b/c/d-e/f[g_h/i]"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("hostagent/lease/free-at-ttl", True),
        ("lease", True),
        ("hostagent/*/free-*", True),
        ("*-at-ttl", True),
        ("free-at-ttl[ticks-1]", True),
        ("busy", False),
        ("lease/*", False),
        ("other[x]", False),
    ],
)
def test_patterns(pattern: str, expected: bool) -> None:
    assert matches(pattern, "hostagent/lease/free-at-ttl") is expected


def test_a_pattern_with_parameters_matches_the_very_one() -> None:
    assert matches("x[a-1]", "hostagent/x[a-1]")
    assert not matches("x[a-1]", "hostagent/x[a-2]")


def test_nearby_ids() -> None:
    ids = ["hostagent/lease/free-exactly-at-ttl", "hostagent/token/created-once", "HA-06"]
    assert nearby("hostagent/lease/free-at-ttl", ids)[0] == ids[0]
    assert nearby("created-onc", ids)[0] == ids[1]
    assert nearby("zzzz", ids) == []
