"""The parts of a soak: devices, cloud and a host agent that is started, stopped and killed, on one of two rungs.

All that they keep of what happened is bounded: the rack's log, the cloud's history; and nothing but what the scenario
says goes into the trace. So what grows over a soak is a leak. Whoever judges hears each line of the devices' log and
each event of the cloud when it is written. Source: HA-18; engine, "Costs that decide budgets".
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lasttick.reference.hostagent.config import HostAgentConfig
from lasttick.targets.host_run import HostRun, Session
from lasttick.targets.memory_rung import PipeHost
from lasttick.targets.soak_weight import Weight, census, weigh
from lasttick_fakes.cloud import Cloud, asgi
from lasttick_fakes.devices import LogEntry, Rack, parse_devices, rack_app

if TYPE_CHECKING:
    from lasttick.model.lease import LeaseView
    from lasttick.targets.virtual import VirtualWorld

RACK, CLOUD, HOST = "127.0.0.1:7801", "127.0.0.1:7802", "127.0.0.1:7800"
LOG_LINES_MAX = 1_000
CLOUD_EVENTS_MAX = 16


@dataclass(frozen=True, slots=True)
class SoakOptions:
    """How large and how long. `rung`: memory (byte pipes, drivers in this process) or http; times in seconds."""

    devices: Sequence[str]
    duration_s: float
    rung: Literal["memory", "http"] = "memory"
    ttl_s: float = 60.0
    heartbeat_s: float = 30.0
    claim_wait_s: int = 300
    max_call_s: float = 300.0
    session_idle_s: float = 1_800.0
    freeze: bool = False
    """Whether the collector leaves alone what lives when it is weighed: for many sessions, which would take it long."""


class Hush:
    """Warnings of the host agent go nowhere until closed: pytest keeps each with its traceback, and devices fail a
    thousand times in a soak."""

    def __init__(self) -> None:
        loggers = [logging.getLogger(name) for name in ("lasttick.reference.hostagent", "mcp")]
        self._before = [(logger, logger.level) for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.ERROR)

    def close(self) -> None:
        for logger, level in self._before:
            logger.setLevel(level)


class Soak:
    """One rack, one cloud, one host after the other. `start` before anything else, `close` at the end."""

    def __init__(
        self,
        world: VirtualWorld,
        options: SoakOptions,
        on_log: Callable[[LogEntry], None],
        on_cloud: Callable[[str, dict[str, Any]], None],
    ) -> None:
        world.loop.bound_s = max(world.loop.bound_s, options.duration_s + world.loop.bound_s)
        self.options = options
        self.rack = Rack(
            world.clock, parse_devices(",".join(options.devices)), on_log=on_log, log_entries_max=LOG_LINES_MAX
        )
        self.cloud = Cloud(world.clock, heartbeat_s=options.heartbeat_s, on_event=on_cloud, keep=CLOUD_EVENTS_MAX)
        world.network.serve(RACK, rack_app(self.rack))
        world.network.serve(CLOUD, asgi(self.cloud))
        self._world = world
        self._host: HostRun | None = None
        world.until_closed(Hush())

    @property
    def host(self) -> HostRun:
        assert self._host is not None, "no host agent runs; start one first"
        return self._host

    async def start(self) -> None:
        """A new run of the host agent, on the identity folder of those before."""
        options = self.options
        config = HostAgentConfig(
            identity_dir=self._world.path / "soak",
            ttl_s=options.ttl_s,
            heartbeat_s=options.heartbeat_s,
            max_call_s=options.max_call_s,
            session_idle_s=options.session_idle_s,
            claim_wait_s=options.claim_wait_s,
            cloud_url=f"http://{CLOUD}",
            port=int(HOST.rpartition(":")[2]),
        )
        if options.rung == "memory":
            self._host = PipeHost(self._world, config, self.rack)
        else:
            from lasttick.targets.http_rung import HttpHost

            self._host = HttpHost(self._world, config, HOST, f"http://{RACK}")
        await self._host.start()
        self._world.trace.emit("hostagent", "part.start", ttl_s=options.ttl_s, devices=[])

    async def stop(self) -> None:
        await self.host.stop()
        self._host = None
        self._world.trace.emit("hostagent", "part.stop")

    async def kill(self) -> None:
        self._world.trace.emit("hostagent", "part.kill")
        await self.host.kill()
        self._host = None

    async def open(self) -> Session:
        return await self.host.open()

    async def snapshot(self) -> list[LeaseView]:
        """What the host's lease store shows."""
        return await self.host.agent.store.snapshot()

    def census(self) -> dict[str, int]:
        """How many of each thing there are; see `soak_weight.census`. After a `weigh`, or garbage counts too."""
        return census(self.host.agent, self.rack, self.cloud, self._world.loop, self._world._tasks)

    def weigh(self) -> Weight:
        self._world.loop.forget_done()
        return weigh(freeze=self.options.freeze)

    async def close(self) -> None:
        await self.stop()
        self.rack.close()
        await self.cloud.close()
        if self.options.freeze:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
