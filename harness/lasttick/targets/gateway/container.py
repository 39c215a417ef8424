"""What is inside the agent's container before its first boot: its environment, and the program's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lasttick.targets.gateway.secrets import Secrets

CONFIG_NAME = "config.yaml"
LANGUAGE = {"LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}
PATH = "/usr/local/bin:/usr/bin:/bin"

LEAST_CONFIG = """\
model:
  default: scripted-model
  provider: custom
  base_url: {model_url}/v1
  api_key: sk-test
  context_length: 200000
approvals:
  mode: manual
security:
  tirith_enabled: false
"""
"""With less the agent program asks how to set it up (contract hermes, section 1)."""


def hermes_home(folder: Path) -> Path:
    """`$HERMES_HOME` of the gateway whose parts keep their files in `folder`."""
    return folder / "hermes"


def container_environ(
    secrets: Secrets, *, platform_url: str, folder: Path, version: str, extra: Mapping[str, str]
) -> dict[str, str]:
    """The agent container's whole environment: its own secrets, and what every program needs."""
    return {
        "PATH": PATH,
        "HOME": str(folder / "home"),
        "HERMES_HOME": str(hermes_home(folder)),
        "HERMES_FAKE_VERSION": version,
        "USER": "agent",
        **LANGUAGE,
        "PLATFORM_API_URL": platform_url,
        "PLATFORM_API_TOKEN": secrets.platform_token,
        "AGENT_SERVICE_SECRET": secrets.agent_secret,
        **extra,
    }


def prepare(folder: Path, model_url: str, config_yaml: str | bytes | None) -> None:
    """Make the folders, and the operator's `config.yaml` unless there is one already. `{model_url}` in the operator's
    text is where the model is."""
    home = hermes_home(folder)
    for made in (home, folder / "home"):
        made.mkdir(parents=True, exist_ok=True)
    config = home / CONFIG_NAME
    if not config.exists():
        text = LEAST_CONFIG if config_yaml is None else config_yaml
        content = text.encode() if isinstance(text, str) else text
        config.write_bytes(content.replace(b"{model_url}", model_url.encode()))
