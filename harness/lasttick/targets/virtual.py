"""A world in one process: in-memory transports that carry the real bytes, virtual time, seeded chance.

Source: DESIGN "The flow", contract world, "Modes and controls".
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop
from lasttick.engine.network import Delay, Network, Site
from lasttick.engine.trace import Trace
from lasttick.ports import Clock, LeaseStore
from lasttick.reference.hostagent.agent import HostAgent
from lasttick.reference.hostagent.busy_tracker import McpBusyTracker
from lasttick.reference.hostagent.config import HostAgentConfig
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.rack_client import RackClient
from lasttick.reference.hostagent.shared_store import SharedLeaseStore
from lasttick.reference.hostagent.start_error import StartError
from lasttick.targets.callers import Callers
from lasttick.targets.cloud import CloudHandle
from lasttick.targets.device import Device
from lasttick.targets.host import Host, HostOptions, Part, Ready
from lasttick.targets.lease_server import SHARED, FakeLeases
from lasttick.targets.listen import HeardLog, Log
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import LogEntry, emit_cloud, emit_driver
from lasttick.targets.transports import memory_transport
from lasttick.targets.world import World
from lasttick_fakes.cloud import Cloud, asgi
from lasttick_fakes.devices import LogEntry as RackEntry
from lasttick_fakes.devices import Rack, parse_devices, rack_app
from lasttick_fakes.leases import FakeLeaseServer, Link

if TYPE_CHECKING:
    from lasttick.mutants import Mutant
    from lasttick.targets.gateway.boot import BootRung
    from lasttick.targets.gateway.child import ServerRung
    from lasttick.targets.gateway.client import ClientRung
    from lasttick.targets.gateway.options import GatewayOptions, GatewayPart
    from lasttick.targets.gateway.secrets import Secrets
    from lasttick.targets.lineup.options import LineupOptions, LineupPart
    from lasttick.targets.soak import Soak
    from lasttick.targets.vaultclaw.catalog_rung import CatalogRung
    from lasttick.targets.vaultclaw.options import VaultParts

RACK = "127.0.0.1:7001"
CLOUD = "127.0.0.1:7002"
FIRST_HOST_PORT = 8765


class Closes(Protocol):
    """Something that must not outlive its world."""

    def close(self) -> None: ...


@dataclass(slots=True)
class VirtualTrouble:
    """Faults of the run: the wall clock (`wall.step`, `wall.drift`, `wall.pause`), suspended time,
    message delay, the order of ready tasks.
    """

    wall: VirtualClock
    _loop: VirtualLoop
    _schedule: random.Random
    _network: Network
    _delay: Delay
    _trace: Trace

    def delay(self, low_s: float, high_s: float) -> None:
        """From now on each request and each answer takes a draw from [low_s, high_s]."""
        self._trace.emit("harness", "trouble", None, what="delay", low_s=low_s, high_s=high_s)
        self._delay.low_s, self._delay.high_s = low_s, high_s
        self._network.delay = self._delay

    def shuffle(self) -> None:
        """From now on ready tasks run in a seeded order instead of their own."""
        self._trace.emit("harness", "trouble", None, what="shuffle")
        self._loop.shuffle = self._schedule

    def step(self, seconds: float) -> None:
        """The wall clock jumps."""
        self._trace.emit("harness", "trouble", None, what="wall-step", seconds=seconds)
        self.wall.step(seconds)

    def suspend(self, seconds: float) -> None:
        """The machine slept: wall time went on, monotonic time did not (ruling HA-3)."""
        self._trace.emit("harness", "trouble", None, what="suspend", seconds=seconds)
        self.wall.step(seconds)


class VirtualWorld(World):
    """See World. `loop` drives all time; `network` joins the parts; `rack` and `clock` are the fakes' own objects."""

    mode = "virtual"
    tick_s = 0.001
    ttl_s = 60.0

    def __init__(self, loop: VirtualLoop, *, seed: int, trace: Trace, path: Path, mutant: Mutant | None = None) -> None:
        super().__init__(seed=seed, trace=trace, path=path, mutant=mutant)
        self.loop = loop
        self.clock = VirtualClock(loop)
        trace.use_clock(self.clock.now_ns, self.clock.wall)
        self.callers = Callers()
        trace.listeners.append(self.callers.see)
        self.network = Network()
        self.trouble = VirtualTrouble(
            self.clock, loop, self.random("schedule"), self.network, Delay(self.random("trouble")), trace
        )
        self._log: list[LogEntry] = []
        self._heard: list[HeardLog] = []
        self._others: list[Closes] = []
        self._racks: dict[str, tuple[Rack, str]] = {}
        self._leases: FakeLeases | None = None
        self._runs: dict[str, int] = {}
        self.rack = self._rack("")[0]
        self._transport = memory_transport(self.network)

    # -- time

    @property
    def now_s(self) -> float:
        return self.loop.time()

    async def settle(self) -> None:
        await self.loop.settle()

    async def until(self, t_s: float) -> None:
        await self.loop.until(t_s)

    # -- parts

    def hostagent_part(self, options: HostOptions, again: Host | None = None) -> Part:
        rack = self._rack(options.rack)[0]
        known = {device.info.device_id for device in rack.devices}
        rack.add(spec for spec in parse_devices(",".join(options.devices)) if spec.device_id not in known)
        port = httpx.URL(again.url).port if again else FIRST_HOST_PORT + len(self._hosts)
        return VirtualHost(self, options, f"127.0.0.1:{port}")

    async def cloud(self, **options: Any) -> CloudHandle:
        if self._cloud is None:
            options.setdefault("heartbeat_s", self.ttl_s / 2)
            fake = Cloud(self.clock, on_event=self._cloud_saw, **options)
            self.network.serve(CLOUD, asgi(fake))
            self._cloud = VirtualCloud(self, f"http://{CLOUD}", fake)
        return self._cloud

    def gateway_part(self, options: GatewayOptions, number: int, secrets: Secrets) -> GatewayPart:
        from lasttick.targets.gateway.virtual import VirtualGateway  # brings a database, which few worlds need

        return VirtualGateway(self, options, number, secrets)

    def lineup_part(self, options: LineupOptions, number: int) -> LineupPart:
        from lasttick.targets.lineup.virtual import VirtualLineup  # brings the ACP library, which few worlds need

        return VirtualLineup(self, options, number)

    @functools.cached_property
    def _vault_parts(self) -> VaultParts:
        from lasttick.targets.vaultclaw.virtual import VirtualVaultParts

        return VirtualVaultParts(self)

    def vault_parts(self) -> VaultParts:
        return self._vault_parts

    @property
    def wall_s(self) -> float:
        return self.clock.wall().timestamp()

    def device(self, device_id: str) -> Device:
        return Device(self, device_id, self.rack_url(device_id.rpartition("/")[0]))

    def rack_url(self, name: str) -> str:
        return f"http://{self._rack(name)[1]}"

    def lease_store(self, ttl_s: float | None = None) -> LeaseStore:
        return MemoryLeaseStore(self.clock, ttl_s or self.ttl_s)

    @property
    def lease_server(self) -> FakeLeases:
        if self._leases is None:
            self._leases = FakeLeases(self.trace, FakeLeaseServer(self.clock))
        return self._leases

    def shared_lease_store(self, host: str, ttl_s: float | None = None) -> SharedLeaseStore:
        return self.shared_store(host, self.lease_server.server.link(host), self.clock, ttl_s or self.ttl_s)

    def shared_store(self, host: str, link: Link, clock: Clock, ttl_s: float) -> SharedLeaseStore:
        """What a new run of that host has of the shared store: its name tells runs apart."""
        self._runs[host] = self._runs.get(host, 0) + 1
        return SharedLeaseStore(link, clock, host=f"{host}-{self._runs[host]}", ttl_s=ttl_s)

    def busy_tracker(self, ttl_s: float | None = None) -> McpBusyTracker:
        return McpBusyTracker(clock=self.clock, ttl_seconds=ttl_s or self.ttl_s)

    def soak(
        self,
        options: Mapping[str, Any],
        on_log: Callable[[RackEntry], None],
        on_cloud: Callable[[str, dict[str, Any]], None],
    ) -> Soak:
        from lasttick.targets.soak import Soak, SoakOptions

        return Soak(self, SoakOptions(**options), on_log, on_cloud)

    def tool_client(self) -> ClientRung:
        from lasttick.targets.gateway.client import ClientRung

        return ClientRung(self)

    def tool_server(self) -> ServerRung:
        from lasttick.targets.gateway.child import ServerRung

        return ServerRung(self)

    def boot_rung(self) -> BootRung:
        from lasttick.targets.gateway.boot import BootRung

        return BootRung(self.path / "boots")

    def catalog_rung(self) -> CatalogRung:
        from lasttick.targets.vaultclaw.catalog_rung import CatalogRung

        return CatalogRung(self.path / "catalogs", self.clock, self.chance)

    def agent_secret(self, value: str) -> object:
        from lasttick.reference.gateway.secret import AgentSecret

        return AgentSecret(value)

    def transport(self) -> httpx.AsyncBaseTransport:
        return self._transport

    def rack_log(self) -> Sequence[LogEntry]:
        return self._log

    async def mcp_token(self, identity_dir: Path) -> str:
        from lasttick.targets import serve  # brings uvicorn, which few virtual worlds need

        try:
            return serve.mcp_token(identity_dir)
        except serve.ServeError as error:
            raise StartRefused(str(error)) from error

    def mcp_token_work(self, identity_dir: Path, number: int = 0) -> Callable[[], str]:
        from lasttick.targets import serve

        def work() -> str:
            self.chance.token_bytes(number)
            return serve.mcp_token(identity_dir)

        return work

    def listen(self) -> Log:
        self._heard.append(HeardLog())
        return self._heard[-1]

    def until_closed(self, part: Closes) -> None:
        """Close that too, at the end of this world."""
        self._others.append(part)

    async def _close_parts(self) -> None:
        for part in (*self._heard, *self._others):
            part.close()
        for rack, _ in self._racks.values():
            rack.close()
        if self._cloud is not None:
            await self._cloud.fake.close()

    def _rack(self, name: str) -> tuple[Rack, str]:
        """A rack and its origin; made when first asked for. Devices of a named one are `NAME/phone-1` in the trace."""
        if name not in self._racks:
            host, _, port = RACK.rpartition(":")
            origin = f"{host}:{int(port) + 100 * len(self._racks)}"
            rack = Rack(self.clock, on_log=functools.partial(self._driver_wrote, f"{name}/" if name else ""))
            self.network.serve(origin, rack_app(rack))
            self._racks[name] = rack, origin
        return self._racks[name]

    def _driver_wrote(self, prefix: str, entry: RackEntry) -> None:
        caller = None if entry.kind == "end" else self.callers.of(entry.device_id, entry.tool, entry.arguments)
        line = {**entry.as_json(), "device_id": prefix + entry.device_id}
        self._log.append(emit_driver(self.trace, line, t_ns=entry.t_ns, caller=caller))

    def _cloud_saw(self, kind: str, data: dict[str, Any]) -> None:
        emit_cloud(self.trace, kind, data, t_ns=self.clock.now_ns())


class VirtualCloud(CloudHandle):
    """Waits on the fake itself instead of asking again and again."""

    async def finished(self, task_id: str) -> dict[str, Any]:
        await self.fake.task_done(task_id)
        return await self.task(task_id)


class VirtualHost:
    """A reference host agent inside the world: its own task, its own address, files in its identity folder."""

    def __init__(self, world: VirtualWorld, options: HostOptions, origin: str) -> None:
        self._world = world
        self._options = options
        self._origin = origin
        self._site: Site | None = None
        self._main: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        # Its way out has a switch of its own: a killed host reaches nobody any more.
        self._outside = Cable(world.transport())
        self._link: Link | None = None

    async def start(self) -> Ready:
        options, world = self._options, self._world
        try:
            config = HostAgentConfig.from_env(
                options.environ,
                identity_dir=options.identity_dir,
                host=options.host,
                port=int(self._origin.rpartition(":")[2]),
                allow_non_loopback=options.allow_non_loopback,
                ttl_s=options.ttl_s,
                heartbeat_s=options.heartbeat_s,
                max_call_s=options.max_call_s,
                session_idle_s=options.session_idle_s,
                json_response=not options.sse,
                conformance_fixtures=options.fixtures,
                open_door=options.open_door,
                stateless_handles=options.stateless_handles,
                cloud_url=world._cloud.url if world._cloud else None,
                **options.extra,
            )
        except StartError as error:
            raise StartRefused(str(error)) from error
        clock: Clock = _AheadClock(world.clock, options.clock_ahead_s) if options.clock_ahead_s else world.clock
        store = self._store(clock)
        agent = HostAgent(
            config,
            drivers=RackClient(world.rack_url(options.rack), transport=self._outside, only=options.device_ids),
            clock=clock,
            entropy=world.chance,
            cloud_transport=self._outside,
            store=store,
        )
        up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._agent = agent
        lives = [agent.running()] if store is None else [store.running(), agent.running()]
        self._main = asyncio.create_task(live(lives, up, self._stop), name=options.name)
        try:
            await up
        except StartError as error:
            raise StartRefused(str(error)) from error
        self._site = world.network.serve(self._origin, agent.app)
        return Ready(f"http://{self._origin}/mcp", f"http://{self._origin}")

    @property
    def pid(self) -> int:
        return os.getpid()

    async def stop(self) -> None:
        assert self._main is not None
        assert self._site is not None
        self._site.up = False
        self._stop.set()
        await self._main
        self._site.cut()

    async def kill(self) -> None:
        assert self._main is not None
        assert self._site is not None
        self._outside.cut()
        if self._link is not None:
            self._link.close()
        self._site.cut()
        # A killed process takes no time to die. What is left of this one may take some, but it reaches nobody.
        self._agent.instance_lock.lose()
        self._main.cancel()
        await self._world.settle()

    def pause(self) -> None:
        raise Inconclusive("a host agent of virtual mode is no process that could stand still; mark needs signals")

    def resume(self) -> None:
        self.pause()

    def _store(self, clock: Clock) -> SharedLeaseStore | None:
        """None: the leases are kept in the host's memory."""
        options, world = self._options, self._world
        if options.lease_store not in ("", SHARED):
            raise Inconclusive(f"virtual mode has no lease store {options.lease_store!r}, only {SHARED!r}")
        if not options.lease_store:
            return None
        self._link = world.lease_server.server.link(options.name)
        return world.shared_store(options.name, self._link, clock, options.ttl_s)


async def live(
    lives: Sequence[AbstractAsyncContextManager[object]], up: asyncio.Future[None], stop: asyncio.Event
) -> None:
    """Be inside all of `lives` until `stop`. `up` is told when that is so, or why it cannot be."""
    try:
        async with AsyncExitStack() as stack:
            for life in lives:
                await stack.enter_async_context(life)
            if not up.done():
                up.set_result(None)
            await stop.wait()
    except Exception as error:
        if up.done():
            raise
        up.set_exception(error)


class _AheadClock:
    """The world's clock as it is read on a machine whose clocks are ahead."""

    def __init__(self, clock: Clock, ahead_s: float) -> None:
        self._clock = clock
        self._ahead_s = ahead_s

    def now_ns(self) -> int:
        return self._clock.now_ns() + round(self._ahead_s * 1e9)

    def wall(self) -> datetime:
        return self._clock.wall() + timedelta(seconds=self._ahead_s)

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class Cable(httpx.AsyncBaseTransport):
    """A transport that can be pulled out: open requests stay unanswered, new ones are refused."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self._plugged = True

    def cut(self) -> None:
        self._plugged = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self._plugged:
            raise httpx.ConnectError("this host was killed", request=request)
        return await self._inner.handle_async_request(request)
