"""`lasttick conformance mcp`: the official MCP suite on one of our servers; `conformance install` gets its programs.

Exit codes as of `check`: 0 all that is required passes; 1 something does not; 2 usage; 3 a server, the suite or an
installation failed; 4 nothing ran, since Node or the suite is missing. Source: HA-21, contract mcp_conformance.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from lasttick.cli.errors import FAILED, INCONCLUSIVE, PASSED, UNREACHABLE, UsageError
from lasttick.cli.pytest_runs import ends_on_sigterm

T = TypeVar("T", bound=str)
WHERE = "docs/conformance.md"


class ServerDown(Exception):
    """The server under test did not start."""

    exit_code = UNREACHABLE


def mcp(
    *,
    system: str,
    suites: Sequence[str],
    revisions: Sequence[str],
    tools: Path | None,
    mutant: str | None,
    as_json: bool,
) -> int:
    """Play, judge, tell. Raises UsageError, ServerDown, SuiteFailed."""
    from lasttick.conformance import baseline, play, table, toolbox
    from lasttick.conformance.suite import Suite
    from lasttick.targets.children import ChildFailed

    _one_of("--system", [system], play.SYSTEMS)
    versions = _one_of("--suite", suites, toolbox.SUITES)
    asked = _one_of("--revision", revisions, play.REVISIONS)
    _check_mutant(mutant, system)
    judged = [v for v in versions if any(baseline.load(system, v, revision) for revision in asked)]
    if not judged:
        raise UsageError(
            f"{system} is not judged in {', '.join(asked)} by {', '.join(versions)}",
            f"2026-07-28 with the suite 0.2 on the host agent only ({WHERE})",
            "drop --revision or --suite",
        )
    box = toolbox.look(toolbox.folder_of(os.environ, tools))
    if (lacks := box.lacks(*judged)) is not None or box.node is None:
        _tell(f"lasttick: {lacks}")
        if as_json:
            print(json.dumps({**play.Judgement(system).as_json(), "reason": lacks}, indent=1))
        return INCONCLUSIVE
    found = [Suite(box.node, box.suites[version], version) for version in judged]
    try:
        with ends_on_sigterm():
            judgement = asyncio.run(play.judge_system(system, found, asked, mutant=mutant, tell=_tell))
    except ChildFailed as error:
        raise ServerDown(str(error)) from error
    print(json.dumps(judgement.as_json(), indent=1) if as_json else "\n".join(table.lines(judgement)))
    return {"pass": PASSED, "fail": FAILED}.get(judgement.verdict, INCONCLUSIVE)


def install(tools: Path | None) -> int:
    """Raises InstallFailed."""
    from lasttick.conformance import install as installing
    from lasttick.conformance import toolbox

    folder = toolbox.folder_of(os.environ, tools)
    box = installing.install(folder, _tell)
    node = box.node
    print(f"{folder}: Node {node.version if node else '?'}, suite {', '.join(box.suites)}, {toolbox.INSPECTOR_PACKAGE}")
    return PASSED


def _one_of(option: str, asked: Sequence[T], known: Sequence[T]) -> list[T]:
    """What was asked, in the order of `known`; all of it when nothing was. Raises UsageError."""
    for value in asked:
        if value not in known:
            raise UsageError(f"{option} is {value!r}", f"one of {', '.join(known)} ({WHERE})", f"correct {option}")
    return [value for value in known if value in asked or not asked]


def _check_mutant(mutant: str | None, system: str) -> None:
    from lasttick.mutants import UnknownMutant, find

    if mutant is None:
        return
    try:
        found = find(mutant)
    except UnknownMutant as error:
        raise UsageError(f"--mutant: {error}", f"a mutant of {system}", "lasttick mutants list") from None
    if found.system != system:
        raise UsageError(f"--mutant is {mutant!r}", f"a mutant of {system}", "lasttick mutants list")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
