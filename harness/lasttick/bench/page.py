"""How does the lease benchmark look in a browser? One HTML file with its plots as SVG inside, and every figure.

Nothing is loaded from anywhere. A panel per number of devices: grants a second against sessions, both logarithmic; a
solid line per store, policy and drive, and its floor dashed in the same colour. Reads what `--json` prints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from lasttick.bench.table import COLUMNS, Cells, Report, cell_text, footnotes, short, split

COLOURS = ("#1b6ca8", "#d1495b", "#3f9a5b", "#b07d12", "#7d4fa3")
WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 30, 40
STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:82em;padding:0 1em;color:#1d2430;background:#fff}
h1{font-size:1.4em}h2{font-size:1.1em;margin-top:2em}.plots{display:flex;flex-wrap:wrap;gap:1em}
svg{background:#fafbfc;border:1px solid #dde2e8;border-radius:6px}svg text{font:11px system-ui,sans-serif;fill:#3c4757}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.25em .7em;text-align:right;border-bottom:1px solid #e6eaef;white-space:nowrap}
th{font-weight:600;background:#f2f5f8}td.word,th.word{text-align:left}.ok{color:#1f7a3d}.missed{color:#b3261e}
.key{display:inline-block;width:1.6em;height:0;border-top:3px solid;margin:0 .4em .25em 1em}p.note{color:#5a6675}
"""


def page(report: Report) -> str:
    """The report as one HTML document."""
    cells, others = split(report)
    kinds = list(dict.fromkeys(key[:3] for key in cells))
    devices = list(dict.fromkeys(key[4] for key in cells))
    colours = {kind: COLOURS[number % len(COLOURS)] for number, kind in enumerate(kinds)}
    legend = "".join(
        f'<span class="key" style="border-color:{colours[kind]}"></span>{escape(" ".join(kind))}' for kind in kinds
    )
    rates = "".join(
        panel(f"{on} device{'s' if on > 1 else ''}: grants per second", series(cells, on, "grants_per_s", colours))
        for on in devices
    )
    fair = "".join(
        panel(f"{on} device{'s' if on > 1 else ''}: fairness (Jain)", series(cells, on, "jain", colours), unit=True)
        for on in devices
    )
    notes = "".join(f'<p class="note">{escape(line)}</p>' for line in footnotes(report))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>lasttick bench leases</title>'
        f"<style>{STYLE}</style></head><body><h1>Lease benchmark</h1>"
        "<p>Sessions take a device, use it, give it back, and begin again, as fast as they can. Solid: the store. "
        "Dashed: the least that a store of that kind needs, measured in the same rounds.</p>"
        f'<p>{legend}</p><div class="plots">{rates}</div><div class="plots">{fair}</div>'
        f'<h2>Targets and figures without the loop</h2><div class="scroll">{figures_html(others)}</div>'
        f'<h2>All cells</h2><div class="scroll">{cells_html(cells)}</div>{notes}</body></html>\n'
    )


Line = tuple[str, bool, list[tuple[int, float]]]


def series(cells: Cells, devices: int, key: str, colours: Mapping[tuple[str, str, str], str]) -> list[Line]:
    """(colour, dashed, points) of each kind and its floor, on so many devices."""
    lines: list[Line] = []
    for kind, colour in colours.items():
        chosen = [(name[3], figures[key]) for name, figures in cells.items() if name[:3] == kind and name[4] == devices]
        for dashed, field in ((False, "median"), (True, "floor")):
            points = [(sessions, figure[field]) for sessions, figure in chosen if figure[field] is not None]
            lines.append((colour, dashed, sorted(points)))
    return lines


def panel(title: str, lines: Sequence[Line], *, unit: bool = False) -> str:
    """One plot. `unit`: the values lie between 0 and 1 and are drawn linearly; else logarithmically."""
    sessions = sorted({x for _, _, points in lines for x, _ in points})
    values = [value for _, _, points in lines for _, value in points if value > 0]
    low, high = (0.0, 1.0) if unit else decades(values)
    x_of = scale(math.log(sessions[0]), math.log(sessions[-1]), LEFT, WIDTH - RIGHT)
    y_of = scale(low, high, HEIGHT - BOTTOM, TOP)

    def at(x: int, value: float) -> str:
        height = value if unit else math.log10(max(value, 10**low))
        return f"{x_of(math.log(x)):.1f},{y_of(height):.1f}"

    marks = [
        f'<text x="{WIDTH / 2}" y="18" text-anchor="middle" font-weight="600">{escape(title)}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 6}" text-anchor="middle">sessions</text>',
    ]
    ticks = [step / 4 for step in range(5)] if unit else [float(n) for n in range(int(low), int(high) + 1)]
    for tick in ticks:
        y = y_of(tick)
        name = f"{tick:g}" if unit else short(10**tick)
        marks.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e1e6ec"/>')
        marks.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
    for x in sessions:
        place = x_of(math.log(x))
        marks.append(f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x}</text>')
    for colour, dashed, points in lines:
        path = " ".join(at(x, value) for x, value in points)
        style = 'stroke-width="1.2" stroke-dasharray="4 3" opacity="0.75"' if dashed else 'stroke-width="2"'
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" {style}/>')
        for x, value in points if not dashed else []:
            cx, _, cy = at(x, value).partition(",")
            told = f"<title>{x} sessions: {short(value)}</title>"
            marks.append(f'<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}">{told}</circle>')
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(marks)}</svg>'


def decades(values: Sequence[float]) -> tuple[float, float]:
    """The powers of ten around all values."""
    if not values:
        return 0.0, 1.0
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return float(low), float(max(high, low + 1))


def scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Linear, from [low, high] to [start, end]; the middle when there is only one value."""
    if high == low:
        return lambda value: (start + end) / 2
    return lambda value: start + (value - low) / (high - low) * (end - start)


def figures_html(figures: Sequence[Mapping[str, Any]]) -> str:
    heads = ("figure", "unit", "n", "min", "median", "max", "floor", "ratio", "target", "")
    rows = []
    for figure in figures:
        numbers = [short(figure[key]) for key in ("n", "min", "median", "max", "floor", "ratio")]
        verdict = {True: "met", False: "missed", None: ""}[figure["ok"]]
        rows.append(
            row([figure["id"], figure["unit"]], [*numbers, figure["target"] or ""], last=verdict, ok=figure["ok"])
        )
    return table_html(heads, 2, rows)


def cells_html(cells: Cells) -> str:
    heads = ("store", "policy", "driven by", "sessions", "devices", *COLUMNS.values(), "targets")
    rows = []
    for (store, policy, drive, sessions, devices), figures in cells.items():
        verdicts = [figure["ok"] for figure in figures.values() if figure["ok"] is not None]
        texts = [cell_text(key, figures[key]) for key in COLUMNS]
        ok = all(verdicts) if verdicts else None
        last = {True: "met", False: "missed", None: ""}[ok]
        rows.append(row([store, policy, drive], [str(sessions), str(devices), *texts], last=last, ok=ok))
    return table_html(heads, 3, rows)


def table_html(heads: Sequence[str], words: int, rows: Sequence[str]) -> str:
    cells = "".join(
        f'<th class="word">{escape(head)}</th>' if place < words else f"<th>{escape(head)}</th>"
        for place, head in enumerate(heads)
    )
    return f"<table><tr>{cells}</tr>{''.join(rows)}</table>"


def row(words: Sequence[str], numbers: Sequence[str], *, last: str, ok: bool | None) -> str:
    left = "".join(f'<td class="word">{escape(word)}</td>' for word in words)
    right = "".join(f"<td>{escape(number)}</td>" for number in numbers)
    mark = {True: "ok", False: "missed", None: ""}[ok]
    return f'<tr>{left}{right}<td class="{mark}">{last}</td></tr>'
