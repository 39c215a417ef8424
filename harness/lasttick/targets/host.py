"""The host agent of a world: what a scenario does with it. How it is started is the mode's business (`Part`).

Source: contract world, "Host agent's surface".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import httpx

from lasttick.targets.client import Client

if TYPE_CHECKING:
    from lasttick.targets.world import World


Era: TypeAlias = Literal["handshake", "modern"]


@dataclass(frozen=True, slots=True)
class HostOptions:
    """How a host agent is started. Durations in seconds; `devices` are specs such as `phone-1` or `ipad-1=ios@2`."""

    devices: tuple[str, ...]
    ttl_s: float
    heartbeat_s: float
    max_call_s: float
    identity_dir: Path
    session_idle_s: float = 1800.0
    sse: bool = False
    fixtures: bool = False
    """What the official MCP conformance suite calls is served beside the tools. In process mode the devices are then
    in a rack of the host's own, and their log is nobody's."""
    open_door: bool = False
    """With `fixtures`: nobody is asked for a token."""
    stateless_handles: bool = True
    name: str = "hostagent"
    host: str = "127.0.0.1"
    allow_non_loopback: bool = False
    environ: dict[str, str] = field(default_factory=dict)
    """Environment variables of the host agent, besides those of this process in process mode."""
    rack: str = ""
    """A rack other than the usual one, named as the scenario likes; its phone is `world.device("NAME/phone-1")`.
    Virtual mode only."""
    lease_store: str = ""
    """Where leases are kept, as `--lease-store` takes it, or `shared`: with the other hosts of this world; empty: in
    the host agent's memory."""
    clock_ahead_s: float = 0.0
    """How far this host's clocks, monotonic and wall, are ahead of the others'. Virtual mode only."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further fields of the reference's config, for scenarios about one of them."""

    @property
    def device_ids(self) -> list[str]:
        """`devices` without their kinds."""
        return [spec.partition("=")[0] for spec in self.devices]


@dataclass(frozen=True, slots=True)
class Ready:
    """A part is up: `url` is the MCP endpoint (ends in /mcp), `console` the console's root."""

    url: str
    console: str


class Part(Protocol):
    """One run of a target: started once, ended by `stop` (orderly) or `kill` (nothing is said to anybody).

    `start` raises StartRefused when the target gives a reason and ends. `pid` is the process it runs in.
    """

    @property
    def pid(self) -> int: ...

    async def start(self) -> Ready: ...

    async def stop(self) -> None: ...

    async def kill(self) -> None: ...

    def pause(self) -> None:
        """SIGSTOP. Raises Inconclusive where there are no signals."""
        ...

    def resume(self) -> None: ...


class Host:
    """A running host agent. `restart` keeps its identity folder and its address."""

    def __init__(self, world: World, options: HostOptions, part: Part, ready: Ready) -> None:
        self._world = world
        self._part: Part | None = part
        self._console: httpx.AsyncClient | None = None
        self._clients: list[Client] = []
        self.options = options
        self.url = ready.url
        self.console_url = ready.console

    @property
    def ttl_s(self) -> float:
        return self.options.ttl_s

    @property
    def heartbeat_s(self) -> float:
        return self.options.heartbeat_s

    @property
    def max_call_s(self) -> float:
        return self.options.max_call_s

    @property
    def pid(self) -> int:
        """The process it runs in (in virtual mode this one)."""
        assert self._part is not None, f"{self.options.name} does not run"
        return self._part.pid

    @property
    def token(self) -> str:
        """The MCP bearer token, read from the identity folder as an operator would."""
        return str(self._identity_file("host_mcp_token.json")["token"])

    # -- who talks to it

    async def client(self, name: str = "agent", era: Era = "handshake", *, token: str | None = None) -> Client:
        """A new MCP client, its session opened (modern era: no session exists)."""
        from lasttick_fakes.client import McpClient

        raw = McpClient(self.url, token=token or self.token, transport=self._world.transport(), era=era, name=name)
        client = Client(self._world, name, self._world.next_client_index(), raw, self.options.name)
        self._clients.append(client)
        return await client.open()

    def http(self, **options: Any) -> httpx.AsyncClient:
        """A plain HTTP client whose base URL is the console's root; close it, or use it in `async with`."""
        return httpx.AsyncClient(
            base_url=self.console_url, transport=self._world.transport(), trust_env=False, verify=False, **options
        )

    async def console(self) -> httpx.AsyncClient:
        """A client that is logged in to the console; the same one until the host restarts."""
        if self._console is None:
            self._console = self.http()
            password = self._identity_file("host_console.json")["password"]
            answer = await self._console.post("/login", json={"password": password})
            assert answer.is_success, f"console login gave HTTP {answer.status_code}: {answer.text[:200]}"
            self._world.trace.redact.learn(password, "[password]")
        return self._console

    async def status(self) -> dict[str, Any]:
        """`/api/status` of the console, logged in."""
        answer = await (await self.console()).get("/api/status")
        assert answer.is_success, f"/api/status gave HTTP {answer.status_code}: {answer.text[:200]}"
        return dict(answer.json())

    async def busy(self) -> list[str]:
        """Device ids that the status shows as held over MCP."""
        return [row["device_id"] for row in (await self.status())["mcp_busy_devices"]]

    # -- life and death

    async def stop(self) -> None:
        """Orderly stop, as on SIGTERM."""
        await self._end("part.stop", kill=False)

    async def kill(self) -> None:
        """The process is gone from one instant to the next."""
        await self._end("part.kill", kill=True)

    def pause(self) -> None:
        """The process stands still from one instant to the next (process mode)."""
        part = self._running()
        self._world.trace.emit(self.options.name, "part.pause", why="SIGSTOP")
        part.pause()

    def resume(self) -> None:
        """It goes on where it stood (process mode)."""
        part = self._running()
        self._world.trace.emit(self.options.name, "part.resume")
        part.resume()

    def _running(self) -> Part:
        assert self._part is not None, f"{self.options.name} does not run"
        return self._part

    async def restart(self) -> None:
        """Start again (after stopping, if it runs) on the same identity folder and address."""
        if self._part is not None:
            await self.stop()
        self._part = self._world.hostagent_part(self.options, self)
        ready = await self._part.start()
        self.url, self.console_url = ready.url, ready.console
        self._world.part_started(self)

    async def shut(self) -> None:
        """The end of the world: close clients without a word, stop if running."""
        for client in self._clients:
            await client.vanish()
        if self._part is not None:
            await self.stop()
        await self._close_console()

    async def _end(self, kind: str, *, kill: bool) -> None:
        part, self._part = self._part, None
        assert part is not None, f"{self.options.name} does not run"
        await self._close_console()
        if kill:
            self._world.trace.emit(self.options.name, kind)
            await part.kill()
        else:
            await part.stop()
            self._world.trace.emit(self.options.name, kind)

    async def _close_console(self) -> None:
        if self._console is not None:
            await self._console.aclose()
            self._console = None

    def _identity_file(self, name: str) -> dict[str, Any]:
        return dict(json.loads((self.options.identity_dir / name).read_text()))
