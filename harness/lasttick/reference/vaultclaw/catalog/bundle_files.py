"""Which bundles are on the disk? `cookbooks/ID/VERSION.json`, each whole or damaged, never in between.

Source: contract vaultclaw 15.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lasttick.model.vaultclaw.bundle import invalid, read_back
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse, pretty
from lasttick.model.vaultclaw.records import Record
from lasttick.model.vaultclaw.versions import unsafe_name, version_key
from lasttick.reference.vaultclaw.catalog.files import Files

ENDING = ".json"


def file_text(value: Record) -> bytes:
    """The bytes of a JSON file of the catalog."""
    return f"{pretty(value)}\n".encode()


class BundleFiles:
    """The bundles below one root. Ids and versions given are safe names."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.folder = files.root / "cookbooks"

    def path(self, cookbook_id: str, version: str) -> Path:
        return self.folder / cookbook_id / f"{version}{ENDING}"

    def versions(self, cookbook_id: str) -> list[str]:
        """Ascending; none for an unknown id."""
        names = self._files.names(self.folder / cookbook_id)
        versions = (name.removesuffix(ENDING) for name in names if name.endswith(ENDING))
        return sorted((v for v in versions if v and not unsafe_name(v)), key=version_key)

    def all(self) -> Iterator[tuple[str, str]]:
        """Ids and versions of all, in order."""
        for cookbook_id in self._files.names(self.folder):
            if not unsafe_name(cookbook_id):
                yield from ((cookbook_id, version) for version in self.versions(cookbook_id))

    def read(self, cookbook_id: str, version: str) -> Record | None:
        """None when there is none. Raises ToolFailure MCP_CATALOG_SCHEMA_INVALID, details cause and path: damaged."""
        path = self.path(cookbook_id, version)
        data = self._files.read(path)
        if data is None:
            return None
        try:
            bundle = read_back(parse(data))
        except (ValueError, ToolFailure) as error:
            raise damaged(path, str(error)) from None
        if (bundle["cookbook_id"], bundle["version"]) != (cookbook_id, version):
            raise damaged(path, f"it holds {bundle['cookbook_id']!r} {bundle['version']!r}")
        return bundle


def damaged(path: Path, cause: str) -> ToolFailure:
    expected = "the bundle of its name; delete that cookbook, or put the file right"
    return invalid(f"{path} is damaged: {cause}", expected, {"path": str(path), "cause": cause})
