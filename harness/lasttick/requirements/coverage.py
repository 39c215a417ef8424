"""Which scenarios and mutants speak for an id, and what is wrong with that?

A requirement is proven by scenarios that claim it and by mutants that turn them red; a requirement without a scenario
is a finding, unless it is planned. Source: contract world, "Requirement and mutant".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lasttick.requirements.catalogue import Catalogue
from lasttick.requirements.ids import nearby

CLAIMS_MAX = 3
LAW_SCENARIOS = "laws/"


@dataclass(frozen=True, slots=True)
class Claim:
    """One scenario, without parameters, and the ids it claims. `where` is file:line, `text` its docstring."""

    scenario: str
    ids: tuple[str, ...]
    where: str
    text: str


class MutantLike(Protocol):
    """What coverage reads of a mutant; the mutants themselves import the references."""

    @property
    def id(self) -> str: ...

    @property
    def breaks(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Coverage:
    """For each id of the catalogue its scenarios and mutants; `findings` are sentences, empty when all is well.

    A law is spoken for by those who claim it and by those of its requirements.
    """

    scenarios: Mapping[str, tuple[str, ...]]
    mutants: Mapping[str, tuple[str, ...]]
    findings: tuple[str, ...]


def coverage(catalogue: Catalogue, claims: Sequence[Claim], mutants: Iterable[MutantLike] = ()) -> Coverage:
    """Hold claims and mutants against the catalogue. Never raises: what is wrong is a finding."""
    findings = [finding for claim in claims for finding in wrong_claims(catalogue, claim)]
    scenarios: dict[str, list[str]] = {id_: [] for id_ in catalogue.ids}
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.scenario in seen:
            findings.append(f"{claim.where}: scenario {claim.scenario} exists already ({seen[claim.scenario]})")
        seen.setdefault(claim.scenario, claim.where)
        _add(catalogue, scenarios, claim.ids, claim.scenario)
    killers: dict[str, list[str]] = {id_: [] for id_ in catalogue.ids}
    for mutant in mutants:
        if mutant.breaks not in catalogue:
            findings.append(f"mutant {mutant.id} breaks {mutant.breaks}, which the catalogue does not have")
        _add(catalogue, killers, (mutant.breaks,), mutant.id)
    for entry in catalogue.requirements:
        if entry.planned is None and not scenarios[entry.id]:
            findings.append(f"{entry.id} has no scenario and is not planned")
    return Coverage(
        {id_: tuple(sorted(set(names))) for id_, names in scenarios.items()},
        {id_: tuple(sorted(set(names))) for id_, names in killers.items()},
        tuple(findings),
    )


def wrong_claims(catalogue: Catalogue, claim: Claim) -> Iterable[str]:
    """What is wrong with one scenario's claims, a sentence each."""
    if not 1 <= len(claim.ids) <= CLAIMS_MAX:
        yield f"{claim.where}: {claim.scenario} claims {len(claim.ids)} ids; a scenario claims 1 to {CLAIMS_MAX}"
    for id_ in claim.ids:
        if id_ not in catalogue:
            near = nearby(id_, catalogue.ids, count_max=3)
            hint = f"; near it: {', '.join(near)}" if near else ""
            yield f"{claim.where}: {claim.scenario} claims {id_}, which the catalogue does not have{hint}"
            continue
        entry = catalogue[id_]
        if entry.planned is not None:
            yield f"{claim.where}: {claim.scenario} claims {id_}, which is planned ({entry.planned}): built now?"
        if entry.is_law and not claim.scenario.startswith(LAW_SCENARIOS):
            yield f"{claim.where}: {claim.scenario} claims the law {id_}; only scenarios/laws may claim laws"


def _add(catalogue: Catalogue, table: dict[str, list[str]], ids: Iterable[str], name: str) -> None:
    for id_ in ids:
        if id_ in catalogue:
            for told in (id_, *catalogue[id_].laws):
                table[told].append(name)
