"""How does a file of the catalog get its new content, so that a crash or a full disk leaves the old one or the new one?

Each step of it is announced by name before it is done, so that whoever watches can end the process there, or let the
step fail. Source: contract vaultclaw 15 "Writing", VC-15.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.reference import durable

MODE = 0o644
TEMP = "new"
TEMP_GLOB = f".{TEMP}.*.tmp"

Before = Callable[[str], None]
"""Called with `OPERATION PATH` (relative to the root) before each step; an OSError it raises is the step's failure."""


def unwatched(step: str) -> None:
    """The `Before` of production."""


def failure(operation: str, path: Path, cause: str) -> ToolFailure:
    """MCP_INTERNAL: something with the folder is wrong, not with the call."""
    return ToolFailure(
        "MCP_INTERNAL",
        f"the catalog could not {operation} {path}: {cause}; expected a folder of its own with room, which this user "
        "may write (contract vaultclaw 15); put that right and call again",
        {"operation": operation, "path": str(path), "cause": cause},
    )


class Files:
    """Files below one root. Every method raises ToolFailure MCP_INTERNAL with operation, path and cause."""

    def __init__(self, root: Path, before: Before = unwatched) -> None:
        self.root = root
        self._before = before

    @contextmanager
    def step(self, operation: str, path: Path) -> Iterator[None]:
        """One step: announced, and its OSError told as a failure."""
        try:
            self._before(f"{operation} {path.relative_to(self.root)}")
            yield
        except OSError as error:
            raise failure(operation, path, error.strerror or str(error)) from error

    def read(self, path: Path) -> bytes | None:
        """None when there is no such file."""
        chunks: list[bytes] = []
        with self.step("read", path):
            try:
                # O_NONBLOCK: a named pipe in place of the file must not block.
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            try:
                while chunk := os.read(fd, 1 << 20):
                    chunks.append(chunk)
            finally:
                os.close(fd)
        return b"".join(chunks)

    def names(self, folder: Path) -> list[str]:
        """Sorted; none when there is no such folder."""
        with self.step("list", folder):
            try:
                return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def make_folder(self, folder: Path) -> None:
        if not os.path.isdir(folder):  # which never raises, other than Path's
            with self.step("mkdir", folder):
                os.makedirs(folder, exist_ok=True)
            if folder != self.root:
                self._sync(folder.parent)

    def put(self, contents: Mapping[Path, bytes], gone: Path | None = None) -> None:
        """Give these files their content, in this order, and take `gone` away before.

        All that needs room is done before the first name changes: a full disk changes nothing.
        """
        staged: list[tuple[Path, Path]] = []
        try:
            for path, content in contents.items():
                self.make_folder(path.parent)
                staged.append((self._staged(path, content), path))
            if gone is not None:
                with self.step("unlink", gone):
                    os.unlink(gone)
                self._sync(gone.parent)
            while staged:
                temp, path = staged[0]
                with self.step("rename", path):
                    os.replace(temp, path)
                staged.pop(0)
                self._sync(path.parent)
        finally:
            for temp, _ in staged:
                with suppress(OSError):
                    os.unlink(temp)

    def sweep(self, folder: Path) -> None:
        """Take away what killed processes left in it, and the folder itself when that was all. Only under the lock."""
        for temp in sorted(folder.glob(TEMP_GLOB)):
            with self.step("unlink", temp):
                os.unlink(temp)
        self.remove_empty(folder)

    def remove_empty(self, folder: Path) -> None:
        if folder != self.root and os.path.isdir(folder) and not self.names(folder):
            with self.step("rmdir", folder):
                os.rmdir(folder)
            self._sync(folder.parent)

    def _staged(self, path: Path, content: bytes) -> Path:
        """A temporary file beside `path` that holds `content`, on the disk."""
        with self.step("create", path):
            opened = durable.open_temp(path.with_name(TEMP), MODE)
        if opened is None:
            raise failure("create", path, f"{durable.TEMP_NAMES_MAX} temporary files are left over beside it")
        fd, temp = opened
        try:
            with self.step("write", path):
                durable.write_all(fd, content)
                os.fchmod(fd, MODE)  # whatever the umask says
            with self.step("fsync", path):
                os.fsync(fd)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp)
            raise
        finally:
            os.close(fd)
        return temp

    def _sync(self, folder: Path) -> None:
        with self.step("fsync", folder):
            durable.sync_folder(folder)
