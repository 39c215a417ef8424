"""Who did what, when, and who held the device, as pictures: one SVG per lane, all on the same virtual time axis.

Places on the axis are percentages and texts have fixed sizes, so a lane fits any width without a script. What is drawn
is capped, and what was left out is said; the trace keeps all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from lasttick.evidence import DriverCall, Event, History, histories
from lasttick.report.canvas import STEPS_S
from lasttick.report.html_text import Html, join, short, tag
from lasttick.report.story import Deed, deeds, holds

ACTORS_MAX = 12
DEVICES_MAX = 6
DEEDS_MAX = 60
ROWS_MAX = 6
TICKS_MAX = 8
COLOURS = 8
# Packing needs pixels: those of a lane on a wide screen, and of a character of the lanes' font.
LANE_PX = 1000
CHAR_PX = 6.1
ROW_PX = 18
LEFT_PC, WIDTH_PC = 0.5, 97.0


def lanes_html(events: Sequence[Event], *, moment_s: float | None = None, time: str = "virtual time") -> Html:
    """The lanes of one example; empty when it has nothing to draw. `moment_s`: an instant to mark, as of a failure.

    `time`: what the axis is called.
    """
    history = next(iter(histories(events)), None)
    if history is None:
        return Html()
    told = deeds(history.events)
    if not [deed for deed in told if deed.tone != "quiet"] and not history.calls:
        return Html()
    axis = _axis(history, moment_s)
    colours = _colours(history)
    rows = [_lane("", Html(), axis.ruler(), height_px=16, what=time)]
    by_actor: dict[str, list[Deed]] = {}
    for deed in told:
        by_actor.setdefault(deed.actor, []).append(deed)
    shown = [actor for actor in by_actor if any(deed.tone != "quiet" for deed in by_actor[actor])]
    rows += [_actor_lane(actor, by_actor[actor], axis, colours) for actor in shown[:ACTORS_MAX]]
    devices = history.by_device()
    for device in list(devices)[:DEVICES_MAX]:
        rows.append(_lease_lane(device, devices[device], axis, colours, many=len(devices) > 1))
        rows.append(_device_lane(device, devices[device], axis, colours))
    left_out = [
        f"{count - most} more {what}"
        for count, most, what in ((len(shown), ACTORS_MAX, "actors"), (len(devices), DEVICES_MAX, "devices"))
        if count > most
    ]
    note = tag("p", f"Not drawn: {', '.join(left_out)}.", class_="soft small") if left_out else None
    return join([*rows, note])


@dataclass(frozen=True, slots=True)
class _Axis:
    start_s: float
    end_s: float
    moment_s: float | None

    def pc(self, t_s: float) -> float:
        """Where an instant is, in per cent of the lane's width."""
        part = (t_s - self.start_s) / (self.end_s - self.start_s)
        return LEFT_PC + WIDTH_PC * min(1.0, max(0.0, part))

    def ticks(self) -> list[tuple[float, str]]:
        span_s = self.end_s - self.start_s
        step = next((step for step in STEPS_S if span_s / step <= TICKS_MAX), None)
        if step is None:
            step = span_s / TICKS_MAX
        first = int(self.start_s / step)
        instants = [index * step for index in range(first, first + TICKS_MAX + 2)]
        return [(self.pc(t), _seconds(t)) for t in instants if self.start_s <= t <= self.end_s]

    def lines(self) -> Html:
        lines = [tag("line", class_="grid", x1=_pc(x), x2=_pc(x), y1=0, y2="100%") for x, _ in self.ticks()]
        if self.moment_s is not None:
            x = _pc(self.pc(self.moment_s))
            lines.append(tag("line", class_="at", x1=x, x2=x, y1=0, y2="100%"))
        return join(lines)

    def ruler(self) -> Html:
        """On a narrow screen every second instant is left out."""
        return join(
            [
                tag(
                    "text",
                    said,
                    class_="tick second" if index % 2 else "tick",
                    x=_pc(x),
                    y=12,
                    text_anchor="start" if x < 2 else "end" if x > 95 else "middle",
                )
                for index, (x, said) in enumerate(self.ticks())
            ]
        )


def _axis(history: History, moment_s: float | None) -> _Axis:
    instants = [event.t_s for event in history.events]
    start_s, end_s = min(instants), max(instants)
    return _Axis(start_s, max(end_s, start_s + 0.001), moment_s)


def _colours(history: History) -> dict[str | None, str]:
    """A colour for each caller, in order of appearance."""
    callers = dict.fromkeys(call.caller for call in history.calls if call.caller)
    return {caller: f"c{index % COLOURS}" for index, caller in enumerate(callers)}


def _lane(name: str, swatch: Html, content: Html, *, height_px: float, what: str) -> Html:
    picture = tag("svg", content, height=f"{height_px:g}", role="img", aria_label=what)
    return tag("div", tag("span", swatch, short(name, 40), class_="who", title=name), picture, class_="lane")


def _actor_lane(actor: str, told: list[Deed], axis: _Axis, colours: dict[str | None, str]) -> Html:
    rows = _Rows()
    parts = [_deed(deed, axis, rows) for deed in told[:DEEDS_MAX]]
    left_out = parts.count(None) + max(0, len(told) - DEEDS_MAX)
    height_px = max(1, rows.count) * ROW_PX + 2
    if left_out:
        more = tag(
            "text", f"{left_out} more, not drawn", class_="tick", x="50%", y=height_px + 11, text_anchor="middle"
        )
        parts.append(more)
        height_px += 15
    swatch = tag("i", class_=colours[actor]) if actor in colours else Html()
    drawn = join([axis.lines(), *[part for part in parts if part is not None]])
    return _lane(actor, swatch, drawn, height_px=height_px, what=f"{actor}: {len(told)} events")


class _Rows:
    """Deeds and their texts go into the first row that has room, from left to right."""

    def __init__(self) -> None:
        self._taken: list[list[tuple[float, float]]] = []

    @property
    def count(self) -> int:
        return len(self._taken)

    def place(self, left_px: float, right_px: float) -> int | None:
        for index, taken in enumerate(self._taken):
            if all(right_px < start or left_px > end for start, end in taken):
                taken.append((left_px, right_px + 4))
                return index
        if len(self._taken) == ROWS_MAX:
            return None
        self._taken.append([(left_px, right_px + 4)])
        return len(self._taken) - 1


def _deed(deed: Deed, axis: _Axis, rows: _Rows) -> Html | None:
    """None when it has no room left."""
    start, end = axis.pc(deed.start_s), axis.pc(axis.end_s if deed.end_s is None else deed.end_s)
    is_bar = deed.tone in ("ok", "refused", "error", "open")
    left_px, wide_px = start * LANE_PX / 100, (end - start) * LANE_PX / 100
    label, note = short(deed.label, 44), short(deed.note, 28)
    inside = label if is_bar and len(label) * CHAR_PX + 8 <= wide_px else ""
    after = (note if inside else f"{label} {note}".strip()) if deed.tone != "quiet" else ""
    after_px = len(after) * CHAR_PX + 8 if after else 0
    right_px = left_px + max(wide_px, 6)
    if inside and right_px + after_px > LANE_PX:
        both = f"{label}: {note}"
        inside, after, after_px = (both if len(both) * CHAR_PX + 8 <= wide_px else label), "", 0
    before = right_px + after_px > LANE_PX and left_px - after_px > 0
    # What merely began is a thin line that needs no room of its own.
    row: int | None = 0
    if deed.tone != "quiet":
        row = rows.place(left_px - (after_px if before else 5), right_px + (0 if before else after_px))
    if row is None:
        return None
    y = row * ROW_PX + 2
    title = tag("title", _title(deed))
    if is_bar:
        shape = _bar(start, end, y, deed.tone, inside, title)
    else:
        path = "M0 1L5 7L0 13L-5 7Z" if deed.tone != "quiet" else "M0 1L0 13"
        shape = tag("svg", title, tag("path", d=path), class_=deed.tone, x=_pc(start), y=y, overflow="visible")
    words = tag(
        "text",
        after,
        class_="after",
        x=_pc(start if before else end),
        y=y + 11,
        dx=-8 if before else 8 if wide_px < 6 else 4,
        text_anchor="end" if before else "start",
    )
    return join([shape, words if after else None])


def _bar(start: float, end: float, y: float, kind: str, label: str, title: Html, height_px: int = 14) -> Html:
    wide = end - start
    width = _pc(wide) if wide * LANE_PX / 100 >= 3 else "3"
    box = tag("rect", width="100%", height="100%", rx=2)
    words = tag("text", label, x=4, y=height_px - 3) if label else None
    return tag("svg", title, box, words, class_=f"bar {kind}", x=_pc(start), y=y, width=width, height=height_px)


def _lease_lane(
    device: str, calls: Sequence[DriverCall], axis: _Axis, colours: dict[str | None, str], *, many: bool
) -> Html:
    told = holds(calls)
    parts: list[Html] = [axis.lines()]
    for held in told[:DEEDS_MAX]:
        start, end = axis.pc(held.start_s), axis.pc(axis.end_s if held.end_s is None else held.end_s)
        said = f"{held.caller or 'unknown'} holds {device}, {_span(held.start_s, held.end_s)}"
        label = short(held.caller or "?", 30)
        inside = label if len(label) * CHAR_PX + 8 <= (end - start) * LANE_PX / 100 else ""
        kind = f"held {colours.get(held.caller, 'open')}"
        parts.append(_bar(start, end, 2, kind, inside, tag("title", said), height_px=11))
    name = f"lease {device}" if many else "lease"
    return _lane(name, Html(), join(parts), height_px=15, what=f"{name}: {len(told)} holders one after the other")


def _device_lane(device: str, calls: Sequence[DriverCall], axis: _Axis, colours: dict[str | None, str]) -> Html:
    parts: list[Html] = [axis.lines()]
    for call in calls[:DEEDS_MAX]:
        end_s = call.end.t_s if call.end else None
        start, end = axis.pc(call.start.t_s), axis.pc(axis.end_s if end_s is None else end_s)
        label = short(call.tool, 30)
        inside = label if len(label) * CHAR_PX + 8 <= (end - start) * LANE_PX / 100 else ""
        title = tag("title", f"{call.tool} of {call.caller or 'unknown'}, {_span(call.start.t_s, end_s)}")
        parts.append(_bar(start, end, 2, colours.get(call.caller, "open"), inside, title))
    clashes = _clashes(calls[:DEEDS_MAX], axis.end_s)
    for start_s, end_s, who in clashes:
        title = tag("title", f"{who} at once, {_span(start_s, end_s)}")
        parts.append(_bar(axis.pc(start_s), axis.pc(end_s), 14, "clash", "", title, height_px=5))
    more = f"; {len(calls) - DEEDS_MAX} more, not drawn" if len(calls) > DEEDS_MAX else ""
    what = f"{device}: {len(calls)} actions, {len(clashes)} times two at once{more}"
    return _lane(device, Html(), join(parts), height_px=20, what=what)


def _clashes(calls: Sequence[DriverCall], last_s: float) -> list[tuple[float, float, str]]:
    """Where two actions of one device ran at once."""
    until: Callable[[DriverCall], float] = lambda call: call.end.t_s if call.end else last_s  # noqa: E731
    return [
        (second.start.t_s, min(until(first), until(second)), f"{first.caller} and {second.caller}")
        for first, second in combinations(calls, 2)
        if second.start < first.start or first.end is None or second.start < first.end
    ]


def _title(deed: Deed) -> str:
    said = f"{deed.actor}: {deed.label}"
    if deed.note:
        said += f" -> {deed.note}"
    return f"{short(said, 300)}, {_span(deed.start_s, deed.end_s)}"


def _span(start_s: float, end_s: float | None) -> str:
    if end_s == start_s:
        return f"at {_seconds(start_s)}"
    return f"{_seconds(start_s)} to {'the end' if end_s is None else _seconds(end_s)}"


def _seconds(t_s: float) -> str:
    return f"{t_s:.3f}".rstrip("0").rstrip(".") + " s"


def _pc(value: float) -> str:
    return f"{value:.2f}%"
