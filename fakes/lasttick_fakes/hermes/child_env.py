"""What does a stdio server of the agent find in its environment? Next to nothing: a closed list, and its own `env:`.

"The child inherits from the agent" is what a plan may count on, and what does not happen (contract gateway, ruling 7).
Source: contract hermes, section 3.2. Measured beyond it: some names of another operating system pass too, in any case.
"""

from __future__ import annotations

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


def _passes(name: str) -> bool:
    return name in INHERITED or name.upper() in INHERITED_IN_ANY_CASE or name.startswith(PREFIX)
