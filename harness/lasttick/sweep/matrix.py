"""Every scenario against every mutant, over a pool of processes that collect the scenarios once each.

A worker is one pytest session whose loop runs all items again for each mutant it is given; the reference itself goes
first, since a scenario that is red without a mutant proves nothing.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from queue import Empty
from typing import Any

REFERENCE = "reference"
ANSWER_S = 300.0


class MatrixError(Exception):
    """The matrix could not be made; three-part message."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mutant (or REFERENCE): the verdict of every scenario, by id."""

    mutant_id: str
    verdicts: dict[str, str]


def run_matrix(
    mutant_ids: Sequence[str],
    *,
    scenarios: Path,
    seed: int,
    workers: int,
    examples_max: int,
    on_row: Callable[[Row], None],
    only: Mapping[str, str] | None = None,
) -> list[Row]:
    """All rows, the reference's first, in the order of `mutant_ids`. `on_row` is told each as it comes.

    `only`: the one scenario to play for a mutant, and all of these for the reference; every scenario when None.

    Raises MatrixError when a worker dies or does not answer.
    """
    context = multiprocessing.get_context("spawn")
    todo: Any = context.Queue()
    done: Any = context.Queue()
    everything = None if only is None else sorted(set(only.values()))
    for mutant_id in [REFERENCE, *mutant_ids]:
        todo.put((mutant_id, everything if only is None or mutant_id == REFERENCE else [only[mutant_id]]))
    pool = []
    for _ in range(max(1, min(workers, len(mutant_ids) + 1))):
        todo.put(None)
        process = context.Process(target=_worker, args=(str(scenarios), seed, examples_max, todo, done), daemon=True)
        process.start()
        pool.append(process)
    rows: dict[str, Row] = {}
    try:
        while len(rows) <= len(mutant_ids):
            row = Row(*_next(done, pool))
            rows[row.mutant_id] = row
            on_row(row)
    finally:
        for process in pool:
            process.join(0 if len(rows) <= len(mutant_ids) else 10)
            process.kill()
    return [rows[mutant_id] for mutant_id in [REFERENCE, *mutant_ids]]


def _next(done: Any, pool: Sequence[SpawnProcess]) -> Any:
    waited_s = 0.0
    while waited_s < ANSWER_S:
        try:
            return done.get(timeout=1.0)
        except Empty:
            waited_s += 1.0
            dead = [process.exitcode for process in pool if process.exitcode]
            if dead:
                raise MatrixError(
                    f"a worker ended with exit code {dead[0]}; expected it to run every mutant it was given; "
                    "run one mutant by hand: pytest scenarios --lasttick-target hostagent=mutant:ID"
                ) from None
    raise MatrixError(f"no worker answered for {ANSWER_S:g} s; expected a few seconds a mutant; run one by hand")


def _worker(scenarios: str, seed: int, examples_max: int, todo: Any, done: Any) -> None:
    import pytest

    arguments = [
        scenarios,
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir=.",
        "--import-mode=importlib",
        "--no-header",
        "--tb=no",
    ]
    arguments += ["--lasttick-seed", str(seed), "--lasttick-brief", "-o", f"lasttick_examples={examples_max}"]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        code = pytest.main(arguments, plugins=[_Loop(todo, done)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        sys.exit(int(code))


class _Loop:
    """Replaces pytest's loop over the items."""

    def __init__(self, todo: Any, done: Any) -> None:
        self._todo = todo
        self._done = done

    def pytest_runtestloop(self, session: Any) -> bool:
        from lasttick.marks import scenario_id
        from lasttick.mutants import find
        from lasttick.plugin import OPTIONS

        settings = session.config.stash[OPTIONS]
        ids = {scenario_id(item.nodeid): item for item in session.items}
        while (job := self._todo.get()) is not None:
            mutant_id, wanted = job
            settings.mutant = None if mutant_id == REFERENCE else find(mutant_id)
            played = [item for id_, item in ids.items() if wanted is None or _stem(id_) in wanted or id_ in wanted]
            self._done.put((mutant_id, dict(map(_verdict, played))))
        return True


def _stem(id_: str) -> str:
    """A scenario without its parameters stands for all of them."""
    return id_.partition("[")[0]


def _verdict(item: Any) -> tuple[str, str]:
    """Scenario id and verdict; an item that broke outside its body is red too."""
    from _pytest.runner import runtestprotocol

    from lasttick.marks import scenario_id
    from lasttick.plugin import PROPERTY

    reports = runtestprotocol(item, log=False, nextitem=None)
    for report in reports:
        for name, value in report.user_properties:
            if name == PROPERTY:
                return scenario_id(item.nodeid), str(json.loads(str(value))["verdict"])
    return scenario_id(item.nodeid), "fail"
