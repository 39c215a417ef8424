"""What does a stdio server of the agent find in its environment? Next to nothing: a closed list, and its own `env:`.

"The child inherits from the agent" is what a plan may count on, and what does not happen (contract gateway, ruling 7).
Source: contract hermes, section 3.2. Measured beyond it: some names of another operating system pass too, in any case,
and PATH may get one folder more.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

INHERITED = frozenset({"PATH", "HOME", "USER", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR"})
_ELSEWHERE = """
    ALLUSERSPROFILE APPDATA COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432 COMPUTERNAME
    COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE
    PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 PUBLIC SYSTEMDRIVE SYSTEMROOT TEMP TMP
    USERDOMAIN USERNAME USERPROFILE WINDIR
"""
INHERITED_IN_ANY_CASE = frozenset(_ELSEWHERE.split())
PREFIX = "XDG_"


def child_env(environ: Mapping[str, str], listed: Mapping[str, str]) -> dict[str, str]:
    """The child's whole environment: what it inherits of `environ`, and over it `listed` (its `env:`, filled in)."""
    inherited = {name: value for name, value in environ.items() if _passes(name)}
    return {**inherited, **listed}


def with_its_folder(command: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The command as it is started, and its environment: the folder of a command with a path comes first in PATH."""
    if command.startswith("~/"):
        command = posixpath.join(env.get("HOME", ""), command[2:])
    folder, path = posixpath.dirname(command), env.get("PATH", "")
    if not folder or folder in path.split(":"):
        return command, dict(env)
    return command, {**env, "PATH": f"{folder}:{path}" if path else folder}


def _passes(name: str) -> bool:
    return name in INHERITED or name.upper() in INHERITED_IN_ANY_CASE or name.startswith(PREFIX)
