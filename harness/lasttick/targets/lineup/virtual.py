"""An adapter of a virtual world: adapter, agent and host in this process, joined by byte pipes; the model on a network.

A killed adapter reaches nobody from that instant on, and its agent reads the end of its input, as a real child does.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lasttick.engine.network import Site
from lasttick.engine.pipes import PipeEnd, pipe_pair
from lasttick.ports import Clock, LineStream
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.acp_agent import AcpAgent
from lasttick.reference.lineup.core import RESPONSE_TIMEOUT_S, Adapter
from lasttick.reference.lineup.host_lines import HostLines
from lasttick.reference.lineup.ledger import Ledger
from lasttick.targets.children import REFUSED
from lasttick.targets.gateway.turns import told_request
from lasttick.targets.lineup.agent import VIRTUAL_COMMAND, agent_environ, prepare
from lasttick.targets.lineup.native import hear_gateway
from lasttick.targets.lineup.options import NOT_TOLD, AgentEvent, LineupOptions
from lasttick.targets.lineup.steps import Crash, Steps
from lasttick.targets.lineup.tap import TappedPrograms
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import emit_seen
from lasttick_fakes.hermes.acp import ASK_S, AcpPrograms, run_acp
from lasttick_fakes.hermes.acp.turn import DEFAULT_PACE
from lasttick_fakes.host import LineWire, Wire
from lasttick_fakes.model import FakeModel

if TYPE_CHECKING:
    from lasttick.targets.virtual import VirtualWorld

FIRST_PORT = 7300


class VirtualLineup:
    """See `LineupPart`."""

    def __init__(self, world: VirtualWorld, options: LineupOptions, number: int) -> None:
        if options.agent_command is not None:
            raise Inconclusive("another agent is run in process mode only; a virtual world has no processes")
        self._world = world
        self._options = options
        self._origin = f"127.0.0.1:{FIRST_PORT + number}"
        self._agents = AcpPrograms(self._agent)
        self._log: list[AgentEvent] = []
        self._site: Site | None = None
        self._crash_at: int | None = None
        self._run: _Run | None = None
        self.model_url = f"http://{self._origin}"
        self.clock: Clock = world.clock

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def is_up(self) -> bool:
        return self._run is not None and self._run.is_up

    async def prepare(self) -> None:
        model = FakeModel(self._world.clock, on_event=self._model_saw)
        self._site = self._world.network.serve(self._origin, model)
        prepare(self._options, self.model_url)

    async def start(self) -> None:
        self._run = _Run(self._world, self._options, self._agents, Steps(self._crash_at), self._saw)
        self._crash_at = None
        await self._run.start()

    async def stop(self) -> None:
        if self._run is not None:
            await self._run.stop()

    async def kill(self) -> None:
        assert self._run is not None
        await self._run.kill()
        await self._world.settle()

    async def ended(self) -> int:
        assert self._run is not None
        await self._run.ended()
        return REFUSED

    async def kill_agent(self) -> None:
        await self._agents.kill(self._agents.count - 1)

    async def wire(self) -> Wire:
        assert self._run is not None
        return LineWire(self._run.host_pipe())

    async def native(self) -> LineStream:
        assert self._run is not None
        return self._run.native_pipe()

    def agent_log(self) -> list[AgentEvent]:
        return list(self._log)

    def said(self) -> str:
        return ""

    def crash_at(self, step: int) -> None:
        if self._run is not None and self._run.is_up:
            self._run.steps.crash_at = step
        else:
            self._crash_at = step

    @property
    def steps(self) -> list[str]:
        assert self._run is not None
        return list(self._run.steps.names)

    async def crashed(self) -> str:
        assert self._run is not None
        return await self._run.steps.crashed()

    async def close(self) -> None:
        await self._agents.close()
        if self._site is not None:
            self._site.cut()

    async def _agent(self, stream: LineStream, env: Mapping[str, str]) -> None:
        """One run of the agent's program."""
        options, world = self._options, self._world
        await run_acp(
            stream,
            env,
            children=AcpPrograms(self._agent),
            transport=world.transport(),
            version=options.hermes_version,
            clock=world.clock,
            entropy=world.chance,
            on_event=self._agent_saw,
            pace=DEFAULT_PACE.scaled(1.0 if options.pace is None else options.pace),
            ask_s=ASK_S if options.ask_s is None else options.ask_s,
        )

    def _agent_saw(self, kind: str, data: dict[str, Any]) -> None:
        self._log.append(AgentEvent(self._world.clock.now_ns(), kind, data))
        if kind not in NOT_TOLD:
            self._saw(kind, data)

    def _saw(self, kind: str, data: dict[str, Any]) -> None:
        emit_seen(self._world.trace, "agent", kind, None, data)

    def _model_saw(self, kind: str, data: dict[str, Any]) -> None:
        emit_seen(self._world.trace, "model", kind, None, told_request(data))


class _Run:
    """One process's life of the adapter."""

    def __init__(
        self, world: VirtualWorld, options: LineupOptions, agents: AcpPrograms, steps: Steps, saw: Any
    ) -> None:
        self._world = world
        self._options = options
        self._programs = TappedPrograms(agents, saw)
        self._adapter: Adapter | None = None
        self._serving: list[asyncio.Task[None]] = []
        self._pipes: list[PipeEnd] = []
        self._is_over = False
        self.steps = steps

    @property
    def is_up(self) -> bool:
        return self._adapter is not None and not self._is_over and not self.steps.is_dead

    async def start(self) -> None:
        """Returns also when it dies while it starts. Raises StartRefused."""
        options, world = self._options, self._world
        try:
            ledger = Ledger(options.ledger, world.clock)
            self._adapter = Adapter(
                ledger,
                world.clock,
                world.chance,
                self._link,
                response_timeout_s=options.response_timeout_s or RESPONSE_TIMEOUT_S,
                permission_life_s=options.permission_life_s,
                step=self.steps,
            )
            await self._adapter.start()
        except StartError as error:
            raise StartRefused(str(error)) from error
        except Crash:
            return

    def _link(self) -> AcpAgent:
        options = self._options
        return AcpAgent(
            self._programs, self._world.clock, VIRTUAL_COMMAND, agent_environ(options), cwd=str(options.files)
        )

    def host_pipe(self) -> PipeEnd:
        """Raises ConnectionRefusedError when the adapter does not run."""
        adapter, ours, theirs = self._joined()
        self._serve(HostLines(theirs, adapter, adapter.attach, self._world.clock).run(), "host link")
        return ours

    def native_pipe(self) -> PipeEnd:
        """Raises ConnectionRefusedError when the adapter does not run."""
        adapter, ours, theirs = self._joined()
        self._serve(hear_gateway(adapter, theirs, self._world.clock), "event source")
        return ours

    def _joined(self) -> tuple[Adapter, PipeEnd, PipeEnd]:
        if self._adapter is None or not self.is_up:
            raise ConnectionRefusedError("the adapter does not run; expected one that does; start it first")
        ours, theirs = pipe_pair()
        self._pipes.append(theirs)
        return self._adapter, ours, theirs

    async def stop(self) -> None:
        if self._adapter is None or self._is_over:
            return
        self._is_over = True
        await self._adapter.stop()
        await self._hang_up()

    async def kill(self) -> None:
        if self._adapter is None:
            return
        self._is_over = True
        self.steps.is_dead = True
        self._adapter.abandon()
        self._programs.hang_up()
        await self._hang_up()

    async def ended(self) -> None:
        """By itself, which a served adapter does only when it could not write its ledger."""
        assert self._adapter is not None
        await self._adapter.ended()
        await self.stop()

    async def _hang_up(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _serve(self, work: Any, name: str) -> None:
        self._serving.append(asyncio.create_task(work, name=f"{self._options.name} {name}"))
