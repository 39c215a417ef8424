"""How is the official suite asked? One process per run, an output folder that is read, and lists of what it has.

Source: contract mcp_conformance, section 2.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from lasttick.conformance.child import SuiteFailed, run_to_end
from lasttick.conformance.results import Check, read
from lasttick.conformance.toolbox import Node

RUN_S = 180.0
LIST_S = 30.0
NAME = re.compile(r"\s*- (?P<name>[\w./-]+)(?: \[(?P<of>[^\]]*)\])?\s*")


@dataclass(frozen=True, slots=True)
class Listed:
    """Server scenarios: those that a revision requires, and all that a run of it plays."""

    required: tuple[str, ...]
    all: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """One version of the suite, at its script."""

    node: Node
    script: Path
    version: str

    @property
    def knows_requirements(self) -> bool:
        """Since 0.2 the suite has a frozen list for each revision."""
        return not self.version.startswith("0.1.")

    async def list(self, revision: str, pending: Collection[str]) -> Listed:
        """What this revision requires. Raises SuiteFailed."""
        if self.knows_requirements:
            return listed_requirements(await self._ask("list", "--requirements", revision))
        names = listed_server(await self._ask("list", "--server"), revision)
        return Listed(tuple(name for name in names if name not in pending), names)

    async def play(self, url: str, revision: str, out: Path) -> dict[str, tuple[Check, ...]]:
        """Every scenario of the revision against `url`. Raises SuiteFailed."""
        which = ["--requirements", revision] if self.knows_requirements else []
        said = await self._run("server", "--url", url, *which, "-o", str(out), limit_s=RUN_S)
        found = await asyncio.to_thread(read, out)
        if not found:
            raise SuiteFailed(
                f"the suite {self.version} left no results; it said:\n  {_tail(said)}\n  expected: a checks.json for "
                f"each scenario in {out}\n  next: run it by hand: {self.node.path} {self.script} server --url {url}"
            )
        return found

    async def _ask(self, *arguments: str) -> str:
        return await self._run(*arguments, limit_s=LIST_S)

    async def _run(self, *arguments: str, limit_s: float) -> str:
        """What it prints, whatever its exit code: only the checks say what passed. Raises SuiteFailed."""
        return await output_of([str(self.node.path), str(self.script), *arguments], limit_s)


async def output_of(command: list[str], limit_s: float) -> str:
    """Standard output and error of a program. Raises SuiteFailed when it does not start, or does not end in time."""
    return (await run_to_end(command, limit_s, environ={"FORCE_COLOR": "0"}, joined=True)).out


def listed_server(text: str, revision: str) -> tuple[str, ...]:
    """Names of `list --server` that apply to `revision`."""
    rows = [found for line in text.splitlines() if (found := NAME.fullmatch(line))]
    return tuple(row["name"] for row in rows if row["of"] is None or revision in row["of"].split(","))


def listed_requirements(text: str) -> Listed:
    """Server scenarios of `list --requirements`."""
    required: list[str] = []
    others: list[str] = []
    part = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            part = line
        elif (found := NAME.fullmatch(line)) is not None:
            if part.startswith("Server scenarios"):
                required.append(found["name"])
            elif not part.startswith("Client scenarios") and found["of"] == "server":
                others.append(found["name"])
    return Listed(tuple(required), (*required, *others))


def _tail(said: str) -> str:
    return "\n  ".join(said.strip().splitlines()[-8:])
