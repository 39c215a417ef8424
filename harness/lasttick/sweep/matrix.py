"""Every scenario against every mutant, over a pool of processes that collect the scenarios once each.

First the reference plays everything, watched: a scenario that is red without a mutant proves nothing, and one that
never enters what a mutant replaces is not played with it. Of those that do not claim the mutant's requirement, one set
of parameters and one example speak for all.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import Empty
from typing import Any

from lasttick.sweep.worker import work

REFERENCE = "reference"
ANSWER_S = 300.0
CHUNK = 12
"""How many scenarios of the reference make one job."""
COSTLY_S = 0.5
"""A scenario that takes more CPU time, watched, is no part of a sample."""


class MatrixError(Exception):
    """The matrix could not be made; three-part message."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mutant (or REFERENCE): the verdict of every scenario that was played, by id."""

    mutant_id: str
    verdicts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Watched:
    """Which mutants may change each scenario, and which scenarios take long; ids in the order of their collection."""

    changeable: Mapping[str, Sequence[str]]
    costly: tuple[str, ...] = ()


class Matrix:
    """A pool of `workers` processes over the scenarios of a folder. Use it in `with`; it raises MatrixError."""

    def __init__(self, scenarios: Path, *, seed: int, workers: int, examples_max: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._todo: Any = context.Queue()
        self._done: Any = context.Queue()
        self._pool: list[SpawnProcess] = [
            context.Process(target=work, args=(str(scenarios), seed, examples_max, self._todo, self._done), daemon=True)
            for _ in range(workers)
        ]

    def __enter__(self) -> Matrix:
        for process in self._pool:
            process.start()
        return self

    def __exit__(self, *error: object) -> None:
        for _ in self._pool:
            self._todo.put(None)
        for process in self._pool:
            process.join(0 if error[0] else 10)
            process.kill()

    def reference(self, wanted: Sequence[str] | None = None) -> tuple[Row, Watched]:
        """Play the reference: its row, and what was seen of each scenario. `wanted`: ids; all when None."""
        self._todo.put(("list", None))
        ids = [id_ for id_ in self._answer() if wanted is None or id_ in wanted or stem(id_) in wanted]
        chunks = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
        for chunk in chunks:
            self._todo.put(("watch", chunk))
        verdicts: dict[str, str] = {}
        changeable: dict[str, list[str]] = {}
        costly: dict[str, None] = {}
        for _ in chunks:
            for id_, verdict, mutants, cpu_s in self._answer():
                verdicts[id_], changeable[id_] = verdict, mutants
                if cpu_s > COSTLY_S:
                    costly[id_] = None
        in_order = {id_: changeable[id_] for id_ in ids}
        return Row(REFERENCE, {id_: verdicts[id_] for id_ in ids}), Watched(in_order, tuple(costly))

    def mutants(self, jobs: Mapping[str, Sequence[str]], on_row: Callable[[Row], None]) -> list[Row]:
        """Play these scenarios with each mutant; `on_row` is told each row as it comes. Rows in the order of `jobs`."""
        # The longest first, so that at the end no process waits long for another.
        for mutant_id, ids in sorted(jobs.items(), key=lambda job: -len(job[1])):
            self._todo.put(("play", (mutant_id, list(ids))))
        rows: dict[str, Row] = {}
        for _ in jobs:
            row = Row(*self._answer())
            rows[row.mutant_id] = row
            on_row(row)
        return [rows[mutant_id] for mutant_id in jobs]

    def _answer(self) -> Any:
        waited_s = 0.0
        while waited_s < ANSWER_S:
            try:
                return self._done.get(timeout=1.0)
            except Empty:
                waited_s += 1.0
                dead = [process.exitcode for process in self._pool if process.exitcode]
                if dead:
                    raise MatrixError(
                        f"a worker ended with exit code {dead[0]}; expected it to play every mutant it was given; "
                        "play one by hand: pytest scenarios --lasttick-target hostagent=mutant:ID"
                    ) from None
        raise MatrixError(f"no worker answered for {ANSWER_S:g} s; expected seconds a mutant; play one by hand")


def stem(id_: str) -> str:
    """A scenario without its parameters."""
    return id_.partition("[")[0]


@dataclass(frozen=True, slots=True)
class Job:
    """What to play with one mutant. `weight`: how many scenarios each of those stands for that do not claim its
    requirement, `own_weight`: of those that do; 1 unless they are a sample."""

    ids: tuple[str, ...]
    weight: float = 1.0
    own_weight: float = 1.0


def to_play(
    mutant_id: str,
    breaks: str,
    watched: Watched,
    claims: Mapping[str, Sequence[str]],
    others_max: int | None = None,
    own_max: int | None = None,
    killer: str = "",
) -> Job:
    """All that claims the mutant's requirement, and one of each other that it may change: at most `others_max` of
    these, none of them costly, spread over them evenly. With `own_max` of the claimants, too, at most so many
    scenarios, and always `killer`."""
    own: list[str] = []
    others: dict[str, str] = {}
    for id_, mutants in watched.changeable.items():
        if breaks in claims[id_]:
            own.append(id_)
        elif mutant_id in mutants:
            others.setdefault(stem(id_), id_)
    chosen, own_weight = own, 1.0
    if own_max is not None:
        stems = {stem(id_): id_ for id_ in own}
        kept = _spread([id_ for id_ in stems.values() if id_ not in watched.costly], own_max)
        chosen = [*kept, *(id_ for id_ in own if id_ == killer)]
        own_weight = len(stems) / max(1, len({stem(id_) for id_ in chosen}))
    found = list(others.values())
    sample = found
    if others_max is not None and len(found) > others_max:
        sample = _spread([id_ for id_ in found if id_ not in watched.costly], others_max)
    played = dict.fromkeys([*chosen, *sample])
    ids = tuple(id_ for id_ in watched.changeable if id_ in played)
    return Job(ids, len(found) / len(sample) if sample else 1.0, own_weight)


def _spread(ids: Sequence[str], count: int) -> list[str]:
    """`count` of them, or all when there are fewer."""
    return list(ids) if len(ids) <= count else [ids[place * len(ids) // count] for place in range(count)]
