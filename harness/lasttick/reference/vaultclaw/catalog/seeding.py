"""Which cookbooks does the catalog get at start? Those of the bundled folder, once for each state of that folder.

A marker file remembers the folder's hash. While it is the same nothing is written, so a bundled cookbook that somebody
deleted stays deleted: the start goes on, with one line that says so (ruling VC-10). Source: contract vaultclaw 2.3.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from lasttick.model.vaultclaw.arguments import as_object, string
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, parse, sha256_hex
from lasttick.model.vaultclaw.records import Record
from lasttick.ports import Clock
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.catalog.catalog import OVERWRITE, Catalog

MARKER = ".bundled-cookbooks-seed.v1.json"
VERSION = "bundled-cookbooks-seed.v1"
ENDING = ".json"


async def seed(catalog: Catalog, folder: Path, clock: Clock, say: Callable[[str], None]) -> None:
    """Bring the bundles below `folder` into the catalog, unless they have been. Raises StartError and ToolFailure."""
    files = bundle_files(folder)
    manifest = [{"relative_path": name, "sha256": hashlib.sha256(data).hexdigest()} for name, data in files]
    manifest_hash = sha256_hex(canonical(manifest))
    marker = _marker(await catalog.read_file(MARKER))
    if marker.get("version") == VERSION and marker.get("manifest_hash") == manifest_hash:
        await _warn_of_deleted(catalog, say)
        return
    bundles = [await _seeded(catalog, folder, name, data) for name, data in files]
    await catalog.write_file(
        MARKER,
        {
            "version": VERSION,
            "manifest_hash": manifest_hash,
            "seeded_at_utc": clock.wall().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "files": manifest,
            "bundles": bundles,
        },
    )


def bundle_files(folder: Path) -> list[tuple[str, bytes]]:
    """Relative paths and contents of all `*.json` below it, by path. Raises StartError: none, or one is unreadable."""
    found: list[tuple[str, bytes]] = []
    try:
        for parent, _, names in os.walk(folder, onerror=_raise):
            paths = (Path(parent) / name for name in names if name.lower().endswith(ENDING))
            found += [(path.relative_to(folder).as_posix(), _content(path)) for path in paths]
    except OSError as error:
        raise _refused(f"{error.filename} can not be read: {error.strerror or error}") from error
    if not found:
        raise _refused(f"no *{ENDING} is below {folder}")
    return sorted(found)


def _content(path: Path) -> bytes:
    """Raises OSError, and StartError for a pipe or a device, which might never have an end."""
    if path.exists() and not path.is_file():
        raise _refused(f"{path} is no file with content")
    return path.read_bytes()


async def _seeded(catalog: Catalog, folder: Path, name: str, data: bytes) -> Record:
    try:
        stored = (await catalog.upsert(parse(data), OVERWRITE))["cookbook"]
    except ValueError as error:
        raise _refused(f"{folder / name} is no JSON: {error}") from error
    except ToolFailure as error:
        if error.code == "MCP_INTERNAL":
            raise
        raise _refused(f"{folder / name}: {error}") from error
    return {**{key: stored[key] for key in ("cookbook_id", "version", "content_hash")}, "source_path": name}


async def bundled(catalog: Catalog) -> list[tuple[str, str]]:
    """Id and version of each cookbook that a seed brought in, whether it is still there or not."""
    listed = _marker(await catalog.read_file(MARKER)).get("bundles")
    bundles = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [(string(one.get("cookbook_id")), string(one.get("version"))) for one in bundles]


async def _warn_of_deleted(catalog: Catalog, say: Callable[[str], None]) -> None:
    there = {(item["cookbook_id"], item["version"]) for item in await catalog.list()}
    gone = [" ".join(place) for place in await bundled(catalog) if place not in there]
    if gone:
        say(
            f"warning: bundled cookbooks were deleted: {', '.join(gone)}; expected for their routes; to have "
            f"them again, remove {catalog.root / MARKER} and start again"
        )


def _marker(data: bytes | None) -> Record:
    """{} for a marker that is not there, or damaged: then everything is seeded again."""
    try:
        return as_object(parse(data or b"")) or {}
    except ValueError:
        return {}


def _raise(error: OSError) -> None:
    raise error


def _refused(happened: str) -> StartError:
    expected = "a folder of cookbook bundles (contract vaultclaw 2)"
    return StartError(happened, expected, "correct it, or name another in ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR")
