"""`lasttick verify`, `judge` and `report`: what is on disk is checked, judged again, and rendered again.

Nothing is run, so this works on a folder that came from elsewhere. Source: DESIGN "What a user sees".
"""

from __future__ import annotations

import json
from pathlib import Path

from lasttick.cli.errors import FAILED, PASSED
from lasttick.evidence import find_run, judge_run, run_argument, verify_run

VERSION = 1


def verify(wanted: str, *, as_json: bool) -> int:
    """0: everything is as it was written; 1: it is not, and where. Raises EvidenceError when there is no such run."""
    folder = find_run(wanted)
    seen = verify_run(folder)
    if as_json:
        _print_json(
            {
                "version": VERSION,
                "run": folder.name,
                "intact": not seen.damages,
                "traces": seen.traces,
                "events": seen.events,
                "damages": [damage.as_json() for damage in seen.damages],
            }
        )
    else:
        for damage in seen.damages:
            print(f"DAMAGED  {_plain(str(damage))}")
        looked = f"{seen.traces} traces, {seen.events} events"
        print(f"{run_argument(folder)}: {_places(len(seen.damages))}; {looked}")
    return FAILED if seen.damages else PASSED


def judge(wanted: str, *, as_json: bool) -> int:
    """0: today's checks say what the run says; 1: they do not. Raises EvidenceError for what can not be read."""
    folder = find_run(wanted)
    judged = judge_run(folder)
    differing = [item for item in judged if item.differs]
    if as_json:
        _print_json(
            {
                "version": VERSION,
                "run": folder.name,
                "differing": len(differing),
                "judged": [item.as_json() for item in judged],
            }
        )
        return FAILED if differing else PASSED
    for item in differing:
        recorded = "no such check" if item.recorded is None else item.recorded.verdict.replace("_", " ")
        print(f"DIFFERS  {_plain(item.scenario)}  {item.today.id}: was {recorded}, today {item.today.verdict}")
        reason = item.today.reason or (item.recorded.reason if item.recorded else "")
        if reason:
            print(f"         {'today' if item.today.reason else 'was'}: {_plain(reason)}")
    scenarios = len({item.scenario for item in judged})
    said = f"{len(differing)} verdicts of checks differ" if differing else "today's checks say the same"
    print(f"{run_argument(folder)}: {said}; {len(judged)} verdicts on {scenarios} traces")
    return FAILED if differing else PASSED


def report(wanted: str, out: Path | None) -> int:
    """Write the HTML again and print where it is."""
    from lasttick.report.html import write_report

    print(write_report(find_run(wanted), out))
    return PASSED


def _places(number: int) -> str:
    return {0: "intact", 1: "1 damaged place"}.get(number, f"{number} damaged places")


def _plain(text: str) -> str:
    """A peer's text must not move the cursor."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=1, ensure_ascii=True))
