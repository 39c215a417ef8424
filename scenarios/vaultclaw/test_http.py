"""The HTTP bridge: which path answers what, whose scope a header names, and what is refused before anything is read.

Source: contract vaultclaw 5; ruling 19.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lasttick import World, scenario

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}
JSON = "application/json; charset=utf-8"
STRICT = "ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER"
FIRST, SECOND, THIRD = HEADERS = ["X-Accords-Tenant-Id", "X-OpenClaw-Tenant-Id", "X-Tenant-Id"]
BLANK = "\u00a0"
"""White space that no HTTP client strips or refuses."""
BODY_MAX = 1024 * 1024


def call_of(tool: str, **arguments: Any) -> bytes:
    params = {"name": f"vaultclaw_{tool}", "arguments": arguments}
    return json.dumps({"id": 1, "method": "tools/call", "params": params}).encode()


async def scope_of(server: Any, headers: dict[str, str]) -> str:
    """The base_url of the session that these headers lead to; "" when there is none."""
    reply = await server.http("POST", "/mcp", headers=headers, body=call_of("session_status"))
    data = reply.json()["result"]["structuredContent"]["data"]
    return str(data.get("base_url", ""))


@scenario("VC-03")
@pytest.mark.parametrize("path", ["/v1/mcp", "/agents/rpc", "rpc"])
async def test_each_path_answers_its_own(world: World, path: str) -> None:
    """The configured path (with a slash in front) and always /mcp carry JSON-RPC; health needs nothing; any other path,
    also one that is almost the same, is not found."""
    environ = {} if path == "/v1/mcp" else {"ACCORDS_MCP_HTTP_PATH": path}
    server = await world.vaultclaw(environ=environ)
    mine = path if path.startswith("/") else f"/{path}"
    for at in (mine, "/mcp", f"{mine}?x=1"):
        reply = await server.http("POST", at, body=PING)
        assert (reply.status, reply.headers["content-type"], reply.json()) == (200, JSON, PONG), at
    for at in ("/healthz", "/v1/healthz"):
        reply = await server.http("GET", at)
        assert (reply.status, reply.headers["content-type"]) == (200, JSON)
        assert reply.json() == {"ok": True, "service": "accords-mcp"}
        assert ((await server.http("HEAD", at)).status, (await server.http("HEAD", at)).body) == (200, b"")
    others = ["/", "/mcp/", f"{mine}/", "/MCP", "/v1", "/v1/mcp/x", "/healthz/", "/v1/healthz/", "/v1/tools"]
    for at in others + ([] if mine == "/v1/mcp" else ["/v1/mcp"]):
        for method in ("GET", "POST"):
            assert (await server.http(method, at, body=PING)).status == 404, (method, at)


@scenario("VC-03")
async def test_the_checks_have_an_order(world: World) -> None:
    """A wrong method comes before the tenant, the tenant before the body: each alone has its status, and of several the
    first one counts."""
    server = await world.vaultclaw(environ={STRICT: "true"})
    for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"):
        reply = await server.http(method, "/mcp", body=b"")
        assert (reply.status, reply.headers["allow"]) == (405, "POST"), method
    for method in ("POST", "PUT", "DELETE"):
        reply = await server.http(method, "/healthz")
        assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD"), method
    assert (await server.http("GET", "/healthz")).status == 200, "health needs no tenant"
    assert (await server.http("POST", "/mcp", body=b"no JSON")).status == 400
    reply = await server.http("POST", "/mcp", headers={FIRST: "acme"}, body=b"no JSON")
    assert reply.status == 200
    assert reply.json()["error"]["code"] == -32700
    assert "id" not in reply.json()


@scenario("VC-03")
async def test_what_is_answered_and_how_much_is_read(world: World) -> None:
    """An error of JSON-RPC is HTTP 200, a notification 204 without a body; no session id, no authentication. A body of
    1 MiB is read, one byte more is cut off."""
    server = await world.vaultclaw()
    reply = await server.http("POST", "/mcp", body=b'{"id":1,"method":"no/such"}')
    assert (reply.status, reply.json()["error"]["code"]) == (200, -32601)
    reply = await server.http("POST", "/mcp", body=b'{"method":"ping"}')
    assert (reply.status, reply.body) == (204, b"")
    for headers in ({"content-type": "text/plain"}, {"authorization": "Bearer x", "mcp-session-id": "y"}):
        reply = await server.http("POST", "/mcp", headers=headers, body=PING)
        assert (reply.status, reply.json()) == (200, PONG)
        assert not [name for name in reply.headers if "session" in name.lower()]
    full = PING + b" " * (BODY_MAX - len(PING))
    assert (await server.http("POST", "/mcp", body=full)).json() == PONG
    assert (await server.http("POST", "/mcp", body=full + b"garbage")).json() == PONG, "what follows is not read"
    late = b" " * (BODY_MAX + 1 - len(PING)) + PING
    reply = await server.http("POST", "/mcp", body=late)
    assert (reply.status, reply.json()["error"]["code"]) == (200, -32700)


@scenario("VC-03")
async def test_a_header_names_the_scope(world: World) -> None:
    """Of the three headers the first that is not blank counts, whatever stands in the others and in what order they
    come; its name in any case, its value trimmed and by its letters; without one the scope is `default`."""
    server = await world.vaultclaw()
    for scope in ("acme", "Acme", "globex", "default"):
        configure = call_of("session_configure", token=f"token-of-{scope}-enough", base_url=f"http://{scope}.test")
        await server.http("POST", "/mcp", headers={FIRST: scope}, body=configure)
    table: list[tuple[dict[str, str], str]] = [
        ({}, "default"),
        ({"X-Tenant": "acme"}, "default"),
        *(({name: "acme"}, "acme") for name in HEADERS),
        *(({name.lower(): "acme"}, "acme") for name in HEADERS),
        *(({name.upper(): "Acme"}, "Acme") for name in HEADERS),
        ({FIRST: f"{BLANK}acme\u2003"}, "acme"),
        ({FIRST: "", SECOND: BLANK, THIRD: "globex"}, "globex"),
        ({FIRST: BLANK, SECOND: "acme", THIRD: "globex"}, "acme"),
        ({THIRD: "globex", SECOND: "Acme", FIRST: "acme"}, "acme"),
        ({THIRD: "globex", SECOND: "Acme"}, "Acme"),
        ({FIRST: BLANK, SECOND: "", THIRD: BLANK}, "default"),
        ({FIRST: "default"}, "default"),
        ({FIRST: "ACME"}, ""),
        ({FIRST: "nobody", SECOND: "acme"}, ""),
    ]
    for headers, scope in table:
        assert await scope_of(server, headers) == (f"http://{scope}.test" if scope else ""), headers


@scenario("VC-03")
@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", " True "])
async def test_strict_mode_needs_a_tenant(world: World, value: str) -> None:
    """Without a tenant a request is refused with HTTP 400 and a bare envelope that names headers and variable, whatever
    its body; nothing is carried out. With a tenant it is served."""
    server = await world.vaultclaw(environ={STRICT: value})
    configure = call_of("session_configure", token="a-token-of-enough-length")
    for headers in ({}, dict.fromkeys(HEADERS, BLANK)):
        reply = await server.http("POST", "/mcp", headers=headers, body=configure)
        assert reply.status == 400
        assert reply.headers["content-type"].startswith("application/json")
        envelope = reply.json()
        message = envelope["error"].pop("message")
        assert isinstance(message, str)
        assert message
        assert envelope == {
            "ok": False,
            "data": None,
            "error": {
                "code": "MCP_TENANT_HEADER_REQUIRED",
                "category": "validation",
                "retryable": False,
                "vault_code": "",
                "details": {"required_headers": HEADERS, "strict_env_var": STRICT},
            },
            "meta": {"request_id": "", "vault_http_status": 400, "vault_code": ""},
        }
    assert await scope_of(server, {THIRD: "default"}) == "", "what was refused was not carried out"


@scenario("VC-03")
@pytest.mark.parametrize("value", ["0", "f", "FALSE", "yes", "on", "", "2"])
async def test_anything_else_is_not_strict(world: World, value: str) -> None:
    """Values that the contract does not name leave the strict mode off."""
    server = await world.vaultclaw(environ={STRICT: value})
    assert (await server.http("POST", "/mcp", body=PING)).json() == PONG


@scenario("VC-03")
async def test_one_call_does_not_wait_for_another(world: World) -> None:
    """Requests run side by side: while the vault keeps one waiting, another of the same tenant is answered."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    client = server.client("acme")
    await client.configure()
    await vaultd.trouble("slow", s=1.0, path="/v0/connectors", count=1)
    slow = world.start(client.call("connectors_list"))
    while not await vaultd.calls():
        await world.advance(0.1)
    assert (await client.call("connector_get", connector_id="google")).ok
    assert not slow.done(), "a later call is answered before it"
    assert (await slow).ok


@scenario("VC-01", "VC-03")
async def test_a_client_that_goes_away_ends_its_wait(world: World) -> None:
    """Nobody is there any more to hear the end of a wait: within one poll the vault is asked no more. The wait of
    another client goes on."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    mine, other = server.client("acme"), server.client("globex")
    waits = {}
    for client in (mine, other):
        await client.configure()
        told = {"tenant": client.tenant, "states": [{"status": "PENDING"}]}
        job = (await vaultd.control("POST", "/control/jobs", told))["job_id"]
        arguments = {"handle": {"kind": "JOB", "job_id": job}, "timeout_ms": 600_000, "poll_interval_ms": 250}
        waits[client] = (f"GET /v0/jobs/{job}", world.start(client.call("approval_wait", arguments)))
    (polls, wait), (others_polls, others_wait) = waits[mine], waits[other]
    while (await vaultd.calls()).count(polls) < 2:
        await world.advance(0.25)
    wait.cancel()
    await world.advance(0.5)
    before = await vaultd.calls()
    await world.advance(1.5)
    after = await vaultd.calls()
    assert after.count(polls) == before.count(polls)
    assert after.count(others_polls) > before.count(others_polls)
    others_wait.cancel()
