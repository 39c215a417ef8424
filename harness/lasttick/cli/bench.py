"""`lasttick bench`: measure, show a table or JSON, and for leases a page. Never judges: the exit code is 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from lasttick.cli.errors import PASSED, UsageError

SESSIONS_MAX = 1_000
DEVICES_MAX = 100_000
WIDTH_WITHOUT_TERMINAL = 200
Measure = Callable[[Callable[[str], None]], dict[str, Any]]


def leases(*, sessions: str, devices: str, quick: bool, as_json: bool, html: Path | None) -> int:
    """Run the lease benchmark. Raises UsageError for a list that is none, OSError for a page that can not be."""
    many = numbers("--sessions", sessions, SESSIONS_MAX)
    on = numbers("--devices", devices, DEVICES_MAX)
    if html is not None:
        html.touch()  # a folder that is not there is said now, not after minutes
    from lasttick.bench import leases, page, rounds

    effort = rounds.QUICK if quick else rounds.FULL
    report = run(lambda told: leases.measure(many, on, effort, told), as_json)
    if html is not None:
        html.write_text(page.page(report), encoding="utf-8")
    return PASSED


def engine(*, quick: bool, as_json: bool) -> int:
    from lasttick.bench import engine, rounds

    run(lambda told: engine.measure(rounds.QUICK if quick else rounds.FULL, told), as_json)
    return PASSED


def calls(*, quick: bool, as_json: bool) -> int:
    from lasttick.bench import calls, rounds

    run(lambda told: calls.measure(rounds.QUICK if quick else rounds.FULL, told), as_json)
    return PASSED


def gateway(*, quick: bool, as_json: bool) -> int:
    from lasttick.bench import gateway, rounds

    run(lambda told: gateway.measure(rounds.QUICK if quick else rounds.FULL, told), as_json)
    return PASSED


def vaultclaw(*, quick: bool, as_json: bool) -> int:
    from lasttick.bench import rounds, vaultclaw

    run(lambda told: vaultclaw.measure(rounds.QUICK if quick else rounds.FULL, told), as_json)
    return PASSED


def lineup(*, quick: bool, as_json: bool) -> int:
    from lasttick.bench import lineup, rounds

    run(lambda told: lineup.measure(rounds.QUICK if quick else rounds.FULL, told), as_json)
    return PASSED


def run(measure: Measure, as_json: bool) -> dict[str, Any]:
    """Measure with progress on standard error; then JSON or a table on standard output."""
    from lasttick.bench import table

    progress = Console(stderr=True)
    with progress.status("bench") as status:
        report = measure(lambda what: status.update(f"bench {what}"))
    if as_json:
        print(json.dumps(report, indent=1, allow_nan=False))
    else:
        console = Console()
        table.show(report, console if console.is_terminal else Console(width=WIDTH_WITHOUT_TERMINAL))
    return report


def numbers(option: str, text: str, most: int) -> list[int]:
    """A comma-separated list of whole numbers, each once, in order. Raises UsageError."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= most for part in parts):
        raise UsageError(f"{option} is {text!r}", f"whole numbers from 1 to {most}, as 1,8,64", f"try {option} 1,8")
    return sorted({int(part) for part in parts})
