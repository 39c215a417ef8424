"""How does a benchmark look on a terminal? A row per cell of the lease benchmark, and a row per other figure.

Reads what `--json` prints, so that a saved report can be shown again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

Report = Mapping[str, Any]
Cells = dict[tuple[str, str, str, int, int], dict[str, Mapping[str, Any]]]
NOT_STABLE = "~"
COLUMNS = {
    "grants_per_s": "grants/s",
    "acquire_p50_us": "acquire p50 us",
    "acquire_p99_us": "p99 us",
    "held_p50_us": "until held p50 us",
    "held_p99_us": "p99 us",
    "jain": "Jain",
    "starvation_ms": "longest wait ms",
    "starved": "got none",
    "doubles": "double",
}


def split(report: Report) -> tuple[Cells, list[Mapping[str, Any]]]:
    """The cells, by store, policy, drive, sessions and devices, and the figures that are of no cell."""
    cells: Cells = {}
    others = []
    for figure in report["figures"]:
        parts = figure["id"].split("/")
        if len(parts) != 5:
            others.append(figure)
            continue
        sessions, _, devices = parts[3].partition("x")
        cells.setdefault((*parts[:3], int(sessions), int(devices)), {})[parts[4]] = figure
    return cells, others


def show(report: Report, console: Console) -> None:
    """Print the whole report."""
    cells, others = split(report)
    if cells:
        console.print(cell_table(cells))
    console.print(figure_table(others))
    for line in footnotes(report):
        console.print(line, style="dim", highlight=False)


def cell_table(cells: Cells) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="closed loop, medians; x: ratio to the bare store in the same rounds")
    for name in ("store", "policy", "driven by"):
        table.add_column(name)
    for name in ("sessions", "devices", *COLUMNS.values()):
        table.add_column(name, justify="right")
    for (store, policy, drive, sessions, devices), figures in cells.items():
        values = [coloured(cell_text(key, figures[key]), figures[key]["ok"]) for key in COLUMNS]
        table.add_row(store, policy, drive, str(sessions), str(devices), *values)
    return table


def cell_text(key: str, figure: Mapping[str, Any]) -> str:
    text = short(figure["max"] if key in ("starved", "doubles") else figure["median"])
    if key != "grants_per_s":
        return text
    ratio = "" if figure["ratio"] is None else f" {figure['ratio']:.2f}x"
    return text + ratio + ("" if figure["stable"] else NOT_STABLE)


def figure_table(figures: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("figure", "unit"):
        table.add_column(name)
    for name in ("n", "min", "median", "max", "floor", "ratio", "target"):
        table.add_column(name, justify="right")
    for figure in figures:
        numbers = [short(figure[key]) for key in ("min", "median", "max", "floor")]
        ratio = ("" if figure["ratio"] is None else f"{figure['ratio']:.2f}x") + (
            "" if figure["stable"] else NOT_STABLE
        )
        met = {True: "met", False: "missed", None: ""}[figure["ok"]]
        target = coloured(f"{figure['target'] or ''} {met}".strip(), figure["ok"])
        table.add_row(figure["id"], figure["unit"], str(figure["n"]), *numbers, ratio, target)
    return table


def footnotes(report: Report) -> list[str]:
    """How it was measured, and what did not settle."""
    facts = report["conditions"]
    pinned = "not pinned" if facts["pinned_to"] is None else f"pinned to processor {facts['pinned_to']}"
    notes = [
        f"Python {facts['python']}, {facts['system']}, {facts['processors']} processors, {pinned}; "
        f"{facts['rounds'][0]} to {facts['rounds'][1]} rounds. Trust ratios, not numbers."
    ]
    if "sqlite" in facts:
        notes.append(
            f"SQLite {facts['sqlite']}, both sides: journal_mode {facts['journal_mode']}, "
            f"synchronous {facts['synchronous']}."
        )
    notes += [f"Not measured: {why}." for why in facts.get("not_measured", ())]
    if any(not figure["stable"] for figure in report["figures"]):
        notes.append(f"{NOT_STABLE} the median had not settled within the rounds: measure again on a quiet machine.")
    return notes


def short(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def coloured(text: str, ok: bool | None) -> Text:
    return Text(text, style={True: "green", False: "red", None: ""}[ok])
