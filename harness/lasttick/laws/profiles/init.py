"""`lasttick init`: a shipped profile to begin with, and the schema that editors complete keys by."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from lasttick.laws.profiles.problems import did_you_mean
from lasttick.laws.profiles.schema import profile_schema

_SUFFIX = ".toml"
_SHIPPED = files("lasttick.laws.profiles").joinpath("shipped")


class InitError(Exception):
    """A file that can not be written: what happened, what was expected, what to do next."""

    exit_code = 2

    def __init__(self, what: str, expected: str, next_step: str) -> None:
        super().__init__(f"{what}\n  expected: {expected}\n  next: {next_step}")


def profiles() -> list[str]:
    """The names of the shipped profiles, sorted."""
    return sorted(file.name.removesuffix(_SUFFIX) for file in _SHIPPED.iterdir() if file.name.endswith(_SUFFIX))


def profile_text(name: str) -> str:
    """The text of a shipped profile. Raises InitError."""
    known = profiles()
    if name not in known:
        raise InitError(
            f"there is no profile {name!r}",
            f"one of {', '.join(known)}",
            did_you_mean(name, known, "begin with the one that is nearest to your system"),
        )
    return _SHIPPED.joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def write_profile(name: str, path: Path) -> None:
    """Write a shipped profile to a file that is not there yet. Raises InitError."""
    _write(path, profile_text(name))


def write_schema(path: Path) -> None:
    """Write the JSON Schema of profiles to a file that is not there yet. Raises InitError."""
    _write(path, json.dumps(profile_schema(), indent=2) + "\n")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InitError(
            f"{path} is there already",
            "a file that is not: nothing of yours is overwritten",
            f"remove {path}, or give another name",
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InitError(
            f"{path} can not be written: {reason}", "a folder that you may write to", "give another path"
        ) from error
