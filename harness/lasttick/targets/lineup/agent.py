"""What does the agent of an adapter run with? Its home, its configuration, its whole environment and its command."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from lasttick.targets.gateway.container import CONFIG_NAME, LANGUAGE, LEAST_CONFIG, PATH
from lasttick.targets.lineup.options import LineupOptions

VIRTUAL_COMMAND = ("hermes", "acp")
FAKE_COMMAND = (sys.executable, "-m", "lasttick_fakes.hermes", "acp")


def prepare(options: LineupOptions, model_url: str) -> None:
    """Make the agent's folders, and its configuration unless there is one already."""
    for folder in (options.hermes_home, options.folder / "home", options.files):
        folder.mkdir(parents=True, exist_ok=True)
    config = options.hermes_home / CONFIG_NAME
    if not config.exists():
        text = LEAST_CONFIG if options.config_yaml is None else options.config_yaml
        config.write_text(text.replace("{model_url}", model_url), encoding="utf-8")


def agent_environ(options: LineupOptions) -> Mapping[str, str]:
    """All that the agent sees of the world around it."""
    return {
        "PATH": PATH,
        "HOME": str(options.folder / "home"),
        "HERMES_HOME": str(options.hermes_home),
        "HERMES_FAKE_VERSION": options.hermes_version,
        **LANGUAGE,
        **options.agent_environ,
    }
