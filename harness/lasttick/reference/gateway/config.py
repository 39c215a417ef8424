"""What does the platform need to be told, and which of it is refused?

Secrets come from the environment alone and are shown nowhere: not in an error, not in a repr. A secret that is not set
or empty closes what it opens, which is always safe. Source: contract gateway, "Parts".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy

from lasttick.reference.gateway.secret import AdminToken, AgentSecret
from lasttick.reference.hostagent.config import is_http_url
from lasttick.reference.hostagent.start_error import StartError

DATABASE_FILE = "gateway.sqlite"
JWT_KEY_BYTES_MIN = 32
"""RFC 7518, 3.2: a key for HS256 is at least as long as its hash."""
SECONDS_MAX = 1e9
WHERE = "contract gateway, Parts"


class ConfigError(StartError):
    """A setting has a value that the platform refuses. The message never holds a secret."""


@dataclass(frozen=True, slots=True, eq=False)
class GatewayConfig:
    """The settings of one platform. Build it with `from_env`, or call `check` yourself.

    `upstream_s` bounds one request to a third party, `turn_s` one turn of the agent, both in seconds. `ledger` False
    writes no ToolCall rows, which only a measurement of their cost may want.
    """

    identity_dir: Path
    agent_secret: AgentSecret | None = None
    runner_jwt_secret: str | None = field(default=None, repr=False)
    admin_token: AdminToken | None = None
    database_url: str | None = field(default=None, repr=False)
    agent_url: str | None = None
    third_party_url: str | None = None
    upstream_s: float = 20.0
    turn_s: float = 300.0
    ledger: bool = True

    @classmethod
    def from_env(cls, environ: Mapping[str, str], *, identity_dir: Path | None = None, **options: Any) -> GatewayConfig:
        """Options over the environment over the defaults, checked. Raises ConfigError."""
        settings: dict[str, Any] = {
            "agent_secret": AgentSecret.configured(environ.get("AGENT_SERVICE_SECRET")),
            "runner_jwt_secret": environ.get("RUNNER_JWT_SECRET") or None,
            "admin_token": AdminToken.configured(environ.get("PLATFORM_ADMIN_TOKEN")),
            "database_url": environ.get("DATABASE_URL") or None,
            "agent_url": environ.get("AGENT_URL") or None,
            "third_party_url": environ.get("THIRD_PARTY_URL") or None,
        }
        config = cls(identity_dir=identity_dir or Path.home() / ".lasttick" / "gateway", **{**settings, **options})
        config.check()
        return config

    @property
    def store_url(self) -> sqlalchemy.URL:
        """Where the platform keeps its rows: `DATABASE_URL`, else a SQLite file in the identity folder."""
        if self.database_url is None:
            return sqlalchemy.URL.create("sqlite", database=str(self.identity_dir / DATABASE_FILE))
        return sqlalchemy.make_url(self.database_url)

    def check(self) -> None:
        """Raises ConfigError for the first setting that cannot be."""
        for name in ("upstream_s", "turn_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= SECONDS_MAX:
                raise _wrong(name, repr(value), f"a number of seconds above 0 and up to {SECONDS_MAX:g}")
        for name, variable in (("agent_url", "AGENT_URL"), ("third_party_url", "THIRD_PARTY_URL")):
            value = getattr(self, name)
            if value is not None and not is_http_url(value):
                raise _wrong(variable, "not a URL one can send to", "an http:// or https:// URL with a host")
        key = self.runner_jwt_secret
        if key is not None and len(key.encode("utf-8", "surrogatepass")) < JWT_KEY_BYTES_MIN:
            raise ConfigError(
                "RUNNER_JWT_SECRET is too short to sign with HS256",
                f"at least {JWT_KEY_BYTES_MIN} bytes (RFC 7518, 3.2)",
                "make one with `openssl rand -hex 32`, or leave it out to close the runner door",
            )
        try:
            _ = self.store_url
        except (sqlalchemy.exc.ArgumentError, ValueError):
            # Not chained: SQLAlchemy's message repeats the URL, and with it the password.
            raise _wrong("DATABASE_URL", "not a database URL", "one like postgresql+psycopg://HOST/NAME") from None


def _wrong(name: str, was: str, expected: str) -> ConfigError:
    return ConfigError(f"{name} is {was}", f"{expected} ({WHERE})", f"correct {name} and start again")
