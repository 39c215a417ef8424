"""What does the vault system's benchmark measure? A server with its vault, and a crowd of tenants that wait at once.

Joined here, because only `targets` may reach into the reference. All of it is in one process and one event loop, whose
time may be real or virtual; requests go through the in-memory network, so that no socket is measured.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from lasttick.engine.network import Network
from lasttick.model.vaultclaw.json_text import sha256_hex
from lasttick.ports import Clock, Entropy
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.program import VaultclawServer
from lasttick.targets.transports import memory_transport
from lasttick.targets.vaultclaw.answer import ToolAnswer, tool_answer
from lasttick.targets.vaultclaw.client import PREFIX, HttpConnection
from lasttick_fakes.vaultd import Principal, VaultDaemon
from lasttick_fakes.vaultd.principals import EXECUTE_JOB
from lasttick_fakes.vaultd.state import Work

SERVER, VAULT = "127.0.0.1:7210", "127.0.0.1:7200"
DENIED = {"status": "DENIED", "error": {"code": "PLAN_APPROVAL_DENIED"}}
PENDING = {"status": "PENDING", "error": {"code": "CONNECTOR_APPROVAL_DECISION_REQUIRED"}}


class Crowd:
    """`tenants` callers with a session each. `waited`: all of them wait at once for a no of their own."""

    def __init__(self, daemon: VaultDaemon, clock: Clock, http: httpx.AsyncClient, tenants: int) -> None:
        self._daemon = daemon
        self._clock = clock
        self._names = [f"tenant-{number:04}" for number in range(tenants)]
        self._lines = {name: HttpConnection(http, f"http://{SERVER}/mcp", name) for name in self._names}

    async def configure(self) -> None:
        for name in self._names:
            # Nothing of the name is in the token: what is in a token is cut out of every answer.
            token = sha256_hex(name)
            self._daemon.state.tokens[token] = Principal(name, f"agent-of-{name}", (EXECUTE_JOB,))
            answer = await self._call(name, "session_configure", {"token": token, "base_url": f"http://{VAULT}"})
            assert answer.ok, answer.error

    async def waited(self, decided_after_s: float, *, interval_ms: int) -> int:
        """How many were not told DENY of their own job, which is decided so long after now."""
        begun_ns = self._clock.now_ns()
        script = [{"at_s": 0.0, **PENDING}, {"at_s": decided_after_s, **DENIED}]
        for name in self._names:
            work = Work(f"job-{name}", "JOB", name, f"agent-of-{name}", begun_ns, script=script)
            self._daemon.state.works[work.work_id] = work
        told = await asyncio.gather(*(self._wait(name, interval_ms) for name in self._names))
        return sum(not right for right in told)

    async def _wait(self, name: str, interval_ms: int) -> bool:
        handle = {"kind": "JOB", "job_id": f"job-{name}"}
        arguments = {"handle": handle, "timeout_ms": 3_600_000, "poll_interval_ms": interval_ms}
        answer = await self._call(name, "approval_wait", arguments)
        data = answer.data if answer.ok else {}
        return (data.get("decision_outcome"), (data.get("job") or {}).get("job_id")) == ("DENY", handle["job_id"])

    async def _call(self, name: str, tool: str, arguments: dict[str, Any]) -> ToolAnswer:
        params = {"name": PREFIX + tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line = await self._lines[name].exchange(json.dumps(message).encode(), answered=True)
        return tool_answer(None if line is None else json.loads(line))


@asynccontextmanager
async def crowd(folder: Path, clock: Clock, entropy: Entropy, tenants: int) -> AsyncIterator[Crowd]:
    """A server whose catalog is in `folder`, its vault, and the tenants with their sessions."""
    network, daemon = Network(), VaultDaemon(clock)
    config = VaultclawConfig.from_env({"ACCORDS_MCP_CATALOG_DIR": str(folder), "ACCORDS_MCP_HTTP_ADDR": SERVER}, folder)
    server = VaultclawServer(config, clock=clock, entropy=entropy, transports=lambda _: memory_transport(network))
    await server.start()
    network.serve(SERVER, server.app)
    network.serve(VAULT, daemon)
    async with httpx.AsyncClient(transport=memory_transport(network), timeout=None) as http:
        one = Crowd(daemon, clock, http, tenants)
        await one.configure()
        try:
            yield one
        finally:
            await server.stop()
