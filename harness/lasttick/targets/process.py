"""A world of real child processes on loopback sockets, in real time with short TTLs.

One rack serves all worlds of a test process, with a fresh log for each; every world has its own host agents and cloud.
Slack lies on the safe side: `until(t)` means half a tick after t, and a step overslept by more than half a tick makes
the scenario inconclusive. Source: contract world, "Modes and controls", contract engine, "Process mode".
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shutil
import signal
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from lasttick.engine.clock import NS, SystemClock
from lasttick.engine.trace import Event, Trace
from lasttick.targets.children import POLL_S, REFUSED, Begin, Child, ChildFailed
from lasttick.targets.cloud import CloudHandle
from lasttick.targets.device import Device
from lasttick.targets.host import Host, HostOptions, Part, Ready
from lasttick.targets.lease_server import SHARED
from lasttick.targets.listen import Log, WrittenLog
from lasttick.targets.nursery import nursery
from lasttick.targets.outcome import Inconclusive, Overslept, StartRefused
from lasttick.targets.redis_leases import RedisLeases
from lasttick.targets.told import LogEntry, Told, tell
from lasttick.targets.world import World

if TYPE_CHECKING:
    from lasttick.mutants import Mutant
    from lasttick.targets.browser import Browser
    from lasttick.targets.gateway.options import GatewayOptions, GatewayPart
    from lasttick.targets.gateway.process import ProcessGateway
    from lasttick.targets.gateway.secrets import Secrets
    from lasttick.targets.lineup.options import LineupOptions, LineupPart
    from lasttick.targets.lineup.process import ProcessLineup
    from lasttick.targets.vaultclaw.options import VaultParts

SETTLE_S = 0.15


class ProcessWorld(World):
    """See World."""

    mode = "process"
    tick_s = 0.25
    ttl_s = 1.5

    def __init__(
        self,
        *,
        seed: int,
        trace: Trace,
        path: Path,
        mutant: Mutant | None = None,
        commands: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(seed=seed, trace=trace, path=path, mutant=mutant)
        self.commands = commands or {}
        """Other programs in the place of a reference, by their systems."""
        self._clock = SystemClock()
        self._start_ns, self._start_wall = self._clock.now_ns(), self._clock.wall()
        trace.use_clock(lambda: self._clock.now_ns() - self._start_ns, self._clock.wall)
        self.rack_url = _shared_rack()
        _http("DELETE", f"{self.rack_url}/v1/devices")
        self._children: list[Child] = []
        self._spawned = 0
        self._cloud_log: list[dict[str, Any]] | None = None
        """What the cloud had written when it was stopped at the world's end."""
        self._logs: list[Path] = []
        self._leases: RedisLeases | None = None
        self._gateway: ProcessGateway | None = None
        self._lineup_parts: list[ProcessLineup] = []
        self._vault: VaultParts | None = None

    # -- time

    @property
    def now_s(self) -> float:
        return (self._clock.now_ns() - self._start_ns) / NS

    async def settle(self) -> None:
        await asyncio.sleep(SETTLE_S)

    async def until(self, t_s: float) -> None:
        aim_s = t_s + self.tick_s / 2
        await asyncio.sleep(max(0.0, aim_s - self.now_s))
        if self.now_s > t_s + self.tick_s:
            late_s = self.now_s - aim_s
            raise Overslept(f"overslept by {late_s:.3f} s the instant t={t_s:.3f}; this machine is too busy")

    # -- parts

    def hostagent_part(self, options: HostOptions, again: Host | None = None) -> Part:
        if options.rack:
            raise Inconclusive(f"the rack {options.rack!r} exists in virtual mode only")
        there = {device["device_id"] for device in _http("GET", f"{self.rack_url}/v1/devices")["devices"]}
        if new := [spec for spec in options.devices if spec.partition("=")[0] not in there]:
            _http("POST", f"{self.rack_url}/v1/devices", {"devices": ",".join(new)})
        port = (urlsplit(again.url).port or 0) if again else 0
        return ProcessHost(self, options, port)

    async def cloud(self, **options: Any) -> CloudHandle:
        if self._cloud is None:
            heartbeat_s = options.pop("heartbeat_s", self.ttl_s / 2)
            if options:
                raise Inconclusive(f"cloud options {sorted(options)} exist in virtual mode only")
            child, ready = await self.spawn(["cloud", "--port", "0", "--heartbeat", str(heartbeat_s)], "cloud")
            self._children.append(child)
            self._cloud = CloudHandle(self, ready["url"])
        return self._cloud

    @property
    def lease_server(self) -> RedisLeases:
        if self._leases is None:
            # Its own in the whole Redis: other test processes, and other worlds of this one, use it too.
            self._leases = RedisLeases(self.trace, f"lasttick-{os.getpid()}-{self._start_ns}")
        return self._leases

    def gateway_part(self, options: GatewayOptions, number: int, secrets: Secrets) -> GatewayPart:
        from lasttick.targets.gateway.process import ProcessGateway

        self._gateway = ProcessGateway(self, options, number, secrets)
        return self._gateway

    def lineup_part(self, options: LineupOptions, number: int) -> LineupPart:
        from lasttick.targets.lineup.process import ProcessLineup

        self._lineup_parts.append(ProcessLineup(self, options, number))
        return self._lineup_parts[-1]

    def vault_parts(self) -> VaultParts:
        from lasttick.targets.vaultclaw.process import ProcessVaultParts

        if self._vault is None:
            self._vault = ProcessVaultParts(self)
        return self._vault

    @property
    def wall_s(self) -> float:
        return self._clock.wall().timestamp()

    def device(self, device_id: str) -> Device:
        return Device(self, device_id, self.rack_url)

    def transport(self) -> None:
        return None

    async def browser(self) -> Browser:
        from lasttick.targets.browser import start_browser

        if self._browser is None:
            self._browser = await start_browser()
        return self._browser

    @property
    def cloud_url(self) -> str | None:
        return self._cloud.url if self._cloud else None

    async def spawn(
        self,
        arguments: list[str],
        name: str,
        environ: Mapping[str, str] | None = None,
        *,
        begin: Begin | None = None,
    ) -> tuple[Child, dict[str, Any]]:
        """Start `lasttick serve ...` and wait for its ready line. Raises ChildFailed, StartRefused."""
        self._spawned += 1
        log = self.path / f"{name}-{self._spawned}.log"
        child = Child(arguments, log, environ, begin=begin or nursery().begin)
        if arguments[0] in ("hostagent", "gateway", "agent", "lineup"):
            self._logs.append(child.log)
        try:
            while (ready := child.poll_ready()) is None:
                await asyncio.sleep(POLL_S)
        except ChildFailed as failed:
            if failed.refused:
                raise StartRefused(child.said()) from failed
            raise
        except BaseException:
            # Interrupted while it starts: it must not go on to write into a folder that is removed now.
            child.kill()
            raise
        return child, ready

    async def mcp_token(self, identity_dir: Path) -> str:
        if self.mutant is not None:
            self.inconclusive("`lasttick mcp-token` cannot be started as a mutant; virtual mode can")
        self._spawned += 1
        out, errors = (self.path / f"mcp-token-{self._spawned}.{name}" for name in ("out", "log"))
        for file in (out, errors):
            file.touch()
        child = nursery().begin(["mcp-token", "--identity-dir", str(identity_dir)], errors, {}, out)
        try:
            while (code := child.poll()) is None:
                await asyncio.sleep(POLL_S)
        except BaseException:
            # As with a part that starts: it must not go on in a folder that is removed now.
            child.kill()
            child.wait()
            raise
        if code == REFUSED:
            raise StartRefused(errors.read_text(errors="replace"))
        assert code == 0, f"`lasttick mcp-token` ended with {code}: {errors.read_text(errors='replace')!r}"
        return out.read_text().strip()

    def mcp_token_work(self, identity_dir: Path, number: int = 0) -> NoReturn:
        self.inconclusive("forked children exist in virtual mode only; mark the rung accordingly")

    def listen(self) -> Log:
        return WrittenLog(self._logs)

    async def _close_parts(self) -> None:
        self._cloud_log = self._cloud_says()
        for child in self._children:
            if child.running:
                child.stop()
        if self._leases is not None:
            await self._leases.close()

    # -- history written by other processes

    def write_history(self) -> None:
        """Merge what the rack and the cloud wrote into the trace, by time."""
        self.trace.events[:] = self._told().events

    def history(self) -> Sequence[Event]:
        return self._told().events

    def rack_log(self) -> Sequence[LogEntry]:
        return self._told().log

    def _told(self) -> Told:
        """Everything that has happened up to now, told in order of time."""
        rack = _http("GET", f"{self.rack_url}/v1/log")["log"]
        cloud = self._cloud_says() if self._cloud_log is None else self._cloud_log
        others = []
        for parts in (self._gateway, self._vault, *self._lineup_parts):
            others += [] if parts is None else parts.history(lambda url: _http("GET", url))
        return tell(self.trace, rack, cloud, self._start_ns, self._start_wall, others)

    def _cloud_says(self) -> list[dict[str, Any]]:
        return list(_http("GET", f"{self._cloud.url}/v1/log")["log"]) if self._cloud else []


class ProcessHost:
    """A host agent as `lasttick serve hostagent`."""

    def __init__(self, world: ProcessWorld, options: HostOptions, port: int) -> None:
        self._world = world
        self._options = options
        self._port = port
        self._child: Child | None = None
        self._is_paused = False

    async def start(self) -> Ready:
        options, world = self._options, self._world
        arguments = ["hostagent", "--port", str(self._port), "--identity-dir", str(options.identity_dir)]
        if options.fixtures:
            arguments += ["--devices", ",".join(options.devices), "--conformance-fixtures"]
        else:
            arguments += ["--devices", world.rack_url, "--only", ",".join(options.device_ids)]
        if options.open_door:
            arguments += ["--open-door"]
        arguments += ["--ttl", str(options.ttl_s), "--heartbeat", str(options.heartbeat_s)]
        arguments += ["--max-call", str(options.max_call_s), "--session-idle", str(options.session_idle_s)]
        if world.cloud_url:
            arguments += ["--cloud", world.cloud_url]
        if options.sse:
            arguments += ["--sse"]
        if not options.stateless_handles:
            arguments += ["--no-stateless-handles"]
        if options.extra:
            raise Inconclusive(f"host options {sorted(options.extra)} exist in virtual mode only")
        if world.mutant is not None:
            arguments += ["--mutant", world.mutant.id]
        if options.clock_ahead_s:
            raise Inconclusive("hosts whose clocks differ exist in virtual mode only")
        if options.lease_store:
            is_shared = options.lease_store == SHARED
            store = await world.lease_server.url(options.name) if is_shared else options.lease_store
            arguments += ["--lease-store", store]
        arguments += ["--host", options.host]
        if options.allow_non_loopback:
            arguments += ["--allow-non-loopback"]
        self._child, ready = await world.spawn(arguments, options.name, options.environ)
        return Ready(ready["url"], ready["console"])

    async def stop(self) -> None:
        assert self._child is not None
        if self._is_paused:
            self.resume()
        await asyncio.to_thread(self._child.stop)

    async def kill(self) -> None:
        assert self._child is not None
        self._child.kill()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)
        self._is_paused = False

    @property
    def pid(self) -> int:
        assert self._child is not None
        return self._child.pid


_rack: list[Child] = []


def _shared_rack() -> str:
    """The rack of this test process, started at the first world. Its log outlives every host agent."""
    if not _rack:
        folder = Path(tempfile.mkdtemp(prefix="lasttick-rack-"))
        child = Child(["devices", "--port", "0"], folder / "rack.log", begin=nursery().begin)
        _rack.append(child)

        def end() -> None:
            if child.running:
                child.kill()
            shutil.rmtree(folder, ignore_errors=True)

        atexit.register(end)
    while (ready := _rack[0].poll_ready()) is None:
        time.sleep(POLL_S)
    return str(ready["url"])


def _http(method: str, url: str, body: Any = None) -> dict[str, Any]:
    """A short request to a part on loopback, from synchronous code."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(json.loads(answer.read() or b"{}"))
