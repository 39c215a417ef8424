"""What does the adapter need to be told, and which of it is refused? Source: contract lineup "Parts", C-1, C-5."""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.lineup.core import RESPONSE_TIMEOUT_S

STDIO: Final = "stdio"
LEDGER_FILE: Final = "lineup.sqlite"
SECONDS_MAX: Final = 1e9
WHERE: Final = "contract lineup"


class ConfigError(StartError):
    """A setting has a value that the adapter refuses."""


@dataclass(frozen=True, slots=True)
class LineupConfig:
    """The settings of one adapter. Build it with `from_env`, or call `check` yourself.

    `agent`: the command that speaks ACP on its stdio. `cwd`: the folder that its sessions work in. `host`: `stdio`, or
    `ws://ADDRESS:PORT` to listen there (loopback; port 0: a free one). `response_timeout_s`: seconds without a frame.
    `permission_life_s`: how long a permission can be answered, less than what the agent waits; None: 55 s (rule 2).
    """

    agent: tuple[str, ...]
    ledger: Path
    cwd: Path
    host: str = STDIO
    response_timeout_s: float = RESPONSE_TIMEOUT_S
    permission_life_s: float | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **options: Any) -> LineupConfig:
        """Options over the environment over the defaults, checked. Raises ConfigError."""
        settings: dict[str, Any] = {
            "agent": _words(environ.get("LINEUP_AGENT", "")),
            "ledger": Path(environ.get("LINEUP_LEDGER") or Path.home() / ".lasttick" / LEDGER_FILE),
            "cwd": Path(environ.get("LINEUP_CWD") or Path.cwd()),
            "host": environ.get("LINEUP_HOST") or STDIO,
        }
        if environ.get("LINEUP_RESPONSE_TIMEOUT_S"):
            settings["response_timeout_s"] = _seconds(environ, "LINEUP_RESPONSE_TIMEOUT_S")
        if environ.get("LINEUP_PERMISSION_LIFE_S"):
            settings["permission_life_s"] = _seconds(environ, "LINEUP_PERMISSION_LIFE_S")
        config = cls(**{**settings, **options})
        config.check()
        return config

    @property
    def websocket(self) -> tuple[str, int] | None:
        """Where to listen for the host, as address and port; None: its frames come on stdio. Raises ConfigError."""
        if self.host == STDIO:
            return None
        try:
            url = urlsplit(self.host)
            address, port = url.hostname, url.port
        except ValueError:
            raise self._no_host() from None
        if url.scheme != "ws" or port is None or address is None or url.path not in ("", "/") or not _loopback(address):
            raise self._no_host()
        return address, port

    def check(self) -> None:
        """Raises ConfigError for the first setting that cannot be."""
        if not self.agent or not self.agent[0]:
            raise _wrong("LINEUP_AGENT", "empty", "a command that speaks ACP on its stdio, such as `hermes acp`")
        if not self.cwd.is_dir():
            raise _wrong("LINEUP_CWD", f"{str(self.cwd)!r}, which is no folder", "the folder that the agent works in")
        if not self.ledger.parent.is_dir():
            raise _wrong("LINEUP_LEDGER", f"{str(self.ledger)!r}, in no folder", "a file in a folder that exists")
        _check_seconds("LINEUP_RESPONSE_TIMEOUT_S", self.response_timeout_s)
        if self.permission_life_s is not None:
            _check_seconds("LINEUP_PERMISSION_LIFE_S", self.permission_life_s)
        _ = self.websocket

    def _no_host(self) -> ConfigError:
        return _wrong("LINEUP_HOST", repr(self.host), "`stdio`, or ws://ADDRESS:PORT with an address of loopback")


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise _wrong("LINEUP_AGENT", f"{command!r} ({error})", "a command as a shell reads it") from None


def _seconds(environ: Mapping[str, str], name: str) -> float:
    try:
        return float(environ[name])
    except ValueError:
        raise _wrong(name, repr(environ[name]), "a number of seconds") from None


def _check_seconds(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= SECONDS_MAX:
        raise _wrong(name, repr(value), f"a number of seconds above 0 and up to {SECONDS_MAX:g}")


def _loopback(address: str) -> bool:
    """By its number, or the one name that everybody has for it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _wrong(name: str, was: str, expected: str) -> ConfigError:
    return ConfigError(f"{name} is {was}", f"{expected} ({WHERE})", f"correct {name} and start again")
