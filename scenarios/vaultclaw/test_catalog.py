"""The catalog as its tools show it: put in, read, found, deleted; versions, conflict policies, what is valid.

Source: contract vaultclaw 15, 21 "Content hash"; ruling 10; VC-15.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import StartRefused, World, scenario
from lasttick_fakes.catalogs import bundle

from .steps_catalog import NEW, OLD, RECIPE, TEMPLATE, WORKED, WORKED_HASH, agreed, on_disk, snapshot, stored

INVALID = "MCP_CATALOG_SCHEMA_INVALID"
BUNDLED = ("google.workspace", "1.3.0")


@scenario("VC-15")
async def test_a_cookbook_goes_in_and_comes_out_in_its_canonical_form(world: World) -> None:
    """The contract's worked example: trimmed, sorted, without what is no member, with the hash of its canonical text.
    Get, export, list, search and the file give the same, after a restart too."""
    server = await world.vaultclaw()
    client = server.client("acme")
    loose = {**WORKED, "title": " HTTP ", "tags": [" "], "query_ast_v1": {}, "description": ""}
    data = await stored(client, loose)
    item = data["cookbook"]
    entry = {
        "entry_id": "tpl_get_user",
        "entry_type": "template.verb.v1",
        "title": "Get user",
        "tags": ["http", "user"],
    }
    assert item == {
        "cookbook_id": "http.recipes",
        "version": "1.0.0",
        "title": "HTTP",
        "entry_count": 1,
        "content_hash": WORKED_HASH,
        "entries": [entry],
    }
    assert (data["created_or_updated"], data["conflict_policy"]) == (True, "FAIL")
    for _ in range(2):
        (listed,) = (await client.call("cookbooks_list", filter={"cookbook_id": "http.recipes"})).data["items"]
        assert listed == item
        (hit,) = (await client.call("recipes_search", query="GET USER")).data["items"]
        assert hit == {"cookbook_id": "http.recipes", "version": "1.0.0", **entry}
        got = (await client.call("cookbook_get", cookbook_id="http.recipes")).data["bundle"]
        assert (await client.call("cookbook_export", cookbook_id="http.recipes")).data == {"bundle": got}
        (kept,) = got["entries"]
        assert kept["bindings"] == sorted(TEMPLATE["bindings"], key=lambda one: one["target_path"])
        assert (set(got), kept["tags"]) == ({"type", "cookbook_id", "version", "title", "entries"}, ["http", "user"])
        recipe = (await client.call("recipe_get", cookbook_id="http.recipes", recipe_id="tpl_get_user")).data
        assert recipe == {"cookbook_id": "http.recipes", "version": "1.0.0", "entry": kept}
        assert on_disk(server.catalog_dir)["http.recipes", "1.0.0"] == got
        await server.restart()
        client = server.client("acme")
    more = await stored(client, {**loose, "description": "d", "tags": ["b", " a", "b"]}, "OVERWRITE")
    assert more["cookbook"]["content_hash"] == "0f95c1c6acd48868b5c336034dd93e184aa259fe188e79fbcc264f30d3b61fb6"
    assert (more["cookbook"]["description"], more["cookbook"]["tags"]) == ("d", ["a", "b"])
    text = (server.catalog_dir / "cookbooks" / "http.recipes" / "1.0.0.json").read_text()
    assert text.endswith("}\n")
    assert text.startswith('{\n  "type"')
    assert json.loads((server.catalog_dir / "sources.json").read_text()) == {"sources": []}


@scenario("VC-15")
async def test_a_conflict_is_settled_by_its_policy(world: World) -> None:
    """Same id and version: equal content is unchanged under any policy; other content is refused, kept or replaced.
    Policies are read in any case, and what is none refuses; import does as upsert."""
    server = await world.vaultclaw()
    client = server.client("acme")
    first = await stored(client, OLD, "overwrite")
    assert (first["created_or_updated"], first["conflict_policy"]) == (True, "OVERWRITE")
    for policy in ("", "OVERWRITE", "SKIP_IF_EXISTS", "nonsense"):
        same = await stored(client, {**OLD, "title": f" {OLD['title']} "}, policy)
        assert (same["created_or_updated"], same["cookbook"]) == (False, first["cookbook"])
    before = snapshot(server.catalog_dir)
    for policy in ("", "FAIL", "nonsense", "OVER WRITE"):
        for tool in ("cookbook_upsert", "cookbook_import"):
            refused = await client.call(tool, bundle=NEW, conflict_policy=policy)
            assert refused.code == "MCP_CATALOG_CONFLICT"
            assert refused.details == {"cookbook_id": "a", "version": "1"}
    skipped = await stored(client, NEW, "skip_if_exists")
    assert skipped == {"cookbook": first["cookbook"], "created_or_updated": False, "conflict_policy": "SKIP_IF_EXISTS"}
    assert snapshot(server.catalog_dir) == before
    replaced = (await client.call("cookbook_import", bundle=NEW, conflict_policy="Overwrite")).data
    assert (replaced["created_or_updated"], replaced["cookbook"]["title"]) == (True, "new")
    assert (await agreed(client, server.catalog_dir))["a", "1"] == "new"


ASCENDING = ("a", "1.9.0", "1.10.a", "1.10.0", "1.10.0-rc.1", "1.10.0_rc+2", "1.11", "10", "20230000000000000000000")


@scenario("VC-15")
async def test_versions_are_compared_token_by_token(world: World) -> None:
    """Numbers as numbers, above texts, and a longer version above its own beginning. List ascends, search descends, and
    who names no version gets the highest; deleting one shows the next."""
    server = await world.vaultclaw()
    client = server.client("acme")
    for version in sorted(ASCENDING):
        await stored(client, bundle("v", version))
    items = (await client.call("cookbooks_list", filter={"cookbook_id": "v"})).data["items"]
    assert tuple(item["version"] for item in items) == ASCENDING
    hits = (await client.call("recipes_search", query="noop")).data["items"]
    assert tuple(hit["version"] for hit in hits) == ASCENDING[::-1]
    for version in reversed(ASCENDING):
        assert (await client.call("cookbook_get", cookbook_id="v")).data["bundle"]["version"] == version
        found = (await client.call("recipe_get", cookbook_id="v", recipe_id="noop")).data
        assert found["version"] == version
        gone = await client.call("cookbook_delete", cookbook_id="v")
        assert gone.data == {"cookbook_id": "v", "version": version, "deleted": True}
    assert not (server.catalog_dir / "cookbooks" / "v").exists()
    assert (await client.call("cookbook_delete", cookbook_id="v")).code == "MCP_CATALOG_NOT_FOUND"


@scenario("VC-15")
async def test_what_is_not_there_is_said_to_be_missing(world: World) -> None:
    """Unknown cookbooks, versions and entries are not found, with their place in the details; a delete of an absent
    version is no error; unsafe names are refused before any file is looked at."""
    server = await world.vaultclaw()
    client = server.client("acme")
    await stored(client, OLD)
    before = snapshot(server.catalog_dir)
    for tool in ("cookbook_get", "cookbook_export"):
        for arguments in ({"cookbook_id": "x"}, {"cookbook_id": "a", "version": "2"}):
            missing = await client.call(tool, arguments)
            assert (missing.code, missing.details) == ("MCP_CATALOG_NOT_FOUND", arguments)
    missing = await client.call("recipe_get", cookbook_id=" a ", recipe_id="x")
    assert missing.details == {"cookbook_id": "a", "version": "1", "entry_id": "x"}
    absent = await client.call("cookbook_delete", cookbook_id="a", version="2")
    assert absent.data == {"cookbook_id": "a", "version": "2", "deleted": False}
    for unsafe in ("../a", "a/1", "a\\1", ".."):
        for arguments in ({"cookbook_id": unsafe}, {"cookbook_id": "a", "version": unsafe}):
            for tool in ("cookbook_get", "cookbook_delete"):
                assert (await client.call(tool, arguments)).code == INVALID, (tool, arguments)
    for tool in ("cookbook_get", "cookbook_export", "cookbook_delete", "recipe_get"):
        for cookbook_id in ("", "  ", 7, None):
            refused = await client.call(tool, cookbook_id=cookbook_id, recipe_id="r")
            assert refused.code == "MCP_VALIDATION_ERROR", (tool, cookbook_id)
    assert snapshot(server.catalog_dir) == before


@scenario("VC-15")
async def test_list_and_search_filter(world: World) -> None:
    """List: id and tag exactly, part of id, title, description or tag in any case. Search: connector, verb, type and
    all tags exactly, part of a text but not of a description. A plan's connector is that of all its steps."""
    server = await world.vaultclaw()
    client = server.client("acme")
    steps = [{"step_id": "s", "connector_id": "mail"}, {"step_id": "t"}]
    plan = {"entry_id": "plan", "entry_type": "recipe.plan.v1", "plan": {"steps": steps}, "description": "Hidden words"}
    mixed = {
        "entry_id": "mixed",
        "entry_type": "template.plan.v1",
        "base_plan": {"steps": [{"connector_id": "mail"}, {"connector_id": "http"}]},
    }
    one = {**bundle("box", "1", [plan, mixed, {**RECIPE, "tags": ["x", "y"]}], title="Tools"), "description": "Dark"}
    await stored(client, {**one, "tags": ["Kit"]})

    async def listed(**given: str) -> list[str]:
        items = (await client.call("cookbooks_list", filter=given)).data["items"]
        return [item["cookbook_id"] for item in items if item["cookbook_id"] == "box"]

    async def found(**given: Any) -> list[str]:
        hits = (await client.call("recipes_search", given)).data["items"]
        return [hit["entry_id"] for hit in hits if hit["cookbook_id"] == "box"]

    for query in ("BOX", "tool", "dark", "kit"):
        assert await listed(query=query) == ["box"], query
    assert (await listed(query="Hidden"), await listed(tag="kit"), await listed(cookbook_id="bo")) == ([], [], [])
    assert await listed(tag="Kit", cookbook_id="box", query="dark") == ["box"]
    everything = ["mixed", "plan", "r"]
    assert (await found(query="TOOLS"), await found(query="box")) == (everything, everything)
    assert (await found(query="hidden"), await found(query="dark")) == ([], [])
    assert (await found(connector_id="mail"), await found(connector_id="http")) == (["plan"], [])
    assert await found(verb="generic.http.request.v1", entry_type="recipe.verb.v1") == ["r"]
    assert (await found(tags="x, y"), await found(tags=["y"]), await found(tags=["x", "z"])) == (["r"], ["r"], [])
    assert (await found(tags=[]), await found(tags=None)) == (everything, everything)
    assert (await client.call("recipes_search", tags=7)).code == "MCP_VALIDATION_ERROR"
    assert (await client.call("recipes_search", tags=["x", 7])).code == "MCP_VALIDATION_ERROR"


def entry(**more: Any) -> dict[str, Any]:
    return bundle("bad", "1", [{**RECIPE, **more}])


def bindings(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    rows = [{"target_path": path, "input_key": key} for path, key in pairs]
    return bundle("bad", "1", [{**TEMPLATE, "bindings": rows}])


R, T = {"entry_id": "r"}, {"entry_id": "tpl_get_user"}
WRONG: dict[str, tuple[Any, dict[str, Any] | None]] = {
    "missing": (None, {}),
    "text": ("a bundle", None),
    "type": ({**OLD, "type": "accords.cookbook.bundle.v2"}, {}),
    "no id": ({**OLD, "cookbook_id": " "}, {}),
    "no version": ({**OLD, "version": None}, {}),
    "no title": ({**OLD, "title": ""}, {}),
    "no entries": ({**OLD, "entries": []}, {}),
    "no entry id": (entry(entry_id=" "), {"entry_index": 0}),
    "twice": (bundle("bad", "1", [RECIPE, RECIPE]), R),
    "no connector": (entry(connector_id=""), R),
    "no verb": (entry(verb=None), R),
    "no request": (entry(request=None), R),
    "no plan": (entry(entry_type="recipe.plan.v1"), R),
    "no base": (entry(entry_type="template.verb.v1"), R),
    "no base plan": (entry(entry_type="template.plan.v1"), R),
    "other type": (entry(entry_type="recipe.v1"), {**R, "entry_type": "recipe.v1"}),
    "no path": (bindings((" ", "k")), {**T, "binding_index": 0}),
    "no pointer": (bindings(("x", "k")), {**T, "binding_index": 0, "target_path": "x"}),
    "no key": (bindings(("/x", "")), {**T, "binding_index": 0}),
    "repeat": (bindings(("/x", "k"), (" /x", "k")), {**T, "binding_index": 1, "target_path": "/x", "input_key": "k"}),
    "id with dots": ({**OLD, "cookbook_id": "a..b"}, {}),
    "id with slash": ({**OLD, "cookbook_id": "../a"}, {}),
    "version with backslash": ({**OLD, "version": "1\\2"}, {}),
}


@scenario("VC-15")
async def test_what_is_no_cookbook_is_refused_and_changes_nothing(world: World) -> None:
    """Each rule of validation, with the details that name the place. Wrong types of a member are refused with their
    cause. A recipe with an empty request is one, and comes back without it."""
    server = await world.vaultclaw()
    client = server.client("acme")
    before = snapshot(server.catalog_dir)
    for what, (given_bundle, details) in WRONG.items():
        for tool in ("cookbook_upsert", "cookbook_import"):
            refused = await client.call(tool, bundle=given_bundle)
            assert (refused.code, refused.category) == (INVALID, "validation"), what
            if details is not None:
                assert refused.details == details, what
    types: list[dict[str, Any]] = [{"title": 7}, {"tags": "x"}, {"entries": {}}, {"entries": [7]}, {"version": 1}]
    for wrong in types:
        refused = await client.call("cookbook_upsert", bundle={**OLD, **wrong})
        assert (refused.code, list(refused.details)) == (INVALID, ["cause"]), wrong
    assert snapshot(server.catalog_dir) == before
    await stored(client, entry(request={}))
    (kept,) = (await client.call("cookbook_get", cookbook_id="bad")).data["bundle"]["entries"]
    assert "request" not in kept
    assert (await stored(client, entry(request={})))["created_or_updated"] is False


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(lambda text: text.strip() == text)
loose_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@scenario("VC-15")
@given(request=st.dictionaries(texts, loose_json, min_size=1, max_size=4), title=texts)
@example(request={"a": [{"b": None}], "é <&>\u2028": '\u007f/\\"\t\u0001'}, title="<t&>")
@settings(max_examples=5)
async def test_free_content_survives(world: World, request: dict[str, Any], title: str) -> None:
    """Whatever JSON a recipe's request holds comes back equal from get and file, and again after a round of export,
    delete and import, with the same hash."""
    server = await world.vaultclaw()
    client = server.client("acme")
    first = (await stored(client, bundle("free", "1", [{**RECIPE, "request": request}], title=title)))["cookbook"]
    exported = (await client.call("cookbook_export", cookbook_id="free")).data["bundle"]
    assert (exported["entries"][0]["request"], exported["title"]) == (request, title)
    assert (await client.call("cookbook_delete", cookbook_id="free")).data["deleted"] is True
    again = (await client.call("cookbook_import", bundle=exported)).data
    assert (again["created_or_updated"], again["cookbook"]) == (True, first)
    assert on_disk(server.catalog_dir)["free", "1"] == exported


@scenario("VC-15", "VC-16")
async def test_a_deleted_bundled_cookbook_stays_deleted(world: World) -> None:
    """The start goes on with one line of warning and seeds nothing again. Routes answer as before; its entries and
    templates are not found. A changed folder of cookbooks brings it back."""
    server = await world.vaultclaw()
    client = server.client("acme")
    sentence = {"request_text": "send email to a@example.com about the garden, saying all went well"}
    route = (await client.call("route_resolve", sentence)).data
    assert route["status"] == "RESOLVED_EXECUTABLE"
    place = {"cookbook_id": BUNDLED[0], "version": BUNDLED[1]}
    assert (await client.call("cookbook_delete", place)).data["deleted"] is True
    await server.restart()
    client = server.client("acme")
    warnings = [line for line in server.stderr().splitlines() if "warning" in line]
    assert len(warnings) == 1, server.stderr()
    assert "google.workspace 1.3.0" in warnings[0]
    assert BUNDLED not in await agreed(client, server.catalog_dir)
    assert (await client.call("route_resolve", sentence)).data == route
    render = await client.call("template_render", place, template_id=route["route"]["entry_id"], inputs={})
    recipe = await client.call("recipe_get", place, recipe_id=route["route"]["entry_id"])
    for missing in (render, recipe):
        assert (missing.code, missing.details) == ("MCP_CATALOG_NOT_FOUND", place)


@scenario("VC-15")
async def test_bundled_cookbooks_come_in_once(world: World) -> None:
    """The marker names files and bundles with their hashes. An unchanged folder writes nothing at the next start,
    whatever was changed since; a changed one brings all of its cookbooks in again."""
    own = world.path / "own-cookbooks"
    own.mkdir()
    packaged = await bundled_of(world)
    for name, content in packaged.items():
        (own / name).write_text(content)
    (own / "mine.JSON").write_text(json.dumps(OLD))
    server = await world.vaultclaw(cookbooks=own, name="own")
    client = server.client("acme")
    assert (await agreed(client, server.catalog_dir))["a", "1"] == "old"
    marker = json.loads((server.catalog_dir / ".bundled-cookbooks-seed.v1.json").read_bytes())
    names = sorted([*packaged, "mine.JSON"])
    files = [{"relative_path": n, "sha256": hashlib.sha256((own / n).read_bytes()).hexdigest()} for n in names]
    assert (marker["version"], marker["files"]) == ("bundled-cookbooks-seed.v1", files)
    canonical = json.dumps(files, separators=(",", ":"))
    assert marker["manifest_hash"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert [one["source_path"] for one in marker["bundles"]] == names
    await stored(client, NEW, "OVERWRITE")
    before = snapshot(server.catalog_dir)
    await server.restart()
    assert snapshot(server.catalog_dir) == before
    (own / "other.json").write_text(json.dumps(bundle("b", "1", title="b")))
    await server.restart()
    there = await agreed(server.client("acme"), server.catalog_dir)
    assert (there["a", "1"], there["b", "1"]) == ("old", "b")


async def bundled_of(world: World) -> dict[str, str]:
    """The bundled cookbooks as files, by a server that was started with them."""
    server = await world.vaultclaw()
    there = on_disk(server.catalog_dir)
    await server.stop()
    return {f"{cookbook_id}-{version}.json": json.dumps(one) for (cookbook_id, version), one in there.items()}


@pytest.mark.parametrize("what", ["no json", "no bundle", "empty folder"])
@scenario("VC-15")
async def test_cookbooks_that_are_none_refuse_the_start(world: World, what: str) -> None:
    """A folder of bundled cookbooks without any, or with one that is none: no start, and the text names it."""
    own = world.path / "own-cookbooks"
    own.mkdir()
    if what != "empty folder":
        (own / "one.json").write_text("{" if what == "no json" else "{}")
    with pytest.raises(StartRefused) as refused:
        await world.vaultclaw(cookbooks=own)
    assert str(own) in str(refused.value)
    assert "Traceback" not in str(refused.value)
