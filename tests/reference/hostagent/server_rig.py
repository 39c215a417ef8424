"""An MCP endpoint over scripted drivers on a virtual loop, and a raw client that sends what it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lease import Holder
from lasttick.ports import DeviceInfo, DriverError
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.devices import DeviceManager
from lasttick.reference.hostagent.mcp_server import McpEndpoint, McpOptions
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore

TOKEN = "right-token-AbC"
HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
PNG = "iVBORw0KGgo="
ALICE, BOB = Holder("mcp", "a" * 32), Holder("mcp", "b" * 32)


class ScriptedDriver:
    """A device that takes `takes_s[tool]` for a tool, answers `answers[tool]`, and logs when it starts and ends."""

    def __init__(self, device_id: str, clock: VirtualClock, *, platform: str = "android", scale: int = 1) -> None:
        self.info = DeviceInfo(device_id, platform, scale, 100, 200)  # type: ignore[arg-type]
        self.clock = clock
        self.takes_s: dict[str, float] = {}
        self.answers: dict[str, Any] = {"take_screenshot": {"png_base64": PNG, "width_px": 100, "height_px": 200}}
        self.state = "ok"
        self.log: list[tuple[float, str, str]] = []
        self.fence = 0
        self.arguments: list[dict[str, Any]] = []
        self.running = 0
        self.overlaps = 0

    async def health(self) -> str:
        if self.state == "broken":
            raise DriverError("no answer")
        return self.state

    async def left_over(self) -> bool:
        return False

    async def claim(self, fence: int) -> bool:
        return True

    async def perform(self, tool: str, arguments: Mapping[str, Any], fence: int | None = None) -> Any:
        self.log.append((self.clock.now_ns() / 1e9, "start", tool))
        self.arguments.append(dict(arguments))
        self.running += 1
        self.overlaps += self.running > 1
        try:
            await asyncio.sleep(self.takes_s.get(tool, 0))
            answer = self.answers.get(tool, {"ok": True})
            if isinstance(answer, BaseException):
                raise answer
            return answer
        finally:
            self.running -= 1
            self.log.append((self.clock.now_ns() / 1e9, "end", tool))


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def send(
    app: Any,
    method: str,
    path: str = "/mcp",
    headers: Mapping[str, str] | Sequence[tuple[bytes, bytes]] = (),
    body: bytes = b"",
) -> Response:
    """One HTTP request straight into an ASGI app; like a server, it leaves the app running when the client is there."""
    if isinstance(headers, Mapping):
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    pending = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if pending:
            return pending.pop()
        return await asyncio.get_running_loop().create_future()

    async def collect(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    start = sent[0]
    found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Response(start["status"], found, b"".join(m.get("body", b"") for m in sent[1:]))


class RawClient:
    """`era` modern: no session, every request carries its envelope."""

    def __init__(self, app: Any, era: str = "handshake") -> None:
        self.app = app
        self.era = era
        self.session: str | None = None
        self.ids = 0

    def headers(self, method: str | None = None, name: str | None = None) -> dict[str, str]:
        found = {
            "host": "127.0.0.1:8765",
            "authorization": f"Bearer {TOKEN}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": HANDSHAKE if self.era == "handshake" else MODERN,
        }
        if self.session is not None:
            found["mcp-session-id"] = self.session
        if self.era == "modern" and method is not None:
            found["mcp-method"] = method
            if name is not None:
                found["mcp-name"] = name
        return found

    async def open(self) -> RawClient:
        if self.era == "handshake":
            params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
            answer = await self.rpc("initialize", params)
            assert answer.status == 200, answer
            self.session = answer.headers["mcp-session-id"]
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    async def post(self, message: Any, headers: Mapping[str, str] | None = None) -> Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await send(self.app, "POST", "/mcp", headers or self.headers(), body)

    async def rpc(self, method: str, params: dict[str, Any] | None = None, *, id: Any = None) -> Response:
        if id is None:
            self.ids += 1
            id = self.ids
        params = dict(params or {})
        if self.era == "modern":
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {prefix + "protocolVersion": MODERN, prefix + "clientCapabilities": {}}
        name = params.get("name")
        headers = self.headers(method, name if isinstance(name, str) and name.isascii() else None)
        return await self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, headers)

    async def call(self, tool: str, *, id: Any = None, **arguments: Any) -> dict[str, Any]:
        """The JSON-RPC answer of a tools/call, with `status`."""
        answer = await self.rpc("tools/call", {"name": tool, "arguments": arguments}, id=id)
        return {**answer.json, "status": answer.status}

    async def tap(self, device_id: str = "phone-1", **more: Any) -> dict[str, Any]:
        return await self.call("tap", device_id=device_id, x=1, y=2, **more)

    async def delete(self) -> Response:
        return await send(self.app, "DELETE", "/mcp", self.headers())


class Rig:
    """Two devices: `phone-1` (Android) and `ipad-1` (iOS at scale 2)."""

    def __init__(self, loop: VirtualLoop, *, ttl_s: float = 60.0, max_call_s: float = 300.0, **options: Any) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.manager = DeviceManager()
        self.phone = ScriptedDriver("phone-1", self.clock)
        self.ipad = ScriptedDriver("ipad-1", self.clock, platform="ios", scale=2)
        self.manager.register(self.phone)  # type: ignore[arg-type]
        self.manager.register(self.ipad)  # type: ignore[arg-type]
        self.store = MemoryLeaseStore(self.clock, ttl_s)
        self.calls = LeasedCalls(self.manager, self.store, self.clock, max_call_s)
        self.endpoint = McpEndpoint(
            calls=self.calls, store=self.store, verify=lambda token: token == TOKEN, options=McpOptions(**options)
        )
        self.app = Starlette(routes=self.endpoint.routes)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Rig]:
        async with self.endpoint.running():
            yield self
        await self.calls.aclose()

    async def client(self, era: str = "handshake") -> RawClient:
        return await RawClient(self.app, era).open()

    async def held(self) -> dict[str, Holder]:
        return {view.device_id: view.holder for view in await self.store.snapshot()}


def with_rig(body: Callable[[Rig], Coroutine[Any, Any, Any]], **options: Any) -> None:
    """Run `body(rig)` inside a running endpoint, in virtual time."""

    async def main(loop: VirtualLoop) -> None:
        async with Rig(loop, **options).running() as rig:
            await body(rig)

    run_virtual(main)
