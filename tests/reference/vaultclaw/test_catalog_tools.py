"""The fourteen catalog tools: what they answer, what they need, and that none of them asks the vault.

Source: contract vaultclaw 7, 15, 16, 17; VC-15, VC-16.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.engine.clock import SystemEntropy, VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.arguments import Arguments
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, parse
from lasttick.reference.vaultclaw.catalog.catalog import Catalog
from lasttick.reference.vaultclaw.remote import RemoteSources
from lasttick.reference.vaultclaw.tool import Parts, Tool, ToolCall
from lasttick.reference.vaultclaw.tools import cookbooks, recipes, sources

from ...model.vaultclaw.bundles import HTTP_RECIPES, any_json, bundle, recipe
from .catalog.shelf import check_agreement

TOOLS: dict[str, Tool] = {
    tool.name.removeprefix("vaultclaw_"): tool for tool in (*cookbooks.TOOLS, *recipes.TOOLS, *sources.TOOLS)
}
SCHEMAS = {
    "cookbooks_list": ("filter:object", ""),
    "cookbook_get": ("cookbook_id:string version:string", "cookbook_id"),
    "cookbook_export": ("cookbook_id:string version:string", "cookbook_id"),
    "cookbook_delete": ("cookbook_id:string version:string", "cookbook_id"),
    "cookbook_upsert": ("bundle:object conflict_policy:string", "bundle"),
    "cookbook_import": ("bundle:object conflict_policy:string", "bundle"),
    "recipes_search": ("query:string connector_id:string verb:string tags: entry_type:string", ""),
    "recipe_get": ("cookbook_id:string recipe_id:string version:string", "cookbook_id recipe_id"),
    "template_render": (
        "cookbook_id:string template_id:string inputs:object version:string output_kind:string",
        "cookbook_id template_id inputs",
    ),
    "catalog_sources_list": ("", ""),
    "catalog_source_upsert": ("source:object", "source"),
    "catalog_source_delete": ("source_id:string", "source_id"),
    "cookbooks_remote_list": ("source_id:string query:string", "source_id"),
    "cookbook_remote_install": (
        "source_id:string cookbook_id:string version:string conflict_policy:string expected_sha256:string",
        "source_id cookbook_id",
    ),
}


class NoSessions:
    """A catalog tool that touches the vault, or its session, is found out."""

    def vault(self, scope: str) -> Any:
        raise AssertionError("a catalog tool asked for the vault")


def played(root: Path, *calls: tuple[str, Mapping[str, Any]]) -> list[Any]:
    """The data of each call, or its code and details, one after another on one server."""

    def nowhere(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")

    async def main(loop: VirtualLoop) -> list[Any]:
        clock = VirtualClock(loop)
        catalog = Catalog(root, clock, lock_timeout_ms=1_000)
        await catalog.open()
        remote = RemoteSources(catalog, lambda socket: httpx.MockTransport(nowhere), {})
        parts = Parts(clock, SystemEntropy(), NoSessions(), catalog, remote)  # type: ignore[arg-type]
        answers = []
        for name, arguments in calls:
            try:
                done = await TOOLS[name].run(ToolCall(Arguments(arguments), "default", parts))
                meta = done.as_json()["meta"]
                assert meta == {"request_id": "", "vault_http_status": 0, "vault_code": ""}
                answers.append(done.data)
            except ToolFailure as failure:
                answers.append((failure.code, failure.details))
            await asyncio.sleep(0)
        return answers

    return run_virtual(main)


def test_the_tools_and_their_schemas() -> None:
    assert sorted(TOOLS) == sorted(SCHEMAS)
    for name, (properties, required) in SCHEMAS.items():
        entry = TOOLS[name].as_json()
        assert entry["name"] == f"vaultclaw_{name}"
        shown = [f"{key}:{value.get('type', '')}" for key, value in entry["inputSchema"]["properties"].items()]
        assert shown == properties.split()
        assert entry["inputSchema"].get("required", []) == required.split()
        assert len(entry["description"]) > 40


def test_a_cookbook_comes_is_shown_and_goes(tmp_path: Path) -> None:
    answers = played(
        tmp_path,
        ("cookbooks_list", {}),
        ("cookbook_upsert", {"bundle": HTTP_RECIPES}),
        ("cookbooks_list", {"filter": {"query": " RECIPES ", "cookbook_id": 5}}),
        ("cookbooks_list", {"filter": "http"}),
        ("cookbooks_list", {"filter": {"tag": "none"}}),
        ("cookbook_export", {"cookbook_id": " http.recipes "}),
        ("cookbook_delete", {"cookbook_id": "http.recipes", "version": "1.0.0"}),
        ("cookbook_get", {"cookbook_id": "http.recipes"}),
    )
    item = answers[1]["cookbook"]
    assert answers[0] == {"items": [], "root_dir": str(tmp_path)}
    assert answers[1] == {"cookbook": item, "created_or_updated": True, "conflict_policy": "FAIL"}
    assert answers[2] == answers[3] == {"items": [item], "root_dir": str(tmp_path)}
    assert answers[4]["items"] == []
    assert list(answers[5]) == ["bundle"]
    assert answers[6] == {"cookbook_id": "http.recipes", "version": "1.0.0", "deleted": True}
    assert answers[7] == ("MCP_CATALOG_NOT_FOUND", {"cookbook_id": "http.recipes"})


def test_what_was_exported_is_imported(tmp_path: Path) -> None:
    played(tmp_path, ("cookbook_upsert", {"bundle": HTTP_RECIPES}))
    [exported] = played(tmp_path, ("cookbook_export", {"cookbook_id": "http.recipes"}))
    [_, again] = played(
        tmp_path,
        ("cookbook_delete", {"cookbook_id": "http.recipes"}),
        ("cookbook_import", {"bundle": exported["bundle"], "conflict_policy": " fail "}),
    )
    assert again["created_or_updated"] is True
    [same] = played(tmp_path, ("cookbook_import", exported))
    assert same["created_or_updated"] is False


def test_recipes_and_templates(tmp_path: Path) -> None:
    url = "https://api.example.com/users/42"
    answers = played(
        tmp_path,
        ("cookbook_upsert", {"bundle": HTTP_RECIPES}),
        ("cookbook_upsert", {"bundle": bundle("b", "1", "B", recipe("r", tags=["x", "y"]))}),
        ("recipes_search", {"tags": " y , x,"}),
        ("recipes_search", {"tags": ["http"], "query": "user"}),
        ("recipes_search", {"verb": "v", "connector_id": 7}),
        ("recipe_get", {"cookbook_id": "b", "recipe_id": "r"}),
        ("template_render", {"cookbook_id": "http.recipes", "template_id": "tpl_get_user", "inputs": {"url": url}}),
        ("template_render", {"cookbook_id": "http.recipes", "template_id": "tpl_get_user", "inputs": {}}),
        ("template_render", {"cookbook_id": "b", "template_id": "r", "inputs": {}}),
        ("template_render", {"cookbook_id": "b", "template_id": "x", "inputs": {}}),
    )
    assert [hit["entry_id"] for hit in answers[2]["items"]] == ["r"]
    assert [hit["entry_id"] for hit in answers[3]["items"]] == ["tpl_get_user"]
    assert [hit["entry_id"] for hit in answers[4]["items"]] == ["r"]
    assert list(answers[5]) == ["cookbook_id", "version", "entry"]
    assert answers[6]["rendered"]["request"] == {"method": "GET", "url": url}
    assert answers[6]["used_defaults"] == [{"input_key": "method", "target_path": "/request/method"}]
    assert answers[7][0] == "MCP_TEMPLATE_RENDER_UNRESOLVED"
    assert answers[7][1]["missing_inputs"] == ["url"]
    assert answers[8] == ("MCP_TEMPLATE_NOT_FOUND", {"template_id": "r", "entry_type": "recipe.verb.v1"})
    assert answers[9] == ("MCP_CATALOG_NOT_FOUND", {"cookbook_id": "b", "version": "1", "entry_id": "x"})


def test_sources(tmp_path: Path) -> None:
    kept = {"source_id": "s", "index_url": "http://a.test/", "enabled": True, "auth_mode": "NONE"}
    answers = played(
        tmp_path,
        ("catalog_sources_list", {}),
        ("catalog_source_upsert", {"source": {"source_id": "s", "index_url": "http://a.test/"}}),
        ("catalog_sources_list", {}),
        ("cookbooks_remote_list", {"source_id": "s"}),
        ("cookbook_remote_install", {"source_id": "t", "cookbook_id": "x"}),
        ("catalog_source_delete", {"source_id": "s"}),
    )
    assert answers[0] == {"sources": None, "root_dir": str(tmp_path)}
    assert answers[1] == {"source": kept, "created": True}
    assert answers[2]["sources"] == [kept]
    assert answers[3] == (
        "MCP_CATALOG_REMOTE_FETCH_FAILED",
        {"cause": "nobody is there", "url": "http://a.test/"},
    )
    assert answers[4] == ("MCP_CATALOG_SOURCE_NOT_FOUND", {"source_id": "t"})
    assert answers[5] == {"source_id": "s", "deleted": True}


@pytest.mark.parametrize("name", [name for name, (_, required) in SCHEMAS.items() if required])
def test_what_is_required(tmp_path: Path, name: str) -> None:
    needed = SCHEMAS[name][1].split()
    sound = {key: ({} if key == "inputs" else "x") for key in needed}
    own = "MCP_CATALOG_SCHEMA_INVALID" if needed[0] in ("bundle", "source") else "MCP_VALIDATION_ERROR"
    for key in needed:
        for bad in ({}, {key: None}, {key: 5}, {key: " "}, {key: []}):
            [answer] = played(tmp_path, (name, {k: v for k, v in sound.items() if k != key} | bad))
            assert answer[0] == own, (bad, answer)


@pytest.mark.parametrize("tags", [1, True, {}, ["a", 1], [{}]])
def test_bad_tags(tmp_path: Path, tags: Any) -> None:
    assert played(tmp_path, ("recipes_search", {"tags": tags})) == [("MCP_VALIDATION_ERROR", {})]


_names = sorted({key for tool in TOOLS.values() for key in tool.properties})
arguments = st.dictionaries(
    st.sampled_from(_names), any_json | st.sampled_from(["a", "1", "r", "s", "../x"]), max_size=5
)


@settings(max_examples=40, deadline=None)
@given(calls=st.lists(st.tuples(st.sampled_from(sorted(TOOLS)), arguments), max_size=8))
def test_arbitrary_arguments_never_break_it(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    root = tmp_path_factory.mktemp("root")
    played(root, ("cookbook_upsert", {"bundle": bundle("a", "1", "A", recipe("r"))}))
    answers = played(root, *((name, parse(canonical(given))) for name, given in calls))
    assert len(answers) == len(calls)
    deleted = any(isinstance(answer, dict) and answer.get("deleted") and "version" in answer for answer in answers)
    assert (("a", "1") in check_agreement(root)) is not deleted
