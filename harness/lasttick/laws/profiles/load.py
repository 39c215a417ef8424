"""Read a profile and say everything that is wrong with it at once, each with file, line and verb.

In four steps, each only when the one before found nothing: TOML, variables, keys, meaning. Pointers that find nothing
show only when the target answers. Source: contract laws, "How a law reaches a system".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from lasttick.laws.profiles.bindings import check_bindings
from lasttick.laws.profiles.kinds import check_kinds
from lasttick.laws.profiles.loaded import Loaded
from lasttick.laws.profiles.names import check_names
from lasttick.laws.profiles.problems import Problem, ProfileError
from lasttick.laws.profiles.promises import check_promises
from lasttick.laws.profiles.run_vars import resolve_run_vars
from lasttick.laws.profiles.shape import parse, validate
from lasttick.laws.profiles.substitute import Substitution

__all__ = ["Loaded", "ProfileError", "load", "loads", "resolve_run_vars"]

BYTES_MAX = 1_000_000


def load(path: Path, environ: Mapping[str, str]) -> Loaded:
    """The profile in a file. Raises ProfileError."""
    name = str(path)
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ProfileError(
            Problem(
                name,
                f"the profile can not be read: {reason}",
                "a TOML file that you may read",
                "write one with `lasttick init --profile NAME`, or name another with --config",
            )
        ) from error
    if len(data) > BYTES_MAX:
        raise ProfileError(
            Problem(name, f"the file has over {BYTES_MAX} bytes", "a profile", "name another file with --config")
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProfileError(
            Problem(f"{name}:{line}", "the file is not UTF-8", "TOML, which is UTF-8", "save it as UTF-8", line)
        ) from error
    return loads(text, name, environ)


def loads(text: str, name: str, environ: Mapping[str, str]) -> Loaded:
    """The profile in a text. `name` stands for it in messages. Raises ProfileError."""
    source = parse(text, name)
    substitution = Substitution(source, environ)
    document = substitution.apply(source.raw)
    _stop_at(substitution.problems)
    profile = validate(document, source)
    _stop_at(check_kinds(profile, source))
    _stop_at(chain(check_bindings(profile, source), check_names(profile, source), check_promises(profile, source)))
    return Loaded(profile, name, text, substitution.secrets)


def _stop_at(problems: Iterable[Problem]) -> None:
    if found := list(problems):
        raise ProfileError(*found)
