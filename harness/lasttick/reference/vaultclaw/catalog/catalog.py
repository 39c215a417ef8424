"""The cookbooks and remote sources of one folder: what each catalog tool does there, under the lock.

The bundle files are the truth and the index is made from them. A process that dies between the two leaves a stale
index, which the next start puts right (ruling VC-15). Source: contract vaultclaw 15, 17 "Source".
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lasttick.model.vaultclaw import catalog_index
from lasttick.model.vaultclaw.bundle import check_names, content_hash, invalid, valid_bundle
from lasttick.model.vaultclaw.catalog_index import index_item, listed, read_index, replaced, searched
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse
from lasttick.model.vaultclaw.records import Record, Records
from lasttick.model.vaultclaw.sources import read_sources, valid_source
from lasttick.model.vaultclaw.versions import highest
from lasttick.ports import Clock
from lasttick.reference.vaultclaw.catalog.bundle_files import BundleFiles, file_text
from lasttick.reference.vaultclaw.catalog.files import Before, Files, unwatched
from lasttick.reference.vaultclaw.catalog.lock import CatalogLock

OVERWRITE = "OVERWRITE"
SKIP_IF_EXISTS = "SKIP_IF_EXISTS"
FAIL = "FAIL"


class Catalog:
    """Every method raises ToolFailure: MCP_INTERNAL when the folder can not be used or stays locked, and as it says."""

    def __init__(self, root: Path, clock: Clock, *, lock_timeout_ms: int, before: Before = unwatched) -> None:
        self.root = root
        self._files = Files(root, before)
        self._lock = CatalogLock(self._files, clock, lock_timeout_ms)
        self._bundles = BundleFiles(self._files)
        self._index_path = root / "index.json"
        self._sources_path = root / "sources.json"

    async def open(self) -> None:
        """At start: clear away what killed processes left, and put the index right."""
        async with self._locked():
            folders = (self._bundles.folder / name for name in self._files.names(self._bundles.folder))
            for folder in (self.root, *folders):
                self._files.sweep(folder)
            self._reconcile()

    async def list(self, query: str = "", cookbook_id: str = "", tag: str = "") -> Records:
        """Index items, by id, then version ascending."""
        async with self._locked():
            return listed(self._index(), query, cookbook_id, tag)

    async def search(
        self,
        query: str = "",
        connector_id: str = "",
        verb: str = "",
        tags: Sequence[str] = (),
        entry_type: str = "",
    ) -> Records:
        """The hits of recipes_search, in its order."""
        async with self._locked():
            return searched(
                self._index(), query=query, connector_id=connector_id, verb=verb, tags=tags, entry_type=entry_type
            )

    async def get(self, cookbook_id: str, version: str = "") -> Record:
        """A bundle; the highest version when none is given. Raises MCP_CATALOG_NOT_FOUND, _SCHEMA_INVALID."""
        check_names(cookbook_id, version)
        async with self._locked():
            found = version or highest(self._bundles.versions(cookbook_id))
            bundle = self._bundles.read(cookbook_id, found) if found else None
        if bundle is None:
            raise _not_found({"cookbook_id": cookbook_id, **({"version": version} if version else {})})
        return bundle

    async def recipe(self, cookbook_id: str, entry_id: str, version: str = "") -> Record:
        """One entry. Raises as `get`."""
        return (await self.located(cookbook_id, entry_id, version))["entry"]

    async def located(self, cookbook_id: str, entry_id: str, version: str = "") -> Record:
        """The data of recipe_get: cookbook_id, version, entry. Raises as `get`."""
        bundle = await self.get(cookbook_id, version)
        place = {"cookbook_id": bundle["cookbook_id"], "version": bundle["version"]}
        for entry in bundle["entries"]:
            if entry["entry_id"] == entry_id:
                return {**place, "entry": entry}
        raise _not_found({**place, "entry_id": entry_id})

    async def upsert(self, value: Any, policy: str = FAIL) -> Record:
        """The data of cookbook_upsert. Raises MCP_CATALOG_CONFLICT, _SCHEMA_INVALID."""
        bundle = valid_bundle(value)
        cookbook_id, version = bundle["cookbook_id"], bundle["version"]
        policy = conflict_policy(policy)
        async with self._locked():
            old = self._bundles.read(cookbook_id, version)
            same = old is not None and content_hash(old) == content_hash(bundle)
            if old is not None and not same and policy == FAIL:
                raise _conflict(cookbook_id, version)
            writes = old is None or (not same and policy == OVERWRITE)
            item = index_item(bundle if writes or old is None else old)
            if writes:
                items = replaced(self._index(), cookbook_id, version, item)
                path = self._bundles.path(cookbook_id, version)
                self._files.put({path: file_text(bundle), self._index_path: _index_text(items)})
            else:
                self._reconcile()
        return {"cookbook": item, "created_or_updated": writes, "conflict_policy": policy}

    async def delete(self, cookbook_id: str, version: str = "") -> Record:
        """The data of cookbook_delete. Raises MCP_CATALOG_NOT_FOUND without a version, _SCHEMA_INVALID."""
        check_names(cookbook_id, version)
        async with self._locked():
            versions = self._bundles.versions(cookbook_id)
            found = version or highest(versions)
            if found is None:
                raise _not_found({"cookbook_id": cookbook_id})
            gone = self._bundles.path(cookbook_id, found) if found in versions else None
            items = self._known()
            left = None if items is None else replaced(items, cookbook_id, found, None)
            new = {} if left is None or left == items else {self._index_path: _index_text(left)}
            self._files.put(new, gone)
            self._files.remove_empty(self._bundles.folder / cookbook_id)
            if items is None:
                self._reconcile()
        return {"cookbook_id": cookbook_id, "version": found, "deleted": gone is not None}

    async def sources(self) -> Records:
        """By id. Raises MCP_CATALOG_SCHEMA_INVALID: the file is damaged."""
        async with self._locked():
            return self._sources()

    async def source(self, source_id: str) -> Record:
        """Raises MCP_CATALOG_SOURCE_NOT_FOUND."""
        for source in await self.sources():
            if source["source_id"] == source_id:
                return source
        raise ToolFailure(
            "MCP_CATALOG_SOURCE_NOT_FOUND",
            f"there is no source {source_id!r}; expected one of vaultclaw_catalog_sources_list; add it with "
            "vaultclaw_catalog_source_upsert",
            {"source_id": source_id},
        )

    async def upsert_source(self, value: Any) -> Record:
        """The data of catalog_source_upsert. Raises MCP_CATALOG_SCHEMA_INVALID."""
        source = valid_source(value)
        async with self._locked():
            old = self._sources()
            others = [one for one in old if one["source_id"] != source["source_id"]]
            self._write_sources([*others, source])
        return {"source": source, "created": len(others) == len(old)}

    async def delete_source(self, source_id: str) -> Record:
        """The data of catalog_source_delete."""
        async with self._locked():
            old = self._sources()
            left = [one for one in old if one["source_id"] != source_id]
            if left != old:
                self._write_sources(left)
        return {"source_id": source_id, "deleted": left != old}

    async def read_file(self, name: str) -> bytes | None:
        """A file of the root that belongs to somebody else (the seed marker)."""
        async with self._locked():
            return self._files.read(self.root / name)

    async def write_file(self, name: str, value: Record) -> None:
        async with self._locked():
            self._files.put({self.root / name: file_text(value)})

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the lock, with the layout in place; the body does not await."""
        async with self._lock.held():
            self._lay_out()
            yield

    def _lay_out(self) -> None:
        self._files.make_folder(self._bundles.folder)
        if not os.path.exists(self._sources_path):
            self._write_sources([])

    def _known(self) -> Records | None:
        """What the index file says; None when there is none that can be read."""
        try:
            return read_index(parse(self._files.read(self._index_path) or b""))
        except ValueError:
            return None

    def _index(self) -> Records:
        """The index, which is trusted when it can be read, and made anew when not."""
        items = self._known()
        return self._reconcile() if items is None else items

    def _reconcile(self) -> Records:
        """Make the index say what the files say. A damaged bundle keeps the item that it has; without a readable index
        it is raised."""
        known = self._known()
        items: Records = []
        for cookbook_id, version in self._bundles.all():
            try:
                bundle = self._bundles.read(cookbook_id, version)
            except ToolFailure:
                if known is None:
                    raise
                items += [item for item in known if (item["cookbook_id"], item["version"]) == (cookbook_id, version)]
            else:
                items += [] if bundle is None else [index_item(bundle)]
        items = catalog_index.in_order(items)
        if items != known:
            self._files.put({self._index_path: _index_text(items)})
        return items

    def _sources(self) -> Records:
        try:
            return read_sources(parse(self._files.read(self._sources_path) or b""))
        except ValueError as error:
            raise invalid(
                f"{self._sources_path} is damaged: {error}", "the sources; put the file right", {"cause": str(error)}
            ) from None

    def _write_sources(self, sources: Records) -> None:
        ordered = sorted(sources, key=lambda source: source["source_id"])
        self._files.put({self._sources_path: file_text({"sources": ordered})})


def conflict_policy(given: str) -> str:
    """OVERWRITE, SKIP_IF_EXISTS; anything else acts as FAIL."""
    policy = given.upper()
    return policy if policy in (OVERWRITE, SKIP_IF_EXISTS) else FAIL


def _index_text(items: Records) -> bytes:
    return file_text({"items": items})


def _conflict(cookbook_id: str, version: str) -> ToolFailure:
    return ToolFailure(
        "MCP_CATALOG_CONFLICT",
        f"{cookbook_id!r} {version!r} is in the catalog with other content; expected a new version, or a "
        f"conflict_policy of {OVERWRITE} or {SKIP_IF_EXISTS} (contract vaultclaw 15); choose one",
        {"cookbook_id": cookbook_id, "version": version},
    )


def _not_found(details: Record) -> ToolFailure:
    place = ", ".join(f"{name} {value!r}" for name, value in details.items())
    return ToolFailure(
        "MCP_CATALOG_NOT_FOUND",
        f"the catalog has nothing for {place}; expected what vaultclaw_cookbooks_list or vaultclaw_recipes_search "
        "shows (contract vaultclaw 15); look there",
        details,
    )
