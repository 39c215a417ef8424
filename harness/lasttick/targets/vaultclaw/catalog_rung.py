"""The vault server's catalog by itself, on folders of the scenario's (memory rung): killed, out of room, or in a race.

A change is killed in a forked child: at each step the catalog announces and at each file operation the interpreter
announces, or within a write. Source: contract vaultclaw 15 "Writing", VC-15.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.ports import Clock, Entropy
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.files import Before, unwatched
from lasttick.reference.vaultclaw.config import VaultclawConfig
from lasttick.reference.vaultclaw.program import VaultclawServer
from lasttick.targets.forked import Barrier, Ended, Forked, kill_at

Work = Callable[[Any], Coroutine[Any, Any, Any]]
"""What is done with a catalog: `lambda catalog: catalog.upsert(bundle)`."""
LOCK_TIMEOUT_MS = 100
DONE = "done"


class CatalogRung:
    """Each root is a folder of its own. `outcome` of a change is "done", or the code of its failure."""

    def __init__(self, folder: Path, clock: Clock, entropy: Entropy) -> None:
        self._folder = folder
        self._clock = clock
        self._entropy = entropy
        self._roots = 0

    def root(self, like: Path | None = None) -> Path:
        """A new folder: with what is in `like`, or not there yet."""
        root = self._folder / f"catalog-{self._roots}"
        self._roots += 1
        if like is not None:
            shutil.copytree(like, root)
        return root

    async def opened(self, root: Path) -> Any:
        """The catalog as after a start on that folder. Raises ToolFailure."""
        catalog = self.catalog(root)
        await catalog.open()
        return catalog

    async def change(self, root: Path, work: Work) -> str:
        """The work without a start; its outcome."""
        return await _outcome(work(self.catalog(root)))

    async def steps(self, root: Path, work: Work) -> list[str]:
        """The same; the steps that it announced."""
        seen: list[str] = []
        await work(self.catalog(root, seen.append))
        return seen

    async def without_room(self, root: Path, work: Work, step: int) -> ToolFailure | None:
        """The same, with a disk that is full at announced step `step`; None when the change succeeded all the same."""

        def full(seen: list[str]) -> None:
            if len(seen) == step + 1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        try:
            await work(self.catalog(root, _counted(full)))
        except ToolFailure as failure:
            return failure
        return None

    def killed(self, root: Path, work: Work, step: int) -> Ended:
        """The change in a process that dies just before step `step`, announced or seen, counted from 0."""
        die = kill_at(step)
        number = itertools.count()
        announced = self._alone(root, work, before=lambda _: die(next(number), False))
        return Forked(announced, folder=root, step=lambda _, makes: die(next(number), makes)).wait()

    def killed_start(self, root: Path, step: int) -> Ended:
        """The start of a whole server, bundled cookbooks and all, in a process that dies just before its file operation
        number `step` in that folder."""
        config = VaultclawConfig.from_env({"ACCORDS_MCP_CATALOG_DIR": str(root)}, self._folder)
        server = VaultclawServer(config, clock=self._clock, entropy=self._entropy, say=lambda line: None)
        return Forked(lambda: str(_at_once(server.start())), folder=root, step=kill_at(step)).wait()

    def cut(self, root: Path, work: Work, file_bytes_max: int) -> Ended:
        """The change in a process that dies in a write past that many bytes of a file."""
        return Forked(self._alone(root, work), file_bytes_max=file_bytes_max).wait()

    async def overtaken(self, root: Path, first: Work, second: Work, step: int) -> tuple[str, str]:
        """`first` in a process that stops just before announced step `step` until `second` came to its end, or gave up
        waiting for the lock; their outcomes."""
        barrier = Barrier(1)

        def meet(seen: list[str]) -> None:
            if len(seen) == step + 1:
                barrier.wait()

        child = Forked(self._alone(root, first, before=_counted(meet)))
        barrier.meet()
        came = await self.change(root, second)
        barrier.open()
        ended = child.wait()
        barrier.close()
        return ended.text, came

    def system_calls(self, root: Path, work: Work) -> list[tuple[str, list[int]]]:
        """What the change asked of the system, in a process of its own: `write` and `fsync` with the number of the file
        or folder, `replace` with that of the file that got its name and of the folder that it is in then."""

        def recorded() -> str:
            calls = _record()
            self._alone(root, work)()
            return json.dumps(calls)

        ended = Forked(recorded).wait()
        assert ended.ok, ended.text
        return [(name, numbers) for name, numbers in json.loads(ended.text)]

    def catalog(self, root: Path, before: Before = unwatched) -> Any:
        """The catalog without a start, as a server that runs has it."""
        return Catalog(root, self._clock, lock_timeout_ms=LOCK_TIMEOUT_MS, before=before)

    def _alone(self, root: Path, work: Work, before: Before = unwatched) -> Callable[[], str]:
        """The outcome without a loop: a forked child has none, and whoever finds the lock free never waits."""

        def run() -> str:
            return str(_at_once(_outcome(work(self.catalog(root, before)))))

        return run


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What it returns, without a loop. Raises AssertionError when it waits for somebody."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the change waits for somebody else's lock; expected it free")


async def _outcome(work: Awaitable[Any]) -> str:
    try:
        await work
    except ToolFailure as failure:
        return failure.code
    return DONE


def _counted(act: Callable[[list[str]], None]) -> Before:
    """Acts before each step on the steps so far, this one included."""
    seen: list[str] = []

    def before(step: str) -> None:
        seen.append(step)
        act(seen)

    return before


def _record() -> list[tuple[str, list[int]]]:
    """From now on the calls of this process, which does nothing else any more."""
    calls: list[tuple[str, list[int]]] = []

    def watch(name: str, numbers: Callable[..., list[int]]) -> None:
        right = getattr(os, name)

        def watched(*arguments: Any) -> Any:
            calls.append((name, numbers(*arguments)))
            return right(*arguments)

        setattr(os, name, watched)

    watch("write", lambda fd, data: [os.fstat(fd).st_ino])
    watch("fsync", lambda fd: [os.fstat(fd).st_ino])
    watch("replace", lambda old, new: [os.stat(old).st_ino, os.stat(Path(new).parent).st_ino])
    return calls
