"""The HTTP bridge: paths, methods, tenants, bodies. Source: contract vaultclaw 5, rulings 14 and 19; VC-03."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.reference.vaultclaw import http_bridge
from lasttick.reference.vaultclaw.http_bridge import HttpBridge, tenant_of
from lasttick.targets.transports import memory_transport

from .core_rig import FakeVault, Rig
from .test_rpc import EXTRA, TOOLS

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
TYPE = "application/json; charset=utf-8"


class Bridge:
    def __init__(self, path: str, strict: bool, environ: dict[str, str]) -> None:
        self.rig = Rig(FakeVault(), environ, (*TOOLS, *EXTRA))
        self.app = HttpBridge(self.rig.core, path, strict=strict)
        network = Network()
        network.serve("mcp.test:80", self.app)
        self.http = httpx.AsyncClient(transport=memory_transport(network), base_url="http://mcp.test", timeout=None)

    async def tool(self, name: str, arguments: Any = None, **headers: str) -> dict[str, Any]:
        message = {**PING, "method": "tools/call", "params": {"name": f"vaultclaw_{name}", "arguments": arguments}}
        answer = await self.http.post(
            "/mcp", json=message, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        envelope: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return envelope


def bridged(
    body: Callable[[Bridge, VirtualLoop], Coroutine[Any, Any, Any]],
    *,
    path: str = "/v1/mcp",
    strict: bool = False,
    **environ: str,
) -> Any:
    async def main(loop: VirtualLoop) -> Any:
        bridge = Bridge(path, strict, environ)
        async with bridge.http:
            return await body(bridge, loop)

    return run_virtual(main)


def sent(method: str, path: str, *, configured: str = "/v1/mcp", strict: bool = False, **more: Any) -> httpx.Response:
    answer: httpx.Response = bridged(
        lambda b, loop: b.http.request(method, path, **more), path=configured, strict=strict
    )
    return answer


@pytest.mark.parametrize(
    ("configured", "path", "status"),
    [
        ("/v1/mcp", "/v1/mcp", 200),
        ("/v1/mcp", "/mcp", 200),
        ("/v1/mcp", "/v1/mcp/", 404),
        ("/v1/mcp", "/mcp/", 404),
        ("/v1/mcp", "/", 404),
        ("/other", "/other", 200),
        ("/other", "/mcp", 200),
        ("/other", "/v1/mcp", 404),
    ],
)
def test_paths(configured: str, path: str, status: int) -> None:
    answer = sent("POST", path, configured=configured, json=PING)
    assert answer.status_code == status
    if status == 200:
        assert answer.headers["content-type"] == TYPE
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_only_post_on_an_rpc_path_whatever_the_tenant(method: str) -> None:
    answer = sent(method, "/mcp", strict=True)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/healthz", "/v1/healthz"])
def test_health_needs_no_tenant(path: str) -> None:
    answer = sent("GET", path, strict=True)
    assert (answer.status_code, answer.json()) == (200, {"ok": True, "service": "accords-mcp"})
    head = sent("HEAD", path, strict=True)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == answer.headers["content-length"]
    wrong = sent("POST", path)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")


def test_a_notification_is_204_without_a_body() -> None:
    answer = sent("POST", "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\0"])
def test_json_rpc_errors_are_http_200(body: bytes) -> None:
    answer = sent("POST", "/mcp", content=body)
    assert answer.status_code == 200
    assert answer.json()["error"]["code"] == -32700


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_only_the_first_mebibyte_is_read(extra: int, fits: bool) -> None:
    frame = json.dumps({**PING, "params": ""}).encode()
    body = frame[:-2] + b"x" * (1048576 - len(frame) + extra) + frame[-2:]
    assert len(body) == 1048576 + extra
    answer = sent("POST", "/mcp", content=body).json()
    assert ("result" in answer) is fits
    if not fits:
        assert answer["error"]["code"] == -32700


def test_a_body_is_cut_at_a_mebibyte_of_all_its_chunks() -> None:
    """The first message is whole by then, and what comes behind it is not looked at."""

    async def main(loop: VirtualLoop) -> bytes:
        chunks = [json.dumps(PING).encode() + b" " * (1 << 19), b" " * (1 << 19), b"not JSON any more"]
        told: list[Any] = []

        async def receive() -> Any:
            if not chunks:
                return await loop.create_future()
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

        async def send(message: Any) -> None:
            told.append(message)

        app = HttpBridge(Rig(FakeVault()).core, "/v1/mcp", strict=False)
        await app({"type": "http", "method": "POST", "path": "/mcp", "headers": []}, receive, send)
        return bytes(told[1]["body"])

    assert json.loads(run_virtual(main))["result"] == {}


def test_a_body_in_chunks() -> None:
    async def chunks() -> Any:
        data = json.dumps(PING).encode()
        for i in range(0, len(data), 7):
            yield data[i : i + 7]

    assert sent("POST", "/mcp", content=chunks()).json()["result"] == {}


NAMES = ("X-Accords-Tenant-Id", "X-OpenClaw-Tenant-Id", "X-Tenant-Id")


@pytest.mark.parametrize(
    ("headers", "tenant"),
    [
        ([("X-Tenant-Id", "c"), ("X-OpenClaw-Tenant-Id", "b"), ("X-Accords-Tenant-Id", "a")], "a"),
        ([("X-Tenant-Id", "c"), ("X-OpenClaw-Tenant-Id", "b"), ("X-Accords-Tenant-Id", "  ")], "b"),
        ([("x-tenant-ID", " c ")], "c"),
        ([("X-Tenant-Id", "ACME")], "ACME"),
        ([("X-Tenant-Id", " \t")], ""),
        ([], ""),
    ],
)
def test_which_header_is_the_tenant(headers: list[tuple[str, str]], tenant: str) -> None:
    assert tenant_of([(name.encode(), value.encode()) for name, value in headers]) == tenant


def test_two_odd_tenants_are_two() -> None:
    assert len({tenant_of([(b"x-tenant-id", value)]) for value in (b"\xff", b"\xfe", b"\xc3\xa0", b"\xc3")}) == 4


@pytest.mark.parametrize("headers", [{}, {"X-Tenant-Id": "  "}])
def test_strict_mode_refuses_a_request_without_tenant(headers: dict[str, str]) -> None:
    answer = sent("POST", "/mcp", strict=True, content=b"not even JSON", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (400, TYPE)
    body = answer.json()
    assert body["error"].pop("message")
    assert body == {
        "ok": False,
        "data": None,
        "error": {
            "code": "MCP_TENANT_HEADER_REQUIRED",
            "category": "validation",
            "retryable": False,
            "vault_code": "",
            "details": {
                "required_headers": list(NAMES),
                "strict_env_var": "ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER",
            },
        },
        "meta": {"request_id": "", "vault_http_status": 400, "vault_code": ""},
    }


def test_scopes_are_tenants_and_default_is_one_of_them() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        await bridge.tool("session_configure", {"token": "token-of-acme"}, X_Tenant_Id="acme")
        await bridge.tool("session_configure", {"token": "token-of-nobody"})
        seen = []
        for headers in (
            {"X_Accords_Tenant_Id": "acme"},
            {"X_OpenClaw_Tenant_Id": "acme"},
            {"X_Tenant_Id": "default"},
            {},
        ):
            await bridge.tool("connectors_list", **headers)
            seen.append(bridge.rig.vault.asked[-1].headers["authorization"])
        stranger = await bridge.tool("connectors_list", X_Tenant_Id="Acme")
        return seen, stranger["error"]["code"]

    acme, nobody = "Bearer token-of-acme", "Bearer token-of-nobody"
    assert bridged(body) == ([acme, acme, nobody, nobody], "MCP_SESSION_NOT_CONFIGURED")


def test_the_environments_token_serves_the_default_scope_only() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        return [
            (await bridge.tool("session_status", **headers))["data"]["configured"]
            for headers in ({}, {"X_Tenant_Id": "acme"}, {"X_Tenant_Id": "default"})
        ]

    assert bridged(body, VC_AGENT_TOKEN="token-of-the-environment") == [True, False, True]


def test_requests_run_side_by_side() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        await asyncio.gather(*(bridge.tool("waiting", {"s": 600}) for _ in range(500)))
        return loop.time()

    assert bridged(body) == 600


def test_a_client_that_goes_away_ends_its_wait() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        call = asyncio.ensure_future(bridge.tool("waiting", {"s": 600}))
        await asyncio.sleep(5)
        call.cancel()
        await asyncio.sleep(0.5)
        return bridge.app._open, [task.get_name() for task in asyncio.all_tasks() if "POST" in task.get_name()]

    assert bridged(body) == ({}, [])


def test_a_client_that_goes_away_does_not_end_another_call() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        async def slow(request: httpx.Request) -> Any:
            await asyncio.sleep(15)
            return {"valid": True}

        bridge.rig.vault.answer = slow
        await bridge.tool("session_configure", {"token": "token-of-acme"})
        call = asyncio.ensure_future(bridge.tool("connector_execute", {"request": {"connector_id": "c"}}))
        await asyncio.sleep(5)
        call.cancel()
        await asyncio.sleep(60)
        return bridge.rig.vault.calls

    assert bridged(body) == ["POST /v0/connectors/validate", "POST /v0/connectors/execute"]


def test_stop_cuts_waits_and_lets_other_calls_end() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        async def slow(request: httpx.Request) -> Any:
            await asyncio.sleep(3)
            return {"seen": True}

        bridge.rig.vault.answer = slow
        await bridge.tool("session_configure", {"token": "token-of-acme"})
        calls = [
            asyncio.ensure_future(bridge.http.post("/mcp", json={**PING, "method": "tools/call", "params": params}))
            for params in (
                {"name": "vaultclaw_waiting", "arguments": {"s": 600}},
                {"name": "vaultclaw_connectors_list"},
            )
        ]
        await asyncio.sleep(1)
        await bridge.app.stop(4.5)
        wait, other = await asyncio.gather(*calls)
        return loop.time(), wait.status_code, other.json()["result"]["structuredContent"]["data"]

    assert bridged(body) == (3, 204, {"seen": True})


def test_a_wait_that_begins_after_stop_is_cut_too() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        await bridge.app.stop(4.5)
        params = {"name": "vaultclaw_waiting", "arguments": {"s": 600}}
        answer = await bridge.http.post("/mcp", json={**PING, "method": "tools/call", "params": params})
        return answer.status_code, loop.time()

    assert bridged(body) == (204, 0.25)


def test_stop_does_not_wait_for_ever() -> None:
    async def body(bridge: Bridge, loop: VirtualLoop) -> Any:
        bridge.rig.vault.answer = lambda request: asyncio.sleep(100)
        await bridge.tool("session_configure", {"token": "token-of-acme", "timeout_ms": 100_000})
        asyncio.ensure_future(bridge.tool("connectors_list")).add_done_callback(lambda done: done.exception())
        await asyncio.sleep(1)
        await bridge.app.stop(4.5)
        return loop.time()

    assert bridged(body) == 5.5


def test_a_client_that_goes_away_before_its_body_is_there() -> None:
    async def main(loop: VirtualLoop) -> list[Any]:
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            told.append(message)

        app = HttpBridge(Rig(FakeVault()).core, "/v1/mcp", strict=False)
        await app({"type": "http", "method": "POST", "path": "/mcp", "headers": []}, receive, send)
        return told

    assert run_virtual(main) == []


def test_lifespan() -> None:
    async def main(loop: VirtualLoop) -> list[Any]:
        told: list[Any] = []
        messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive() -> Any:
            return next(messages)

        async def send(message: Any) -> None:
            told.append(message["type"])

        await HttpBridge(Rig(FakeVault()).core, "/v1/mcp", strict=False)({"type": "lifespan"}, receive, send)
        return told

    assert run_virtual(main) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_the_drain_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_bridge, "DRAIN_MAX", 2 << 20)
    assert sent("POST", "/mcp", content=b"x" * (3 << 20)).json()["error"]["code"] == -32700
