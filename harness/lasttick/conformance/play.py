"""Which runs make a judgement of one of our servers, and what came of each?

The host agent: with fixtures and an open door (the score), with fixtures behind the door (the door breaks nothing), and
as it is, behind the door (what it must pass without fixtures). The vault server: as it is; its surface is one fixed
handshake revision. Source: contract mcp_conformance, sections 2 (three ways) and 4.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lasttick.conformance import baseline, own
from lasttick.conformance.doorman import doorman
from lasttick.conformance.own import OwnCheck
from lasttick.conformance.results import Outcome, judge
from lasttick.conformance.suite import Listed, Suite
from lasttick.targets.children import POLL_S, Child

VERSION = 1
REVISIONS = ("2025-11-25", "2026-07-28")
SYSTEMS = ("hostagent", "vaultclaw")
OPEN, SHUT, BARE = "fixtures, open door", "fixtures, behind the door", "no fixtures, behind the door"
WAYS = (OPEN, SHUT, BARE)
AS_IT_IS = "no fixtures, no door"
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """One suite, one revision, one way to the server."""

    suite: str
    revision: str
    way: str
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        return all(outcome.ok for outcome in self.outcomes)

    @property
    def required(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.required]

    def as_json(self) -> dict[str, Any]:
        rows = [outcome.as_json() for outcome in self.outcomes]
        verdict = "pass" if self.ok else "fail"
        return {
            "suite": self.suite,
            "revision": self.revision,
            "way": self.way,
            "verdict": verdict,
            "required": len(self.required),
            "required_passed": len([outcome for outcome in self.required if outcome.ok]),
            "scenarios": rows,
        }


@dataclass(slots=True)
class Judgement:
    """Everything about one system."""

    system: str
    runs: list[Run] = field(default_factory=list)
    own: list[OwnCheck] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if not any(run.required for run in self.runs):
            return "inconclusive"
        return "pass" if all(run.ok for run in self.runs) and all(check.ok for check in self.own) else "fail"

    def as_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "system": self.system,
            "verdict": self.verdict,
            "runs": [run.as_json() for run in self.runs],
            "own": [check.as_json() for check in self.own],
        }


async def judge_system(
    system: str, suites: Sequence[Suite], revisions: Sequence[str], *, mutant: str | None, tell: Tell
) -> Judgement:
    """Start, play, stop, judge. Raises SuiteFailed, ChildFailed."""
    with tempfile.TemporaryDirectory(prefix="lasttick-conformance-") as name:
        judgement, folder = Judgement(system), Path(name)
        if system == "hostagent":
            await _hostagent(judgement, suites, revisions, folder, mutant, tell)
        else:
            await _vaultclaw(judgement, suites, revisions, folder, mutant, tell)
        return judgement


async def play(
    suite: Suite, revision: str, url: str, way: str, system: str, folder: Path, *, fixtures: bool
) -> Run | None:
    """One run against `url`; None when this system is not judged by that suite in that revision. Raises SuiteFailed."""
    known = baseline.load(system, suite.version, revision)
    section = None if known is None else known.fixtures if fixtures else known.bare
    if known is None or section is None:
        return None
    listed: Listed = await suite.list(revision, known.pending)
    out = Path(tempfile.mkdtemp(prefix="results-", dir=folder))
    found = await suite.play(url, revision, out)
    required = listed.required if section.required is None else section.required
    if section.required is not None:
        # Without fixtures the other scenarios ask for what is not there: that they fail says nothing.
        found = {name: checks for name, checks in found.items() if name in required}
    return Run(suite.version, revision, way, tuple(judge(found, required, section.known, listed.all)))


async def _hostagent(
    judgement: Judgement,
    suites: Sequence[Suite],
    revisions: Sequence[str],
    folder: Path,
    mutant: str | None,
    tell: Tell,
) -> None:
    for number, way in enumerate(WAYS):
        options = ["--conformance-fixtures", "--sse"] if way != BARE else []
        options += ["--open-door"] if way == OPEN else []
        directory = folder / f"identity-{number}"
        arguments = ["hostagent", "--port", "0", "--devices", "phone-1=android", "--identity-dir", str(directory)]
        async with _served([*arguments, *options], folder, mutant) as url, contextlib.AsyncExitStack() as stack:
            token = json.loads((directory / "host_mcp_token.json").read_text(encoding="utf-8"))["token"]
            address = url if way == OPEN else await stack.enter_async_context(doorman(url, token))
            await _runs(judgement, suites, revisions, address, way, folder, tell, fixtures=way != BARE)
            if way == SHUT:
                judgement.own += [*await own.fixture_texts(url, token), *await own.door_is_shut(url)]


async def _vaultclaw(
    judgement: Judgement,
    suites: Sequence[Suite],
    revisions: Sequence[str],
    folder: Path,
    mutant: str | None,
    tell: Tell,
) -> None:
    environ = {
        "ACCORDS_MCP_HTTP_ADDR": "127.0.0.1:0",
        "ACCORDS_MCP_CATALOG_DIR": str(folder / "catalog"),
        "VC_AGENT_TOKEN": "conformance-suite",
        "VC_BASE_URL": "http://127.0.0.1:9",
    }
    async with _served(["vaultclaw"], folder, mutant, environ) as url:
        await _runs(judgement, suites, revisions, f"{url}/mcp", AS_IT_IS, folder, tell, fixtures=False)


async def _runs(
    judgement: Judgement,
    suites: Sequence[Suite],
    revisions: Sequence[str],
    url: str,
    way: str,
    folder: Path,
    tell: Tell,
    *,
    fixtures: bool,
) -> None:
    for suite in suites:
        for revision in revisions:
            run = await play(suite, revision, url, way, judgement.system, folder, fixtures=fixtures)
            if run is not None:
                judgement.runs.append(run)
                passed = len([outcome for outcome in run.required if outcome.ok])
                tell(f"{judgement.system} {suite.version} {revision}, {way}: {passed} of {len(run.required)} required")


@contextlib.asynccontextmanager
async def _served(
    arguments: list[str], folder: Path, mutant: str | None, environ: dict[str, str] | None = None
) -> AsyncIterator[str]:
    """The address of `lasttick serve ARGUMENTS`, until left. Raises ChildFailed when it does not start."""
    with tempfile.NamedTemporaryFile(prefix="serve-", suffix=".log", dir=folder, delete=False) as log:
        pass
    wrong = [] if mutant is None else ["--mutant", mutant]
    child = Child([*arguments, *wrong], Path(log.name), environ)
    try:
        while (ready := child.poll_ready()) is None:
            await asyncio.sleep(POLL_S)
        yield str(ready["url"])
    finally:
        if child.running:
            await asyncio.to_thread(child.stop)
