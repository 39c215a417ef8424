"""The environment, variable by variable. Source: contract vaultclaw 2, 6, 8."""

from __future__ import annotations

from pathlib import Path

import pytest

from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.vault import VaultSession

CWD = Path("/work-here")


def configured(**environ: str) -> VaultclawConfig:
    return VaultclawConfig.from_env(environ, CWD)


def test_an_empty_environment() -> None:
    config = configured()
    assert (config.http_addr, config.http_path, config.strict_tenants) == ("", "/v1/mcp", False)
    assert (config.catalog_dir, config.cookbooks_dir, config.lock_timeout_ms) == (None, None, 10_000)
    assert (config.automatic_session, config.socket_path) == (None, None)


@pytest.mark.parametrize("value", ["1", "t", "T", "TRUE", "true", "True", " true "])
def test_strict_mode_on(value: str) -> None:
    assert configured(ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER=value).strict_tenants


@pytest.mark.parametrize("value", ["0", "f", "F", "FALSE", "false", "False", "", "yes", "on", "tRUE", "2"])
def test_strict_mode_off(value: str) -> None:
    assert not configured(ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER=value).strict_tenants


@pytest.mark.parametrize(("path", "seen"), [("rpc", "/rpc"), ("/rpc/", "/rpc/"), ("", "/v1/mcp"), (" /x ", "/x")])
def test_the_http_path(path: str, seen: str) -> None:
    assert configured(ACCORDS_MCP_HTTP_PATH=path).http_path == seen


@pytest.mark.parametrize(
    ("addr", "address"), [(":8080", ("", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:9", ("::1", 9))]
)
def test_the_http_address(addr: str, address: tuple[str, int]) -> None:
    assert configured(ACCORDS_MCP_HTTP_ADDR=addr).http_address == address


@pytest.mark.parametrize("addr", ["8080", "host:", "host:x", "host:65536", "host:-1"])
def test_an_address_that_is_none(addr: str) -> None:
    with pytest.raises(StartError, match="ACCORDS_MCP_HTTP_ADDR"):
        _ = configured(ACCORDS_MCP_HTTP_ADDR=addr).http_address


@pytest.mark.parametrize("value", ["", "x", "0", "-1", "1.5", "1e3", "1_000", "99999999999999999999"])
def test_odd_numbers_count_as_none(value: str) -> None:
    config = configured(ACCORDS_MCP_LOCK_TIMEOUT_MS=value, VC_TIMEOUT_MS=value, VC_AGENT_TOKEN="token")
    assert config.lock_timeout_ms == 10_000
    assert config.automatic_session is not None
    assert config.automatic_session.timeout_ms == 20_000


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"ACCORDS_MCP_CATALOG_DIR": "/c", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/c"),
        ({"ACCORDS_MCP_CATALOG_DIR": "c"}, "/work-here/c"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/accords-mcp/catalog"),
        ({"HOME": "/h"}, "/h/.config/accords-mcp/catalog"),
    ],
)
def test_where_the_catalog_is(environ: dict[str, str], folder: str) -> None:
    assert configured(**environ).catalog_dir == Path(folder)


@pytest.mark.parametrize(
    ("environ", "session", "socket_path"),
    [
        ({"VC_AGENT_TOKEN": " t "}, VaultSession("t", "http://127.0.0.1:8080", 20_000), None),
        ({"VC_AGENT_TOKEN": "  "}, None, None),
        (
            {"VC_AGENT_TOKEN": "t", "VC_BASE_URL": "http://v", "VC_TIMEOUT_MS": "5"},
            VaultSession("t", "http://v", 5),
            None,
        ),
        (
            {"VC_AGENT_TOKEN": "t", "VAULT_UNIX_SOCKET": "/b"},
            VaultSession("t", "http://localhost", 20_000),
            "/b",
        ),
        (
            {"VC_AGENT_TOKEN": "t", "VC_UNIX_SOCKET": "/a", "VAULT_UNIX_SOCKET": "/b", "VC_BASE_URL": "http://v"},
            VaultSession("t", "http://v", 20_000),
            "/a",
        ),
    ],
)
def test_the_automatic_session(environ: dict[str, str], session: VaultSession | None, socket_path: str | None) -> None:
    config = configured(**environ)
    assert (config.automatic_session, config.socket_path) == (session, socket_path)


def test_no_token_in_its_text() -> None:
    assert "t0psecret" not in repr(configured(VC_AGENT_TOKEN="t0psecret", OTHER="t0psecret"))
