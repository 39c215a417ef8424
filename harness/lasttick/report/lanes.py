"""Who did what, when, and who held the device? The moment around a failure as text, one lane per actor.

Clients' calls are bars; the lease lane is derived from the device's own log, as the judge reads it; the device lane
shows whose call moved it, and X where two did. Source: DESIGN "What a user sees".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from lasttick.evidence import DriverCall, Event, History, histories
from lasttick.report.canvas import Axis, Bar, axis_over, bar_rows, legend, printable, put
from lasttick.report.story import deeds, held_until_s

LABEL_CHARS_MIN = 9
LABEL_CHARS_MAX = 20
NOTE_COLUMNS = 22
ACTORS_MAX = 10
DEVICES_MAX = 4
AROUND_S = 60.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def lanes(events: Iterable[Event], *, around_s: float | None = None, width: int = 100) -> str:
    """Lanes of the last example in `events`, up to `width` columns wide; "" when it has nothing to draw.

    `around_s`: the instant of interest; a TTL before and after it is drawn, and whatever lasts over it. None: all.
    """
    history = list(histories(events))[-1:]
    return _draw(history[0], around_s, width) if history else ""


def _draw(history: History, around_s: float | None, width: int) -> str:
    bars = _bars_by_actor(history.events)
    devices = history.by_device()
    spans = [(bar.start_s, bar.end_s) for actor in bars.values() for bar in actor]
    spans += [(call.start.t_s, call.end.t_s if call.end else None) for call in history.calls]
    if not spans:
        return ""
    names = [*bars, *devices, *(f"lease {device}" for device in devices if len(devices) > 1)]
    label_chars = min(LABEL_CHARS_MAX, max(LABEL_CHARS_MIN, *(len(name) for name in names)))
    columns = max(20, width - label_chars - 2 - NOTE_COLUMNS)
    axis = axis_over(*_window(history, spans, around_s), columns)
    letters = _letters(history.calls)

    rows: list[tuple[str, str]] = [("", axis.ruler())]
    drawn = {actor: bar_rows(bars[actor], axis) for actor in bars}
    shown = [actor for actor in drawn if drawn[actor]]
    for actor in shown[:ACTORS_MAX]:
        rows += [(actor if index == 0 else "", row) for index, row in enumerate(drawn[actor])]
    if len(shown) > ACTORS_MAX:
        rows.append(("...", f"and {len(shown) - ACTORS_MAX} more actors"))
    rows += _device_rows(history, axis, letters, around_s)
    if letters:
        rows.append(("", legend([(letter, name) for name, letter in letters.items()])))
    return "\n".join(f"{printable(name, label_chars):<{label_chars}}  {row}"[:width].rstrip() for name, row in rows)


def _bars_by_actor(events: Sequence[Event]) -> dict[str, list[Bar]]:
    """By actor, in order of appearance; what merely began is left out."""
    bars: dict[str, list[Bar]] = {}
    for deed in deeds(events):
        if deed.tone != "quiet":
            bars.setdefault(deed.actor, []).append(Bar(deed.start_s, deed.end_s, deed.label, deed.note))
    return bars


def _window(
    history: History, spans: Sequence[tuple[float, float | None]], around_s: float | None
) -> tuple[float, float]:
    last_s = max(event.t_s for event in history.events)
    if around_s is None:
        return min(start for start, _ in spans), last_s
    ttl_s = history.runs[-1].ttl_ns / 1e9 if history.runs else AROUND_S
    over = [(start, last_s if end is None else end) for start, end in spans if start <= around_s <= (end or last_s)]
    begin_s = min([around_s - ttl_s, *(start for start, _ in over)])
    end_s = max([around_s + ttl_s, *(end for _, end in over)])
    # A call that hangs for hours must not squeeze the moment into one column.
    return max(0.0, begin_s, around_s - 3 * ttl_s), min(last_s, end_s, around_s + 3 * ttl_s)


def _letters(calls: Iterable[DriverCall]) -> dict[str, str]:
    """A letter for each caller: its first or its last one where those differ, else a, b, c in order of appearance."""
    callers = list(dict.fromkeys(call.caller for call in calls if call.caller))
    for letters in ([caller[0] for caller in callers], [caller[-1] for caller in callers]):
        if len(set(letters)) == len(callers) and all(letter.isalnum() and letter != "X" for letter in letters):
            return dict(zip(callers, letters, strict=True))
    return {caller: LETTERS[index] if index < len(LETTERS) else "*" for index, caller in enumerate(callers)}


def _device_rows(
    history: History, axis: Axis, letters: dict[str, str], around_s: float | None
) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    devices = {
        device: calls
        for device, calls in history.by_device().items()
        if any(axis.shows(call.start.t_s, call.end.t_s if call.end else None) for call in calls)
    }
    # The device on which something began at the moment of interest comes first.
    order = sorted(devices, key=lambda device: all(call.start.t_s != around_s for call in devices[device]))
    for device in order[:DEVICES_MAX]:
        rows.append(("lease" if len(devices) == 1 else f"lease {device}", _lease_lane(devices[device], axis, letters)))
        rows.append((device, _device_lane(devices[device], axis, letters)))
    if len(order) > DEVICES_MAX:
        rows.append(("...", f"and {len(order) - DEVICES_MAX} more devices"))
    return rows


def _lease_lane(calls: Sequence[DriverCall], axis: Axis, letters: dict[str, str]) -> str:
    """Who held the device by the judge's rule; where two did, the later one is shown."""
    cells = [" "] * axis.columns
    for index, call in enumerate(calls):
        end_s = held_until_s(call)
        later = [other.start.t_s for other in calls[index + 1 :] if other.holder != call.holder]
        if later and (end_s is None or later[0] < end_s):
            end_s = later[0]
        if not axis.shows(call.start.t_s, end_s):
            continue
        first = axis.column(call.start.t_s)
        last = axis.columns - 1 if end_s is None else axis.column(end_s)
        fresh = index == 0 or calls[index - 1].holder != call.holder or cells[first] == " "
        put(cells, first + (0 if fresh else 1), "-" * (last - first))
        if fresh:
            put(cells, first, "|" + letters.get(call.caller or "", "?"))
        if end_s is not None and end_s <= axis.end_s:
            put(cells, last, "|")
    return "".join(cells).rstrip()


def _device_lane(calls: Sequence[DriverCall], axis: Axis, letters: dict[str, str]) -> str:
    cells = [" "] * axis.columns

    def fill(start_s: float, end_s: float | None, char: str) -> None:
        if axis.shows(start_s, end_s):
            first = axis.column(start_s)
            last = axis.columns if end_s is None else max(first + 1, axis.column(end_s))
            put(cells, first, char * (last - first))

    for call in calls:
        fill(call.start.t_s, call.end.t_s if call.end else None, letters.get(call.caller or "", "?"))
    for one, other in combinations(calls, 2):
        if one.end is None or other.start < one.end:
            ends = [call.end.t_s for call in (one, other) if call.end]
            fill(other.start.t_s, min(ends) if ends else None, "X")
    return "".join(cells).rstrip()
