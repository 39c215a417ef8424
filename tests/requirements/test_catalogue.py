"""The shipped catalogue says what the contract says, and a broken one says what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasttick.requirements import CatalogueError, load_catalogue

GOOD = 'version = 1\nsystem = "hostagent"\n[HA-01]\ntext = "Holds."\nsource = ["seed 002"]\nlaws = []\n'


def test_the_shipped_catalogue_is_whole() -> None:
    catalogue = load_catalogue()
    gateway = [f"GW-{number:02d}" for number in range(1, 21)]
    hostagent = [f"HA-{number:02d}" for number in range(1, 24)]
    lineup = [f"LU-{number:02d}" for number in range(1, 20)]
    vaultclaw = [f"VC-{number:02d}" for number in range(1, 24)]
    assert [entry.id for entry in catalogue.requirements] == [*gateway, *hostagent, *lineup, *vaultclaw]
    assert len(catalogue.laws) == 31
    planned = {entry.id: entry.planned for entry in catalogue.requirements if entry.planned not in (None, "gateway")}
    assert list(planned) == ["GW-19", "LU-18"]
    assert {law.planned for law in catalogue.laws} == {None}
    assert "HA-06" in catalogue
    assert "HA-99" not in catalogue


def test_laws_of_a_claim_leave_planned_ones_out(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD.replace("laws = []", 'laws = ["lease/built", "lease/later"]'))
    (tmp_path / "laws.toml").write_text(
        'version = 1\nsystem = "laws"\n["lease/built"]\ntext = "T"\nsource = ["s"]\n'
        '["lease/later"]\ntext = "T"\nsource = ["s"]\nplanned = "laws"\n'
    )
    catalogue = load_catalogue(tmp_path)
    assert catalogue.laws_of(["HA-01"]) == ("lease/built",)
    assert catalogue.laws_of(["lease/built", "HA-01"]) == ("lease/built",)
    assert catalogue.requirements_of_law("lease/later") == ("HA-01",)
    with pytest.raises(KeyError):
        catalogue.laws_of(["HA-02"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version = ", "can not be read"),
        (GOOD.replace("version = 1", "version = 2"), "version is 2"),
        (GOOD.replace('system = "hostagent"', "system = 3"), "system is 3"),
        (GOOD.replace("HA-01", "HA-1"), "HA-1: this is no id"),
        (GOOD.replace('"Holds."', '""'), "text is ''"),
        (GOOD.replace('["seed 002"]', "[]"), "source is []"),
        (GOOD.replace('["seed 002"]', '"seed 002"'), "source is 'seed 002'"),
        (GOOD.replace("laws = []", ""), "laws is None"),
        (GOOD + "ruling = 1\n", "unknown field 'ruling'"),
        (GOOD + 'planned = ""\n', "planned is ''"),
        (GOOD.replace("laws = []", 'laws = ["lease/none"]'), "laws names 'lease/none'"),
        ('version = 1\nsystem = "hostagent"\nHA-01 = 3\n', "the value is 3"),
    ],
)
def test_a_bad_catalogue_says_what_and_where(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "hostagent.toml").write_text(text)
    with pytest.raises(CatalogueError) as caught:
        load_catalogue(tmp_path)
    message = str(caught.value)
    assert says in message
    assert "\n  expected: " in message
    assert "\n  next: correct " in message


def test_an_id_occurs_once(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD)
    (tmp_path / "b.toml").write_text(GOOD)
    with pytest.raises(CatalogueError, match="occurs twice"):
        load_catalogue(tmp_path)
