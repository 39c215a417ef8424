"""What a template gives. Source: contract vaultclaw 16, 21 "Render"."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.bundle import valid_bundle
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.template import Growing, PathError, depth, render

from .bundles import HTTP_RECIPES, any_json

ENTRY = valid_bundle(HTTP_RECIPES)["entries"][0]
URL = "https://api.example.com/users/42"


def rendered(entry: dict[str, Any], inputs: dict[str, Any], kind: str = "") -> dict[str, Any]:
    before = copy.deepcopy((entry, inputs))
    try:
        return render(entry, inputs, kind, "http.recipes", "1.0.0")
    finally:
        assert (entry, inputs) == before, "neither the template nor the inputs are changed"


def failed(entry: dict[str, Any], inputs: dict[str, Any], kind: str = "") -> tuple[str, dict[str, Any]]:
    with pytest.raises(ToolFailure) as info:
        rendered(entry, inputs, kind)
    return info.value.code, info.value.details


def template(*bindings: Any, base: Any = None) -> dict[str, Any]:
    sound = {"connector_id": "c", "verb": "v", "request": {}}
    base = sound if base is None else base
    return {"entry_id": "t", "entry_type": "template.verb.v1", "base_request": base, "bindings": list(bindings)}


def bound(path: str, key: str = "k", **more: Any) -> dict[str, Any]:
    return {"target_path": path, "input_key": key, **more}


def test_the_worked_example() -> None:
    assert rendered(ENTRY, {"url": URL}) == {
        "rendered": {
            "connector_id": "generic.http",
            "verb": "generic.http.request.v1",
            "request": {"method": "GET", "url": URL},
        },
        "missing_inputs": [],
        "used_defaults": [{"input_key": "method", "target_path": "/request/method"}],
        "source_ref": {
            "cookbook_id": "http.recipes",
            "version": "1.0.0",
            "template_id": "tpl_get_user",
            "entry_type": "template.verb.v1",
            "output_kind": "VERB_REQUEST",
        },
    }


@pytest.mark.parametrize(
    ("base", "path", "value", "result"),
    [
        ({"request": {"list": ["a"]}}, "/request/list/2/k", {"x": 1}, ["a", None, {"k": {"x": 1}}]),
        ({"request": {}}, "/request/list/1", "v", [None, "v"]),
        ({"request": {"list": None}}, "/request/list/007", 7, [None] * 7 + [7]),
        ({"request": {"list": {"x": 1}}}, "/request/list/-", 1, {"x": 1, "-": 1}),
        ({}, "/request/list", [1], [1]),
        ({"request": {"list": 5}}, "/request/list", None, None),
    ],
)
def test_where_a_value_goes(base: Any, path: str, value: Any, result: Any) -> None:
    root = Growing(base)
    root.set(path, value)
    assert root.value["request"]["list"] == result


def test_escapes() -> None:
    root = Growing({})
    for path in ("/a~1b", "/c~0d", "/~01", "/e~2", "/"):
        root.set(path, path)
    assert root.value == {"a/b": "/a~1b", "c~d": "/c~0d", "~1": "/~01", "e~2": "/e~2", "": "/"}


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ({"request": {}}, "/request/0"),
        ({"request": "x"}, "/request/0"),
        ({"request": []}, "/request/k"),
        ({"request": 1}, "/request/k"),
        ({}, "/request/10000/x"),
        ({}, "/request/" + "9" * 5_000),
        ({}, "/a" * 201),
    ],
)
def test_where_no_value_goes(base: Any, path: str) -> None:
    code, details = failed(template(bound(path), base=base), {"k": 1})
    assert code == "MCP_TEMPLATE_INPUT_INVALID"
    assert sorted(details) == ["cause", "input_key", "target_path"]
    assert (details["input_key"], details["target_path"]) == ("k", path)


def test_an_index_can_not_use_up_the_memory_step_by_step() -> None:
    root = Growing({})
    root.set("/a/9998", 1)
    with pytest.raises(PathError):
        root.set("/b/9998", 1)


def test_inputs_are_matched_exactly_and_null_is_given() -> None:
    entry = template(bound("/request/a", " k "), bound("/request/b", "k", default="d"))
    assert failed(entry, {"k": 1}) == (
        "MCP_TEMPLATE_RENDER_UNRESOLVED",
        {"cookbook_id": "http.recipes", "version": "1.0.0", "template_id": "t", "missing_inputs": [" k "]},
    )
    data = rendered(entry, {" k ": None, "k": None})
    assert data["rendered"]["request"] == {"a": None, "b": None}
    assert data["used_defaults"] == []


def test_all_that_is_missing_is_named_in_order_and_the_optional_is_not() -> None:
    entry = template(
        bound("/a", "z"), bound("/b", "y", required=False), bound("/c", "x", required=True), bound("/d", "z")
    )
    code, details = failed(entry, {})
    assert (code, details["missing_inputs"]) == ("MCP_TEMPLATE_RENDER_UNRESOLVED", ["z", "x", "z"])


def test_a_path_error_comes_before_what_is_missing() -> None:
    code, _ = failed(template(bound("/a", "gone"), bound("/request/0", "k")), {"k": 1})
    assert code == "MCP_TEMPLATE_INPUT_INVALID"


def test_two_bindings_of_one_input_do_not_share_it() -> None:
    shared = template(bound("/request/a"), bound("/request/b"), bound("/request/b/c", "n"))
    assert rendered(shared, {"k": {}, "n": 1})["rendered"]["request"] == {"a": {}, "b": {"c": 1}}


def test_kinds() -> None:
    inputs = {"url": URL}
    for kind in ("", "AUTO", "nonsense", "verb_request"):
        assert rendered(ENTRY, inputs, kind)["source_ref"]["output_kind"] == "VERB_REQUEST"
    assert failed(ENTRY, inputs, "plan") == ("MCP_TEMPLATE_INPUT_INVALID", {})
    plan = {"entry_id": "p", "entry_type": "template.plan.v1", "base_plan": {"steps": [1]}}
    assert rendered(plan, {}, "Plan")["rendered"] == {"steps": [1]}
    assert failed(plan, {}, "VERB_REQUEST") == ("MCP_TEMPLATE_INPUT_INVALID", {})
    recipe = {"entry_id": "r", "entry_type": "recipe.verb.v1"}
    assert failed(recipe, {}) == ("MCP_TEMPLATE_NOT_FOUND", {"template_id": "r", "entry_type": "recipe.verb.v1"})


@pytest.mark.parametrize(
    "base",
    [
        {},
        {"connector_id": " ", "verb": "v", "request": {}},
        {"connector_id": "c", "verb": 1, "request": {}},
        {"connector_id": "c", "verb": "v", "request": []},
    ],
)
def test_the_shape_of_a_request(base: Any) -> None:
    assert failed(template(base=base), {}) == ("MCP_TEMPLATE_INPUT_INVALID", {})


@pytest.mark.parametrize("base", [{}, {"steps": []}, {"steps": {"0": 1}}])
def test_the_shape_of_a_plan(base: Any) -> None:
    plan = {"entry_id": "p", "entry_type": "template.plan.v1", "base_plan": base}
    assert failed(plan, {}) == ("MCP_TEMPLATE_INPUT_INVALID", {})


@given(any_json, st.lists(st.text("/ab01~-", max_size=8).map(lambda p: "/" + p), max_size=4), any_json)
def test_any_base_any_path_any_value(base: Any, paths: list[str], value: Any) -> None:
    root = Growing(base)
    for path in paths:
        try:
            root.set(path, value)
        except PathError:
            continue
        node: Any = root.value
        for step in path.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if key.isdigit() else node[key]
        assert node == value


def test_depth() -> None:
    assert [depth(v) for v in (1, [], {"a": 1}, {"a": [{}]}, [[], [[1]]])] == [0, 1, 1, 3, 3]
