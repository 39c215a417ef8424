"""What does a law say of a server in memory, and of our host agent in a world? In virtual time, without pytest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import httpx

from lasttick.engine.loop import VirtualLoop
from lasttick.laws.deployment import Deployment
from lasttick.laws.profiles.load import loads
from lasttick.laws.reference import SYSTEMS
from lasttick.laws.said import Said
from lasttick.laws.target import Target
from lasttick.mutants import find
from lasttick.targets.outcome import CheckFailed
from lasttick.targets.run import ScenarioRun
from lasttick.targets.virtual import VirtualWorld

from .playing import Ruled, all_laws, play, ruling

Change: TypeAlias = Callable[[VirtualWorld, Deployment], Awaitable[None]]
LAWS = all_laws()


def asgi_transport(app: Any) -> httpx.AsyncBaseTransport:
    return httpx.ASGITransport(app)


def judged(law: str, app: Any, profile: str, environ: Mapping[str, str], history: Sequence[Said] = ()) -> Ruled:
    """One law on an ASGI application. `history`: what other laws said to it before."""

    async def deploy(loop: VirtualLoop) -> Deployment:
        loaded = loads(profile, "lasttick.toml", environ)
        deployment = Deployment(loaded.profile, run="t1", secrets=loaded.secrets, transport=asgi_transport(app))
        deployment.history += history
        return deployment

    return play(LAWS[law], deploy)


def on_reference(law: str, mutant: str | None = None, change: Change | None = None, system: str = "hostagent") -> Ruled:
    """One law on a reference of ours in a world, as a scenario plays it. `change` may put something between them."""
    ruled: list[Ruled] = []

    async def story(world: VirtualWorld) -> None:
        deployment = await SYSTEMS[system](world)
        if change is not None:
            await change(world, deployment)
        target = Target(deployment, law, world.trace)
        try:
            ruled.append(Ruled(*await ruling(LAWS[law], target), tuple(target.cases)))
        finally:
            await target.close()

    run = ScenarioRun(story, scenario_id="x/y/z", seed=1, mode="virtual", mutant=find(mutant) if mutant else None)
    try:
        run.example()
    except CheckFailed:
        # What the devices, the ledger or the third party saw is another check's business.
        assert ruled
    return ruled[0]
