"""The gateway of a virtual world: every part in this process, joined by the world's network and by in-memory pipes."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from lasttick.engine.network import Site
from lasttick.reference.gateway.agent import AgentConfig, TrustedAgent
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.platform import Platform
from lasttick.reference.hostagent.start_error import StartError
from lasttick.targets.gateway.container import container_environ, prepare
from lasttick.targets.gateway.held_agent import HeldAgent
from lasttick.targets.gateway.hermes import InProcessHermes
from lasttick.targets.gateway.options import TURN_S, Addresses, GatewayOptions, PartName
from lasttick.targets.gateway.secrets import Secrets
from lasttick.targets.gateway.tap import Saw, Tap
from lasttick.targets.gateway.turns import Correlation, HermesTurn, told_request
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import emit_seen
from lasttick_fakes.model import FakeModel
from lasttick_fakes.thirdparty import ThirdParty

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

FIRST_PORT = 7100
PARTS = ("platform", "agent", "third_party", "model")


class VirtualGateway:
    """See `GatewayPart`. Addresses are fixed: four ports from 7100 on, the next gateway of the world ten further."""

    def __init__(self, world: VirtualWorld, options: GatewayOptions, number: int, secrets: Secrets) -> None:
        self._world = world
        self._options = options
        self._secrets = secrets
        first = FIRST_PORT + 10 * number
        self._origins = {name: f"127.0.0.1:{first + place}" for place, name in enumerate(PARTS)}
        self._correlation = Correlation()
        self._hermes = InProcessHermes(
            world,
            version=options.hermes_version,
            timeout_s=options.turn_s or TURN_S,
            saw=self._saw("hermes"),
            correlation=self._correlation,
        )
        self._third_runs: dict[int, str | None] = {}
        """The third party's requests by number: its answers do not repeat the run."""
        self._wires: list[str] = []
        self._sites: dict[str, Site] = {}
        self._platform: _Running | None = None

    async def start(self) -> Addresses:
        if self._options.hermes_command is not None:
            raise Inconclusive("another agent program is run in process mode only; a virtual world has no processes")
        clock = self._world.clock
        self._serve("third_party", ThirdParty(clock, self._third_saw))
        self._serve("model", FakeModel(clock, on_event=self._model_saw))
        prepare(self._options.folder, self._url("model"), self._options.config_yaml)
        self._start_agent()
        await self._start_platform()
        return Addresses(*(self._url(name) for name in PARTS))

    async def stop(self) -> None:
        """Nobody new comes in, the platform lets go of what it waits for, and all else breaks off."""
        for site in self._sites.values():
            site.up = False
        if self._platform is not None:
            await self._platform.stop()
        for site in reversed(self._sites.values()):
            site.cut()

    async def restart(self, name: PartName) -> None:
        site = self._sites[name]
        if name == "agent":
            site.cut()
            self._start_agent()
            return
        assert self._platform is not None
        site.up = False
        await self._platform.stop()
        site.cut()
        await self._start_platform()

    async def kill(self, name: PartName) -> None:
        raise Inconclusive(f"{name} is killed in process mode only; mark the scenario with needs=['kill-process']")

    async def turns(self) -> list[HermesTurn]:
        return list(self._hermes.turns)

    async def wires(self) -> list[str]:
        return list(self._wires)

    @property
    def pids(self) -> dict[str, int]:
        return dict.fromkeys(PARTS, os.getpid())

    def _url(self, name: str) -> str:
        return f"http://{self._origins[name]}"

    def _serve(self, name: str, app: Any) -> None:
        self._sites[name] = self._world.network.serve(self._origins[name], app)

    def _start_agent(self) -> None:
        options = self._options
        if options.agent == "held":
            self._serve("agent", Tap(HeldAgent(), self._agent_saw))
            return
        environ = container_environ(
            self._secrets,
            platform_url=self._url("platform"),
            folder=options.folder,
            version=options.hermes_version,
            extra=options.agent_environ,
        )
        try:
            config = AgentConfig.from_env(environ)
            agent = TrustedAgent(config, program=self._hermes, environ=environ, clock=self._world.clock)
        except StartError as error:
            raise StartRefused(str(error)) from error
        agent.register()
        self._serve("agent", Tap(agent.app, self._agent_saw))

    async def _start_platform(self) -> None:
        options = self._options
        bounds = {"upstream_s": options.upstream_s, "turn_s": options.turn_s}
        try:
            config = GatewayConfig.from_env(
                {**self._secrets.environ, **options.platform_environ},
                identity_dir=options.folder,
                agent_url=self._url("agent"),
                third_party_url=self._url("third_party"),
                **{name: bound for name, bound in bounds.items() if bound is not None},
            )
            platform = Platform(
                config, clock=self._world.clock, entropy=self._world.chance, transport=self._world.transport()
            )
            running = _Running(platform.running(), f"{options.name} platform")
            await running.start()
        except StartError as error:
            raise StartRefused(str(error)) from error
        self._platform = running
        self._serve("platform", Tap(platform.app, self._saw("platform")))

    def _agent_saw(self, kind: str, run_id: str | None, data: dict[str, Any]) -> None:
        self._wires.append(data["body"])
        self._saw("agent")(kind, run_id, data)

    def _saw(self, actor: str) -> Saw:
        def saw(kind: str, run_id: str | None, data: dict[str, Any]) -> None:
            emit_seen(self._world.trace, actor, kind, run_id, data)

        return saw

    def _third_saw(self, kind: str, data: dict[str, Any]) -> None:
        run_id = self._third_runs.setdefault(data["seq"], data.get("run_id"))
        told = {name: value for name, value in data.items() if name != "run_id"}
        self._saw("third-party")(kind, run_id, told)

    def _model_saw(self, kind: str, data: dict[str, Any]) -> None:
        self._saw("model")(kind, self._correlation.run_of(data["messages"]), told_request(data))


class _Running:
    """Something entered in a task of its own, so that whoever ends it need not be who began it."""

    def __init__(self, context: AbstractAsyncContextManager[Any], name: str) -> None:
        self._context = context
        self._name = name
        self._end = asyncio.Event()
        self._main: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises what the start raises."""
        up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._main = asyncio.create_task(self._run(up), name=self._name)
        await up

    async def stop(self) -> None:
        assert self._main is not None
        self._end.set()
        await self._main

    async def _run(self, up: asyncio.Future[None]) -> None:
        try:
            async with self._context:
                up.set_result(None)
                await self._end.wait()
        except Exception as error:
            if up.done():
                raise
            up.set_exception(error)
