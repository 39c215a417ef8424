"""A catalog in a folder, for the tests: its methods run in virtual time, and what is on the disk is looked at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from lasttick.engine.clock import SystemClock, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.catalog_index import index_item
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.files import Before, unwatched

T = TypeVar("T")
Work = Callable[[Catalog], Coroutine[Any, Any, T]]
LOCK_TIMEOUT_MS = 1_000
LIVE_TIMEOUT_MS = 20_000


def opened(root: Path, work: Work[T], before: Before = unwatched) -> T:
    """Start on the folder as a server does, then do the work."""

    async def main(loop: VirtualLoop) -> T:
        catalog = Catalog(root, VirtualClock(loop), lock_timeout_ms=LOCK_TIMEOUT_MS, before=before)
        await catalog.open()
        return await work(catalog)

    return run_virtual(main)


def used(root: Path, work: Work[T], before: Before = unwatched) -> T:
    """The work, without the start."""

    async def main(loop: VirtualLoop) -> T:
        return await work(Catalog(root, VirtualClock(loop), lock_timeout_ms=LOCK_TIMEOUT_MS, before=before))

    return run_virtual(main)


def used_live(root: Path, work: Work[T], before: Before = unwatched) -> T:
    """The work in real time: for processes that wait for each other."""

    async def main() -> T:
        return await work(Catalog(root, SystemClock(), lock_timeout_ms=LIVE_TIMEOUT_MS, before=before))

    return asyncio.run(main())


def on_disk(root: Path) -> dict[tuple[str, str], Any]:
    """The bundle files, by id and version."""
    files = sorted((root / "cookbooks").glob("*/*.json"))
    return {(file.parent.name, file.name.removesuffix(".json")): json.loads(file.read_text()) for file in files}


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file's bytes, by its path."""
    return {str(f.relative_to(root)): f.read_bytes() for f in sorted(root.rglob("*")) if f.is_file()}


def check_agreement(root: Path) -> dict[tuple[str, str], Any]:
    """List, get, search and files tell the same. Returns the files."""
    files = on_disk(root)

    async def look(catalog: Catalog) -> None:
        assert await catalog.list() == json.loads((root / "index.json").read_text())["items"]
        assert {(i["cookbook_id"], i["version"]): i for i in await catalog.list()} == {
            place: index_item(file) for place, file in files.items()
        }
        for place, file in files.items():
            assert await catalog.get(*place) == file
        hits = {(h["cookbook_id"], h["version"], h["entry_id"]) for h in await catalog.search()}
        assert hits == {(*place, entry["entry_id"]) for place, file in files.items() for entry in file["entries"]}

    used(root, look)
    return files


async def several(*calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """All at once; an exception is a result."""
    return await asyncio.gather(*calls, return_exceptions=True)
