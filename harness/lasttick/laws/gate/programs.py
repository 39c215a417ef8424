"""Is what a profile starts on this machine there? Programs of `run`, classes of `python`; said before anything is sent.

Source: contract laws, "Binding"; issue, "Bad input".
"""

from __future__ import annotations

import os
import shutil

from lasttick.laws.gate.errors import GateError
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.profiles.profile import Profile, Reach
from lasttick.laws.profiles.sites import sites
from lasttick.laws.templates import names_in
from lasttick.laws.wire.hook import missing


def refuse_missing(loaded: Loaded) -> None:
    """Raises GateError for the first that is not there, with file, line and verb."""
    for site in sites(loaded.profile):
        if site.part.run is not None and (program := _missing_program(site.part, loaded.profile)) is not None:
            raise GateError(
                f"{loaded.where([*site.path, 'run'])}: {site.verb} runs {loaded.hidden(program)!r}, which is not there",
                "a program on PATH, or its whole path (docs/check.md, Binding)",
                "install it, or correct the binding",
            )
        if site.part.python is not None and (why := missing(site.part.python)) is not None:
            raise GateError(
                f"{loaded.where([*site.path, 'python'])}: {site.verb} cannot call {site.part.python!r}: "
                f"{loaded.hidden(why)}",
                "module:Class.method of something that can be imported (docs/check.md, Binding)",
                "correct the name, or put its folder on PYTHONPATH",
            )


def _missing_program(part: Reach, profile: Profile) -> str | None:
    """None: it is there, or only its templates tell which it is."""
    program = (part.run or [""])[0]
    envs = [part.env, *(caller.env for caller in profile.callers.values()), profile.target.env, os.environ]
    paths = [env["PATH"] for env in envs if "PATH" in env]
    if names_in([program, *paths]) or any(shutil.which(program, path=path) for path in paths):
        return None
    return program
