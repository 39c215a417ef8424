"""Coverage finds what is missing, planned, unknown or doubled, and is silent otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from lasttick import mutants
from lasttick.requirements import Claim, collect_claims, coverage, load_catalogue

CATALOGUE = load_catalogue()
BUILT = [entry.id for entry in CATALOGUE.requirements if entry.planned is None]
PROJECT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    id: str
    breaks: str


def claim(scenario: str, *ids: str) -> Claim:
    return Claim(scenario, ids, f"{scenario}.py:1", "")


ALL = [claim(f"hostagent/x/{id_.lower()}", id_) for id_ in BUILT]


def test_all_built_and_claimed_finds_nothing() -> None:
    covered = coverage(CATALOGUE, ALL, [Mutant("hostagent/lease-expires-mid-call", "HA-06")])
    assert covered.findings == ()
    assert covered.scenarios["HA-06"] == ("hostagent/x/ha-06",)
    assert covered.mutants["HA-06"] == ("hostagent/lease-expires-mid-call",)
    assert covered.scenarios["GW-19"] == ()


def test_a_law_is_spoken_for_by_its_requirements() -> None:
    covered = coverage(CATALOGUE, ALL, [Mutant("m", "HA-06")])
    assert covered.scenarios["lease/busy-says-so"] == ("hostagent/x/ha-04", "hostagent/x/ha-10")
    assert covered.mutants["lease/expires-exactly"] == ("m",)


@pytest.mark.parametrize(
    ("extra", "finding"),
    [
        (claim("gateway/x/y", "GW-19"), "claims GW-19, which is planned (the real agent)"),
        (claim("hostagent/x/y", "HA-60"), "claims HA-60, which the catalogue does not have; near it: HA-"),
        (claim("hostagent/x/y", "lease/exclusive"), "only scenarios/laws may claim laws"),
        (claim("hostagent/x/y", "HA-01", "HA-02", "HA-03", "HA-04"), "claims 4 ids"),
        (claim("hostagent/x/ha-06", "HA-06"), "exists already"),
    ],
)
def test_what_is_wrong_with_a_claim(extra: Claim, finding: str) -> None:
    assert any(finding in found for found in coverage(CATALOGUE, [*ALL, extra]).findings)


def test_a_built_requirement_without_a_scenario() -> None:
    assert "VC-23 has no scenario and is not planned" in coverage(CATALOGUE, ALL[:-1]).findings


def test_a_mutant_of_nothing() -> None:
    findings = coverage(CATALOGUE, ALL, [Mutant("m", "HA-77")]).findings
    assert findings == ("mutant m breaks HA-77, which the catalogue does not have",)


def test_this_projects_own_scenarios_cover_the_catalogue() -> None:
    assert coverage(CATALOGUE, collect_claims(PROJECT / "scenarios"), mutants.catalogue()).findings == ()
