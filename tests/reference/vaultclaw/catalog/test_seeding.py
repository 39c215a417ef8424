"""What a start brings into the catalog, and what it leaves alone. Source: contract vaultclaw 2.3, ruling VC-10."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.model.vaultclaw.bundle import content_hash, valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import parse
from lasttick.reference.hostagent.start_error import StartError
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.catalog.seeding import MARKER, seed

from ....model.vaultclaw.bundles import HTTP_HASH, HTTP_RECIPES, bundle
from .shelf import check_agreement, on_disk, opened, snapshot, used


def books(folder: Path, **files: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        path = folder / name.replace("__", "/").replace("_json", ".json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value) if not isinstance(value, str) else value)
    return folder


def started(root: Path, folder: Path) -> list[str]:
    """Start and seed; the lines that were said."""
    said: list[str] = []

    async def work(catalog: Catalog) -> None:
        await seed(catalog, folder, VirtualClock(asyncio.get_running_loop()), said.append)

    opened(root, work)
    return said


def test_every_bundle_comes_in_and_the_marker_says_which(tmp_path: Path) -> None:
    folder = books(tmp_path / "books", b_json=bundle("b", "1"), sub__a_JSON=HTTP_RECIPES, readme_txt="no")
    (folder / "sub" / "a_JSON").rename(folder / "sub" / "a.JSON")
    assert started(tmp_path / "root", folder) == []
    assert sorted(check_agreement(tmp_path / "root")) == [("b", "1"), ("http.recipes", "1.0.0")]
    marker = json.loads((tmp_path / "root" / MARKER).read_text())
    files = [
        {"relative_path": name, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
        for name in ("b.json", "sub/a.JSON")
    ]
    canonical = json.dumps(files, separators=(",", ":"))
    assert list(marker) == ["version", "manifest_hash", "seeded_at_utc", "files", "bundles"]
    assert marker["version"] == "bundled-cookbooks-seed.v1"
    assert marker["manifest_hash"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert marker["files"] == files
    assert marker["bundles"][1] == {
        "cookbook_id": "http.recipes",
        "version": "1.0.0",
        "content_hash": HTTP_HASH,
        "source_path": "sub/a.JSON",
    }


def test_the_same_folder_is_seeded_once(tmp_path: Path) -> None:
    folder, root = books(tmp_path / "books", a_json=bundle("a", "1", "bundled")), tmp_path / "root"
    started(root, folder)
    used(root, lambda c: c.upsert(bundle("a", "1", "mine"), "OVERWRITE"))
    before = snapshot(root)
    assert started(root, folder) == []
    assert snapshot(root) == before, "the user's change stays"


def test_another_folder_is_seeded_over_it(tmp_path: Path) -> None:
    folder, root = books(tmp_path / "books", a_json=bundle("a", "1", "old"), b_json=bundle("b", "1")), tmp_path / "root"
    started(root, folder)
    used(root, lambda c: c.delete("b", "1"))
    books(folder, a_json=bundle("a", "1", "new"))
    assert started(root, folder) == []
    assert on_disk(root)["a", "1"]["title"] == "new"
    assert ("b", "1") in check_agreement(root), "a new manifest brings everything again"


def test_a_deleted_cookbook_is_one_warning_and_no_more(tmp_path: Path) -> None:
    folder = books(tmp_path / "books", **{f"{n}_json": bundle(n, "1") for n in ("a", "b", "c")})
    root = tmp_path / "root"
    started(root, folder)
    for name in ("a", "c"):
        used(root, lambda c, name=name: c.delete(name))
    for _ in range(2):
        [line] = started(root, folder)
        assert line.startswith("warning: bundled cookbooks were deleted: a 1, c 1;")
        assert "\n" not in line
        assert list(check_agreement(root)) == [("b", "1")]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": "other"}', '{"version": 1, "bundles": 2}'])
def test_a_damaged_marker_means_seeding_again(tmp_path: Path, damage: str) -> None:
    folder, root = books(tmp_path / "books", a_json=bundle("a", "1")), tmp_path / "root"
    started(root, folder)
    marker = (root / MARKER).read_text()
    (root / MARKER).write_text(damage)
    used(root, lambda c: c.delete("a"))
    assert started(root, folder) == []
    assert list(check_agreement(root)) == [("a", "1")]
    assert json.loads((root / MARKER).read_text())["manifest_hash"] == json.loads(marker)["manifest_hash"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no *.json is below"),
        ("{", "is no JSON"),
        ("[]", "the bundle can not be read"),
        (json.dumps(bundle("../x", "1")), "cookbook_id is"),
    ],
)
def test_a_folder_that_can_not_be_seeded(tmp_path: Path, content: str | None, says: str) -> None:
    folder = books(tmp_path / "books", **({} if content is None else {"a_json": content}))
    with pytest.raises(StartError) as info:
        started(tmp_path / "root", folder)
    assert says in str(info.value)
    assert "ACCORDS_MCP_BUNDLED_COOKBOOKS_DIR" in str(info.value)
    assert not (tmp_path / "root" / MARKER).exists()
    with pytest.raises(StartError, match="can not be read"):
        started(tmp_path / "root", tmp_path / "not there")


def test_a_pipe_in_the_folder_is_told_and_not_waited_for(tmp_path: Path) -> None:
    folder = books(tmp_path / "books", a_json=bundle("a", "1"))
    os.mkfifo(folder / "b.json")
    with pytest.raises(StartError, match=r"b\.json is no file with content"):
        started(tmp_path / "root", folder)


def test_a_failure_half_way_is_made_good_by_the_next_start(tmp_path: Path) -> None:
    folder = books(tmp_path / "books", a_json=bundle("a", "1"), b_json=bundle("b", "1"))
    root, steps = tmp_path / "root", []

    def before(step: str) -> None:
        steps.append(step)
        if step == "write cookbooks/b/1.json":
            raise OSError(28, "No space left on device")

    async def work(catalog: Catalog) -> None:
        await seed(catalog, folder, VirtualClock(asyncio.get_running_loop()), print)

    with pytest.raises(ToolFailure) as info:
        opened(root, work, before)
    assert info.value.code == "MCP_INTERNAL"
    assert list(check_agreement(root)) == [("a", "1")]
    started(root, folder)
    assert list(check_agreement(root)) == [("a", "1"), ("b", "1")]


def test_the_bundled_cookbooks_are_what_the_contract_says(tmp_path: Path) -> None:
    import lasttick.reference.vaultclaw as package

    [home] = package.__path__
    folder = Path(home) / "cookbooks"
    assert started(tmp_path / "root", folder) == []
    kept = check_agreement(tmp_path / "root")
    assert list(kept) == [("google.workspace", version) for version in ("1.1.0", "1.2.0", "1.3.0")]
    for place, file in kept.items():
        source = parse((folder / f"{'-'.join(place)}.json").read_bytes())
        assert content_hash(valid_bundle(source)) == content_hash(file)
    shutil.rmtree(tmp_path / "root" / "cookbooks")
    assert len(started(tmp_path / "root", folder)) == 1
