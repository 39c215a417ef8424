"""How does the agent program learn of our MCP server? At boot its `config.yaml` is told; nothing else in it changes.

This is a deploy-time change: with the flag off the server may start in every turn, but it then holds no secret and
offers no tool (ruling 10). A configuration that cannot be merged safely stays as it is, the error says why, and
whoever boots goes on without tools. Source: contract gateway "boot registration"; GW-16.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lasttick.reference.gateway import config_file, config_merge
from lasttick.reference.gateway.config_file import FileError
from lasttick.reference.gateway.config_text import TextError
from lasttick.reference.hostagent.start_error import StartError

FILE_NAME = "config.yaml"
HUMANWORK_ARGS = ("-I", "-m", "lasttick.reference.gateway.humanwork")
"""`-I`: the interpreter looks for the module neither in the working folder nor in the user's, where the model's own
commands may have put one."""
WHERE = "contract gateway, boot registration"


class RegistrationError(StartError):
    """The configuration was left as it is."""


@dataclass(frozen=True, slots=True)
class Registered:
    """`changed` False: the configuration said so already."""

    path: Path
    changed: bool


def hermes_home(environ: Mapping[str, str]) -> Path:
    """`$HERMES_HOME`, else `~/.hermes`, as the agent program finds it."""
    home = environ.get("HERMES_HOME")
    return Path(home) if home else Path(environ.get("HOME") or Path.home()) / ".hermes"


def register(home: Path, interpreter: str, args: Sequence[str] = HUMANWORK_ARGS) -> Registered:
    """Make `config.yaml` in `home` name our server, to be started as `interpreter` with `args`.

    Raises RegistrationError; the file is then byte for byte what it was.
    """
    path = home / FILE_NAME
    if not os.path.isabs(interpreter):
        raise RegistrationError(
            f"the interpreter {interpreter!r} is not named by its absolute path",
            f"an absolute path, since PATH may differ where it is started ({WHERE})",
            "give the path of a Python that has lasttick",
        )
    ours = config_merge.server_entry(interpreter, args)

    def changed(content: bytes) -> bytes:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TextError(f"is not UTF-8 (byte {error.start})") from error
        return config_merge.merged(text, ours).encode("utf-8")

    try:
        return Registered(path, config_file.change(path, changed))
    except (FileError, TextError) as error:
        raise RegistrationError(
            f"{path} {error.happened}; it was left untouched",
            f"a writable YAML file of settings by name, into which `mcp_servers.humanwork` can be merged ({WHERE})",
            "correct it, or write that entry by hand, and boot again",
        ) from error
