"""Which scenarios are so long that they run only when asked for? Those in a folder named `soak`.

`pytest scenarios/` must stay a matter of seconds. A soak is collected when an argument of the command line names its
folder or something in it, as a path or, with --pyargs, as a module; also when pytest starts there without arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FOLDER = "soak"


def left_out(path: Path, arguments: Iterable[str], start: Path, *, modules: bool) -> bool:
    """Whether `path`, which pytest is about to enter, is a soak that nobody asked for.

    `arguments`: what pytest was told to collect, relative to `start`; `modules`: names of modules are allowed there.
    """
    if path.name != FOLDER or path.is_file():
        return False
    return not any(_names(argument, path, start, modules=modules) for argument in arguments)


def _names(argument: str, folder: Path, start: Path, *, modules: bool) -> bool:
    """Whether an argument is the folder or something in it."""
    place = argument.partition("::")[0].partition("[")[0]
    if modules and not (start / place).exists():
        return FOLDER in place.split(".") and ".".join(folder.parts).endswith(_up_to_folder(place))
    return (start / place).resolve().is_relative_to(folder.resolve())


def _up_to_folder(module: str) -> str:
    """`lasttick.scenarios.soak.test_hostagent` -> `scenarios.soak`: a package need not lie where its name says."""
    parts = module.split(".")
    end = len(parts) - parts[::-1].index(FOLDER)
    return ".".join(parts[max(0, end - 2) : end])
