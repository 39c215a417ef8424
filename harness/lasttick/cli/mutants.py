"""`lasttick mutants list|run`: the suite, tested. Which wrong version turns which scenario red?

The matrix goes to standard output, progress to standard error. Source: DESIGN "What machines read".
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lasttick.cli.errors import FAILED, PASSED, USAGE, UsageError
from lasttick.requirements import collect_claims, load_catalogue, matches, nearby, scenarios_folder
from lasttick.sweep.kills import Fate, fate, findings, unproven_claims
from lasttick.sweep.matrix import REFERENCE, Matrix, MatrixError, Row, stem, to_play

if TYPE_CHECKING:
    from lasttick.mutants import Mutant

VERSION = 1
EXAMPLES_MAX = 3


class Broken(Exception):
    """The matrix cannot be made; the message says why."""

    exit_code = USAGE


def list_mutants(*, as_json: bool) -> int:
    """Every mutant with what it breaks and who is known to kill it."""
    from lasttick.mutants import catalogue

    mutants = catalogue()
    if as_json:
        rows = [
            {
                "id": one.id,
                "requirement": one.breaks,
                "ruling": one.ruling,
                "text": one.text,
                "killed_by": one.killed_by,
            }
            for one in mutants
        ]
        print(json.dumps({"version": VERSION, "mutants": rows}, indent=1))
        return PASSED
    for one in mutants:
        print(f"{one.id}  breaks {one.breaks}" + (f" (ruling {one.ruling})" if one.ruling else ""))
        print(f"    {one.text}; killed by {one.killed_by}")
    return PASSED


Sample = tuple[int | None, int | None]
"""How many scenarios at most that do not claim a mutant's requirement, and that do."""


def run_mutants(
    pattern: str | None,
    *,
    seed: int,
    workers: str | None,
    as_json: bool,
    others_max: int | None = None,
    own_max: int | None = None,
) -> int:
    """Run every scenario against every mutant that `pattern` selects. `others_max`: of those that do not claim its
    requirement at most so many; `own_max`: of those that do. Raises UsageError when it selects none."""
    from lasttick.mutants import catalogue

    count = _workers(workers)
    mutants = [one for one in catalogue() if pattern is None or matches(pattern, one.id)]
    if not mutants:
        near = ", ".join(nearby(pattern or "", [one.id for one in catalogue()]))
        raise UsageError(
            f"no mutant matches {pattern!r}",
            "part of a mutant id, or a shell pattern",
            f"near it: {near}" if near else "see lasttick mutants list for every id",
        )
    fates: list[Fate] = []
    claims: dict[str, tuple[str, ...]] = {}
    progress = Progress(len(mutants))
    for system in dict.fromkeys(one.system for one in mutants):
        of_system = [one for one in mutants if one.system == system]
        try:
            told, claimed = _of_system(
                system, of_system, seed=seed, workers=count, progress=progress, sample=(others_max, own_max)
            )
        except MatrixError as error:
            raise Broken(str(error)) from error
        fates += told
        claims |= claimed
    required = [] if pattern else [one.id for one in load_catalogue().requirements if one.planned is None]
    said = findings(fates, required)
    if as_json:
        document = {"version": VERSION, "seed": seed, "mutants": [one.as_json() for one in fates]}
        print(json.dumps(document, indent=1))
    else:
        print("\n".join(_table(fates)))
    summary = f"{sum(one.killed for one in fates)} of {len(fates)} mutants killed"
    if pattern is None and own_max is None:  # a part of the matrix says nothing about what no mutant shows
        unproven = unproven_claims(fates, claims)
        for scenario, id_ in unproven:
            print(f"lasttick: unproven claim: {scenario} on {id_}", file=sys.stderr)
        summary += f", {len(unproven)} claims unproven"
    for sentence in said:
        print(f"lasttick: {sentence}", file=sys.stderr)
    print(f"lasttick: {summary}", file=sys.stderr)
    return FAILED if said else PASSED


def _of_system(
    system: str,
    mutants: Sequence[Mutant],
    *,
    seed: int,
    workers: int,
    progress: Progress,
    sample: Sample = (None, None),
) -> tuple[list[Fate], dict[str, tuple[str, ...]]]:
    """What became of the mutants of one system, and the claims of its scenarios. Raises MatrixError, Broken."""
    folder = scenarios_folder(Path.cwd()) / system
    with Matrix(folder, seed=seed, workers=workers, examples_max=EXAMPLES_MAX) as matrix:
        print(f"lasttick: playing the reference of {system}", file=sys.stderr)
        reference, watched = matrix.reference()
        _refuse_red_reference(reference)
        claims = _claims(folder.parent, reference)
        total = len({stem(id_) for id_, verdict in reference.verdicts.items() if verdict != "not_applicable"})

        def judged(some: Sequence[Mutant], sample: Sample) -> dict[str, Fate]:
            jobs = {one.id: to_play(one.id, one.breaks, watched, claims, *sample, one.killed_by) for one in some}
            rows = matrix.mutants({id_: job.ids for id_, job in jobs.items()}, progress.tell)
            return {
                one.id: fate(
                    one.id, one.breaks, row.verdicts, claims, total, jobs[one.id].weight, jobs[one.id].own_weight
                )
                for one, row in zip(some, rows, strict=True)
            }

        told = judged(mutants, sample)
        if sample != (None, None):
            # A sample can only suspect: what looks too blunt, or survives, is played with all that it may change.
            suspects = [one for one in mutants if told[one.id].too_blunt or not told[one.id].killed]
            told |= judged(suspects, (None, None))
    fates = [told[one.id] for one in mutants]
    return fates, claims


class Progress:
    """A line on standard error for each row of the matrix."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def tell(self, row: Row) -> None:
        self._done += 1
        red = sum(verdict == "fail" for verdict in row.verdicts.values())
        print(f"[{self._done}/{self._total}] {row.mutant_id}: {red} of {len(row.verdicts)} red", file=sys.stderr)


def _table(fates: Sequence[Fate]) -> list[str]:
    lines = []
    for one in fates:
        word = "too blunt" if one.too_blunt else "killed" if one.killed else "SURVIVED"
        lines.append(f"{word:9} {one.id}  ({one.requirement})")
        lines += [f"            by {scenario}" for scenario in one.killed_by]
        lines += [f"          also {scenario}" for scenario in one.also_red]
    return lines


def _claims(scenarios: Path, row: Row) -> dict[str, tuple[str, ...]]:
    """The claims of every scenario of the row; parameters share those of their function."""
    by_id = {claim.scenario: claim.ids for claim in collect_claims(scenarios)}
    return {scenario: by_id.get(scenario.partition("[")[0], ()) for scenario in row.verdicts}


def _refuse_red_reference(row: Row) -> None:
    assert row.mutant_id == REFERENCE
    red = sorted(scenario for scenario, verdict in row.verdicts.items() if verdict in ("fail", "inconclusive"))
    if red:
        raise Broken(
            f"{len(red)} scenarios are not green on the reference itself: {', '.join(red[:5])}; expected all green, "
            "since a scenario that is red anyway kills nothing; mend them first: lasttick run"
        )


def _workers(text: str | None) -> int:
    if text is None or text == "auto":
        return os.cpu_count() or 1
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"-n is {text!r}", "a number of processes, or auto", "try -n 2")
    return int(text)
