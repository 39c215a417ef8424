"""How does a secret get into a file once, whole, readable by its owner only, whoever else tries at the same moment?

The content is written to a file of another name in the same folder and then *linked* to its name. A link is made by
exactly one of several racing processes, and it shows the whole content or nothing: a process killed at any step leaves
no file, or a good one, and perhaps a temporary file that nobody reads. Every step goes through `os` of this module, so
that a test can stop after each of them. Source: hostagent ruling 15, HA-03.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from lasttick.ports import Clock
from lasttick.reference import durable
from lasttick.reference.durable import publish
from lasttick.reference.hostagent.start_error import StartError

VERSION = 1
MODE = 0o600
SIZE_MAX = 65_536
RACES_MAX = 3
WHERE = "contract hostagent HA-03"


class PrivateFileError(StartError):
    """A private file cannot be used as it is. It is never replaced silently."""


@dataclass(frozen=True, slots=True)
class PrivateValue:
    """One value and when it was made. `fresh`: made by this call, not read."""

    value: str = field(repr=False)
    created_at: datetime
    fresh: bool


def load_or_create(
    path: Path, *, name: str, new_value: Callable[[], str], pattern: re.Pattern[str], clock: Clock
) -> PrivateValue:
    """Read `{"version": 1, NAME: value, "created_at": time}` from `path`, or be the one who makes it.

    `pattern` must match the whole value. Raises PrivateFileError.
    """
    for _ in range(RACES_MAX):
        content = read(path)
        if content is not None:
            return _parse(path, content, name, pattern)
        value, created_at = new_value(), clock.wall()
        record = {"version": VERSION, name: value, "created_at": created_at.isoformat()}
        if create(path, json.dumps(record).encode() + b"\n"):
            return PrivateValue(value, created_at, fresh=True)
    raise PrivateFileError(
        f"{path} appeared and disappeared {RACES_MAX} times",
        "a file that stays",
        "stop what deletes it and start again",
    )


def read(path: Path) -> bytes | None:
    """The content of a private file, None when there is none. Raises PrivateFileError."""
    try:
        # O_NONBLOCK: a named pipe in place of the file must not block the start.
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if os.path.islink(path):
            _refuse(path, "is a symbolic link", "a regular file")
        raise _os_error(path, "cannot be read", error) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            kind = "directory" if stat.S_ISDIR(status.st_mode) else "special file"
            _refuse(path, f"is a {kind}", "a regular file")
        mode = stat.S_IMODE(status.st_mode)
        if mode & ~MODE:
            raise PrivateFileError(
                f"{path} has mode {mode:04o}",
                f"mode {MODE:04o}, its owner only ({WHERE})",
                f"run `chmod 600 {path}`, or delete it to have a new one made at the next start",
            )
        content = os.read(fd, SIZE_MAX + 1)
    except OSError as error:
        raise _os_error(path, "cannot be read", error) from error
    finally:
        os.close(fd)
    if len(content) > SIZE_MAX:
        _refuse(path, f"is longer than {SIZE_MAX} bytes", "a short JSON object")
    return content


def create(path: Path, content: bytes) -> bool:
    """Make the file with this content; False when another process made it first. Raises PrivateFileError."""
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        fd, temp = _open_temp(path)
    except OSError as error:
        raise _os_error(path, "cannot be made", error) from error
    try:
        try:
            os.fchmod(fd, MODE)
            durable.write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        made = publish(temp, path)
    except OSError as error:
        raise _os_error(path, "cannot be made", error) from error
    finally:
        with suppress(OSError):
            os.unlink(temp)
    if made:
        with suppress(OSError):  # some file systems cannot; it costs the file only at a loss of power
            durable.sync_folder(path.parent)
    return made


def _open_temp(path: Path) -> tuple[int, Path]:
    opened = durable.open_temp(path, MODE)
    if opened is None:
        raise PrivateFileError(
            f"{durable.TEMP_NAMES_MAX} temporary files of {path} are left over",
            "a few at most",
            f"delete {path.parent}/.{path.name}.*.tmp",
        )
    return opened


def _parse(path: Path, content: bytes, name: str, pattern: re.Pattern[str]) -> PrivateValue:
    if not content.strip():
        _refuse(path, "is empty", "a JSON object")
    try:
        record: Any = json.loads(content)
    except (ValueError, RecursionError):
        _refuse(path, "is not JSON", "a JSON object")
    if not isinstance(record, dict):
        _refuse(path, f"holds a JSON {type(record).__name__}", "a JSON object")
    version, value, created_at = record.get("version"), record.get(name), record.get("created_at")
    if type(version) is not int or version != VERSION:
        _refuse(path, f"has version {version!r}", f"version {VERSION}")
    if not isinstance(value, str):
        # The value is never shown: it may be the secret in a wrong shape.
        _refuse(path, f"has a {name} of type {type(value).__name__}", "a string")
    if not pattern.fullmatch(value):
        _refuse(path, f"has a {name} that is {'malformed' if value else 'empty'}", f"it to match {pattern.pattern}")
    try:
        made = datetime.fromisoformat(created_at if isinstance(created_at, str) else "")
    except ValueError:
        _refuse(path, f"has created_at {created_at!r}", "an ISO 8601 time")
    if made.tzinfo is None:
        _refuse(path, f"has created_at {created_at!r}", "a time with its offset from UTC")
    return PrivateValue(value, made, fresh=False)


def _refuse(path: Path, happened: str, expected: str) -> NoReturn:
    raise PrivateFileError(
        f"{path} {happened}",
        f"{expected} ({WHERE})",
        "restore it, or delete it to have a new one made at the next start",
    )


def _os_error(path: Path, happened: str, error: OSError) -> PrivateFileError:
    return PrivateFileError(
        f"{path} {happened}: {error.strerror or error}",
        f"a folder and file that uid {os.geteuid()} can read and write ({WHERE})",
        "give the host agent an identity folder of its own (--identity-dir)",
    )
