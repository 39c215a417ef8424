"""Does the permission cards' benchmark run from end to end, and do card and floor write the same? Never how fast."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lasttick.bench import lineup
from lasttick.bench.lineup import bare_writer, card_writer, figures, settled
from lasttick.bench.rounds import Effort

TINY = Effort(rounds_min=1, rounds_max=1, slice_s=0.004)
TABLES = ("messages", "tool_calls", "tool_audit", "hermes_interactions")


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineup, "TIMES", 3)
    heard: list[str] = []
    told = lineup.measure(TINY, heard.append)
    assert heard == ["lineup"]
    assert (told["version"], told["benchmark"], told["conditions"]["writes"]) == (1, "lineup", 3)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [(one["id"], one["unit"], one["target"]) for one in told["figures"]] == [
        ("lineup/card-write", "us", "ratio at most 2"),
        ("lineup/card-write-over-one-row", "us", None),
    ]
    assert all(one["median"] > 0 and one["floor"] > 0 for one in told["figures"])


def test_the_floor_writes_as_many_rows_and_bytes_as_the_ledger(tmp_path: Path) -> None:
    with card_writer(tmp_path / "card") as card, bare_writer(tmp_path / "bare") as bare:
        for maker in (card, bare):
            maker()()
            maker()()
    written, floor = rows(tmp_path / "card"), rows(tmp_path / "bare")
    assert {table: len(kept) for table, kept in written.items()} == {table: len(kept) for table, kept in floor.items()}
    assert len(written["messages"]) == 4
    size, least = len(repr(written)), len(repr(floor))
    assert 0.85 * size < least <= 1.05 * size


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    db = sqlite3.connect(path)
    try:
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}
    finally:
        db.close()


def test_ratios_are_to_each_floor_and_settle_together() -> None:
    seconds = {"card": [3e-5], "floor": [2e-5], "one row": [1e-5]}
    card, over_one = figures(seconds)
    assert (card.ratio, card.ok) == (pytest.approx(1.5), True)
    assert (over_one.ratio, over_one.ok) == (pytest.approx(3.0), None)
    assert settled({name: values * 5 for name, values in seconds.items()})
    assert not settled({name: values * 2 for name, values in seconds.items()})
