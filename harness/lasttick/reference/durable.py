"""The steps of putting a file in place so that a crash leaves the old one or the new one, and never half of either."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

TEMP_NAMES_MAX = 1_000


def open_temp(path: Path, mode: int) -> tuple[int, Path] | None:
    """A new file beside `path`, its descriptor and its name. Left-overs of killed processes are stepped over; None when
    there are `TEMP_NAMES_MAX` of them."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    for n in range(TEMP_NAMES_MAX):
        temp = path.with_name(f".{path.name}.{os.getpid()}.{n}.tmp")
        with suppress(FileExistsError):
            return os.open(temp, flags, mode), temp
    return None


def write_all(fd: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def publish(temp: Path, path: Path) -> bool:
    """Give the written file its name; False when that name is taken: the first writer wins."""
    try:
        os.link(temp, path)
    except FileExistsError:
        return False
    return True
