"""A caller of the vault MCP server: JSON-RPC over HTTP with a tenant header, or over the server's standard streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lasttick.targets.vaultclaw.answer import ToolAnswer, tool_answer

if TYPE_CHECKING:
    import httpx

    from lasttick.targets.vaultclaw.options import Stdio
    from lasttick.targets.world import World

TENANT_HEADER = "X-Accords-Tenant-Id"
PREFIX = "vaultclaw_"


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Connection(Protocol):
    """How one JSON-RPC message goes out and its answer comes back; None when there is none to come."""

    async def exchange(self, message: bytes, *, answered: bool) -> bytes | None: ...


class HttpConnection:
    """Each message a POST of its own, with the header that says whose it is."""

    def __init__(self, http: httpx.AsyncClient, url: str, tenant: str | None) -> None:
        self._http = http
        self._url = url
        self._headers = {"content-type": "application/json"} | ({TENANT_HEADER: tenant} if tenant is not None else {})

    async def exchange(self, message: bytes, *, answered: bool) -> bytes | None:
        answer = await self._http.post(self._url, content=message, headers=self._headers)
        if answer.status_code == 204:
            return None
        assert answer.status_code == 200, f"POST {self._url} gave HTTP {answer.status_code}: {answer.text[:300]}"
        return answer.content


class StdioConnection:
    """The server's own two pipes. It answers strictly in order, so whoever waits for an answer waits alone."""

    def __init__(self, stdio: Stdio) -> None:
        self._stdio = stdio
        self._turn = asyncio.Lock()

    async def exchange(self, message: bytes, *, answered: bool) -> bytes | None:
        async with self._turn:
            self._stdio.write(message + b"\n")
            if not answered:
                return None
            line = await self._stdio.reader.readline()
        assert line, "the server ended without an answer"
        return line


class VaultClient:
    """One caller. `tenant` is the scope it calls from; every tool call is an event of the trace."""

    def __init__(self, world: World, connection: Connection, *, tenant: str | None, server: str) -> None:
        self._world = world
        self._connection = connection
        self._server = server
        self._ids = 0
        self.tenant = tenant
        self.name = tenant or "default"

    async def configure(
        self, token: str | None = None, *, base_url: str | None = None, timeout_ms: int | None = None
    ) -> ToolAnswer:
        """`session_configure` for the world's vault daemon, with a token of this tenant's agent unless one is given."""
        vaultd = self._world.vault_daemon
        if token is None:
            assert vaultd is not None, "configure() without a token needs world.vaultd()"
            token = await vaultd.token(f"agent-{self.name}", tenant=self.name)
        url = base_url if base_url is not None else vaultd.url if vaultd is not None else None
        given = {"token": token, "base_url": url, "timeout_ms": timeout_ms}
        answer = await self.call("session_configure", {k: v for k, v in given.items() if v is not None})
        assert answer.ok, f"session_configure failed: {answer.error}"
        return answer

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /, **more: Any) -> ToolAnswer:
        """One tools/call; `tool` without its prefix. Raises AssertionError for an answer no tool may give (VC-02)."""
        given = {**(arguments or {}), **more}
        ref = self._world.next_ref("c")
        emit = self._world.trace.emit
        emit(self.name, "call.start", ref, tool=tool, arguments=given, server=self._server)
        try:
            answer = tool_answer(await self.rpc("tools/call", {"name": PREFIX + tool, "arguments": given}))
        except asyncio.CancelledError:
            emit(self.name, "call.end", ref, tool=tool, ok=False, code="dropped")
            raise
        except Exception as error:
            emit(self.name, "call.end", ref, tool=tool, ok=False, code="lost", message=str(error)[:200])
            raise
        data = answer.envelope["data"]
        told = data.get("decision_outcome") if isinstance(data, dict) else None
        emit(self.name, "call.end", ref, tool=tool, ok=answer.ok, code=answer.code, told=told)
        return answer

    async def rpc(self, method: str, params: Any = None, *, id: Any = None) -> dict[str, Any] | None:
        """One request, and its whole answer. `id`: the next number when None."""
        self._ids += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._ids if id is None else id, "method": method}
        if params is not None:
            message["params"] = params
        return await self.message(message)

    async def message(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """One message as given; None when it was a notification."""
        line = json.dumps(message, ensure_ascii=True).encode("ascii")
        answer = await self._connection.exchange(line, answered="id" in message)
        return None if answer is None else dict(json.loads(answer))
