"""Whom the vault sees: sessions by scope, the one that the environment gives, and a token that is never shown.

Source: contract vaultclaw 6; rulings 14, 17.
"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

DEFAULTS = ("http://127.0.0.1:8080", 20_000)
NO_TOKENS: tuple[Any, ...] = (None, "", " \u2003\n", 7, ["x" * 20], {})
TOKEN = "vat-0123456789abcdef"


def shown(data: Any) -> tuple[str, int]:
    """What a session shows of itself, besides its token."""
    assert set(data) == {"configured", "base_url", "timeout_ms", "token"}, data
    assert data["configured"] is True, data
    return data["base_url"], data["timeout_ms"]


async def bearer(vaultd: Any) -> str:
    """The token of the last call that the vault saw."""
    headers = dict((await vaultd.log())[-1]["headers"])
    return str(headers["authorization"]).removeprefix("Bearer ")


@scenario("VC-04")
async def test_a_session_is_configured_shown_and_cleared(world: World) -> None:
    """Nothing is asked of a vault; odd values count as absent; a new session replaces the old one; clearing is fine
    when there is none."""
    client = (await world.vaultclaw()).client("acme")
    assert (await client.call("session_status")).data == {"configured": False}
    assert (await client.call("session_clear")).data == {"cleared": True}
    table: list[tuple[dict[str, Any], tuple[str, int]]] = [
        ({}, DEFAULTS),
        ({"base_url": "", "timeout_ms": 0}, DEFAULTS),
        ({"base_url": " \n", "timeout_ms": -5}, DEFAULTS),
        ({"base_url": 7, "timeout_ms": "1500"}, DEFAULTS),
        ({"base_url": None, "timeout_ms": True}, DEFAULTS),
        ({"base_url": "http://vault.test/", "timeout_ms": 1}, ("http://vault.test/", 1)),
        ({"base_url": " http://vault.test/a//\u2003", "timeout_ms": 1500.9}, ("http://vault.test/a//", 1500)),
        ({"base_url": "no url at all", "timeout_ms": 10**15, "odd": [1]}, ("no url at all", 10**15)),
        ({"timeout_ms": 0.9}, DEFAULTS),
    ]
    for given, expected in table:
        answer = await client.call("session_configure", {"token": TOKEN, **given})
        assert shown(answer.data) == expected, given
        assert answer.meta == {"request_id": "", "vault_http_status": 0, "vault_code": ""}
        assert (await client.call("session_status")).data == answer.data
    for token in NO_TOKENS:
        refused = await client.call("session_configure", token=token)
        assert (refused.code, refused.error["retryable"]) == ("MCP_VALIDATION_ERROR", False), token
    assert shown((await client.call("session_status")).data) == DEFAULTS, "what was refused changed nothing"
    for _ in range(2):
        assert (await client.call("session_clear")).data == {"cleared": True}
        assert (await client.call("session_status")).data == {"configured": False}
    refused = await client.call("connectors_list")
    assert (refused.code, refused.category) == ("MCP_SESSION_NOT_CONFIGURED", "auth")


@scenario("VC-04")
async def test_a_token_is_shown_by_its_ends_or_not_at_all(world: World) -> None:
    """Of 12 bytes and more the first and the last three are shown, of fewer nothing, though their characters are."""
    client = (await world.vaultclaw()).client("acme")
    table = {
        "a": "***",
        "abcde": "***",
        "abcdef": "***",
        "abcdefghijk": "***",
        "abcdefghijkl": "abc***jkl",
        "  abcdefghijkl\n": "abc***jkl",
        "  abcdefghijk  ": "***",
        "abcdefghij\u00e9": "abc***j\u00e9",
        "\u20acbcdefg\u20ac": "\u20ac***\u20ac",
        "\u20ac\u20ac\u20ac": "***",
        "k" * 5000: "kkk***kkk",
    }
    for token, mask in table.items():
        for answer in (await client.call("session_configure", token=token), await client.call("session_status")):
            assert answer.data["token"] == mask, token[:40]
            assert len(token) < 12 or token.strip() not in str(answer.result)


@scenario("VC-04")
async def test_each_scope_has_its_own_session(world: World) -> None:
    """The vault sees the token of the scope that called; configuring or clearing one scope leaves the others alone,
    and a scope without a session is let nowhere."""
    vaultd = await world.vaultd()
    server = await world.vaultclaw()
    clients = {name: server.client(name) for name in ("acme", "globex", "Acme")}
    tokens = {name: await vaultd.token(f"agent-{name}", tenant=name) for name in clients}
    for name, client in clients.items():
        await client.configure(tokens[name])
    for name, client in clients.items():
        assert (await client.call("connectors_list")).ok
        assert await bearer(vaultd) == tokens[name]
    assert (await server.client(None).call("connectors_list")).code == "MCP_SESSION_NOT_CONFIGURED"
    newer = await vaultd.token("agent-new", tenant="acme")
    await clients["acme"].configure(newer)
    assert (await clients["globex"].call("session_clear")).ok
    assert (await clients["globex"].call("connectors_list")).code == "MCP_SESSION_NOT_CONFIGURED"
    for name, token in (("acme", newer), ("Acme", tokens["Acme"])):
        assert (await clients[name].call("connectors_list")).ok
        assert await bearer(vaultd) == token


@scenario("VC-04")
@pytest.mark.parametrize("via", ["http", "stdio"])
async def test_the_environment_gives_the_default_scope_a_session(world: World, via: Any) -> None:
    """VC_AGENT_TOKEN makes a session by itself, with the environment's URL and time-out: at first use, after a clear,
    and never instead of one that was configured. Over HTTP no other tenant may use it."""
    vaultd = await world.vaultd()
    token = await vaultd.token("agent-env", tenant="acme")
    environ = {"VC_AGENT_TOKEN": f" {token} ", "VC_BASE_URL": vaultd.url, "VC_TIMEOUT_MS": "1234"}
    server = await world.vaultclaw(via=via, environ=environ)
    client = server.client()
    for _ in range(2):
        status = await client.call("session_status")
        assert shown(status.data) == (vaultd.url, 1234)
        assert status.data["token"] == f"{token[:3]}***{token[-3:]}"
        assert (await client.call("connectors_list")).ok
        assert await bearer(vaultd) == token
        assert (await client.call("session_clear")).data == {"cleared": True}
    own = await vaultd.token("agent-own", tenant="acme")
    await client.configure(own)
    assert (await client.call("connectors_list")).ok
    assert await bearer(vaultd) == own
    if via == "http":
        seen = len(await vaultd.calls())
        for tenant in ("acme", "DEFAULT"):
            other = server.client(tenant)
            assert (await other.call("session_status")).data == {"configured": False}
            assert (await other.call("connectors_list")).code == "MCP_SESSION_NOT_CONFIGURED"
        assert len(await vaultd.calls()) == seen, "another tenant reached the vault with the environment's token"


@scenario("VC-04")
@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"VC_AGENT_TOKEN": "  "}, None),
        ({"VC_BASE_URL": "http://vault.test"}, None),
        ({"VC_AGENT_TOKEN": TOKEN}, DEFAULTS),
        ({"VC_AGENT_TOKEN": TOKEN, "VC_TIMEOUT_MS": "0"}, DEFAULTS),
        (
            {"VC_AGENT_TOKEN": TOKEN, "VC_TIMEOUT_MS": "soon", "VC_BASE_URL": "http://vault.test/"},
            ("http://vault.test/", 20_000),
        ),
        ({"VC_AGENT_TOKEN": TOKEN, "VC_UNIX_SOCKET": "/tmp/no-vault"}, ("http://localhost", 20_000)),
        ({"VC_AGENT_TOKEN": TOKEN, "VAULT_UNIX_SOCKET": "/tmp/no-vault"}, ("http://localhost", 20_000)),
    ],
    ids=["blank token", "no token", "only a token", "no time-out", "odd time-out", "socket", "other socket"],
)
async def test_what_the_environment_leaves_out_has_its_default(
    world: World, environ: dict[str, str], expected: tuple[str, int] | None
) -> None:
    """A blank token is none; a time-out that is no positive number, and a base URL that is absent, have defaults."""
    data = (await (await world.vaultclaw(environ=environ)).client().call("session_status")).data
    if expected is None:
        assert data == {"configured": False}
    else:
        assert shown(data) == expected
        assert data["token"] == "vat***def"


@scenario("VC-04")
async def test_a_socket_beats_an_address(world: World) -> None:
    """A Unix socket of the environment is where every vault call goes, also with a session that names an address, whose
    host the request still names; the older variable comes second; a session that names a socket beats both."""
    vaultd = await world.vaultd(unix=True)
    token = await vaultd.token("agent-acme", tenant="acme")
    nowhere = str(world.path / "no-vault")
    percent = vaultd.socket.replace("/", "%2F")
    table: list[tuple[dict[str, str], str, str]] = [
        ({"VC_UNIX_SOCKET": vaultd.socket}, "http://vault.test:81/", "vault.test:81"),
        ({"VAULT_UNIX_SOCKET": vaultd.socket}, "http://vault.test", "vault.test"),
        ({"VC_UNIX_SOCKET": vaultd.socket, "VAULT_UNIX_SOCKET": nowhere}, "http://vault.test", "vault.test"),
        ({"VC_UNIX_SOCKET": nowhere}, f"unix://{vaultd.socket}", "localhost"),
        ({}, f"http+unix://{percent}/", "localhost"),
    ]
    for environ, base_url, host in table:
        client = (await world.vaultclaw(environ=environ)).client("acme")
        await client.configure(token, base_url=base_url)
        answer = await client.call("connectors_list")
        assert answer.ok, (environ, base_url, answer.error)
        assert dict((await vaultd.log())[-1]["headers"])["host"] == host, (environ, base_url)
    client = (await world.vaultclaw(environ={"VC_UNIX_SOCKET": nowhere})).client("acme")
    await client.configure(token, base_url=vaultd.url)
    failed = await client.call("connectors_list")
    assert (failed.code, failed.error["vault_code"]) == ("MCP_INTERNAL", "NETWORK_ERROR")
