"""What does a law say of a target in memory? In virtual time, without pytest in between."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.laws.deployment import Deployment
from lasttick.laws.load import loads
from lasttick.laws.reference import Law, hostagent
from lasttick.laws.said import Said
from lasttick.laws.target import Target
from lasttick.laws.verdict import LawFailed, NotApplicable, NotShown
from lasttick.mutants import find
from lasttick.targets.run import ScenarioRun
from lasttick.targets.virtual import VirtualWorld

Change: TypeAlias = Callable[[VirtualWorld, Deployment], Awaitable[None]]
ROOT = Path(__file__).parents[2]
WORDS: dict[type[Exception], str] = {LawFailed: "fail", NotShown: "inconclusive", NotApplicable: "not applicable"}


@dataclass(frozen=True)
class End:
    """`word`: pass, fail, inconclusive or not applicable."""

    word: str
    reason: str
    cases: tuple[str, ...]


def law_function(law_id: str) -> Law:
    """`tools/no-secret-out` -> the law's function."""
    group, _, name = law_id.partition("/")
    sys.path.insert(0, str(ROOT))
    try:
        module = importlib.import_module(f"scenarios.laws.test_{group}")
    finally:
        sys.path.remove(str(ROOT))
    return getattr(module, f"test_{name.replace('-', '_')}")


def on_reference(law_id: str, mutant: str | None = None, change: Change | None = None) -> End:
    """One law on our host agent in a world, as a scenario plays it. `change` may put something between them."""
    cases: list[str] = []

    async def play(world: VirtualWorld) -> None:
        deployment = await hostagent(world)
        if change is not None:
            await change(world, deployment)
        target = Target(deployment, law_id, world.trace)
        try:
            await law_function(law_id)(target)
        finally:
            await target.close()
            cases.extend(target.cases)

    run = ScenarioRun(play, scenario_id="x/y/z", seed=1, mode="virtual", mutant=find(mutant) if mutant else None)
    word, reason = "pass", ""
    try:
        run.example()
    except tuple(WORDS) as error:
        word, reason = WORDS[type(error)], str(error)
    return End(word, reason, tuple(cases))


def asgi_transport(app: Any) -> httpx.AsyncBaseTransport:
    return httpx.ASGITransport(app)


def judged(law_id: str, app: Any, profile: str, environ: Mapping[str, str], history: Sequence[Said] = ()) -> End:
    """One law on an ASGI application. `history`: what other laws said to it before."""
    law = law_function(law_id)

    async def main(loop: VirtualLoop) -> End:
        loaded = loads(profile, "lasttick.toml", environ)
        deployment = Deployment(loaded.profile, run="t1", secrets=loaded.secrets, transport=asgi_transport(app))
        deployment.history += history
        target = Target(deployment, law_id)
        word, reason = "pass", ""
        try:
            await law(target)
        except tuple(WORDS) as error:
            word, reason = WORDS[type(error)], str(error)
        finally:
            await target.close()
        return End(word, reason, tuple(target.cases))

    return run_virtual(main)
