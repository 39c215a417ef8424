"""Is a mutant killed, by whom, and is it sharp enough to prove anything? Pure rules over verdicts.

A mutant is killed by a scenario of *its* requirement. One that turns more than half of the scenarios of its system red,
or that fails at start, is too blunt: it would make any scenario look good. A scenario counts once, whatever its
parameters. A claim of a scenario on an id counts only when
one of the id's mutants turned that scenario red. Source: DESIGN "Decisions" (proven only by a kill), contract world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RED = ("fail",)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one mutant. Scenario ids are sorted; `also_red` are those that do not claim its requirement."""

    id: str
    requirement: str
    killed: bool
    killed_by: tuple[str, ...]
    also_red: tuple[str, ...]
    too_blunt: bool
    inconclusive: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "requirement": self.requirement,
            "killed": self.killed,
            "killed_by": list(self.killed_by),
            "also_red": list(self.also_red),
            "too_blunt": self.too_blunt,
            "inconclusive": list(self.inconclusive),
        }


def fate(
    mutant_id: str,
    breaks: str,
    verdicts: Mapping[str, str],
    claims: Mapping[str, Sequence[str]],
    total: int,
    weight: float = 1.0,
    own_weight: float = 1.0,
) -> Fate:
    """Judge one mutant by the verdicts of what was played with it; `total`: how many scenarios its system has.

    `claims` are those of each scenario; `weight` and `own_weight`: how many each of the others, and of the claimants,
    stands for, when they are a sample.
    """
    red = sorted(scenario for scenario, verdict in verdicts.items() if verdict in RED)
    killers = tuple(scenario for scenario in red if breaks in claims[scenario])
    others = tuple(scenario for scenario in red if breaks not in claims[scenario])
    return Fate(
        id=mutant_id,
        requirement=breaks,
        killed=bool(killers),
        killed_by=killers,
        also_red=others,
        too_blunt=2 * (own_weight * _count(killers) + weight * _count(others)) > total,
        inconclusive=tuple(sorted(scenario for scenario, verdict in verdicts.items() if verdict == "inconclusive")),
    )


def unproven_claims(fates: Iterable[Fate], claims: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Claims (scenario, id) that no mutant of the id has shown: the scenario may be about the id, but nobody knows."""
    proven = {(scenario, one.requirement) for one in fates for scenario in one.killed_by}
    return sorted((scenario, id_) for scenario, ids in claims.items() for id_ in ids if (scenario, id_) not in proven)


def findings(fates: Sequence[Fate], required: Iterable[str]) -> list[str]:
    """Why the suite is not proven, a sentence each; empty when all mutants are killed and each requirement has one."""
    said = [f"{one.id} survived: no scenario of {one.requirement} turned red" for one in fates if not one.killed]
    said += [
        f"{one.id} is too blunt: {len(one.killed_by) + len(one.also_red)} are red" for one in fates if one.too_blunt
    ]
    broken = {one.requirement for one in fates}
    said += [f"{id_} has no mutant" for id_ in sorted(required) if id_ not in broken]
    return said


def _count(scenarios: Iterable[str]) -> int:
    """Each once, whatever its parameters."""
    return len({_stem(scenario) for scenario in scenarios})


def _stem(scenario: str) -> str:
    return scenario.partition("[")[0]
