"""The World: everything a scenario may touch, the same in every mode. `virtual` and `process` say how it is made.

Source: contract world, "Scenario and world".
"""

from __future__ import annotations

import asyncio
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from lasttick.engine.chance import Chance, derive
from lasttick.engine.loop import unseen
from lasttick.engine.trace import Event, Trace
from lasttick.targets.forked import NOBODY, Barrier, Ended, Forked, kill_at, meet_at_making
from lasttick.targets.host import Host, HostOptions, Part
from lasttick.targets.listen import Log
from lasttick.targets.outcome import Inconclusive, StartRefused
from lasttick.targets.told import LogEntry

if TYPE_CHECKING:
    import httpx
    from faker import Faker

    from lasttick.mutants import Mutant
    from lasttick.ports import LeaseStore
    from lasttick.reference.hostagent.busy_tracker import McpBusyTracker
    from lasttick.targets.browser import Browser
    from lasttick.targets.cloud import CloudHandle
    from lasttick.targets.device import Device
    from lasttick.targets.gateway.boot import BootRung
    from lasttick.targets.gateway.child import ServerRung
    from lasttick.targets.gateway.client import ClientRung
    from lasttick.targets.gateway.handle import Gateway
    from lasttick.targets.gateway.options import GatewayOptions, GatewayPart
    from lasttick.targets.gateway.secrets import Secrets
    from lasttick.targets.lease_server import SharedLeases
    from lasttick.targets.lineup.handle import Lineup
    from lasttick.targets.lineup.options import LineupOptions, LineupPart
    from lasttick.targets.soak import Soak
    from lasttick.targets.vaultclaw.catalog_rung import CatalogRung
    from lasttick.targets.vaultclaw.fakes import FakeHandle, Vaultd
    from lasttick.targets.vaultclaw.handle import Vaultclaw
    from lasttick.targets.vaultclaw.options import VaultParts

T = TypeVar("T")
ARTIFACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class World(ABC):
    """One example of one scenario: its time, its chance, its parts and its history.

    `seed` is this example's; `tick_s` is the smallest step that counts (1 ms virtual, 0.25 s process); `path` is a
    scratch folder; `trouble` injects faults of the run.
    """

    mode: ClassVar[str]
    tick_s: ClassVar[float]
    ttl_s: ClassVar[float]
    """The TTL that a host of this mode gets by default."""

    def __init__(self, *, seed: int, trace: Trace, path: Path, mutant: Mutant | None = None) -> None:
        self.seed = seed
        self.trace = trace
        self.path = path
        self.mutant = mutant
        self.artifacts = path / "artifacts"
        """Where `artifact` puts files: the run's folder says so when there is one, else they go with the world."""
        self.chance = Chance(seed)
        self.sights: dict[str, None] = {}
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._hosts: list[Host] = []
        self._cloud: CloudHandle | None = None
        self._gateways: list[Gateway] = []
        self._lineups: list[Lineup] = []
        self._vaultclaws: list[Vaultclaw] = []
        self._catalogs: list[FakeHandle] = []
        self.vault_daemon: Vaultd | None = None
        self._browser: Browser | None = None
        self._sessions = 0
        self._refs: dict[str, int] = {}
        self._clients = 0
        self._client: httpx.AsyncClient | None = None

    # -- time

    @property
    @abstractmethod
    def now_s(self) -> float:
        """Seconds since the example began."""

    @abstractmethod
    async def settle(self) -> None:
        """Wait until nothing can happen without time moving (process mode: a short while without change)."""

    @abstractmethod
    async def until(self, t_s: float) -> None:
        """Wait for an instant of `now_s`. Raises Inconclusive when real time overslept it by more than a tick."""

    async def advance(self, seconds: float) -> None:
        """Settle, move on by `seconds`, settle."""
        await self.settle()
        await self.until(self.now_s + seconds)

    # -- chance

    def random(self, stream: str) -> random.Random:
        """A named random stream of this example's seed."""
        return self.chance.stream(stream)

    @cached_property
    def faker(self) -> Faker:
        """Made-up names and texts, seeded from this example's seed."""
        from faker import Faker

        made = Faker("en_US")
        made.seed_instance(derive(self.seed, "faker"))
        return made

    # -- parts

    async def hostagent(self, *, devices: Sequence[str] = ("phone-1",), **options: Any) -> Host:
        """Start a host agent that drives `devices` (specs). Options: the fields of `lasttick.targets.host.HostOptions`.

        Without options: TTL as is usual in this mode, heartbeat half of it, calls at most five of it.
        Raises StartRefused.
        """
        named = self._options(devices, options)
        part = self.hostagent_part(named)
        host = Host(self, named, part, await part.start())
        self._hosts.append(host)
        self.part_started(host)
        return host

    async def refusal(self, *, devices: Sequence[str] = ("phone-1",), **options: Any) -> str:
        """Start a host agent that must not start, and return what it says; the next one gets the same defaults."""
        return await self.refused(self.hostagent_part(self._options(devices, options)))

    async def refused(self, part: Part) -> str:
        """What a part says that must not start. Raises AssertionError when it starts, or dies with a traceback."""
        try:
            ready = await part.start()
        except StartRefused as refusal:
            said = str(refusal)
        else:
            await part.stop()
            raise AssertionError(f"the host agent started at {ready.console}; it had to refuse")
        assert "Traceback" not in said, f"expected one clear message, not a traceback:\n{said}"
        return said

    def _options(self, devices: Sequence[str], options: dict[str, Any]) -> HostOptions:
        ttl_s = options.pop("ttl_s", self.ttl_s)
        number = len(self._hosts) + 1
        return HostOptions(
            devices=tuple(devices),
            ttl_s=ttl_s,
            heartbeat_s=options.pop("heartbeat_s", ttl_s / 2),
            max_call_s=options.pop("max_call_s", ttl_s * 5),
            identity_dir=options.pop("identity_dir", self.path / f"host-{number}"),
            name=options.pop("name", "hostagent" if number == 1 else f"hostagent-{number}"),
            **options,
        )

    @abstractmethod
    def hostagent_part(self, options: HostOptions, again: Host | None = None) -> Part:
        """One run of a host agent, not yet started; `again`: at the address of that earlier run."""

    def part_started(self, host: Host) -> None:
        """Write that a host is up, and from now on hide its token."""
        options = host.options
        self.trace.redact.learn(host.token, "[token]")
        self.trace.emit(options.name, "part.start", ttl_s=options.ttl_s, devices=list(options.devices))

    @abstractmethod
    async def cloud(self, **options: Any) -> CloudHandle:
        """The cloud control plane of this world (one; started at the first call). Hosts started later report to it."""

    async def gateway(self, **options: Any) -> Gateway:
        """Start a tool gateway: platform, trusted agent, third party and model. Options: the fields of
        `lasttick.targets.gateway.options.GatewayOptions`. Raises StartRefused.
        """
        from lasttick.targets.gateway.handle import begin

        gateway = await begin(self, len(self._gateways), options)
        self._gateways.append(gateway)
        return gateway

    @abstractmethod
    def gateway_part(self, options: GatewayOptions, number: int, secrets: Secrets) -> GatewayPart:
        """The parts of this world's gateway `number` (from 0), not yet started."""

    async def lineup(self, **options: Any) -> Lineup:
        """Start a permission-card adapter: its agent, its model, its chat host. Options: the fields of
        `lasttick.targets.lineup.options.LineupOptions`; `come=False`: the host is not there yet;
        `crash_at`: the step at which its first run dies. Raises StartRefused.
        """
        from lasttick.targets.lineup.handle import begin

        self._lineups.append(await begin(self, len(self._lineups), options))
        return self._lineups[-1]

    @abstractmethod
    def lineup_part(self, options: LineupOptions, number: int) -> LineupPart:
        """The parts of this world's adapter `number` (from 0), not yet started."""

    async def vaultclaw(self, **options: Any) -> Vaultclaw:
        """Start a vault MCP server. Options: the fields of `lasttick.targets.vaultclaw.options.ServerOptions`.

        Raises StartRefused.
        """
        from lasttick.targets.vaultclaw.handle import begin

        self._vaultclaws.append(await begin(self, len(self._vaultclaws), options))
        return self._vaultclaws[-1]

    async def vaultd(self, *, unix: bool = False) -> Vaultd:
        """The vault daemon of this world (one; started at the first call). `unix`: at a Unix socket too."""
        from lasttick.targets.vaultclaw.fakes import Vaultd

        if self.vault_daemon is None:
            parts = self.vault_parts()
            part = parts.daemon(unix=unix, again=None)
            await part.start()
            self.vault_daemon = Vaultd(self, part, parts, unix=unix)
        return self.vault_daemon

    async def catalog(self) -> FakeHandle:
        """A remote catalog with an origin of its own."""
        from lasttick.targets.vaultclaw.fakes import FakeHandle

        part = self.vault_parts().catalog(len(self._catalogs))
        await part.start()
        self._catalogs.append(FakeHandle(self, part))
        return self._catalogs[-1]

    @abstractmethod
    def vault_parts(self) -> VaultParts:
        """How this mode starts the parts of the vault system."""

    @property
    @abstractmethod
    def wall_s(self) -> float:
        """The wall clock that the parts read: seconds since 1970."""

    @abstractmethod
    def device(self, device_id: str) -> Device:
        """A device of this world's rack, by its id."""

    @abstractmethod
    def transport(self) -> httpx.AsyncBaseTransport | None:
        """How HTTP clients of this world reach its parts."""

    @abstractmethod
    def rack_log(self) -> Sequence[LogEntry]:
        """What all devices wrote so far, in order."""

    def history(self) -> Sequence[Event]:
        """Everything that all parts did so far, in order of time."""
        return self.trace.events

    def lease_store(self, ttl_s: float | None = None) -> LeaseStore:
        """The reference's lease store on this world's clock, without a host around it (memory rung)."""
        raise Inconclusive(f"a lease store of its own exists in virtual mode only, not in {self.mode} mode")

    @property
    def lease_server(self) -> SharedLeases:
        """The lease store that hosts started with `lease_store="shared"` have in common, and its trouble."""
        raise Inconclusive(f"{self.mode} mode has no lease store that hosts share")

    def shared_lease_store(self, host: str, ttl_s: float | None = None) -> LeaseStore:
        """The reference's use of the shared lease store by that host, without a host around it (memory rung)."""
        raise Inconclusive(f"a lease store of its own exists in virtual mode only, not in {self.mode} mode")

    def busy_tracker(self, ttl_s: float | None = None) -> McpBusyTracker:
        """The reference's `McpBusyTracker` on this world's clock (memory rung)."""
        raise Inconclusive(f"a busy tracker of its own exists in virtual mode only, not in {self.mode} mode")

    def soak(
        self,
        options: Mapping[str, Any],
        on_log: Callable[[Any], None],
        on_cloud: Callable[[str, dict[str, Any]], None],
    ) -> Soak:
        """A host agent with its rack and its cloud, made for a long time. Options: the fields of
        `lasttick.targets.soak.SoakOptions`. `on_log` and `on_cloud` hear what devices and cloud write.
        """
        raise Inconclusive(f"a soak exists in virtual mode only, not in {self.mode} mode")

    def tool_client(self) -> ClientRung:
        """The agent's gateway client by itself, before a platform that is not ours (memory rung)."""
        raise Inconclusive(f"a gateway client by itself exists in virtual mode only, not in {self.mode} mode")

    def tool_server(self) -> ServerRung:
        """The `humanwork` server by itself, before a platform that is not ours (memory rung)."""
        raise Inconclusive(f"a humanwork server by itself exists in virtual mode only, not in {self.mode} mode")

    def boot_rung(self) -> BootRung:
        """Boot registration by itself, on a folder of its own (memory rung)."""
        raise Inconclusive(f"a boot registration by itself exists in virtual mode only, not in {self.mode} mode")

    def catalog_rung(self) -> CatalogRung:
        """The vault server's catalog by itself, on folders of its own (memory rung)."""
        raise Inconclusive(f"a catalog by itself exists in virtual mode only, not in {self.mode} mode")

    def agent_secret(self, value: str) -> object:
        """The reference's `AGENT_SERVICE_SECRET`, as its code holds it (memory rung)."""
        raise Inconclusive(f"a secret by itself exists in virtual mode only, not in {self.mode} mode")

    async def browser(self) -> Browser:
        """A real Chromium that reaches this world's parts (one; started at the first call)."""
        raise Inconclusive(f"a browser exists in process mode only, not in {self.mode} mode; say needs=['browser']")

    def artifact(self, name: str) -> Path:
        """The place for a file that this scenario leaves behind: `artifacts/<scenario id>/NAME` of the run folder.

        Raises ValueError for a name that is not one plain file name.
        """
        if not ARTIFACT.fullmatch(name):
            raise ValueError(
                f"artifact {name!r}; expected letters, digits, '-', '_' and '.', beginning with a letter or digit, at "
                "most 80 (docs/scenarios.md); rename it"
            )
        self.artifacts.mkdir(parents=True, exist_ok=True)
        self.trace.emit("harness", "artifact", None, name=name)
        return self.artifacts / name

    async def post(self, url: str, body: Any) -> dict[str, Any]:
        """POST JSON to a part of this world and return its JSON. Raises AssertionError for an error status."""
        return await self.request("POST", url, body)

    async def get(self, url: str) -> dict[str, Any]:
        """GET JSON from a part of this world."""
        return await self.request("GET", url)

    async def request(self, method: str, url: str, body: Any = None) -> dict[str, Any]:
        """JSON to a part of this world, and JSON back. Raises AssertionError for an error status."""
        answer = await self._http().request(method, url, **({} if body is None else {"json": body}))
        assert answer.is_success, f"{method} {url} gave HTTP {answer.status_code}: {answer.text[:200]}"
        return dict(answer.json())

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(transport=self.transport(), trust_env=False, verify=False)
        return self._client

    # -- access

    @abstractmethod
    async def mcp_token(self, identity_dir: Path) -> str:
        """`lasttick mcp-token` for that folder: the token, made if there was none. Raises StartRefused."""

    async def mcp_token_refusal(self, identity_dir: Path) -> str:
        """What `lasttick mcp-token` says when it must fail. Raises AssertionError when it prints a token."""
        try:
            await self.mcp_token(identity_dir)
        except StartRefused as refusal:
            return str(refusal)
        raise AssertionError("mcp-token printed a token; it had to refuse")

    @property
    def nobody(self) -> int:
        """A user id without rights, for `as_nobody` and `nobody_can`."""
        return NOBODY

    def nobody_can(self, work: Callable[[], object]) -> bool:
        """Whether `work` succeeds in a child that gave up root's rights."""
        return Forked(lambda: str(work()), uid=NOBODY).wait().ok

    def mcp_token_child(
        self,
        identity_dir: Path,
        *,
        as_nobody: bool = False,
        dies_at_step: int | None = None,
        dies_after_bytes: int | None = None,
    ) -> Ended:
        """`mcp-token` in a forked child, without rights, killed before a file operation or within a write (virtual)."""
        return Forked(
            self.mcp_token_work(identity_dir),
            uid=NOBODY if as_nobody else None,
            folder=identity_dir,
            step=None if dies_at_step is None else kill_at(dies_at_step),
            file_bytes_max=dies_after_bytes,
        ).wait()

    def start_child(
        self, identity_dir: Path, *, dies_at_step: int | None = None, dies_after_bytes: int | None = None
    ) -> Ended:
        """A host agent's start and stop in a forked child, killed like `mcp_token_child`; its text is the token."""
        from lasttick.targets.forked_start import start_work  # brings a host agent, which few worlds need

        return Forked(
            start_work(identity_dir, derive(self.seed, "start_child")),
            folder=identity_dir,
            step=None if dies_at_step is None else kill_at(dies_at_step),
            file_bytes_max=dies_after_bytes,
        ).wait()

    def mcp_token_race(self, identity_dir: Path, racers: int) -> list[Ended]:
        """`mcp-token` in forked children that all stop just before each makes a file, then go on together (virtual)."""
        barrier = Barrier(racers)
        step = meet_at_making(barrier)
        children = [
            Forked(self.mcp_token_work(identity_dir, number), folder=identity_dir, step=step)
            for number in range(racers)
        ]
        barrier.open()
        ends = [child.wait() for child in children]
        barrier.close()
        return ends

    @abstractmethod
    def mcp_token_work(self, identity_dir: Path, number: int = 0) -> Callable[[], str]:
        """What such a child does; `number` tells racers apart, which else would draw the same chance."""

    @abstractmethod
    def listen(self) -> Log:
        """Hear what the host agents log from now on. Call it before the first one starts."""

    # -- tasks, sights, names

    def start(self, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run beside the scenario. An exception nobody awaited fails the scenario at its end."""
        task = asyncio.get_running_loop().create_task(coro)
        self._tasks[task] = None
        return task

    def saw(self, what: str) -> None:
        """Note that this example showed `what` (see `sees` of the mark)."""
        self.sights[what] = None

    def inconclusive(self, reason: str) -> NoReturn:
        """End the scenario without a verdict. Raises Inconclusive."""
        raise Inconclusive(reason)

    def next_ref(self, letter: str) -> str:
        self._refs[letter] = self._refs.get(letter, 0) + 1
        return f"{letter}{self._refs[letter]}"

    def next_client_index(self) -> int:
        self._clients += 1
        return self._clients

    def alias_session(self, session_id: str) -> str:
        """The name under which a session id is written in the trace; the id itself never is."""
        self._sessions += 1
        alias = self.trace.redact.learn(session_id, f"session-{self._sessions}")
        self.trace.redact.learn(session_id[:8], alias)
        return alias

    # -- the end

    async def close(self) -> None:
        """Stop every part, cancel what runs. Raises the first error of a started task that nobody awaited."""
        await self.settle()
        failed = [task for task in self._tasks if unseen(task)]
        await self.abandon()
        for task in failed:
            error = task.exception()
            assert error is not None
            raise error

    async def abandon(self) -> None:
        """Stop every part and cancel what runs, whatever became of it: the scenario has failed already."""
        if self._browser is not None:
            await self._browser.close()
        for host in self._hosts:
            await host.shut()
        for gateway in self._gateways:
            await gateway.shut()
        for lineup in self._lineups:
            await lineup.shut()
        for server in self._vaultclaws:
            await server.shut()
        for fake in (*self._catalogs, self.vault_daemon):
            if fake is not None:
                await fake.shut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
        await self._close_parts()

    @abstractmethod
    async def _close_parts(self) -> None: ...
