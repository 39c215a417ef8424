"""How are two histories shown that part? Their last common events, then the first pair that differs, side by side."""

from __future__ import annotations

import json
import textwrap
from itertools import zip_longest

from lasttick.evidence import Divergence, Event
from lasttick.report.canvas import printable

LINES_MAX = 12


def side_by_side(divergence: Divergence, *, width: int = 100) -> str:
    """Several lines without a line end; the event number is that of the trace file, whose lines count from 1."""
    at = divergence.recorded or divergence.repeated
    number = divergence.index if at is None else at.seq
    column = max(20, (width - 7) // 2)
    lines = [f"first difference at event {number} (line {number + 1} of the trace)"]
    lines += [f"    {_line(event, width - 4)}" for event in divergence.before]
    lines.append(f"  ! {'recorded':<{column}} | repeated")
    left, right = _block(divergence.recorded, column), _block(divergence.repeated, column)
    lines += [f"  ! {one:<{column}} | {other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]
    if divergence.fields:
        lines.append(f"    differs in: {printable(', '.join(divergence.fields), width)}")
    return "\n".join(lines)


def _line(event: Event, width: int) -> str:
    return printable(f"{_head(event)}  {json.dumps(dict(event.data), default=str)}", width)


def _head(event: Event) -> str:
    ref = f" {event.ref}" if event.ref else ""
    return f"t={event.t_ns / 1e9:.9g}  {event.actor}  {event.kind}{ref}"


def _block(event: Event | None, column: int) -> list[str]:
    if event is None:
        return ["(the history ends here)"]
    data = [f"  {key}: {json.dumps(value, default=str)}" for key, value in event.data.items()]
    lines = [part for line in (_head(event), *data) for part in textwrap.wrap(printable(line, 400), column) or [""]]
    return lines if len(lines) <= LINES_MAX else [*lines[: LINES_MAX - 1], "  .."]
