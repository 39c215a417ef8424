"""Settings: where they come from, and which are refused without showing a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lasttick.reference.gateway.config import ConfigError, GatewayConfig

from .platform_rig import ENVIRON, JWT_KEY, SECRET


def config(environ: dict[str, str] | None = None, **options: Any) -> GatewayConfig:
    return GatewayConfig.from_env({**ENVIRON, **(environ or {})}, identity_dir=Path("/nowhere"), **options)


def test_from_env() -> None:
    found = config(upstream_s=3.0)
    assert found.agent_secret is not None
    assert found.agent_secret.matches(SECRET)
    assert found.admin_token is not None
    assert (found.runner_jwt_secret, found.agent_url, found.upstream_s) == (JWT_KEY, "http://agent.test:1", 3.0)


def test_nothing_set_closes_everything() -> None:
    for environ in ({}, dict.fromkeys(ENVIRON, "")):
        found = GatewayConfig.from_env(environ, identity_dir=Path("/nowhere"))
        doors = (found.agent_secret, found.runner_jwt_secret, found.admin_token, found.agent_url, found.third_party_url)
        assert doors == (None,) * 5
        assert found.store_url.render_as_string() == "sqlite:////nowhere/gateway.sqlite"


def test_the_default_folder() -> None:
    assert GatewayConfig.from_env({}).identity_dir == Path.home() / ".lasttick" / "gateway"


@pytest.mark.parametrize(
    ("environ", "options", "what"),
    [
        ({"AGENT_URL": "agent:80"}, {}, "AGENT_URL"),
        ({"AGENT_URL": "ftp://agent"}, {}, "AGENT_URL"),
        ({"THIRD_PARTY_URL": "http://"}, {}, "THIRD_PARTY_URL"),
        ({"THIRD_PARTY_URL": "http://user:canary-pw@host:99999"}, {}, "THIRD_PARTY_URL"),
        ({"RUNNER_JWT_SECRET": "canary-short"}, {}, "RUNNER_JWT_SECRET"),
        ({"DATABASE_URL": "no url with canary"}, {}, "DATABASE_URL"),
        ({"DATABASE_URL": "postgresql://u:canary@h:port/x"}, {}, "DATABASE_URL"),
        ({}, {"upstream_s": 0}, "upstream_s"),
        ({}, {"upstream_s": float("nan")}, "upstream_s"),
        ({}, {"turn_s": "30"}, "turn_s"),
        ({}, {"turn_s": True}, "turn_s"),
        ({}, {"turn_s": 1e10}, "turn_s"),
    ],
)
def test_refused(environ: dict[str, str], options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=rf"{what} .*; expected .*; .*") as raised:
        config(environ, **options)
    assert "canary" not in str(raised.value)


def test_a_key_of_32_bytes_is_enough() -> None:
    assert config({"RUNNER_JWT_SECRET": "k" * 32}).runner_jwt_secret == "k" * 32
    assert config({"RUNNER_JWT_SECRET": "ü" * 16}).runner_jwt_secret is not None


def test_its_repr_shows_no_secret() -> None:
    shown = repr(config({"DATABASE_URL": "postgresql+psycopg://u:canary-pw@h/n"}))
    for secret in (SECRET, JWT_KEY, ENVIRON["PLATFORM_ADMIN_TOKEN"], "canary-pw"):
        assert secret not in shown
