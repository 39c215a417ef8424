"""The vault system of a process world: server, vault daemon and catalogs are processes, joined by sockets or pipes."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import socket
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lasttick.targets.children import POLL_S, START_S, Child, ChildFailed, Process
from lasttick.targets.fifos import Fifos
from lasttick.targets.nursery import nursery
from lasttick.targets.outcome import StartRefused
from lasttick.targets.vaultclaw.options import FakePart, ServerOptions, ServerPart

if TYPE_CHECKING:
    from lasttick.targets.process import ProcessWorld

IMPORTS = ("lasttick.targets.vaultclaw.serve", "lasttick_fakes.vaultd", "lasttick_fakes.catalogs", "httpcore")


class ProcessVaultParts:
    """See `VaultParts`."""

    def __init__(self, world: ProcessWorld) -> None:
        self._world = world
        self._fakes: dict[str, ProcessFake] = {}

    def server(self, options: ServerOptions, again: ServerPart | None) -> ServerPart:
        assert again is None or isinstance(again, ProcessServer)
        return ProcessServer(self._world, options, again)

    def daemon(self, *, unix: bool, again: FakePart | None) -> FakePart:
        assert again is None or isinstance(again, ProcessFake)
        arguments = ["vaultd"]
        path = None if again is None else again.socket
        if unix and path is None:
            # It is at most some 100 bytes long, which a test's folder may exceed.
            path = Path(tempfile.mkdtemp(prefix="lt-")) / "s"
        if path is not None:
            arguments += ["--unix", str(path)]
        return self._fake("vaultd", arguments, path, again)

    def catalog(self, number: int) -> FakePart:
        return self._fake(f"catalog-{number + 1}", ["catalog"], None, None)

    def history(self, get: Any) -> list[dict[str, Any]]:
        return [line for name, fake in self._fakes.items() for line in fake.lines(name, get)]

    def _fake(self, name: str, arguments: list[str], path: Path | None, again: ProcessFake | None) -> ProcessFake:
        self._fakes[name] = ProcessFake(self._world, name, arguments, path, again)
        return self._fakes[name]


class ProcessFake:
    """See `FakePart`."""

    def __init__(
        self, world: ProcessWorld, name: str, arguments: Sequence[str], path: Path | None, again: ProcessFake | None
    ) -> None:
        self._world = world
        self._name = name
        self._arguments = arguments
        self._port = urlsplit(again.url).port if again is not None else 0
        self._child: Child | None = None
        self._state: dict[str, Any] | None = None if again is None else again._state
        self.past: list[dict[str, Any]] = [] if again is None else again.past
        self.url: str = ""
        self.socket = path

    async def start(self) -> None:
        arguments = [*self._arguments, "--port", str(self._port)]
        if self._state is not None:
            # It must not be told afterwards: a poll may come before, to a daemon that knows nothing.
            state = self._world.path / f"{self._name}-{self._world.next_ref('p')}.json"
            state.write_text(json.dumps(self._state))
            arguments += ["--state", str(state)]
        self._child, ready = await self._world.spawn(arguments, self._name, begin=_begin)
        self.url = ready["url"]

    async def stop(self) -> None:
        """What it knows is taken along: its disk, as it were."""
        if self._child is None or not self._child.running:
            return
        self.past += (await self._world.get(f"{self.url}/log"))["log"]
        if self._name == "vaultd":
            self._state = await self._world.get(f"{self.url}/state")
        await asyncio.to_thread(self._child.stop)

    def lines(self, actor: str, get: Any) -> list[dict[str, Any]]:
        """Its log as lines of the trace, of earlier runs too."""
        running = self._child is not None and self._child.running
        seen = [*self.past, *(get(f"{self.url}/log")["log"] if running else [])]
        kind = "vault.request" if actor == "vaultd" else "catalog.request"
        return [
            {"t_ns": line.pop("t_ns"), "actor": actor, "kind": kind, "ref": None, "data": line}
            for line in map(dict, seen)
        ]


class ProcessServer:
    """See `ServerPart`: `lasttick serve vaultclaw`, or the command that `--lasttick-target vaultclaw=cmd:` names."""

    def __init__(self, world: ProcessWorld, options: ServerOptions, again: ProcessServer | None) -> None:
        self._world = world
        self._options = options
        self._origin = _free_origin() if again is None else urlsplit(again.url).netloc
        self._log = world.path / f"{options.name}-{world.next_ref('p')}.log"
        self._process: Process | None = None
        self.url: str = f"http://{self._origin}"
        self.stdio: Fifos | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        options = self._options
        environ = {"ACCORDS_MCP_CATALOG_DIR": str(options.catalog_dir), "HOME": str(options.folder)}
        environ |= {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        if options.via == "http":
            environ["ACCORDS_MCP_HTTP_ADDR"] = self._origin
        else:
            self.stdio = await Fifos.made(self._log.with_suffix(""))
        if options.cookbooks is not None:
            environ["ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR"] = str(options.cookbooks)
        self._log.write_bytes(b"")
        self._process = self._begin({**environ, **options.environ})
        try:
            await self._up()
        except BaseException:
            # Nobody holds it yet, so nobody else would end it: the other side failed, or Ctrl-C came.
            self._process.kill()
            self._process.wait()
            if self.stdio is not None:
                self.stdio.close()
            raise

    async def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        code = await self.ended()
        assert code == 0, f"the server ended with exit code {code} after SIGTERM; it said:\n{self.said()}"

    async def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        await self.ended()

    async def ended(self) -> int:
        assert self._process is not None
        while (code := self._process.poll()) is None:
            await asyncio.sleep(POLL_S)
        if self.stdio is not None:
            self.stdio.close()
        return code

    def said(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith('{"name"'))

    def _begin(self, environ: Mapping[str, str]) -> Process:
        command = self._world.commands.get("vaultclaw")
        pipes: dict[str, Path] = {} if self.stdio is None else {"out": self.stdio.out_path, "into": self.stdio.in_path}
        where: dict[str, Any] = {"only": True, "folder": self._options.folder, **pipes}
        if command is not None:
            return nursery().begin(shlex.split(command), self._log, environ, program=True, **where)
        arguments = ["serve", "vaultclaw"]
        if self._world.mutant is not None:
            arguments += ["--mutant", self._world.mutant.id]
        return nursery().begin(arguments, self._log, environ, imports=IMPORTS, **where)

    async def _up(self) -> None:
        """Wait until it answers on its address, or is seen to live. Raises StartRefused, ChildFailed."""
        assert self._process is not None
        end_s = time.perf_counter() + START_S
        while not await asyncio.to_thread(self._answers):
            if self._process.poll() is not None:
                raise StartRefused(self.said())
            if time.perf_counter() > end_s:
                raise ChildFailed(f"the server was not ready after {START_S:g} s; it said:\n{self.said()}")
            await asyncio.sleep(POLL_S)

    def _answers(self) -> bool:
        if self._options.via == "stdio":
            # Nothing more is promised than a status line: whoever writes now is answered when it is up.
            return bool(self._log.stat().st_size)
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=1):
                return True
        except (OSError, urllib.error.URLError):
            return False


def _begin(arguments: Sequence[str], log: Path, environ: Mapping[str, str]) -> Any:
    return nursery().begin(arguments, log, environ, imports=IMPORTS)


def _free_origin() -> str:
    """An address that nobody listens on now. Only a server that is told its port beforehand needs such a guess."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"
