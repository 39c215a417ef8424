"""A bundle's canonical form, its hash, and why one is refused. Source: contract vaultclaw 15, 21."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from lasttick.model.vaultclaw.bundle import content_hash, read_back, valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical, parse, pretty

from .bundles import HTTP_HASH, HTTP_RECIPES, TEMPLATE, any_json, bent, bundle, bundle_like, recipe

CANONICAL = (
    '{"type":"accords.cookbook.bundle.v1","cookbook_id":"http.recipes","version":"1.0.0","title":"HTTP","entries":['
    '{"entry_id":"tpl_get_user","entry_type":"template.verb.v1","title":"Get user","tags":["http","user"],'
    '"base_request":{"connector_id":"generic.http","request":{"method":"GET","url":""},'
    '"verb":"generic.http.request.v1"},"bindings":[{"target_path":"/request/method","input_key":"method",'
    '"required":false,"default":"GET"},{"target_path":"/request/url","input_key":"url","required":true}]}]}'
)


def refused(value: Any) -> dict[str, Any]:
    with pytest.raises(ToolFailure) as info:
        valid_bundle(value)
    assert (info.value.code, info.value.retryable) == ("MCP_CATALOG_SCHEMA_INVALID", False)
    return info.value.details


def template(*bindings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return TEMPLATE | {"bindings": list(bindings)} | more


def test_the_worked_example() -> None:
    stored = valid_bundle(HTTP_RECIPES)
    assert canonical(stored) == CANONICAL
    assert content_hash(stored) == HTTP_HASH
    more = valid_bundle(HTTP_RECIPES | {"description": "d", "tags": ["b", "a"]})
    assert content_hash(more) == "0f95c1c6acd48868b5c336034dd93e184aa259fe188e79fbcc264f30d3b61fb6"


def test_what_is_unknown_or_empty_is_dropped() -> None:
    entry = recipe(" r ", query_ast_v1={"x": 1}, title="", tags=[], plan_input_defaults={}, policy_version=" 1 ")
    stored = valid_bundle(bundle("a", "1", " A ", entry, description=" ", tags=None, extra=1))
    assert stored == bundle(
        "a",
        "1",
        "A",
        {"entry_id": "r", "entry_type": "recipe.verb.v1", "connector_id": "c", "verb": "v", "policy_version": "1"},
    )


def test_bindings_keep_their_spaces_and_empty_defaults() -> None:
    bindings = [
        {"target_path": "/b ", "input_key": " k ", "default": ""},
        {"target_path": "/a", "input_key": "k", "default": None, "required": False},
        {"target_path": "/a", "input_key": "j", "default": []},
    ]
    stored = valid_bundle(bundle("a", "1", "A", template(*bindings)))
    assert stored["entries"][0]["bindings"] == [
        {"target_path": "/a", "input_key": "j", "default": []},
        {"target_path": "/a", "input_key": "k", "required": False},
        {"target_path": "/b ", "input_key": " k ", "default": ""},
    ]


def test_without_a_bundle_or_of_the_wrong_type() -> None:
    assert refused(None) == {}
    assert refused([])["cause"] == "bundle is a list; expected an object"
    assert refused(bundle(tags="x"))["cause"] == "bundle.tags is a string; expected a list"
    assert refused(bundle("a", "1", "A", recipe(tags=[1])))["cause"].startswith("bundle.entries[0].tags[0] is a number")
    assert refused(bundle("a", "1", "A", template({"target_path": "/a", "input_key": 1})))["cause"]
    assert refused(bundle("a", "1", "A", template({"required": "yes"})))["cause"]
    assert refused(bundle("a", "1", "A", "entry"))["cause"]


@pytest.mark.parametrize("name", ["type", "cookbook_id", "version", "title", "entries"])
def test_each_needed_member(name: str) -> None:
    for value in (None, [] if name == "entries" else " "):
        assert refused(bundle() | {name: value}) == {}


def test_entries_are_checked_in_canonical_order() -> None:
    assert refused(bundle("a", "1", "A", recipe("b", verb=""), recipe(" ", verb=""))) == {"entry_index": 0}
    assert refused(bundle("a", "1", "A", None)) == {"entry_index": 0}
    assert refused(bundle("a", "1", "A", recipe("b"), recipe(" b "))) == {"entry_id": "b"}
    assert refused(bundle("a", "1", "A", recipe("c", verb=""), recipe("b", connector_id=""))) == {"entry_id": "b"}
    odd = refused(bundle("a", "1", "A", recipe(entry_type=" x ")))
    assert odd == {"entry_id": "r", "entry_type": "x"}


@pytest.mark.parametrize(
    ("entry_type", "base"),
    [
        ("recipe.verb.v1", "request"),
        ("recipe.plan.v1", "plan"),
        ("template.verb.v1", "base_request"),
        ("template.plan.v1", "base_plan"),
    ],
)
def test_each_type_needs_its_base(entry_type: str, base: str) -> None:
    entry = {"entry_id": "e", "entry_type": entry_type, "connector_id": "c", "verb": "v"}
    assert refused(bundle("a", "1", "A", entry)) == {"entry_id": "e"}
    stored = valid_bundle(bundle("a", "1", "A", entry | {base: {}}))
    assert base not in stored["entries"][0], "an empty object is accepted, and left out"
    assert read_back(stored) == stored, "what was stored is read again"
    assert refused(stored) == {"entry_id": "e"}, "and is not taken as new"


def test_bindings_are_checked_in_canonical_order() -> None:
    def details(*bindings: dict[str, Any]) -> dict[str, Any]:
        return refused(bundle("a", "1", "A", template(*bindings)))

    place = {"entry_id": "tpl_get_user", "binding_index": 0}
    assert details({"target_path": " ", "input_key": "k"}) == place
    assert details({"target_path": "x", "input_key": ""}) == place | {"target_path": "x"}
    assert details({"target_path": "/x", "input_key": " "}) == place
    twice = details({"target_path": "/x", "input_key": "k"}, {"target_path": "/x ", "input_key": " k"})
    assert twice == place | {"binding_index": 1, "target_path": "/x", "input_key": "k"}


@pytest.mark.parametrize("name", ["cookbook_id", "version"])
@pytest.mark.parametrize("value", ["..", "a..b", "../x", "a/b", "a\\b", "a\0b", ".", "x" * 251, "é" * 126])
def test_names_that_could_lead_astray(name: str, value: str) -> None:
    assert refused(bundle() | {name: value}) == {}
    assert refused(bundle() | {name: value, "entries": []}) == {}, "the last of all checks"


@given(any_json | bundle_like | bent())
def test_any_json_is_valid_or_refused(value: Any) -> None:
    value = parse(canonical(value))
    try:
        stored = valid_bundle(value)
    except ToolFailure:
        refused(value)
        return
    again = read_back(parse(pretty(stored)))
    assert (again, content_hash(again)) == (stored, content_hash(stored)), "the file says what was stored"
