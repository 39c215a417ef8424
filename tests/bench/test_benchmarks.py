"""Does each benchmark run from end to end, say all it should, and compare things that do the same? Never how fast."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lasttick.bench import calls, engine, leases, page, rounds, table
from lasttick.bench.figures import Target, figure, report
from lasttick.bench.leases import Cell, at_once
from lasttick.bench.rounds import Effort, compared, interleaved, pinned
from lasttick.cli import execute

TINY = Effort(rounds_min=1, rounds_max=1, slice_s=0.004)
KEYS = ["id", "unit", "n", "min", "median", "max", "floor", "ratio", "target", "stable", "ok"]


@pytest.fixture(scope="module")
def lease_report() -> dict[str, Any]:
    return leases.measure([1, 3], [1, 2], TINY, shared=())


def check_shape(told: dict[str, Any], benchmark: str) -> None:
    assert (told["version"], told["benchmark"]) == (1, benchmark)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for one in told["figures"]:
        assert list(one) == KEYS
        assert one["min"] <= one["median"] <= one["max"]
        assert (one["ok"] is None) == (one["target"] is None)
    assert {"python", "pinned_to", "rounds"} <= told["conditions"].keys()


def test_the_lease_report(lease_report: dict[str, Any]) -> None:
    check_shape(lease_report, "leases")
    assert lease_report["conditions"]["synchronous"] == "normal"
    ids = [one["id"] for one in lease_report["figures"]]
    assert len(ids) == len(set(ids)) == 5 * 4 * 9 + 2
    assert ids[-2:] == ["sqlite/cycle", "memory/line/hot-64-of-1"]
    assert "sqlite/retry/threads/3x2/starvation_ms" in ids


def test_no_device_was_shared_by_any_store(lease_report: dict[str, Any]) -> None:
    doubles = [one for one in lease_report["figures"] if one["id"].endswith("/doubles")]
    assert len(doubles) == 20
    assert {(one["max"], one["target"], one["ok"]) for one in doubles} == {(0, "max at most 0", True)}


@pytest.mark.parametrize(
    ("cell", "targets"),
    [
        (Cell("memory", "line", "tasks", 64, 1), {"jain", "starved", "doubles"}),
        (Cell("memory", "line", "tasks", 1, 1), {"doubles"}),
        (Cell("memory", "retry", "tasks", 64, 1), {"doubles"}),
    ],
)
def test_which_cells_have_targets(cell: Cell, targets: set[str]) -> None:
    assert {key for key in leases.UNITS if leases.target_of(cell, key)} == targets


def test_the_page_holds_all_and_loads_nothing(lease_report: dict[str, Any]) -> None:
    html = page.page(lease_report)
    assert html.count("<svg") == 4  # grants and fairness, for 1 and 2 devices
    assert html.count("<polyline") == 4 * 5 * 2
    assert html.count("<tr>") == 2 + 20 + 2
    for word in ("http:", "https:", "<script", "src=", "@import", "url("):
        assert word not in html


def test_the_page_of_one_number_of_sessions_has_no_width_to_draw_on() -> None:
    html = page.page(leases.measure([2], [1], TINY, shared=()))
    assert 'points="nan' not in html
    assert html.count("<polyline") == 2 * 5 * 2


def test_the_table(lease_report: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    table.show(lease_report, Console(width=200))
    told = capsys.readouterr().out
    for words in ("longest wait ms", "sqlite/cycle", "synchronous normal", "~ the median had not settled"):
        assert words in told


def test_both_loops_do_the_same_work() -> None:
    assert engine.on_virtual(2) == engine.on_bare(2)
    deadlines = {engine.deadline_s(number, turn) for number in range(engine.SLEEPERS) for turn in range(3)}
    assert len(deadlines) == 3 * engine.SLEEPERS


def test_the_engine_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SLEEPERS", 20)
    told = engine.measure(TINY)
    check_shape(told, "engine")
    assert [one["target"] for one in told["figures"]] == ["ratio at least 0.85"]


def test_the_calls_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "CALLS", 2)
    monkeypatch.setattr(calls, "CYCLES", 20)
    monkeypatch.setattr(calls, "HELD_MANY", (20, 40))
    told = calls.measure(TINY)
    check_shape(told, "calls")
    assert [(one["id"], one["target"]) for one in told["figures"]] == [
        ("calls/handshake/leased", "ratio at most 1.15"),
        ("calls/handshake/traced", "ratio at most 1.2"),
        ("calls/modern/leased", "ratio at most 1.15"),
        ("calls/modern/traced", "ratio at most 1.2"),
        ("calls/verb", "ratio at most 1.1"),
        ("lease/cycle", "ratio at least 0.25"),
        ("lease/busy-20", "ratio at most 2"),
        ("lease/busy-40", "ratio at most 2"),
    ]


# How rounds are taken.


def test_rounds_alternate_their_order_and_end_when_settled() -> None:
    order: list[str] = []
    subjects = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    results = interleaved(subjects, Effort(2, 9, 0), lambda so_far: len(so_far["a"]) == 3)
    assert "".join(order) == "abbaab"
    assert {name: len(taken) for name, taken in results.items()} == {"a": 3, "b": 3}


def test_rounds_are_bounded_when_nothing_settles() -> None:
    results = interleaved({"a": lambda: 1}, Effort(2, 4, 0), lambda so_far: False)
    assert len(results["a"]) == 4


def test_compared_divides_the_clock_by_the_times() -> None:
    now_ns = 0

    def work(cost_ns: int) -> Any:
        def go(times: int) -> None:
            nonlocal now_ns
            now_ns += cost_ns * times

        return go

    seconds = compared({"part": work(3_000), "floor": work(1_000)}, 10, Effort(1, 9, 0), clock_ns=lambda: now_ns)
    assert seconds["part"] == pytest.approx([3e-6] * 5)  # settled as soon as that can be said
    assert seconds["floor"] == pytest.approx([1e-6] * 5)


def test_pinning_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[int]] = []
    monkeypatch.setattr(rounds.os, "sched_getaffinity", lambda pid: {0, 3}, raising=False)
    monkeypatch.setattr(rounds.os, "sched_setaffinity", lambda pid, to: asked.append(set(to)), raising=False)
    with pinned() as processor:
        assert processor == 3
    assert asked == [{3}, {0, 3}]
    monkeypatch.delattr(rounds.os, "sched_setaffinity")
    with pinned() as processor:
        assert processor is None


def test_a_store_that_waits_is_no_store() -> None:
    with pytest.raises(RuntimeError, match="a lease store waited; expected"):
        at_once(asyncio.sleep(0))


# The command.


def test_the_command_prints_json_and_writes_the_page(
    lease_report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def measure(sessions: list[int], devices: list[int], effort: Effort, told: Any) -> dict[str, Any]:
        asked.extend([sessions, devices, effort])
        return lease_report

    monkeypatch.setattr(leases, "measure", measure)
    file = tmp_path / "leases.html"
    words = ["bench", "leases", "--sessions", "64,1,1", "--devices", "2", "--quick", "--json", "--html", str(file)]
    assert execute(words) == 0
    assert asked == [[1, 64], [2], rounds.QUICK]
    assert json.loads(capsys.readouterr().out) == lease_report
    assert file.read_text().startswith("<!doctype html>")


def test_a_missed_target_is_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    missed = figure("x", "us", [1.0], [2.0], Target("ratio", "at least", 9))
    facts = rounds.conditions(TINY, None)
    monkeypatch.setattr(engine, "measure", lambda effort, told: report("engine", facts, [missed]))
    assert execute(["bench", "engine"]) == 0
    told = capsys.readouterr().out
    assert "ratio at least 9 missed" in told
    assert "not pinned" in told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sessions", "0"], "--sessions is '0'"),
        (["--sessions", "1,,2"], "--sessions is '1,,2'"),
        (["--devices", "many"], "--devices is 'many'"),
        (["--devices", "1000000"], "--devices is '1000000'"),
        (["--html", "no-such-folder/x.html"], "No such file"),
    ],
)
def test_what_can_not_be_measured_is_said_at_once(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(leases, "measure", lambda *_: pytest.fail("measured"))
    assert execute(["bench", "leases", *words]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "\n  expected: " in told
