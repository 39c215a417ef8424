"""Is the list of a run's tools the same everywhere, and without a trace where it is empty?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.manifest import (
    Resolved,
    allowed_tools,
    chat_wire,
    in_manifest,
    resolve_specialist_toolsets,
    run_metadata,
)

PAIRS = st.lists(st.sampled_from(["order_lookup:lookup", "shop:get_order", "shop:get_product"]), unique=True)


def test_on_with_tools_gives_the_toolset_and_the_tools() -> None:
    assert resolve_specialist_toolsets(True, ["order_lookup:lookup"]) == Resolved(
        ("humanwork",), ("order_lookup:lookup",)
    )


@pytest.mark.parametrize("flag", [False, None, 0, 1, "", "true", "false", "on", [], [True], {}])
def test_only_true_itself_is_on(flag: Any) -> None:
    assert resolve_specialist_toolsets(flag, ["order_lookup:lookup"]) == Resolved((), ())


def test_on_without_tools_is_off() -> None:
    assert resolve_specialist_toolsets(True, []) == resolve_specialist_toolsets(False, ["a:b"])


def test_metadata_with_tools() -> None:
    assert run_metadata("customer", "web", ["a:b", "c:d"]) == {
        "inboundMessageRole": "customer",
        "channel": "web",
        "runtimeManifest": {"allowedTools": ["a:b", "c:d"]},
    }


def test_metadata_without_tools_has_exactly_two_keys() -> None:
    assert json.dumps(run_metadata("customer", "web", [])) == '{"inboundMessageRole": "customer", "channel": "web"}'


def wire(**tools: Any) -> dict[str, Any]:
    return chat_wire(conversation_id="c-1", text="hello", org_id="org-a", run_id="r-1", **tools)


def test_the_wire_without_tools_to_the_byte() -> None:
    plain = '{"conversation_id": "c-1", "text": "hello", "org_id": "org-a", "run_id": "r-1"}'
    assert json.dumps(wire()) == plain
    assert json.dumps(wire(toolsets=[], mcp_tools=())) == plain


def test_the_wire_with_tools_is_in_snake_case() -> None:
    assert wire(toolsets=["humanwork"], mcp_tools=["a:b"]) == {
        "conversation_id": "c-1",
        "text": "hello",
        "org_id": "org-a",
        "run_id": "r-1",
        "toolsets": ["humanwork"],
        "mcp_tools": ["a:b"],
    }


def test_a_turn_without_a_run_says_so() -> None:
    body = chat_wire(conversation_id="c-1", text="hello", org_id=None, run_id=None)
    assert body == {"conversation_id": "c-1", "text": "hello", "org_id": None, "run_id": None}


@given(flag=st.booleans(), pairs=PAIRS)
def test_manifest_and_wire_hold_the_same_list_or_neither_holds_any(flag: bool, pairs: list[str]) -> None:
    resolved = resolve_specialist_toolsets(flag, pairs)
    metadata = json.loads(json.dumps(run_metadata("customer", "web", resolved.mcp_tools)))
    body = json.loads(json.dumps(wire(toolsets=resolved.toolsets, mcp_tools=resolved.mcp_tools)))
    expected = pairs if flag else []
    assert list(allowed_tools(metadata)) == body.get("mcp_tools", []) == expected
    assert ("runtimeManifest" in metadata) == ("mcp_tools" in body) == ("toolsets" in body) == bool(expected)
    for pair in ["order_lookup:lookup", "shop:get_order", "shop:refund"]:
        assert in_manifest(metadata, pair) is (pair in expected)


@pytest.mark.parametrize(
    "pair",
    [
        "order_lookup.lookup",
        "order_lookup",
        "lookup",
        "order_lookup:",
        "ORDER_LOOKUP:lookup",
        "order_lookup:lookup ",
        "",
    ],
)
def test_a_pair_is_in_a_manifest_letter_for_letter(pair: str) -> None:
    assert not in_manifest(run_metadata("customer", "web", ["order_lookup:lookup"]), pair)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        "a:b",
        7,
        {},
        {"allowedTools": ["a:b"]},
        {"runtimeManifest": None},
        {"runtimeManifest": ["a:b"]},
        {"runtimeManifest": "a:b"},
        {"runtimeManifest": {}},
        {"runtimeManifest": {"allowedTools": None}},
        {"runtimeManifest": {"allowedTools": "xa:bx"}},
        {"runtimeManifest": {"allowedTools": {"a:b": True}}},
        {"runtimeManifest": {"allowedTools": [["a:b"], {"a:b": 1}, None, 7]}},
    ],
)
def test_a_malformed_manifest_allows_nothing(metadata: Any) -> None:
    assert not in_manifest(metadata, "a:b")
    assert allowed_tools(metadata) == ()


def test_a_stray_value_in_a_manifest_takes_nothing_from_its_neighbours() -> None:
    assert in_manifest({"runtimeManifest": {"allowedTools": [None, "a:b", 7]}}, "a:b")
