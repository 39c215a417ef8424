"""What the catalog keeps, finds and refuses. Source: contract vaultclaw 15, ruling VC-15."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lasttick.engine.clock import VirtualClock
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, parse
from lasttick.reference.vaultclaw.catalog.catalog import Catalog

from ....model.vaultclaw.bundles import HTTP_HASH, HTTP_RECIPES, any_json, bent, bundle, bundle_like, recipe
from .shelf import check_agreement, on_disk, opened, several, snapshot, used


def failed(root: Path, work: Any) -> ToolFailure:
    with pytest.raises(ToolFailure) as info:
        used(root, work)
    assert not info.value.retryable
    return info.value


def put(*bundles: Any, policy: str = "FAIL") -> Any:
    async def work(catalog: Catalog) -> list[Any]:
        return [await catalog.upsert(one, policy) for one in bundles]

    return work


def test_the_layout_of_an_empty_catalog(tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    opened(root, put())
    assert sorted(os.listdir(root)) == [".catalog.lock", "cookbooks", "index.json", "sources.json"]
    assert (root / "sources.json").read_text() == '{\n  "sources": []\n}\n'
    assert (root / "index.json").read_text() == '{\n  "items": []\n}\n'


def test_a_bundle_is_written_in_its_canonical_form(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        [data] = opened(tmp_path, put(HTTP_RECIPES))
    finally:
        os.umask(old)
    assert data["created_or_updated"] is True
    assert data["conflict_policy"] == "FAIL"
    assert data["cookbook"]["content_hash"] == HTTP_HASH
    file = tmp_path / "cookbooks" / "http.recipes" / "1.0.0.json"
    text = file.read_text()
    assert text.startswith('{\n  "type": "accords.cookbook.bundle.v1",\n  "cookbook_id"')
    assert text.endswith("}\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert os.listdir(file.parent) == ["1.0.0.json"]
    check_agreement(tmp_path)


@pytest.mark.parametrize(
    ("policy", "written", "code"),
    [
        ("FAIL", False, "MCP_CATALOG_CONFLICT"),
        ("", False, "MCP_CATALOG_CONFLICT"),
        ("nonsense", False, "MCP_CATALOG_CONFLICT"),
        ("skip_if_exists", False, None),
        ("Overwrite", True, None),
    ],
)
def test_conflict_policies(tmp_path: Path, policy: str, written: bool, code: str | None) -> None:
    opened(tmp_path, put(bundle("a", "1", "old")))
    [same] = used(tmp_path, put(bundle("a", "1", "old", tags=[]), policy=policy))
    assert same["created_or_updated"] is False, "an equal hash is never a conflict"
    assert same["conflict_policy"] == ("FAIL" if code else policy.upper())
    if code:
        failure = failed(tmp_path, put(bundle("a", "1", "new"), policy=policy))
        assert (failure.code, failure.details) == (code, {"cookbook_id": "a", "version": "1"})
    else:
        [data] = used(tmp_path, put(bundle("a", "1", "new"), policy=policy))
        assert data["created_or_updated"] is written
        assert data["cookbook"]["title"] == ("new" if written else "old")
    assert on_disk(tmp_path)["a", "1"]["title"] == ("new" if written else "old")
    check_agreement(tmp_path)


def test_without_a_version_the_highest_file_is_meant(tmp_path: Path) -> None:
    opened(tmp_path, put(*(bundle("a", version) for version in ("1.9.0", "1.10.0", "1.10.a"))))

    async def work(catalog: Catalog) -> None:
        assert (await catalog.get("a"))["version"] == "1.10.0"
        assert (await catalog.get("a", "1.10.a"))["version"] == "1.10.a"
        assert await catalog.delete("a") == {"cookbook_id": "a", "version": "1.10.0", "deleted": True}
        assert (await catalog.located("a", "r"))["version"] == "1.10.a"
        assert (await catalog.recipe("a", "r"))["entry_type"] == "recipe.verb.v1"

    used(tmp_path, work)
    check_agreement(tmp_path)


def test_what_is_not_there(tmp_path: Path) -> None:
    opened(tmp_path, put(bundle("a", "1")))
    for work, details in (
        (lambda c: c.get("b"), {"cookbook_id": "b"}),
        (lambda c: c.get("b", "1"), {"cookbook_id": "b", "version": "1"}),
        (lambda c: c.get("a", "2"), {"cookbook_id": "a", "version": "2"}),
        (lambda c: c.delete("b"), {"cookbook_id": "b"}),
        (lambda c: c.recipe("a", "x"), {"cookbook_id": "a", "version": "1", "entry_id": "x"}),
    ):
        failure = failed(tmp_path, work)
        assert (failure.code, failure.details) == ("MCP_CATALOG_NOT_FOUND", details)
    gone = {"cookbook_id": "a", "version": "2", "deleted": False}
    assert used(tmp_path, lambda c: c.delete("a", "2")) == gone
    assert used(tmp_path, lambda c: c.delete("b", "2")) == gone | {"cookbook_id": "b"}


def test_an_emptied_folder_goes(tmp_path: Path) -> None:
    opened(tmp_path, put(bundle("a", "1"), bundle("a", "2")))
    used(tmp_path, lambda c: c.delete("a", "1"))
    assert (tmp_path / "cookbooks" / "a").is_dir()
    used(tmp_path, lambda c: c.delete("a", "2"))
    assert not (tmp_path / "cookbooks" / "a").exists()
    check_agreement(tmp_path)


@pytest.mark.parametrize("name", ["../outside", "..", "a/b", "a\\b", "/etc", "a\0", ".", "x" * 300])
def test_names_that_lead_astray_touch_nothing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    opened(root, put(bundle("a", "1")))
    (tmp_path / "outside.json").write_text("{}")
    (tmp_path / "outside").mkdir()
    before = snapshot(tmp_path)
    for work in (
        lambda c: c.get(name),
        lambda c: c.get("a", name),
        lambda c: c.delete(name, "1"),
        lambda c: c.delete("a", name),
        lambda c: c.recipe(name, "r"),
        put(bundle(name, "1")),
        put(bundle("a", name)),
    ):
        assert failed(root, work).code == "MCP_CATALOG_SCHEMA_INVALID"
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b'{"items": 1}', b'{"items": [{}]}', b"\xff"])
def test_an_index_that_can_not_be_read_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    opened(tmp_path, put(bundle("a", "1"), bundle("b", "1")))
    before = (tmp_path / "index.json").read_bytes()
    (tmp_path / "index.json").unlink()
    if damage is not None:
        (tmp_path / "index.json").write_bytes(damage)
    assert len(used(tmp_path, lambda c: c.list())) == 2
    assert (tmp_path / "index.json").read_bytes() == before


def test_a_readable_index_is_trusted_until_the_next_start(tmp_path: Path) -> None:
    opened(tmp_path, put(bundle("a", "1")))
    (tmp_path / "index.json").write_text('{"items": []}')
    assert used(tmp_path, lambda c: c.list()) == []
    assert used(tmp_path, lambda c: c.get("a"))["cookbook_id"] == "a", "files do not need it"
    assert len(opened(tmp_path, lambda c: c.list())) == 1, "a start puts it right"
    (tmp_path / "index.json").write_text('{"items": []}')
    used(tmp_path, put(bundle("a", "1")))
    check_agreement(tmp_path)


def test_a_bundle_deleted_behind_the_index_leaves_it_at_start(tmp_path: Path) -> None:
    opened(tmp_path, put(bundle("a", "1"), bundle("b", "1")))
    (tmp_path / "cookbooks" / "a" / "1.json").unlink()
    assert [i["cookbook_id"] for i in opened(tmp_path, lambda c: c.list())] == ["b"]
    check_agreement(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"cookbook_id": "a"}', "other"])
def test_a_damaged_bundle_says_so(tmp_path: Path, damage: bytes | str) -> None:
    opened(tmp_path, put(bundle("a", "1"), bundle("b", "1")))
    path = tmp_path / "cookbooks" / "a" / "1.json"
    path.write_bytes(damage if isinstance(damage, bytes) else (tmp_path / "cookbooks" / "b" / "1.json").read_bytes())
    failure = failed(tmp_path, lambda c: c.get("a"))
    assert failure.code == "MCP_CATALOG_SCHEMA_INVALID"
    assert sorted(failure.details) == ["cause", "path"]
    assert failure.details["path"] == str(path)
    assert len(opened(tmp_path, lambda c: c.list())) == 2, "its item stays, as nothing better is known"
    (tmp_path / "index.json").unlink()
    assert failed(tmp_path, lambda c: c.list()).details["path"] == str(path)
    assert used(tmp_path, lambda c: c.delete("a"))["deleted"] is True, "it can be deleted all the same"
    assert list(check_agreement(tmp_path)) == [("b", "1")]


def test_damaged_sources_say_so_and_do_no_more_harm(tmp_path: Path) -> None:
    opened(tmp_path, put(bundle("a", "1")))
    (tmp_path / "sources.json").write_text("{")
    for work in (lambda c: c.sources(), lambda c: c.upsert_source({"source_id": "s", "index_url": "http://a/"})):
        failure = failed(tmp_path, work)
        assert (failure.code, list(failure.details)) == ("MCP_CATALOG_SCHEMA_INVALID", ["cause"])
    assert len(used(tmp_path, lambda c: c.list())) == 1
    assert (tmp_path / "sources.json").read_text() == "{"


def test_sources(tmp_path: Path) -> None:
    def source(source_id: str, url: str = "http://a/") -> dict[str, Any]:
        return {"source_id": source_id, "index_url": url, "enabled": True, "auth_mode": "NONE"}

    async def work(catalog: Catalog) -> None:
        assert await catalog.sources() == []
        assert await catalog.upsert_source(source("b")) == {"source": source("b"), "created": True}
        assert (await catalog.upsert_source(source("a")))["created"] is True
        assert await catalog.upsert_source(source("b", "http://b/")) == {
            "source": source("b", "http://b/"),
            "created": False,
        }
        assert await catalog.sources() == [source("a"), source("b", "http://b/")]
        assert await catalog.source("a") == source("a")
        assert await catalog.delete_source("a") == {"source_id": "a", "deleted": True}
        assert await catalog.delete_source("a") == {"source_id": "a", "deleted": False}

    opened(tmp_path, work)
    failure = failed(tmp_path, lambda c: c.source("a"))
    assert (failure.code, failure.details) == ("MCP_CATALOG_SOURCE_NOT_FOUND", {"source_id": "a"})


def test_calls_of_one_process_do_not_lose_each_others_work(tmp_path: Path) -> None:
    async def work(catalog: Catalog) -> list[Any]:
        other = Catalog(tmp_path, VirtualClock(asyncio.get_running_loop()), lock_timeout_ms=1_000)
        return await several(*((catalog, other)[n % 2].upsert(bundle(f"c{n}", "1")) for n in range(20)))

    assert all(data["created_or_updated"] for data in opened(tmp_path, work))
    assert len(check_agreement(tmp_path)) == 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(bent() | bundle_like | any_json, st.sampled_from(["FAIL", "OVERWRITE", "x"])), max_size=3))
def test_any_json_never_loses_an_entry(tmp_path_factory: pytest.TempPathFactory, calls: list[Any]) -> None:
    root = tmp_path_factory.mktemp("any")
    kept = bundle("kept", "1", "Kept", recipe("keep"))
    codes: set[str] = set()

    async def work(catalog: Catalog) -> None:
        await catalog.upsert(kept)
        for value, policy in calls:
            before = {(i["cookbook_id"], i["version"]) for i in await catalog.list()}
            value = parse(canonical(value))
            try:
                place = (await catalog.upsert(value, policy))["cookbook"]
                after = before | {(place["cookbook_id"], place["version"])}
            except ToolFailure as failure:
                codes.add(failure.code)
                after = before
            assert {(i["cookbook_id"], i["version"]) for i in await catalog.list()} == after

    opened(root, work)
    assert codes <= {"MCP_CATALOG_SCHEMA_INVALID", "MCP_CATALOG_CONFLICT"}
    files = check_agreement(root)
    assert files["kept", "1"]["title"] == "Kept"
    assert json.loads((root / "sources.json").read_text()) == {"sources": []}
