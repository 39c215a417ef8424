"""What does the agent read from `$HERMES_HOME`? `config.yaml` and `.env`, with `${NAME}` filled in.

A name that is not set stays in the value as it stands there, `${NAME}`: a server may be handed that text as its token.
(One that is set to nothing gives nothing.) What fills is the agent's own environment, under that of `.env`; see
`child_env.py` for what a child gets. Source: contract hermes, sections 1 and 3.1; the empty value, and that `.env`
wins: measured on both versions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from lasttick_fakes.hermes.versions import Habits

ReadText: TypeAlias = Callable[[Path], str | None]
"""The text of a file, None when there is none."""

DISCOVERY_S = 1.5
CALL_S = 300.0
CONNECT_S = 60.0
CONTEXT_TOKENS = 200_000
ALLOWLIST = "command_allowlist"
_REFERENCE = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Server:
    """One entry of `mcp_servers`, filled in. `url` None: a child on stdio. Times in seconds."""

    name: str
    command: str | None
    args: tuple[str, ...]
    env: Mapping[str, str]
    url: str | None
    headers: Mapping[str, str]
    timeout_s: float
    connect_s: float
    include: frozenset[str] | None
    exclude: frozenset[str]
    resources: bool
    prompts: bool
    skip_preflight: bool

    def wants(self, tool: str) -> bool:
        return tool in self.include if self.include is not None else tool not in self.exclude


@dataclass(frozen=True, slots=True)
class Config:
    """`base_url` "" when no model is configured: the agent then only says how to set it up."""

    model: str
    base_url: str
    api_key: str
    servers: tuple[Server, ...]
    """Those that are enabled."""
    server_names: tuple[str, ...]
    """All of them."""
    discovery_s: float
    show_reasoning: bool
    context_tokens: int
    approvals_mode: str
    allowlist: tuple[str, ...]
    """Classes of dangerous commands that a person allowed for good."""


def read_text(path: Path) -> str | None:
    """`ReadText` over real files."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def home_of(environ: Mapping[str, str]) -> Path:
    """`HERMES_HOME`, else `~/.hermes`."""
    return Path(environ.get("HERMES_HOME") or Path(environ.get("HOME", "/")) / ".hermes")


def with_dotenv(environ: Mapping[str, str], read: ReadText) -> dict[str, str]:
    """The agent's environment once it has loaded `.env`, whose values win over those it was started with."""
    merged = dict(environ)
    for line in (read(home_of(environ) / ".env") or "").splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            merged[name.strip()] = value.strip().strip("'\"")
    return merged


def with_allowlist(text: str, allowlist: Sequence[str]) -> str:
    """The file as the agent writes it again when something is allowed for good. Its comments are gone (section 4.4).

    Not modelled: that 0.17.0 writes all its defaults into it.
    """
    data = yaml.safe_load(text)
    data = data if isinstance(data, dict) else {}
    return yaml.safe_dump({**data, ALLOWLIST: list(allowlist)}, sort_keys=False, allow_unicode=True)


def load(environ: Mapping[str, str], read: ReadText, habits: Habits) -> tuple[Config, str | None]:
    """The configuration, and what is wrong with the file if it cannot be used (then all is default)."""
    path = home_of(environ) / "config.yaml"
    try:
        data = yaml.safe_load(read(path) or "")
        problem = None if data is None or isinstance(data, dict) else f"{path} holds a {type(data).__name__}"
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        data, problem = None, f"{path}: {error}"
    return _config(data if isinstance(data, dict) else {}, environ, habits), problem


def filled(value: Any, environ: Mapping[str, str], habits: Habits) -> Any:
    """`value` with every reference in its texts filled in, at any depth."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: environ.get(_name(found[1], habits), found[0]), value)
    if isinstance(value, Mapping):
        return {key: filled(inner, environ, habits) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, environ, habits) for inner in value]
    return value


def _name(reference: str, habits: Habits) -> str:
    return reference.removeprefix("env:") if habits.env_prefix else reference


def _config(data: Mapping[str, Any], environ: Mapping[str, str], habits: Habits) -> Config:
    model = _mapping(filled(data.get("model"), environ, habits))
    display = _mapping(data.get("display"))
    servers = _mapping(data.get("mcp_servers"))
    return Config(
        model=str(model.get("default", "")),
        base_url=str(model.get("base_url", "")).rstrip("/"),
        api_key=str(model.get("api_key", "")),
        servers=tuple(
            server_of(str(name), filled(entry, environ, habits))
            for name, entry in servers.items()
            if isinstance(entry, dict) and _enabled(entry)
        ),
        server_names=tuple(str(name) for name in servers),
        discovery_s=_positive(data.get("mcp_discovery_timeout"), DISCOVERY_S),
        show_reasoning=bool(display.get("show_reasoning", habits.shows_reasoning)),
        context_tokens=int(_positive(model.get("context_length"), CONTEXT_TOKENS)),
        approvals_mode=str(_mapping(data.get("approvals")).get("mode", habits.approvals_mode)),
        allowlist=tuple(str(one) for one in _list(data.get(ALLOWLIST))),
    )


def server_of(name: str, entry: Mapping[str, Any]) -> Server:
    """A server by its entry, whose references are filled in already."""
    tools = _mapping(entry.get("tools"))
    include = tools.get("include")
    url, command = entry.get("url"), entry.get("command")
    return Server(
        name=name,
        command=None if command is None else str(command),
        args=tuple(str(argument) for argument in _list(entry.get("args"))),
        env={str(key): str(value) for key, value in _mapping(entry.get("env")).items()},
        url=None if url is None else str(url),
        headers={str(key): str(value) for key, value in _mapping(entry.get("headers")).items()},
        timeout_s=_positive(entry.get("timeout"), CALL_S),
        connect_s=_positive(entry.get("connect_timeout"), CONNECT_S),
        include=frozenset(str(tool) for tool in _list(include)) if include else None,
        exclude=frozenset(str(tool) for tool in _list(tools.get("exclude"))),
        resources=_enabled({"enabled": tools.get("resources", True)}),
        prompts=_enabled({"enabled": tools.get("prompts", True)}),
        skip_preflight=entry.get("skip_preflight") is True,
    )


def _enabled(entry: Mapping[str, Any]) -> bool:
    value = entry.get("enabled", True)
    return str(value).strip().lower() not in ("false", "0", "no", "off")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _positive(value: Any, default: float) -> float:
    """A positive number, also as text; the default for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return default
    return number if number > 0 and math.isfinite(number) else default
