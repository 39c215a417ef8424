"""What does a host agent need to be told, and which of it is refused?

Source: contract world, "Host agent's surface"; HA-01 (both switches for a non-loopback host); seed 002, D2-D4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lasttick.model.address import is_loopback
from lasttick.reference.hostagent.start_error import StartError

ALLOW_VARIABLE = "HOST_AGENT_CONSOLE_ALLOW_NON_LOOPBACK"
IDENTITY_VARIABLE = "HOST_AGENT_IDENTITY_PATH"
SECONDS_MAX = 1e9
WHERE = "contract world, host agent's surface"
SUITE = "contract mcp_conformance, section 4"


class ConfigError(StartError):
    """An option has a value that the host agent refuses."""


@dataclass(frozen=True, slots=True)
class HostAgentConfig:
    """The options of one host agent. Build it with `from_env`, or call `check` yourself.

    Ages in seconds of the monotonic clock. `allow_non_loopback` is the command line's switch and
    `environment_allows_non_loopback` the environment's: a host that others can reach needs both.
    """

    identity_dir: Path
    host: str = "127.0.0.1"
    port: int = 8765
    ttl_s: float = 60.0
    heartbeat_s: float = 30.0
    max_call_s: float = 300.0
    session_idle_s: float = 1800.0
    json_response: bool = True
    allow_non_loopback: bool = False
    environment_allows_non_loopback: bool = False
    cloud_url: str | None = None
    claim_wait_s: int = 20
    assignments_max: int = 16
    conformance_fixtures: bool = False
    """A test build: what the official MCP conformance suite calls is served beside the tools."""
    open_door: bool = False
    """Nobody is asked for a token; with `conformance_fixtures` on loopback only."""
    stateless_handles: bool = True
    """Clients without a session hold devices by lease handles (ruling HA-7); off: the leased tools refuse them."""

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str], *, identity_dir: Path | None = None, **options: Any
    ) -> HostAgentConfig:
        """Options over the environment over the defaults, checked. Raises ConfigError."""
        config = cls(
            identity_dir=identity_dir or default_identity_dir(environ),
            environment_allows_non_loopback=environ.get(ALLOW_VARIABLE) == "1",
            **options,
        )
        config.check()
        return config

    def check(self) -> None:
        """Raises ConfigError for the first option that cannot be."""
        for name in ("ttl_s", "heartbeat_s", "max_call_s", "session_idle_s"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 < value <= SECONDS_MAX:
                raise _wrong(name, value, f"a number of seconds above 0 and up to {SECONDS_MAX:g}")
        for name, low, high in (("port", 0, 65_535), ("claim_wait_s", 0, 300), ("assignments_max", 1, 10_000)):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise _wrong(name, value, f"a whole number from {low} to {high}")
        if self.cloud_url is not None and not is_http_url(self.cloud_url):
            raise _wrong("cloud_url", self.cloud_url, "an http:// or https:// URL with a host")
        if not self.host.strip():
            raise _wrong("host", self.host, "a host name or address")
        if not is_loopback(self.host) and not (self.allow_non_loopback and self.environment_allows_non_loopback):
            raise ConfigError(
                f"host {self.host!r} can be reached from other machines",
                f"a loopback host, or both --allow-non-loopback and {ALLOW_VARIABLE}=1 ({WHERE}; HA-01)",
                "use 127.0.0.1, or set both switches if you mean it",
            )
        if self.open_door and not self.conformance_fixtures:
            raise ConfigError(
                "the door is to be open without the conformance fixtures",
                f"an open door in a test build only ({SUITE})",
                "add --conformance-fixtures, or leave --open-door out",
            )
        if self.conformance_fixtures and not is_loopback(self.host):
            raise ConfigError(
                f"host {self.host!r} can be reached from other machines, and the conformance fixtures are asked for",
                f"fixtures on loopback only ({SUITE})",
                "use 127.0.0.1, or leave --conformance-fixtures out",
            )


def default_identity_dir(environ: Mapping[str, str]) -> Path:
    """The folder of HOST_AGENT_IDENTITY_PATH, else `~/.lasttick/hostagent`."""
    path = environ.get(IDENTITY_VARIABLE)
    return Path(path).expanduser().parent if path else Path.home() / ".lasttick" / "hostagent"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_http_url(text: str) -> bool:
    """Whether a client can be pointed at it: the scheme, a host, and a port that can be."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and (url.port is None or 0 < url.port <= 65_535)


def _wrong(name: str, value: object, expected: str) -> ConfigError:
    return ConfigError(f"{name} is {value!r}", f"{expected} ({WHERE})", f"correct {name} and start again")
