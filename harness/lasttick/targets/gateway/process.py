"""The gateway of a process world: platform, agent, agent program, its MCP server, and the fakes at both ends are
processes of their own, on loopback sockets and real pipes.

The two fakes at the ends serve all worlds of a test process, each with a clean log. Source: contract world, "Modes".
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import shutil
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lasttick.targets.children import POLL_S, Child
from lasttick.targets.gateway import files
from lasttick.targets.gateway.container import container_environ, prepare
from lasttick.targets.gateway.options import TURN_S, Addresses, GatewayOptions, PartName
from lasttick.targets.gateway.secrets import Secrets
from lasttick.targets.gateway.turns import Correlation, HermesTurn, told_request
from lasttick.targets.nursery import nursery
from lasttick.targets.outcome import Inconclusive

if TYPE_CHECKING:
    from lasttick.targets.process import ProcessWorld

IMPORTS = (
    "lasttick.targets.gateway.serve",
    "lasttick_fakes.model",
    "lasttick_fakes.thirdparty",
    "sqlalchemy.dialects.sqlite",
    "httpcore",
)
UPSTREAM_S = 20.0


class ProcessGateway:
    """See `GatewayPart`."""

    def __init__(self, world: ProcessWorld, options: GatewayOptions, number: int, secrets: Secrets) -> None:
        if number:
            raise Inconclusive("a second gateway exists in virtual mode only: both would share the fakes at their ends")
        self._world = world
        self._options = options
        self._secrets = secrets
        self._children: dict[PartName, Child] = {}
        self._ports: dict[PartName, int] = {"platform": 0, "agent": 0}
        self._fakes: dict[str, str] = {}
        self._held = _held_port()
        self._began: list[HermesTurn] = []

    async def start(self) -> Addresses:
        options = self._options
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in ("model", "third-party"):
            self._fakes[name] = await _shared_fake(name)
            await self._world.post(f"{self._fakes[name]}/reset", {})
        # Each of the two must be told where the other is: the port of the platform is kept for it until it is there.
        self._ports["platform"] = self._held.getsockname()[1]
        prepare(options.folder, self._fakes["model"], options.config_yaml)
        await self._start("agent")
        await self._start("platform")
        self._held.close()
        return Addresses(self._url("platform"), self._url("agent"), self._fakes["third-party"], self._fakes["model"])

    async def stop(self) -> None:
        self._held.close()
        running = [child for child in self._children.values() if child.running]
        await asyncio.gather(*(asyncio.to_thread(child.stop) for child in running))

    async def restart(self, name: PartName) -> None:
        if self._children[name].running:
            await asyncio.to_thread(self._children[name].stop)
        await self._start(name)

    async def kill(self, name: PartName) -> None:
        self._children[name].kill()

    async def turns(self) -> list[HermesTurn]:
        return files.turns(self._tap("agent"))

    async def wires(self) -> list[str]:
        return [str(line["data"]["body"]) for line in files.sights(self._tap("agent")) if line["kind"] == "agent.wire"]

    @property
    def pids(self) -> dict[str, int]:
        return {
            **{name: child.pid for name, child in self._children.items()},
            **{n: _fakes[n].pid for n in self._fakes},
        }

    def history(self, get: Any) -> list[dict[str, Any]]:
        """What all parts saw: events as lines, their times CLOCK_MONOTONIC. `get` fetches JSON from a URL."""
        lines = [line for name in ("agent", "platform") for line in files.sights(self._tap(name))]
        lines.sort(key=lambda line: line["t_ns"])
        correlation = Correlation()
        for line in lines:
            if line["kind"] == "hermes.start":
                correlation.began(line["data"]["arguments"], line["ref"])
        for seen in get(f"{self._fakes['third-party']}/log")["log"]:
            lines.append(_third_line(seen))
        for asked in get(f"{self._fakes['model']}/requests")["requests"]:
            messages = asked["body"].get("messages") or []
            data = told_request({**asked, "messages": messages})
            lines.append(_line(asked["t_ns"], "model", "model.request", correlation.run_of(messages), data))
        return lines

    async def _start(self, name: PartName) -> None:
        options = self._options
        arguments = ["gateway" if name == "platform" else "agent", "--port", str(self._ports[name])]
        arguments += ["--tap", str(self._tap(name)), "--turn", str(options.turn_s or TURN_S)]
        if self._world.mutant is not None:
            arguments += ["--mutant", self._world.mutant.id]
        if name == "platform":
            arguments += ["--identity-dir", str(options.folder), "--upstream", str(options.upstream_s or UPSTREAM_S)]
            arguments += ["--agent-url", self._url("agent"), "--third-party-url", self._fakes["third-party"]]
            environ = {**self._secrets.environ, **options.platform_environ}
        else:
            arguments += ["--held"] if options.agent == "held" else []
            arguments += [] if options.hermes_command is None else ["--hermes", options.hermes_command]
            environ = container_environ(
                self._secrets,
                platform_url=self._url("platform"),
                folder=options.folder,
                version=options.hermes_version,
                extra=options.agent_environ,
            )
        child, ready = await self._world.spawn(arguments, name, environ, begin=_begin)
        self._children[name] = child
        self._ports[name] = urlsplit(ready["url"]).port or 0

    def _url(self, name: PartName) -> str:
        return f"http://127.0.0.1:{self._ports[name]}"

    def _tap(self, name: PartName) -> Path:
        return self._options.folder / f"{name}.tap.jsonl"


def _begin(arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> Any:
    """A container knows nothing of the test process's own environment."""
    return nursery().begin(arguments, log, environ, only=True, imports=IMPORTS)


def _held_port() -> socket.socket:
    """A port that nobody else is given, and on which a part may still listen: bound, but not listening."""
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


_fakes: dict[str, Child] = {}


async def _shared_fake(name: str) -> str:
    """The fake of this test process, started when first asked for; its URL."""
    if name not in _fakes:
        folder = Path(tempfile.mkdtemp(prefix=f"lasttick-{name}-"))
        begin = functools.partial(nursery().begin, imports=IMPORTS)
        child = Child([name, "--port", "0"], folder / f"{name}.log", begin=begin)
        _fakes[name] = child
        atexit.register(_end, child, folder)
    while (ready := _fakes[name].poll_ready()) is None:
        await asyncio.sleep(POLL_S)
    return str(ready["url"])


def _end(child: Child, folder: Path) -> None:
    if child.running:
        child.kill()
    shutil.rmtree(folder, ignore_errors=True)


def _third_line(seen: Mapping[str, Any]) -> dict[str, Any]:
    """A request of the third party's log as the event that the fake itself would have told."""
    run_id = next((value for name, value in seen["headers"] if name.lower() == "x-correlation-id"), None)
    data = {name: seen[name] for name in ("seq", "method", "path", "body")}
    return _line(seen["t_ns"], "third-party", "third.request", run_id, data)


def _line(t_ns: int, actor: str, kind: str, ref: str | None, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"t_ns": t_ns, "actor": actor, "kind": kind, "ref": ref, "data": dict(data)}
