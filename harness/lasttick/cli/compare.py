"""`lasttick compare vaultclaw --peer CMD`: this project's server and another program, side by side.

Findings and figures go to standard output, progress to standard error. Exit code 0: alike but for the rulings; 1: not;
3: the peer does not start; 4: no peer was given, or nothing was compared. Source: VC-21, DESIGN "What machines read".
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lasttick.cli.errors import FAILED, INCONCLUSIVE, PASSED, UNREACHABLE, UsageError

if TYPE_CHECKING:
    from lasttick.bench.figures import Figure
    from lasttick.compare.judge import Report
    from lasttick.compare.script import Script

VERSION = 1
SYSTEM = "vaultclaw"
CALLS_MAX, CALLERS_MAX = 10_000, 64
SHOWN_MAX, VALUE_MAX = 40, 200


class PeerDown(Exception):
    """One of the two programs did not start."""

    exit_code = UNREACHABLE


def compare(system: str, peer: str | None, *, seed: int, calls: int, only: str, callers: int, as_json: bool) -> int:
    """Play, judge, tell. Raises UsageError, PeerDown."""
    _check(system, peer, calls, callers)
    if not peer:
        return _inconclusive(
            "no peer was given", "--peer CMD, a program that takes the server's place", seed=seed, as_json=as_json
        )
    from lasttick.compare.corpus import corpus

    scripts = corpus(seed, calls, only)
    if not scripts:
        return _inconclusive(
            f"no script has {only!r} in its name",
            "part of one, such as rulings/ or vault/plans",
            seed=seed,
            as_json=as_json,
        )
    report, figures = _played(scripts, peer, seed, callers)
    if as_json:
        print(json.dumps(_document(report, figures, peer, seed), indent=1, allow_nan=False))
    else:
        print("\n".join([*_lines(report, whole=not only), *map(_figure_line, figures)]))
    return PASSED if report.verdict == "pass" else FAILED


def _played(scripts: Sequence[Script], peer: str, seed: int, callers: int) -> tuple[Report, list[Figure]]:
    from lasttick.compare.play import SideDown
    from lasttick.compare.sides import programs
    from lasttick.targets.children import ChildFailed
    from lasttick.targets.outcome import StartRefused

    try:
        return asyncio.run(programs(scripts, peer, seed=seed, callers=callers, tell=_tell))
    except (SideDown, StartRefused, ChildFailed) as error:
        raise PeerDown(
            f"one of the two programs did not start; it said: {str(error).strip() or 'nothing'}\n"
            "  expected: a vault MCP server that ACCORDS_MCP_HTTP_ADDR turns to HTTP (docs/compare.md)\n"
            f"  next: start it by hand: ACCORDS_MCP_HTTP_ADDR=127.0.0.1:8780 {peer}"
        ) from error


def _check(system: str, peer: str | None, calls: int, callers: int) -> None:
    if system != SYSTEM:
        raise UsageError(f"the system is {system!r}", f"{SYSTEM}, the only one that has a peer", "correct it")
    for name, value, most in (("--calls", calls, CALLS_MAX), ("--callers", callers, CALLERS_MAX)):
        if not 0 <= value <= most:
            raise UsageError(f"{name} is {value}", f"a whole number from 0 to {most}", "correct it")
    if not peer:
        return
    try:
        words = shlex.split(peer)
    except ValueError as error:
        raise UsageError(
            f"--peer {peer!r} is no command line: {error}", "a program and its arguments", "quote it"
        ) from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--peer {peer!r} names no program that can be found", "one that runs here", "give its path")


def _inconclusive(what: str, expected: str, *, seed: int, as_json: bool) -> int:
    if as_json:
        print(
            json.dumps({"version": VERSION, "system": SYSTEM, "seed": seed, "verdict": "inconclusive", "reason": what})
        )
    print(f"lasttick: inconclusive: {what}\n  expected: {expected}\n  next: see docs/compare.md", file=sys.stderr)
    return INCONCLUSIVE


def _document(report: Report, figures: Sequence[Figure], peer: str, seed: int) -> dict[str, Any]:
    """What `--json` prints."""
    from lasttick.compare.rulings import ROWS, RULINGS

    return {
        "version": VERSION,
        "system": SYSTEM,
        "peer": peer,
        "seed": seed,
        "verdict": report.verdict,
        "steps": report.steps,
        "equal": report.equal,
        "uncovered": [
            {"step": one.step, "path": one.path, "ours": _plain(one.ours), "peer": _plain(one.peers)}
            for one in report.uncovered
        ],
        "unkept": [{"step": step, "reading": reading} for step, reading in report.unkept],
        "rulings": [
            {
                "ruling": ruling,
                "readings": [row.name for row in ROWS if row.ruling == ruling],
                "exercised": list(report.exercised.get(ruling, ())),
                "shown": list(report.shown.get(ruling, ())),
            }
            for ruling in RULINGS
        ],
        "unexercised": list(report.unexercised),
        "figures": [one.as_json() for one in figures],
    }


def _lines(report: Report, *, whole: bool) -> list[str]:
    """The report for a person. `whole`: the whole corpus was played, so that a ruling without a step is a finding."""
    lines = []
    for one in report.uncovered[:SHOWN_MAX]:
        lines += [f"DIFFERS  {one.step}  {one.path}", f"    ours: {_short(one.ours)}", f"    peer: {_short(one.peers)}"]
    if len(report.uncovered) > SHOWN_MAX:
        lines.append(f"    and {len(report.uncovered) - SHOWN_MAX} more; --json has them all")
    lines += [f"NOT KEPT  {step}  {reading}" for step, reading in report.unkept]
    for ruling, steps in report.shown.items():
        lines.append(f"ruling {ruling}: the peer reads it otherwise in {len(steps)} steps, such as {steps[0]}")
    if whole and report.unexercised:
        lines.append(f"never exercised: {', '.join(f'ruling {one}' for one in report.unexercised)}")
    told = f"{report.equal} of {report.steps} steps equal, {len(report.uncovered)} differences that no ruling covers"
    return [*lines, f"{report.verdict.upper()} VC-21: {told}, {len(report.exercised)} rulings exercised"]


def _figure_line(one: Figure) -> str:
    met = {True: "met", False: "missed", None: ""}[one.ok]
    ratio = "" if one.ratio is None else f", {one.ratio:.2f} times the peer's ({one.target}: {met})"
    return f"{one.id}: ours {one.median:.2f} {one.unit}, peer {one.floor or 0:.2f} {one.unit}{ratio}"


def _plain(value: Any) -> Any:
    from lasttick.compare.normal import ABSENT

    return {"absent": True} if value is ABSENT else value


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, dict | list | str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_MAX else f"{text[:VALUE_MAX]}..."


def _tell(what: str) -> None:
    print(f"\r\x1b[K{what}" if sys.stderr.isatty() else what, end="" if sys.stderr.isatty() else "\n", file=sys.stderr)
