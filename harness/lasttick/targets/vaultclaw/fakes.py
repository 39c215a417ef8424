"""The fakes around a vault MCP server, as a scenario uses them: over HTTP, the same in every mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lasttick.targets.gateway.secrets import hide
from lasttick.targets.vaultclaw.client import HttpReply

if TYPE_CHECKING:
    from lasttick.targets.vaultclaw.options import FakePart, VaultParts
    from lasttick.targets.world import World

DECIDE = "/v0/connectors/approvals/decide"


class FakeHandle:
    """A fake with a log, and a side for tests."""

    def __init__(self, world: World, part: FakePart) -> None:
        self._world = world
        self._part = part

    @property
    def url(self) -> str:
        """Its origin."""
        return self._part.url

    async def log(self, after: int = 0) -> list[dict[str, Any]]:
        """The requests that arrived on its business side, in order, before a restart too."""
        return [*self._part.past, *(await self.control("GET", "/log"))["log"]][after:]

    async def calls(self, after: int = 0) -> list[str]:
        """The same, as `METHOD /path`."""
        return [f"{seen['method']} {seen['path']}" for seen in await self.log(after)]

    async def trouble(self, kind: str, **options: Any) -> None:
        await self.control("POST", "/trouble", {"kind": kind, **options})

    async def heal(self) -> None:
        await self.trouble("heal")

    async def reset(self) -> None:
        await self.control("POST", "/reset", {})

    async def control(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """A request to its tests' side. Raises AssertionError for an error status."""
        return await self._world.request(method, self.url + path, body)

    def secret(self, alias: str) -> str:
        """A new token for its callers; the trace has `alias` in its place."""
        token = f"vat-{self._world.random('vault-tokens').getrandbits(128):032x}"
        hide(self._world.trace.redact, token, alias)
        return token

    async def shut(self) -> None:
        await self._part.stop()


class Vaultd(FakeHandle):
    """The vault daemon of a world."""

    def __init__(self, world: World, part: FakePart, parts: VaultParts, *, unix: bool) -> None:
        super().__init__(world, part)
        self._parts = parts
        self._unix = unix
        if part.socket is not None:
            # Where the world's folder is differs from run to run.
            for path in (str(part.socket), quote(str(part.socket), safe="")):
                world.trace.redact.learn(path, "[vaultd socket]")

    @property
    def socket(self) -> str:
        """The path of its Unix socket. Raises AssertionError when it has none."""
        assert self._part.socket is not None, "this daemon has no Unix socket; start it with unix=True"
        return str(self._part.socket)

    async def token(
        self, agent: str = "", *, tenant: str, scopes: Sequence[str] | None = None, approver: str = ""
    ) -> str:
        """A new token of an agent, or of a person who may decide (`approver`), hidden in the trace. `scopes` None: all
        of an agent's."""
        token = self.secret(f"[token of {agent or approver}]")
        await self.register(token, agent, tenant=tenant, scopes=scopes, approver=approver)
        return token

    async def register(
        self,
        token: str,
        agent: str = "",
        *,
        tenant: str,
        scopes: Sequence[str] | None = None,
        approver: str = "",
    ) -> None:
        """Make the daemon know this token, and hide it in the trace."""
        hide(self._world.trace.redact, token, f"[token of {agent or approver}]")
        named = {"agent_id": agent, "approver": approver, "scopes": None if scopes is None else list(scopes)}
        known = {name: value for name, value in named.items() if value or value == []}
        await self.control("PUT", f"/control/tokens/{token}", {"tenant": tenant, **known})

    async def decide(self, token: str, challenge_id: str, pending_id: str, decision: str) -> HttpReply:
        """Somebody's word, approve or deny, as the vault's own API takes it; also what it answers to a refusal."""
        body = {"challenge_id": challenge_id, "pending_id": pending_id, "decision": decision}
        headers = {"Authorization": f"Bearer {token}"}
        answer = await self._world._http().post(f"{self.url}{DECIDE}", json=body, headers=headers)
        return HttpReply(answer.status_code, answer.headers, answer.content)

    async def effects(self) -> list[dict[str, Any]]:
        """What was really executed, in order."""
        return list((await self.control("GET", "/effects"))["effects"])

    async def down(self) -> None:
        """Nobody can reach it any more."""
        await self._part.stop()

    async def up(self) -> None:
        """It runs again at its address, with what it knew."""
        self._part = self._parts.daemon(unix=self._unix, again=self._part)
        await self._part.start()

    async def restart(self) -> None:
        await self.down()
        await self.up()
