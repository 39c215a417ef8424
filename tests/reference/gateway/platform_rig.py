"""A platform on a virtual loop, with scripted strangers around it and a raw client that sends what it is told."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import jwt

from lasttick.engine.chance import Chance
from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.reference.gateway.config import GatewayConfig
from lasttick.reference.gateway.platform import EXECUTE_PATH, Platform

SECRET = "agent-secret-AbCdEf-0123456789"
JWT_KEY = "runner-key-0123456789-0123456789-abc"
ADMIN = "admin-token-0123456789"
ENVIRON = {
    "AGENT_SERVICE_SECRET": SECRET,
    "RUNNER_JWT_SECRET": JWT_KEY,
    "PLATFORM_ADMIN_TOKEN": ADMIN,
    "AGENT_URL": "http://agent.test:1",
    "THIRD_PARTY_URL": "http://third.test:2",
    "DATABASE_URL": "sqlite://",
}
INTERNAL = {"x-agent-secret": SECRET}
READ = "order_lookup:lookup"
WRITE = "shop:refund"
ORG: dict[str, Any] = {
    "chat_tokens": ["chat-token-of-org-a"],
    "bindings": [{"slug": "order_lookup", "state": "published"}, {"slug": "shop", "state": "published"}],
    "skills": {"help": ["order_lookup"], "shopping": ["shop", "order_lookup"]},
    "flags": {"tool_dispatch_enabled": True},
}


@dataclass
class Response:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])

    @property
    def whole(self) -> Any:
        """All that a client can see of it."""
        return self.status, self.headers, self.body


async def send(
    app: Any,
    method: str,
    path: str,
    headers: Mapping[str, str] | Sequence[tuple[bytes, bytes]] = (),
    chunks: Iterable[bytes] = (b"",),
) -> Response:
    """One HTTP request straight into an ASGI app."""
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
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": query.encode(),
        "root_path": "",
        "headers": list(headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    pending = list(chunks)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if pending:
            return {"type": "http.request", "body": pending.pop(0), "more_body": bool(pending)}
        return await asyncio.get_running_loop().create_future()

    async def collect(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    found = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    return Response(sent[0]["status"], found, b"".join(m.get("body", b"") for m in sent[1:]))


@dataclass
class Asked:
    """One request that a stranger saw."""

    url: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


Script = Callable[[Asked], Any]


class Strangers(httpx.AsyncBaseTransport):
    """Agent and third party: each a function from a request to an answer, an exception, or an awaitable of these."""

    def __init__(self) -> None:
        self.agent: Script = lambda asked: httpx.Response(200, json={"answer": "good day"})
        self.third: Script = lambda asked: httpx.Response(200, json={"order": {"order_id": "A-1"}})
        self.agent_asked: list[Asked] = []
        self.third_asked: list[Asked] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        headers = [(name.decode(), value.decode("latin-1")) for name, value in request.headers.raw]
        asked = Asked(str(request.url), headers, await request.aread())
        is_agent = request.url.host == "agent.test"
        (self.agent_asked if is_agent else self.third_asked).append(asked)
        answer = (self.agent if is_agent else self.third)(asked)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, httpx.Response)
        return answer


class Rig:
    """One platform with org-a set up: `read` and `write` are runs whose manifests hold one action each, and more."""

    def __init__(
        self,
        loop: VirtualLoop,
        environ: Mapping[str, str] | None = None,
        *,
        chance: Chance | None = None,
        **options: Any,
    ) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.chance = chance or Chance(1)
        self.strangers = Strangers()
        config = GatewayConfig.from_env({**ENVIRON, **(environ or {})}, identity_dir=Path("/nowhere"), **options)
        self.platform = Platform(config, clock=self.clock, entropy=self.chance, transport=self.strangers)
        self.app = self.platform.app

    @property
    def third_asked(self) -> list[Asked]:
        return self.strangers.third_asked

    def run(self, org_id: str = "org-a", allowed: Sequence[str] = (READ,)) -> str:
        metadata = {"inboundMessageRole": "user", "channel": "chat", "runtimeManifest": {"allowedTools": list(allowed)}}
        return self.platform.runs.create_run(org_id, "c-1", metadata).id

    def org(self, org_id: str = "org-a", **parts: Any) -> None:
        self.platform.catalogue.put_org(org_id, {**ORG, **parts})

    def rows(self, org_id: str = "org-a") -> list[dict[str, Any]]:
        return self.platform.ledger.rows(org_id)

    def outcomes(self, org_id: str = "org-a") -> list[str | None]:
        return [row["outcome"] for row in self.rows(org_id)]

    def token(self, key: str = JWT_KEY, **claims: Any) -> str:
        """A runner's token, valid for a minute; a claim given as None is left out."""
        now = int(self.clock.wall().timestamp())
        payload = {"sub": "runner-7", "org_id": "org-a", "role": "runner", "aud": "runner", "exp": now + 60, **claims}
        return jwt.encode({name: value for name, value in payload.items() if value is not None}, key, "HS256")

    def runner(self, **claims: Any) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token(**claims)}"}

    async def send(
        self, method: str, path: str, headers: Any = (), body: Any = None, chunks: Iterable[bytes] | None = None
    ) -> Response:
        if chunks is None:
            chunks = [body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()]
        return await send(self.app, method, path, headers, chunks)

    async def execute(self, run_id: Any, pair: str = READ, headers: Any = INTERNAL, **body: Any) -> Response:
        tool_name, _, action = pair.partition(":")
        call = {"orgId": "org-a", "runId": run_id, "toolName": tool_name, "action": action, "input": {}, **body}
        return await self.send("POST", EXECUTE_PATH, headers, call)

    async def chat(self, body: Any, site: str = "messages", token: str = "chat-token-of-org-a") -> Response:
        headers = {"authorization": f"Bearer {token}"}
        return await self.send("POST", f"/v1/conversations/c-1/{site}", headers, body)

    async def admin(self, method: str, path: str, body: Any = None) -> Response:
        return await self.send(method, f"/v1/admin{path}", {"authorization": f"Bearer {ADMIN}"}, body)


def with_platform(body: Callable[[Rig], Coroutine[Any, Any, Any]], **options: Any) -> None:
    """Run `body(rig)` beside a running platform, in virtual time."""

    async def main(loop: VirtualLoop) -> None:
        rig = Rig(loop, **options)
        async with rig.platform.running():
            rig.org()
            await body(rig)

    run_virtual(main)
