"""The permission-card adapter of a world: what a scenario does with it. How its parts run is the mode's business.

Source: contract lineup; contract world, "Scenario and world".
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lasttick.targets.gateway.fakes import ModelHandle
from lasttick.targets.gateway.wire import Reply, reply_of
from lasttick.targets.lineup.ledger import LedgerRows
from lasttick.targets.lineup.options import AgentEvent, LineupOptions, LineupPart
from lasttick_fakes.host import ChatHost, Logged, NativeSource, Person, Wire

if TYPE_CHECKING:
    from lasttick.targets.world import World

HOST = "host"
NATIVE = "native"


class Lineup:
    """A running adapter. `host` is the chat host at its one side, `model` what the agent at its other side thinks with.

    `files` is the folder in which the agent works: look there for what it did. `ledger` reads the adapter's file.
    """

    def __init__(self, world: World, options: LineupOptions, part: LineupPart, host: ChatHost) -> None:
        self._world = world
        self._part = part
        self._runs = True
        self._native: NativeSource | None = None
        self.options = options
        self.host = host
        self.ledger = LedgerRows(options.ledger)
        self.model = ModelHandle(self._send, part.model_url)

    # -- the person's side

    def person(self, conversation_id: str = "default") -> Person:
        """Who sits before that conversation: the same each time."""
        return self.host.person(conversation_id)

    def frames(self) -> list[dict[str, Any]]:
        """What the host got, in order."""
        return self.host.frames()

    @property
    def problems(self) -> list[Logged]:
        """What the host got and should not have."""
        return self.host.problems

    async def come(self) -> None:
        """The host joins the adapter. Raises ConnectionError."""
        await self.host.come(await self.wire())

    async def wire(self) -> Wire:
        """A new link to the adapter, for a host. Raises ConnectionError."""
        return await self._part.wire()

    async def leave(self) -> None:
        """The host hangs up; cards stay on its screen."""
        await self.host.leave()

    # -- the agent's side

    @property
    def files(self) -> Path:
        return self.options.files

    def agent_log(self, *kinds: str) -> list[AgentEvent]:
        """What the agent itself wrote down: `hermes.answered`, `hermes.wrote`, ...; all kinds, or these."""
        return [event for event in self._part.agent_log() if not kinds or event.kind in kinds]

    async def kill_agent(self) -> None:
        """The agent's process is gone from one instant to the next."""
        self._world.trace.emit("agent", "part.kill")
        await self._part.kill_agent()

    async def native(self) -> NativeSource:
        """The agent's own gateway, joined to the adapter's event source: the same one until it is closed."""
        if self._native is None:
            self._native = NativeSource(await self._part.native(), functools.partial(_saw, self._world, NATIVE))
        return self._native

    # -- life and death

    @property
    def pid(self) -> int:
        return self._part.pid

    def stderr(self) -> str:
        """What the adapter said on standard error so far."""
        return self._part.said()

    async def stop(self) -> None:
        """Orderly stop, as on SIGTERM."""
        self._runs = False
        await self._forget()
        await self._part.stop()
        self._world.trace.emit(self.options.name, "part.stop")

    async def kill(self) -> None:
        """The adapter's process is gone from one instant to the next; its agent reads the end of its input."""
        self._runs = False
        self._world.trace.emit(self.options.name, "part.kill")
        await self._part.kill()
        await self._forget()

    async def ended(self) -> int:
        """Wait until it ends by itself, as one does that lost its ledger to another; its exit code."""
        code = await self._part.ended()
        self._runs = False
        await self._forget()
        return code

    async def start(self, *, come: bool = True) -> None:
        """Start again on the same ledger; the host comes too, unless it shall not."""
        await self._part.start()
        self._runs = True
        self._world.trace.emit(self.options.name, "part.start")
        if come and self._part.is_up:
            await self.come()

    async def restart(self, *, come: bool = True) -> None:
        """Start again, after stopping if it runs."""
        if self._runs:
            await self.stop()
        await self.start(come=come)

    # -- the crash matrix

    @property
    def steps(self) -> list[str]:
        """Every commit and every frame that this run of the adapter has come to, by name (virtual mode)."""
        return self._part.steps

    def crash_at(self, step: int) -> None:
        """The adapter dies just as it comes to this step of its run, counted from 0; `crashed` waits for it. While none
        runs: of the next run (virtual mode)."""
        self._part.crash_at(step)

    async def crashed(self) -> str:
        """Wait for the crash; the name of the step."""
        step = await self._part.crashed()
        self._runs = False
        self._world.trace.emit(self.options.name, "part.kill", step=step)
        await self._part.kill()
        await self._forget()
        return step

    async def shut(self) -> None:
        """The end of the world."""
        await self._forget()
        if self._runs:
            self._runs = False
            await self._part.stop()
        await self._part.close()

    async def _forget(self) -> None:
        """Links to a run that is over."""
        await self.host.leave()
        if self._native is not None:
            native, self._native = self._native, None
            await native.close()

    async def _send(self, method: str, url: str, body: Any = None) -> Reply:
        content = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        return reply_of(await self._world._http().request(method, url, content=content, headers=headers))


def _saw(world: World, actor: str, kind: str, data: dict[str, Any]) -> None:
    world.trace.emit(actor, kind, None, **data)


async def begin(world: World, number: int, options: dict[str, Any]) -> Lineup:
    """Start the world's adapter `number` (from 0) and what is around it. Raises StartRefused."""
    name = options.pop("name", "lineup" if number == 0 else f"lineup-{number + 1}")
    come, crash_at = options.pop("come", True), options.pop("crash_at", None)
    named = LineupOptions(folder=options.pop("folder", world.path / name), name=name, **options)
    # Frames name folders, which are others in each run: the story is the same wherever it is played.
    world.trace.redact.learn(str(named.folder), f"[{name}]")
    part = world.lineup_part(named, number)
    if crash_at is not None:
        part.crash_at(crash_at)
    actor = HOST if number == 0 else f"{HOST}-{number + 1}"
    host = ChatHost(part.clock, functools.partial(_saw, world, actor))
    try:
        await part.prepare()
        await part.start()
    except BaseException:
        await part.close()
        raise
    lineup = Lineup(world, named, part, host)
    world.trace.emit(name, "part.start", agent=named.hermes_version)
    if come and part.is_up:
        await lineup.come()
    return lineup
