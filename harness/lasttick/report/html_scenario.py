"""How did one scenario go? Its story, its verdict and checks, and the lanes of its first examples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lasttick.evidence import Event, EvidenceError, Manifest, ScenarioResult, TraceExamples, trace_file
from lasttick.report.failure import WORDS, check_command, live_profile, replay_command
from lasttick.report.html_artifacts import artifacts_html
from lasttick.report.html_lanes import lanes_html
from lasttick.report.html_text import Html, join, short, tag

EXAMPLES_DRAWN = 2
EVENTS_LISTED = 40
EVENT_CHARS_MAX = 220
ARGUMENTS_CHARS_MAX = 600
REPLIES_SHOWN = 20
REPLY_CHARS_MAX = 1000


def scenario_html(
    folder: Path, manifest: Manifest, result: ScenarioResult, anchor: str, pictures: frozenset[str] = frozenset()
) -> Html:
    """A part that can be folded; open when the scenario did not pass. `pictures`: those that the page shows."""
    word = tag("b", WORDS[result.verdict], class_=f"v {result.verdict}")
    about = [", ".join((*result.requirements, *result.laws))]
    if result.examples:
        about.append(_count(result.examples.run, "example"))
    is_live = manifest.mode == "live"
    about += [_time(result, is_live=is_live)] if result.trace else []
    summary = tag("summary", word, tag("code", result.id), tag("span", " · ".join(about), class_="soft small"))
    parts = [
        *[tag("p", part, class_="story") for part in result.text.split("\n\n") if part.strip()],
        None if _told_by_a_check(result) else tag("p", result.reason, class_="reason"),
        _replies(result),
        _checks(result),
        artifacts_html(folder, result, pictures),
        _examples(folder, result, time="time" if is_live else "virtual time") if result.trace else None,
        _replay(manifest, result) if result.trace else None,
    ]
    is_open = "open" if result.verdict in ("fail", "inconclusive") else None
    return tag("details", summary, tag("div", *parts), class_=f"scenario {result.verdict}", id=anchor, open=is_open)


def _time(result: ScenarioResult, *, is_live: bool) -> str:
    if is_live:
        return f"played for {result.duration_s:.3f} s"
    return f"{result.virtual_s:,.3f} s played in {result.duration_s:.3f} s"


def _replies(result: ScenarioResult) -> Html | None:
    """What a law's verdict rests on, as it was answered; the last ones are those that decided."""
    if not result.replies:
        return None
    lines = [short(reply, REPLY_CHARS_MAX) for reply in result.replies[-REPLIES_SHOWN:]]
    more = len(result.replies) - len(lines)
    head = [f".. {more} earlier ones are in verdicts.json"] if more else []
    return join([tag("p", "it rests on", class_="soft small"), tag("pre", "\n".join([*head, *lines]))])


def _told_by_a_check(result: ScenarioResult) -> bool:
    return not result.reason or any(check.reason and check.reason in result.reason for check in result.checks)


def _checks(result: ScenarioResult) -> Html | None:
    rows = [
        tag(
            "tr",
            tag("td", tag("code", check.id)),
            tag("td", tag("b", check.verdict.replace("_", " "), class_=f"v {check.verdict}")),
            tag("td", check.reason),
        )
        for check in result.checks
    ]
    return tag("table", *rows, class_="checks small") if rows else None


def _replay(manifest: Manifest, result: ScenarioResult) -> Html:
    command = result.falsified.replay if result.falsified else replay_command(result.id, run=manifest.run)
    if (config := live_profile(manifest)) is not None:
        command = check_command(config, next(iter(result.laws), None))
    hash_ = f"trace {(result.trace_sha256 or '')[:16]} in {result.trace}"
    return tag("p", "play it again: ", tag("code", command), tag("br"), hash_, class_="soft small")


def _examples(folder: Path, result: ScenarioResult, *, time: str) -> Html:
    path = trace_file(folder, result)
    if path is None:
        return Html()
    try:
        return _drawn(TraceExamples(path), result, time=time)
    except EvidenceError as error:
        # Its text names the place in full; what is the same everywhere is the place in the run folder.
        return tag("p", str(error).replace(str(path), str(result.trace)), class_="reason")


def _drawn(examples: TraceExamples, result: ScenarioResult, *, time: str) -> Html:
    order = list(range(len(examples)))
    if result.falsified:
        # The shrunk example is the last one, and the one to look at first.
        order = [*order[-1:], *order[:-1]]
    moments = [check.t_s for check in result.checks if check.verdict == "fail" and check.t_s is not None]
    figures = [
        _figure(
            examples.events(index),
            falsified=bool(result.falsified) and index == len(examples) - 1,
            moment_s=moments[0] if moments and order[0] == index else None,
            alone=len(examples) == 1,
            time=time,
        )
        for index in order[:EXAMPLES_DRAWN]
    ]
    if len(examples) > EXAMPLES_DRAWN:
        kept = f"{EXAMPLES_DRAWN} of {len(examples)} kept examples are drawn; the trace has all of them."
        figures.append(tag("p", kept, class_="soft small"))
    return join(figures)


def _figure(events: Sequence[Event], *, falsified: bool, moment_s: float | None, alone: bool, time: str) -> Html:
    title = ""
    try:
        title = _title(events[0], falsified=falsified, alone=alone)
        lanes = lanes_html(events, moment_s=moment_s, time=time)
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
        # Somebody else's trace may hold anything; the rest of the page is still worth reading.
        lanes = tag("p", f"This example can not be drawn: {error!r}", class_="soft small")
    if not lanes:
        lanes = tag("p", "No call, no device, nothing to draw.", class_="soft small")
    return tag("figure", tag("figcaption", title) if title else None, lanes, _events(events))


def _title(first: Event, *, falsified: bool, alone: bool) -> str:
    title = "" if alone and not falsified else f"Example {first.data.get('number', '')}"
    if falsified:
        title += ", falsified and shrunk"
    arguments = first.data.get("arguments")
    if arguments:
        shown = [f"{name}={value}" for name, value in dict(arguments).items()]
        title += (": " if title else "") + short(", ".join(shown), ARGUMENTS_CHARS_MAX)
    return title


def _events(events: Sequence[Event]) -> Html:
    lines = [_line(event) for event in events[:EVENTS_LISTED]]
    more = len(events) - EVENTS_LISTED
    if more > 0:
        lines.append(f".. and {more} more in the trace")
    return tag(
        "details",
        tag("summary", _count(len(events), "event"), class_="soft small"),
        tag("pre", "\n".join(lines)),
        class_="events",
    )


def _line(event: Event) -> str:
    data = json.dumps(event.data, ensure_ascii=False, default=str)
    head = f"{event.t_ns / 1e9:>12.6f}  {event.actor}  {event.kind}"
    return short_line(f"{head} {event.ref}" if event.ref else head, data)


def short_line(head: str, data: str) -> str:
    """The columns of `head` stay where they are; the data is cut."""
    line = f"{head}  {data}"
    return line if len(line) <= EVENT_CHARS_MAX else line[: EVENT_CHARS_MAX - 1] + "\u2026"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
