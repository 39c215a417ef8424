"""Remote sources: which there are, what they serve, and how a cookbook of theirs gets into the catalog.

Source: contract vaultclaw 17; VC-17.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.catalogs import bundle, http_recipes

from .steps_catalog import NEW, OLD, WORKED, WORKED_HASH, agreed, snapshot, stored
from .steps_remote import (
    FAILED,
    VARIABLE,
    add_source,
    install,
    publish,
    remote_list,
    shown_token,
)

MISMATCH = "MCP_CATALOG_REMOTE_CHECKSUM_MISMATCH"
INVALID = "MCP_CATALOG_SCHEMA_INVALID"
URL = "http://127.0.0.1:9/index.json"


@scenario("VC-17")
async def test_sources_are_kept_listed_and_deleted(world: World) -> None:
    """Null when there is none, else by id; defaults, and the variable's name only where it is used; invalid ones are
    refused and change nothing; a restart keeps them."""
    server = await world.vaultclaw()
    client = server.client("acme")
    none = (await client.call("catalog_sources_list")).data
    assert none == {"sources": None, "root_dir": str(server.catalog_dir)}
    plain = {"source_id": "b", "index_url": URL, "enabled": True, "auth_mode": "NONE"}
    with_token = {**plain, "source_id": "a", "auth_mode": "BEARER_ENV", "auth_env_var": "X"}
    for given, kept in (
        ({"source_id": " b ", "index_url": URL}, plain),
        ({**with_token, "auth_mode": "bearer_env", "extra": 1}, with_token),
        ({**plain, "source_id": "c", "enabled": False, "auth_mode": "basic", "auth_env_var": "X"}, None),
    ):
        kept = kept or {**plain, "source_id": "c", "enabled": False}
        assert (await client.call("catalog_source_upsert", source=given)).data == {"source": kept, "created": True}
        assert (await client.call("catalog_source_upsert", source=kept)).data == {"source": kept, "created": False}
    before = snapshot(server.catalog_dir)
    wrongs: tuple[Any, ...] = (
        *(None, 7, "s", []),
        *({"index_url": URL}, {**plain, "source_id": " "}, {**plain, "source_id": 7}),
        *({**plain, "index_url": url} for url in ("", "ftp://x/", "file:///etc/passwd", "http://", "//x/y", "x")),
        *({**plain, "auth_mode": "BEARER_ENV"}, {**plain, "auth_mode": "BEARER_ENV", "auth_env_var": " "}),
    )
    for wrong in wrongs:
        assert (await client.call("catalog_source_upsert", source=wrong)).code == INVALID, wrong
    assert snapshot(server.catalog_dir) == before
    await server.restart()
    client = server.client("acme")
    listed = (await client.call("catalog_sources_list")).data["sources"]
    assert [source["source_id"] for source in listed] == ["a", "b", "c"]
    for deleted in (True, False):
        gone = await client.call("catalog_source_delete", source_id=" b ")
        assert gone.data == {"source_id": "b", "deleted": deleted}
    for tool, more in (("cookbooks_remote_list", {}), ("cookbook_remote_install", {"cookbook_id": "x"})):
        unknown = await client.call(tool, source_id="b", **more)
        assert (unknown.code, unknown.details) == ("MCP_CATALOG_SOURCE_NOT_FOUND", {"source_id": "b"})
    for tool in ("catalog_source_delete", "cookbooks_remote_list", "cookbook_remote_install"):
        assert (await client.call(tool, source_id="", cookbook_id="x")).code == "MCP_VALIDATION_ERROR"


@scenario("VC-17")
async def test_an_index_is_shown_as_it_is_served(world: World) -> None:
    """In served order; the query is part of an id, version, title, summary or tag, in any case; what is nothing is null
    without a query; an index that does not say whose it is gets the configured name."""
    catalog = await world.catalog()
    client = (await world.vaultclaw()).client("acme")
    await add_source(client, catalog)
    empty = (await remote_list(client)).data
    assert (empty["source_id"], empty["items"], empty["index"]["items"]) == ("s", None, [])
    assert (await remote_list(client, query="x")).data["items"] == []
    await catalog.control("PUT", "/control/index", {"items": None, "source_id": None})
    bare = (await remote_list(client)).data
    assert (bare["items"], bare["index"]["items"], bare["index"]["source_id"]) == (None, None, "s")
    await catalog.control("PUT", "/control/index", {})
    second = await publish(catalog, bundle("b", "2", title="Second", tags=["Kit"]), summary="Of things")
    first = await publish(catalog, bundle("a", "1", title="First"), sha256=None, tags=None)
    data = (await remote_list(client)).data
    assert data["index"] == {
        "type": "accords.cookbook.index.v1",
        "source_id": "remote",
        "generated_at_unix_ms": 1_767_225_600_000,
        "items": [second, first],
    }
    assert data["items"] == [second, first]
    for query, found in (("SECOND", [second]), ("of th", [second]), ("kit", [second]), ("1", [first]), ("zz", [])):
        assert (await remote_list(client, query=query)).data["items"] == found, query


@scenario("VC-17")
async def test_a_cookbook_is_installed(world: World) -> None:
    """The highest version, or the one that is named; its hash and what is stored now; the conflict policy is that of an
    upsert, and SKIP shows the one that was kept."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    low = await publish(catalog, WORKED)
    high = await publish(catalog, {**WORKED, "version": "1.10.0"})
    await publish(catalog, {**WORKED, "version": "1.9.0"})
    data = (await install(client, "http.recipes", version="1.0.0")).data
    assert (data["conflict_policy"], data["install"]["source_id"], data["install"]["selected"]) == ("FAIL", "s", low)
    assert data["install"]["content_hash"] == data["install"]["cookbook"]["content_hash"] == WORKED_HASH
    assert (await install(client, "http.recipes")).data["install"]["selected"] == high
    assert {("http.recipes", "1.0.0"), ("http.recipes", "1.10.0")} < set(await agreed(client, server.catalog_dir))
    await stored(client, {**WORKED, "title": "Mine"}, "OVERWRITE")
    conflict = await install(client, "http.recipes", version="1.0.0")
    assert conflict.code == "MCP_CATALOG_CONFLICT"
    skipped = (await install(client, "http.recipes", version="1.0.0", conflict_policy="skip_if_exists")).data
    assert (skipped["install"]["content_hash"], skipped["install"]["cookbook"]["title"]) == (WORKED_HASH, "Mine")
    replaced = (await install(client, "http.recipes", version="1.0.0", conflict_policy="OVERWRITE")).data
    assert replaced["install"]["cookbook"]["content_hash"] == WORKED_HASH
    for missing in ({"cookbook_id": "x", "version": ""}, {"cookbook_id": "http.recipes", "version": "3"}):
        absent = await install(client, missing["cookbook_id"], version=missing["version"])
        assert absent.code == "MCP_CATALOG_NOT_FOUND"
        assert {"cookbook_id", "version"} == set(absent.details)
        assert absent.details["cookbook_id"] == missing["cookbook_id"]


@scenario("VC-17")
async def test_a_wrong_checksum_leaves_the_catalog_byte_identical(world: World) -> None:
    """The sum asked for counts before that of the index, in any case of letters; with neither it is installed. One that
    differs is told with both sums, and no byte of the catalog changes, whatever the policy."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    await stored(client, OLD)
    raw = json.dumps(NEW)
    actual, wrong = hashlib.sha256(raw.encode()).hexdigest(), "0" * 64
    item = await publish(catalog, NEW, raw=raw)
    assert item["sha256"] == actual
    before = snapshot(server.catalog_dir)
    for policy in ("FAIL", "OVERWRITE", "SKIP_IF_EXISTS"):
        refused = await install(client, expected_sha256=wrong, conflict_policy=policy)
        assert refused.code == MISMATCH
        assert refused.details == {
            "expected_sha256": wrong,
            "actual_sha256": actual,
            "source_id": "s",
            "cookbook_id": "a",
            "version": "1",
        }
        assert snapshot(server.catalog_dir) == before
    assert (await install(client, expected_sha256=actual.upper(), conflict_policy="OVERWRITE")).ok
    await publish(catalog, NEW, raw=raw, cookbook_id="listed-wrong", sha256=wrong)
    await publish(catalog, bundle("no-sum", "1"), sha256=None)
    before = snapshot(server.catalog_dir)
    listed_wrong = await install(client, "listed-wrong", conflict_policy="OVERWRITE")
    assert (listed_wrong.code, listed_wrong.details["expected_sha256"]) == (MISMATCH, wrong)
    truncated = await publish(catalog, bundle("cut", "1"))
    await catalog.trouble("cut", path=truncated["download_url"].removeprefix(catalog.url))
    assert (await install(client, "cut")).code == MISMATCH
    assert snapshot(server.catalog_dir) == before
    assert (await install(client, "no-sum")).ok


NOT_THE_ONE: dict[str, tuple[Any, dict[str, Any]]] = {
    "another id": (bundle("other", "1"), {"cookbook_id": "a"}),
    "another version": (bundle("a", "2"), {"version": "1"}),
    "no bundle": ({**OLD, "type": "x"}, {}),
    "no entries": ({**OLD, "entries": []}, {}),
    "id leads out": (bundle("../../evil", "1"), {}),
    "version leads out": (bundle("a", "../../../evil"), {}),
    "backslash": (bundle("a\\..\\evil", "1"), {}),
}


@scenario("VC-17", "VC-15")
@pytest.mark.parametrize("what", [*NOT_THE_ONE, "no JSON"])
async def test_a_download_that_is_not_what_was_promised_is_not_installed(world: World, what: str) -> None:
    """Another cookbook than the index says, no cookbook, an id that leads out of the folder: a clear error, no byte of
    the catalog changes and nothing is written beside it."""
    catalog = await world.catalog()
    server = await world.vaultclaw()
    client = server.client("acme")
    await add_source(client, catalog)
    await stored(client, OLD)
    one, listed = NOT_THE_ONE.get(what, (OLD, {}))
    item = await publish(catalog, one, **listed, **({"raw": "<html>sign in</html>"} if what == "no JSON" else {}))
    before = snapshot(world.path / server.options.name)
    refused = await install(client, item["cookbook_id"], version=item["version"], conflict_policy="OVERWRITE")
    assert refused.code == INVALID
    if what.startswith("another"):
        assert refused.details == {
            "index_cookbook_id": item["cookbook_id"],
            "index_version": item["version"],
            "bundle_cookbook_id": one["cookbook_id"],
            "bundle_version": one["version"],
        }
    if what == "no JSON":
        assert list(refused.details) == ["cause"]
    assert snapshot(world.path / server.options.name) == before
    assert not list(world.path.rglob("*evil*"))


@scenario("VC-17")
async def test_a_token_comes_from_its_variable(world: World) -> None:
    """The source names a variable, whose trimmed value goes with the index and the download of its own origin. A blank
    variable and a disabled source are refused before any request."""
    catalog = await world.catalog()
    token = catalog.secret("[token of the catalog]")
    server = await world.vaultclaw(environ={VARIABLE: f" {token} ", "BLANK": "  "})
    client = server.client("acme")
    await catalog.control("PUT", "/control/token", {"token": token})
    await publish(catalog, http_recipes())
    await add_source(client, catalog)
    refused = await remote_list(client)
    assert (refused.code, refused.error["retryable"], refused.details["http_status"]) == (FAILED, False, 401)
    await add_source(client, catalog, token=True)
    asked = len(await catalog.log())
    assert (await install(client, "fetch.recipes")).ok
    assert await shown_token(catalog, token, after=asked) == [True, True]
    asked = len(await catalog.log())
    for more, details in (
        ({"auth_mode": "BEARER_ENV", "auth_env_var": "BLANK"}, {"source_id": "s", "auth_env_var": "BLANK"}),
        ({"auth_mode": "BEARER_ENV", "auth_env_var": "NOWHERE"}, {"source_id": "s", "auth_env_var": "NOWHERE"}),
        ({"enabled": False}, {"source_id": "s"}),
    ):
        await add_source(client, catalog, **more)
        for answer in (await remote_list(client), await install(client, "fetch.recipes")):
            assert (answer.code, answer.category, answer.error["retryable"]) == (FAILED, "network", False)
            assert answer.details == details
    assert len(await catalog.log()) == asked
