"""Play a law on any deployment in virtual time, and say its verdict."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.trace import Trace
from lasttick.laws.deployment import Deployment
from lasttick.laws.target import Target
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown
from lasttick.marks import MARK, ScenarioSpec

ROOT = Path(__file__).parents[2]
BOUND_S = 100_000.0


@dataclass(frozen=True)
class Law:
    """One law as it is written in scenarios/laws."""

    id: str
    function: Callable[..., Awaitable[None]]
    spec: ScenarioSpec


@dataclass(frozen=True)
class Ruled:
    """`word`: fail, inconclusive, not_applicable or pass."""

    word: str
    reason: str
    cases: tuple[str, ...]


def all_laws() -> dict[str, Law]:
    """Every law, by id, in the order of the files."""
    sys.path.insert(0, str(ROOT))
    try:
        modules = [
            importlib.import_module(f"scenarios.laws.{file.stem}")
            for file in sorted((ROOT / "scenarios/laws").glob("test_*.py"))
        ]
    finally:
        sys.path.remove(str(ROOT))
    found: dict[str, Law] = {}
    for module in modules:
        for value in vars(module).values():
            for mark in getattr(value, "pytestmark", ()):
                if mark.name == MARK and mark.args[0].law is not None:
                    spec = mark.args[0]
                    found[spec.claims[0]] = Law(spec.claims[0], value, spec)
    return found


def play(law: Law, deploy: Callable[[VirtualLoop], Awaitable[Deployment]]) -> Ruled:
    """Play one law in virtual time on what `deploy` makes on its loop."""
    ruled: list[Ruled] = []

    async def main(loop: VirtualLoop) -> None:
        deployment = await deploy(loop)
        target = Target(deployment, law.id, trace_on(VirtualClock(loop)))
        try:
            ruled.append(Ruled(*await ruling(law, target), tuple(target.cases)))
        finally:
            await target.close()

    run_virtual(main, bound_s=BOUND_S)
    return ruled[0]


async def ruling(law: Law, target: Target) -> tuple[str, str]:
    try:
        await law.function(target)
    except LawFailed as error:
        return "fail", str(error)
    except NotShown as error:
        return "inconclusive", str(error)
    except NotApplicable as error:
        return "not_applicable", str(error)
    return ("pass", "") if target.cases else ("inconclusive", "no case")


def trace_on(clock: Any) -> Trace:
    trace = Trace()
    trace.use_clock(clock.now_ns, clock.wall)
    return trace
