"""`lasttick bench lineup`: what does the ledger of the permission-card adapter add to a card?

A card costs its ledger one transaction when it is shown: the agent's question, the card, who waits, the audit row, the
frame to the host. Floor: a bare commit of the same five rows to a file that is opened in the same way (WAL,
`synchronous=NORMAL`); beside it a commit of one short row, the least that SQLite can do. A round's figure is the median
of its writes, in real time. Source: C-4, C-8.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lasttick.bench.figures import Figure, Target, figure, report, stable
from lasttick.bench.rounds import Effort, conditions, interleaved, micro, pinned, real_ns
from lasttick.targets.lineup.measured import Maker, bare_writer, card_writer, row_writer

RATIO_MAX = 2.0
TIMES = 200
"""Writes of a slice."""


def measure(effort: Effort, told: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The benchmark, as `--json` prints it. `told` hears what is measured next."""
    told("lineup")
    with pinned() as processor, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        makers = {
            "card": stack.enter_context(card_writer(place / "cards.sqlite")),
            "floor": stack.enter_context(bare_writer(place / "bare.sqlite")),
            "one row": stack.enter_context(row_writer(place / "row.sqlite")),
        }
        seconds = interleaved({name: partial(middle_s, maker) for name, maker in makers.items()}, effort, settled)
    return report("lineup", {**conditions(effort, processor), "writes": TIMES}, figures(seconds))


def figures(seconds: Mapping[str, Sequence[float]]) -> list[Figure]:
    card, floor, row = (micro(seconds[name]) for name in ("card", "floor", "one row"))
    return [
        figure("lineup/card-write", "us", card, floor, Target("ratio", "at most", RATIO_MAX)),
        figure("lineup/card-write-over-one-row", "us", card, row),
    ]


def settled(so_far: Mapping[str, Sequence[float]]) -> bool:
    """Have both ratios?"""
    return all(
        stable([mine / bare for mine, bare in zip(so_far["card"], so_far[name], strict=True)])
        for name in ("floor", "one row")
    )


def middle_s(maker: Maker) -> float:
    """The median of a slice's writes, in seconds."""
    taken = []
    for _ in range(TIMES):
        write = maker()
        start_ns = real_ns()
        write()
        taken.append(real_ns() - start_ns)
    return median(taken) / 1e9
