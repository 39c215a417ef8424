"""How is a file that others write too changed, without a moment at which it is half written, and without losing what
somebody wrote meanwhile?

The new content is written beside it and then *exchanged* with it, in one step of the operating system. What came out
of the exchange is what stood there at that very moment: if it is not what the change was made from, somebody was
faster, and it is put back and the change made anew. A process killed at any step leaves the old file or the new one,
and perhaps a temporary file. The agent itself writes its configuration in that manner (beside, then rename), so nothing
of it is lost; of a program that writes into the open file nothing can be promised. Source: contract gateway, GW-16.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.reference import durable

BYTES_MAX = 1 << 20
RACES_MAX = 20
NEW_MODE = 0o600
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


class FileError(Exception):
    """The file stays as it is: `happened` says why."""

    def __init__(self, happened: str) -> None:
        super().__init__(happened)
        self.happened = happened


@dataclass(frozen=True, slots=True)
class _Found:
    """A file as it was read."""

    content: bytes
    mode: int
    uid: int
    gid: int


def change(path: Path, changed: Callable[[bytes], bytes]) -> bool:
    """Give the file at `path` the content that `changed` makes of the one it has (nothing, if there is no file).

    Mode and owner stay; a link is followed. False when nothing was to be changed: then nothing is written. Raises
    FileError, and whatever `changed` raises; the file is then as it was.
    """
    try:
        real = Path(os.path.realpath(path))
        for _ in range(RACES_MAX):
            found = _read(real)
            before = b"" if found is None else found.content
            after = changed(before)
            if found is not None and after == before:
                return False
            if _written(real, found, after):
                with suppress(OSError):  # some file systems cannot; it costs the change only at a loss of power
                    durable.sync_folder(real.parent)
                return True
    except OSError as error:
        raise FileError(f"cannot be changed: {error.strerror or error}") from error
    raise FileError(f"was changed by somebody else {RACES_MAX} times in a row")


def exchange(one: Path, other: Path) -> bool:
    """Let two files change names, at once. False when this system cannot."""
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number))


def _read(path: Path) -> _Found | None:
    try:
        # O_NONBLOCK: a named pipe in place of the file must not block the start.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise FileError("is a directory" if stat.S_ISDIR(status.st_mode) else "is a special file")
        # Root may write everything; that an operator took the right away still means something.
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise FileError("is read-only")
        content = _content(fd)
        return _Found(content, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
    finally:
        os.close(fd)


def _content(fd: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(fd, BYTES_MAX + 1):
        chunks.append(chunk)
        size += len(chunk)
        if size > BYTES_MAX:
            raise FileError(f"is longer than {BYTES_MAX} bytes")
    return b"".join(chunks)


def _written(path: Path, found: _Found | None, after: bytes) -> bool:
    """False when somebody was faster; then nothing was changed."""
    if found is None:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
    fd, temp = _open_temp(path)
    try:
        try:
            durable.write_all(fd, after)
            os.fchmod(fd, NEW_MODE if found is None else found.mode)
            if found is not None and (found.uid, found.gid) != (os.fstat(fd).st_uid, os.fstat(fd).st_gid):
                os.fchown(fd, found.uid, found.gid)
                os.fchmod(fd, found.mode)  # a change of owner takes bits away
            os.fsync(fd)
        finally:
            os.close(fd)
        return durable.publish(temp, path) if found is None else _replaced(temp, path, found.content, after)
    finally:
        with suppress(OSError):
            os.unlink(temp)


def _replaced(temp: Path, path: Path, before: bytes, after: bytes) -> bool:
    """`temp` holds `after`; `path` held `before` when it was read."""
    put, expected = after, before
    for _ in range(RACES_MAX):
        if not exchange(temp, path):
            return _replaced_at_risk(temp, path, before)
        displaced = temp.read_bytes()
        if displaced == expected:
            return put == after
        # Somebody's newer content came out: put that in again, and expect ours, or something newer still.
        put, expected = displaced, put
    raise FileError(f"was changed by somebody else {RACES_MAX} times in a row")


def _replaced_at_risk(temp: Path, path: Path, before: bytes) -> bool:
    """Without an exchange there is a moment, between the look and the rename, of which nothing is known."""
    found = _read(path)
    if found is None or found.content != before:
        return False
    os.replace(temp, path)
    return True


def _open_temp(path: Path) -> tuple[int, Path]:
    opened = durable.open_temp(path, NEW_MODE)
    if opened is None:
        raise FileError(f"has {durable.TEMP_NAMES_MAX} temporary files beside it, .{path.name}.*.tmp")
    return opened


@functools.cache
def _renameat2() -> Any:
    """The C library's; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function
