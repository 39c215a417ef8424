"""How is a corpus played on one side? Step by step on a world's own server, daemon and catalogs; what is seen is kept.

The scripts go one after another, since the daemon is one: each begins with a daemon and catalogs as they were at their
start. A server is ended without ceremony, for another program need not end as ours does. Source: VC-21.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx

from lasttick.compare import normal
from lasttick.compare.script import (
    TOKEN,
    VAULTD,
    Call,
    CallThenEnd,
    Message,
    Raw,
    Remote,
    Restart,
    Script,
    Start,
    Step,
    Vault,
    Written,
)
from lasttick.model.vaultclaw.json_text import parse
from lasttick.targets.children import ChildFailed
from lasttick.targets.outcome import StartRefused
from lasttick.targets.vaultclaw.client import PREFIX, TENANT_HEADER
from lasttick.targets.vaultclaw.cookbooks import PACKAGED

if TYPE_CHECKING:
    from lasttick.targets.vaultclaw.fakes import FakeHandle, Vaultd
    from lasttick.targets.vaultclaw.handle import Vaultclaw
    from lasttick.targets.world import World

STEP_S = 60.0
"""A step that takes longer counts as not answered."""
CATALOGS = 2
DOWN = {"down": True}
Observation: TypeAlias = dict[str, Any]
"""`answer`, `vault` (the calls that the daemon saw) and `remote` (those of the catalogs), all as compared."""
Played: TypeAlias = dict[tuple[str, int], Observation]
"""By name of the script and index of the step (-1: the start)."""


class SideDown(Exception):
    """A side's program did not start; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Fakes:
    """The fakes of one world; both sides of it use them, one after the other."""

    world: World
    vaultd: Vaultd
    catalogs: tuple[FakeHandle, ...]

    @classmethod
    async def of(cls, world: World) -> Fakes:
        return cls(world, await world.vaultd(), tuple([await world.catalog() for _ in range(CATALOGS)]))

    @property
    def origins(self) -> dict[str, str]:
        """Name by origin."""
        named = {fake.url: f"{{catalog-{number}}}" for number, fake in enumerate(self.catalogs, 1)}
        return {self.vaultd.url: VAULTD, **named}


def quiet(_: str) -> None:
    pass


async def play(fakes: Fakes, scripts: Sequence[Script], side: str, tell: Callable[[str], None] = quiet) -> Played:
    """Play all scripts on one side; `side` names its folders. Raises SideDown when its program does not start."""
    stage = Stage(fakes, side)
    played: Played = {}
    try:
        for number, script in enumerate(scripts, 1):
            tell(f"{side}: script {number} of {len(scripts)}, {script.name}")
            played.update(await stage.play(script))
    finally:
        await stage.end()
    return played


class Stage:
    """The servers of one side, and the fakes around them."""

    def __init__(self, fakes: Fakes, side: str) -> None:
        self._fakes = fakes
        self._side = side
        self._servers: dict[Start, Vaultclaw] = {}
        self._begun = 0
        self._up = True
        self._watched: list[FakeHandle] = []
        self._past: list[int] = []

    async def play(self, script: Script) -> Played:
        await self._fresh(script)
        seen: Played = {}
        server = await self._server(script, seen)
        scope = f"scope-{script.name}"
        if server is not None and script.session:
            await self._exchange(server, self._filled(_CONFIGURE, server), scope)
            await self._new()
        for at, step in enumerate(script.steps):
            if isinstance(step, Vault | Remote | Written):
                await self._prepare(step, server)
            elif server is None or not self._up:
                seen[script.name, at] = {"answer": dict(DOWN), "vault": [], "remote": []}
            else:
                seen[script.name, at] = await self._observed(server, step, scope)
        if server is not None and script.start.own:
            await self._end(server)
        return seen

    async def end(self) -> None:
        for server in self._servers.values():
            await self._end(server)
        self._servers.clear()

    # -- before a script

    async def _fresh(self, script: Script) -> None:
        """Fakes as they were at their start. Catalogs are looked at only where a script has to do with them."""
        self._up = True
        remote = any(isinstance(step, Remote) for step in script.steps)
        self._watched = [self._fakes.vaultd, *(self._fakes.catalogs if remote else ())]
        self._past = [0] * len(self._watched)
        for fake in self._watched:
            await fake.reset()

    async def _server(self, script: Script, seen: Played) -> Vaultclaw | None:
        """The script's server; None when its own did not start, which is seen. Raises SideDown for a shared one."""
        start = script.start
        if start in self._servers:
            return self._servers[start]
        try:
            server = await self._begin(start)
        except (StartRefused, ChildFailed) as error:
            if not start.own:
                raise SideDown(str(error)) from error
            seen[script.name, -1] = {"answer": {"started": False}, "vault": [], "remote": []}
            return None
        if start.own:
            seen[script.name, -1] = {"answer": {"started": True}, "vault": [], "remote": []}
        else:
            self._servers[start] = server
        return server

    async def _begin(self, start: Start) -> Vaultclaw:
        self._begun += 1
        environ = {name: normal.filled(value, self._fakes.origins) for name, value in start.environ}
        cookbooks = PACKAGED if start.cookbooks else None
        name = f"{self._side}-{self._begun}"
        return await self._fakes.world.vaultclaw(via=start.via, environ=environ, cookbooks=cookbooks, name=name)

    # -- steps

    async def _prepare(self, step: Vault | Remote | Written, server: Vaultclaw | None) -> None:
        if isinstance(step, Written):
            if server is not None:
                (server.catalog_dir / step.name).write_text(step.text, encoding="utf-8")
            return
        fake = self._fakes.vaultd if isinstance(step, Vault) else self._fakes.catalogs[step.catalog - 1]
        await fake.control(step.method, step.path, normal.filled(dict(step.body), self._places(server)))

    async def _observed(self, server: Vaultclaw, step: Step, scope: str) -> Observation:
        try:
            async with asyncio.timeout(STEP_S):
                answer = await self._answer(server, step, scope)
        except (TimeoutError, ValueError, httpx.HTTPError, ConnectionError) as error:
            answer = {"lost": type(error).__name__}
        places = self._places(server)
        vault, *remote = [[normal.request(seen, places) for seen in new] for new in await self._new()]
        # How often a wait polls before it hears that its client left is a matter of the instant.
        told = [] if isinstance(step, CallThenEnd) else vault
        return {"answer": normal.answer(answer, places), "vault": told, "remote": remote}

    async def _new(self) -> list[list[dict[str, Any]]]:
        """What each fake logged since the last step."""
        logs = [await fake.log() for fake in self._watched]
        new = [log[past:] for log, past in zip(logs, self._past, strict=True)]
        self._past = [len(log) for log in logs]
        return new

    async def _answer(self, server: Vaultclaw, step: Step, scope: str) -> Any:
        match step:
            case Call():
                call = self._filled(step.arguments, server)
                message = _message(step.tool, call)
                return await self._exchange(server, message, step.scope or scope)
            case Message():
                return await self._exchange(server, self._filled(dict(step.message), server), scope)
            case Raw():
                return await self._raw(server, step)
            case CallThenEnd():
                return await self._to_the_end(server, self._filled(step.call.arguments, server), step.call.tool)
            case Restart():
                return await self._restart(server)
        raise AssertionError(f"{step} is not observed")

    async def _exchange(self, server: Vaultclaw, message: Mapping[str, Any], scope: str) -> Any:
        body = json.dumps(message).encode()
        if server.options.via == "http":
            headers = (("content-type", "application/json"), (TENANT_HEADER, scope))
            return await self._raw(server, Raw(body, headers=headers))
        server.stdio.write(body + b"\n")
        return parse(await server.stdio.line()) if "id" in message else {}

    async def _raw(self, server: Vaultclaw, raw: Raw) -> Any:
        if server.options.via == "stdio":
            server.stdio.write(raw.body + b"\n")
            return parse(await server.stdio.line())
        answer = await server.http(raw.method, raw.path, headers=dict(raw.headers), body=raw.body)
        if answer.status in (404, 405):  # the contract says no more of them than this
            return {"http": answer.status, "allow": answer.headers.get("allow")}
        try:
            told = parse(answer.body) if answer.body else {}
        except ValueError:
            told = {"text": answer.body.decode("utf-8", "replace")}
        return {"http": answer.status, **(told if isinstance(told, dict) else {"value": told})}

    async def _to_the_end(self, server: Vaultclaw, arguments: Any, tool: str) -> Any:
        server.stdio.write(json.dumps(_message(tool, arguments)).encode() + b"\n")
        server.stdio.end()
        lines = (await server.stdio.rest()).splitlines()
        self._up = False
        return {"answers": [parse(line) for line in lines], "exit": await server.ended()}

    async def _restart(self, server: Vaultclaw) -> Any:
        await server.kill()
        try:
            await server.restart()
        except (StartRefused, ChildFailed):
            self._up = False
        return {"started": self._up}

    async def _end(self, server: Vaultclaw) -> None:
        if self._up or server in self._servers.values():
            await server.kill()

    # -- where things are

    def _places(self, server: Vaultclaw | None) -> dict[str, str]:
        if server is None:
            return self._fakes.origins
        folder = {str(server.catalog_dir): "{catalog_dir}"}
        at = {server.url: "{server}"} if server.options.via == "http" else {}
        return {**folder, **at, **self._fakes.origins}

    def _filled(self, value: Any, server: Vaultclaw) -> Any:
        return normal.filled(value, self._places(server))


def _message(tool: str, arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": PREFIX + tool, "arguments": arguments},
    }


_CONFIGURE = _message("session_configure", {"token": TOKEN, "base_url": VAULTD})
