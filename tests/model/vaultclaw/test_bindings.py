"""References, pointers and one step's resolution. Source: contract vaultclaw 13, 21; VC-10."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.bindings import MalformedBindingError, Value, apply, get, look_up, read
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.preflight import (
    ResolvedStep,
    UnresolvedStep,
    is_generic_http,
    resolve_step,
    unresolved_failure,
    with_request,
)
from lasttick.model.vaultclaw.profiles import derive

ATTACHMENT = {
    "slot": "api_key",
    "intent": "http.auth",
    "expected_secret_types": ["api-key"],
    "mode": "read",
    "target": "https://api.example.com",
}
GENERIC = {"connector_id": "generic.http", "verb": "generic.http.request.v1"}


def bound(where: str, /, **ref: Any) -> dict[str, Any]:
    return {"path": where, "ref": ref}


UNRESOLVED = [
    bound("/url", source="plan_input", path="/u"),
    bound("/m", source="plan_input", path="/b/c"),
    bound("/n", source="plan_input", path="/b/c"),
    bound("/o", source="step_output", path="/x"),
    bound("/r", source="runtime", path="/y"),
    bound("/p", source="plan_input"),
    bound("/q", source="literal"),
    bound("/s"),
    bound("/t", source="weird"),
    bound("/k", source="plan_input", path="u"),
]


def test_the_worked_example_of_an_unresolved_plan() -> None:
    step = {"step_id": "a", **GENERIC, "request_bindings": UNRESOLVED}
    found = resolve_step(step, {"b": {}})
    assert isinstance(found, UnresolvedStep)
    failure = unresolved_failure(step, found)
    assert failure.code == "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED"
    assert failure.details == {
        "step_id": "a",
        "unresolved_refs": [
            "/url -> plan_input:/u",
            "/m -> plan_input:/b/c",
            "/n -> plan_input:/b/c",
            "/o -> step_output:/x",
            "/r -> runtime:/y",
            "/p -> ref:plan_input_missing_path",
            "/q -> ref:literal_missing_value",
            "/s -> ref:missing_source",
            "/t -> ref:unsupported_source:weird",
            "/k -> plan_input:u",
        ],
        "required_plan_input_paths": ["/b/c", "/u", "u"],
    }


def test_the_worked_example_of_resolved_bindings() -> None:
    step = {
        "step_id": "a",
        **GENERIC,
        "request_base": {"method": "GET"},
        "request_bindings": [
            bound("/url", source="plan_input", path="/u"),
            bound("/headers/x~1y", source="literal", value=1),
            bound("/c", value=[1, 2]),
            bound("/secret_attachments", source="plan_input", path="/att"),
        ],
    }
    before = copy.deepcopy(step)
    found = resolve_step(step, {"u": "https://api.example.com", "att": [ATTACHMENT]})
    request = {
        "method": "GET",
        "url": "https://api.example.com",
        "headers": {"x/y": 1},
        "c": [1, 2],
        "secret_attachments": [ATTACHMENT],
    }
    assert found == ResolvedStep(request, "", derive(request))
    assert step == before
    assert with_request(step, request) == {**step, "request_base": request, "request_bindings": []}


def test_only_unresolved_plan_input_is_asked_for() -> None:
    found = resolve_step({**GENERIC, "request_bindings": [bound("/o", source="step_output", path="/x")]}, None)
    assert isinstance(found, UnresolvedStep)
    assert found.plan_input_paths == ()


def test_a_profile_id_is_kept_and_its_attachments_are_not_even_read() -> None:
    found = resolve_step({"request_base": {"profile_id": " p ", "secret_attachments": [1]}}, None)
    assert isinstance(found, ResolvedStep)
    assert (found.profile_id, found.requirements) == ("p", ())


@pytest.mark.parametrize(
    "binding",
    [
        None,
        "x",
        [],
        {},
        bound("", value=1),
        bound("url", value=1),
        bound("url", source="plan_input", path="/nowhere"),
        {"path": "/x", "ref": "y"},
        {"path": "/x"},
        {"path": 7, "ref": {"value": 1}},
        bound("/method/deep", value=1),
        bound("/list/0", value=1),
        bound("/null/x", value=1),
        bound("/a" * 201, value=1),
    ],
)
def test_a_malformed_binding_is_an_internal_failure_with_empty_details(binding: Any) -> None:
    base = {"method": "GET", "list": [1], "null": None}
    with pytest.raises(ToolFailure) as raised:
        resolve_step({"request_base": base, "request_bindings": [binding]}, {})
    assert (raised.value.code, raised.value.details) == ("MCP_INTERNAL", {})
    assert base == {"method": "GET", "list": [1], "null": None}


@pytest.mark.parametrize("source", ["literal", "value", "const", "", " literal "])
def test_null_is_a_value(source: str) -> None:
    assert look_up({"source": source, "value": None}, None) == Value(None)
    assert look_up({"source": "plan_input", "path": "/a"}, {"a": None}) == Value(None)


@pytest.mark.parametrize(
    ("document", "pointer", "expected"),
    [
        ({"a": {"b": 1}}, "/a/b", Value(1)),
        ({"a": [1]}, "/a/0", None),
        ({"0": {"1": "x"}}, "/0/1", Value("x")),
        ({"": {"": 2}}, "//", Value(2)),
        ({"~1": 3, "/": 4}, "/~01", Value(3)),
        ({"~1": 3, "/": 4}, "/~1", Value(4)),
        ({"a": 1}, "a", None),
        ({"a": 1}, "/a/b", None),
        ([1], "/0", None),
        (None, "/a", None),
    ],
)
def test_pointers_go_through_objects_only(document: Any, pointer: str, expected: Value | None) -> None:
    assert get(document, pointer) == expected


def test_a_binding_never_writes_into_the_plan_input() -> None:
    plan_input = {"obj": {"k": 1}}
    bindings = [bound("/a", source="plan_input", path="/obj"), bound("/a/k", value=2)]
    found = resolve_step({"request_bindings": bindings}, plan_input)
    assert isinstance(found, ResolvedStep)
    assert found.request == {"a": {"k": 2}}
    assert plan_input == {"obj": {"k": 1}}


KEYS = st.text(st.sampled_from("a0~/é"), max_size=3)


@given(st.lists(KEYS, min_size=1, max_size=5), st.integers())
def test_what_is_set_at_a_pointer_is_found_there(keys: list[str], value: int) -> None:
    pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
    request: dict[str, Any] = {}
    apply(request, pointer, value)
    assert get(request, pointer) == Value(value)
    node: Any = request
    for key in keys:
        node = node[key]
    assert node == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "ref", "source", "/a", "a"]), inner)
    ),
    max_leaves=10,
)


@given(JSON, JSON, JSON)
def test_whatever_a_step_holds_it_is_resolved_unresolved_or_refused(base: Any, bindings: Any, plan_input: Any) -> None:
    with contextlib.suppress(ToolFailure):
        found = resolve_step({"request_base": base, "request_bindings": bindings}, plan_input)
        assert isinstance(found, ResolvedStep | UnresolvedStep)


def test_a_binding_without_a_slash_is_refused_before_its_value_is_looked_for() -> None:
    with pytest.raises(MalformedBindingError, match="expected an object with a path"):
        read({"path": "x", "ref": {"source": "runtime"}})


@pytest.mark.parametrize(
    ("holder", "expected"),
    [
        (GENERIC, True),
        ({"connector_id": " generic.http ", "verb": "generic.http.request.v1\n"}, True),
        ({**GENERIC, "connector_id": "Generic.HTTP"}, False),
        ({**GENERIC, "verb": "generic.http.request"}, False),
        ({}, False),
        (None, False),
        ([], False),
    ],
)
def test_only_the_exact_connector_and_verb_count(holder: Any, expected: bool) -> None:
    assert is_generic_http(holder) is expected
