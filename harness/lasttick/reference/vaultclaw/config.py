"""What does the server read from its environment? Nothing is refused here: an odd value counts as none.

What can not be (no home for the catalog, an address that is none) is said when the server starts.
Source: contract vaultclaw 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lasttick.model.vaultclaw.json_text import trim
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.vault import VaultSession

BASE_URL = "http://127.0.0.1:8080"
SOCKET_BASE_URL = "http://localhost"
TIMEOUT_MS = 20_000
LOCK_TIMEOUT_MS = 10_000
HTTP_PATH = "/v1/mcp"
STRICT_VARIABLE = "ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER"
TRUE = ("1", "t", "T", "TRUE", "true", "True")
WHERE = "contract vaultclaw 2"


@dataclass(frozen=True, slots=True)
class VaultclawConfig:
    """`http_addr` "" is stdio mode; `catalog_dir` None: neither HOME nor XDG_CONFIG_HOME says where.

    `automatic_session`: that of VC_AGENT_TOKEN. `socket_path`: every call of the vault goes there. `environ`: all of
    it, for the tokens of catalog sources.
    """

    cwd: Path
    http_addr: str = ""
    http_path: str = HTTP_PATH
    strict_tenants: bool = False
    catalog_dir: Path | None = None
    cookbooks_dir: Path | None = None
    lock_timeout_ms: int = LOCK_TIMEOUT_MS
    automatic_session: VaultSession | None = None
    base_url: str = BASE_URL
    socket_path: str | None = None
    home: str = ""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, environ: Mapping[str, str], cwd: Path) -> VaultclawConfig:
        """The whole configuration. Relative paths are in `cwd`. Never refuses."""
        env = {name: trim(value) for name, value in environ.items()}
        socket_path = env.get("VC_UNIX_SOCKET") or env.get("VAULT_UNIX_SOCKET") or None
        base_url = env.get("VC_BASE_URL") or (SOCKET_BASE_URL if socket_path else BASE_URL)
        token = env.get("VC_AGENT_TOKEN", "")
        timeout_ms = _positive(env.get("VC_TIMEOUT_MS", ""), TIMEOUT_MS)
        path = env.get("ACCORDS_MCP_HTTP_PATH") or HTTP_PATH
        cookbooks = env.get("ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR")
        return cls(
            cwd=cwd,
            http_addr=env.get("ACCORDS_MCP_HTTP_ADDR", ""),
            http_path=path if path.startswith("/") else f"/{path}",
            strict_tenants=env.get(STRICT_VARIABLE) in TRUE,
            catalog_dir=_catalog_dir(env, cwd),
            cookbooks_dir=cwd / cookbooks if cookbooks else None,
            lock_timeout_ms=_positive(env.get("ACCORDS_MCP_LOCK_TIMEOUT_MS", ""), LOCK_TIMEOUT_MS),
            automatic_session=VaultSession(token, base_url, timeout_ms) if token else None,
            base_url=base_url,
            socket_path=socket_path,
            home=env.get("HOME", ""),
            environ=dict(environ),
        )

    @property
    def http_address(self) -> tuple[str, int]:
        """Host ("" for all) and port of HTTP mode. Raises StartError when it is none."""
        host, colon, port = self.http_addr.rpartition(":")
        if not colon or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
            raise StartError(
                f"ACCORDS_MCP_HTTP_ADDR is {self.http_addr!r}",
                f"host:port, or :port for all addresses ({WHERE})",
                "correct it, or unset it to speak on standard input and output",
            )
        return host.removeprefix("[").removesuffix("]"), int(port)


def _catalog_dir(env: Mapping[str, str], cwd: Path) -> Path | None:
    if given := env.get("ACCORDS_MCP_CATALOG_DIR"):
        return cwd / given
    home = env.get("HOME")
    base = env.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    return cwd / base / "accords-mcp" / "catalog" if base else None


def _positive(text: str, default: int) -> int:
    return int(text) if re.fullmatch(r"\+?[0-9]{1,18}", text) and int(text) > 0 else default
