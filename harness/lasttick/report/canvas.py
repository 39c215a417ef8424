"""How does time become columns of text? An axis, and bars packed into as few rows as leave every bar readable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

STEPS_S = (0.001, 0.01, 0.1, 0.5, 1, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400)
TICKS_MAX = 7
ROWS_MAX = 3
TEXT_CHARS_MAX = 28


@dataclass(frozen=True, slots=True)
class Bar:
    """Something that lasted. Seconds; `end_s` None: it had not ended. `label` goes inside, `note` behind."""

    start_s: float
    end_s: float | None
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """Columns 0 to `columns` - 1 stand for the time from `start_s` to `end_s`."""

    start_s: float
    end_s: float
    columns: int

    def column(self, t_s: float) -> int:
        """The column of an instant, clipped to the axis."""
        place = (t_s - self.start_s) / (self.end_s - self.start_s) * (self.columns - 1)
        return max(0, min(self.columns - 1, round(place)))

    def shows(self, start_s: float, end_s: float | None) -> bool:
        return start_s <= self.end_s and (end_s is None or end_s >= self.start_s)

    def ruler(self) -> str:
        step = next((step for step in STEPS_S if (self.end_s - self.start_s) / step <= TICKS_MAX), STEPS_S[-1])
        cells = [" "] * (self.columns + 8)
        count = int((self.end_s - self.start_s) / step + 1e-9)
        for index in range(count + 1):
            t_s = self.start_s + index * step
            put(cells, self.column(t_s), f"{t_s:.3f}".rstrip("0").rstrip(".") + "s")
        return "".join(cells).rstrip()


def axis_over(start_s: float, end_s: float, columns: int) -> Axis:
    """An axis that begins at a round instant and covers at least a millisecond."""
    span_s = max(end_s - start_s, 0.001)
    step = next((step for step in STEPS_S if span_s / step <= TICKS_MAX), STEPS_S[-1])
    begin_s = int(start_s / step + 1e-9) * step
    return Axis(begin_s, max(end_s, begin_s + 0.001), columns)


def bar_rows(bars: Iterable[Bar], axis: Axis) -> list[str]:
    """One string per row; bars that do not fit into three rows are counted below them."""
    rows: list[list[str]] = []
    left_over = 0
    for bar in sorted((bar for bar in bars if axis.shows(bar.start_s, bar.end_s)), key=lambda bar: bar.start_s):
        column, text = _draw(bar, axis)
        row = next((row for row in rows if len(row) <= column - 1 or not row), None)
        if row is None and len(rows) < ROWS_MAX:
            row = []
            rows.append(row)
        if row is None:
            left_over += 1
            continue
        row.extend(" " * (column - len(row)))
        row.extend(text)
    lines = ["".join(row) for row in rows]
    return [*lines, f"(+{left_over} more)"] if left_over else lines


def put(cells: list[str], column: int, text: str) -> None:
    """Write `text` into `cells`, cut at their end."""
    for offset, char in enumerate(text[: len(cells) - column]):
        cells[column + offset] = char


def printable(text: object, chars_max: int = TEXT_CHARS_MAX) -> str:
    """One line of plain characters: peers' names and messages may hold escapes that would move the cursor."""
    plain = "".join(char if char.isprintable() else "?" for char in str(text))
    return plain if len(plain) <= chars_max else plain[: chars_max - 2] + ".."


def legend(letters: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{letter} = {printable(name)}" for letter, name in letters)


def _draw(bar: Bar, axis: Axis) -> tuple[int, str]:
    """The first column and the text of a bar: `|== tap phone-1 ===| ok`, or `| tap phone-1 ok` when it is too short."""
    first = axis.column(bar.start_s)
    last = axis.columns - 1 if bar.end_s is None else axis.column(bar.end_s)
    opening = "<" if bar.start_s < axis.start_s else "|"
    closing = ">" if bar.end_s is None or bar.end_s > axis.end_s else "|"
    inside = last - first - 1
    label, note = printable(bar.label), printable(bar.note)
    if inside >= len(label) + 4:
        body = f"== {label} ".ljust(inside, "=")
        return first, f"{opening}{body}{closing} {note}".rstrip()
    edge = opening if last == first else opening + "=" * max(inside, 0) + closing
    return first, f"{edge} {label} {note}".rstrip()
