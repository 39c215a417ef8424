"""What an operator may store: every refusal, and no JSON that crashes it."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.tool_names import ToolNameError
from lasttick.model.tool_registry import Binding, RegistryError, Skill
from lasttick.reference.gateway import documents
from lasttick.reference.gateway.catalogue import INVALID
from lasttick.reference.gateway.documents import DEFAULT_REGISTRY, DocumentError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(documents.PARTS), inner),
    max_leaves=12,
)


def test_a_whole_document() -> None:
    org = documents.org(
        "org-a",
        {
            "chat_tokens": ["t-1", "t-1", "t-2"],
            "bindings": [{"slug": "shop", "access": "read", "state": "published"}, {"slug": "x", "state": "draft"}],
            "skills": {"help": ["shop"]},
            "flags": {"tool_dispatch_enabled": True, "other": None},
            "policies": {"shop:refund": "deny"},
            "credentials": {"shop": {"api_key": "canary-1", "unset": ""}},
        },
    )
    assert org.bindings == (Binding("org-a", "shop", "read", "published"), Binding("org-a", "x", None, "draft"))
    assert org.skills == {"help": Skill("help", ("shop",))}
    assert (org.flags["tool_dispatch_enabled"], org.policies) == (True, {"shop:refund": "deny"})
    assert org.secrets == ("t-1", "t-2", "canary-1")
    assert "canary-1" not in repr(org)
    assert "t-1" not in repr(org)
    assert documents.org("org-a", {}) == documents.Org("org-a")


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {"flag": {}},
        {"chat_tokens": "canary-token"},
        {"chat_tokens": [7]},
        {"chat_tokens": [""]},
        {"chat_tokens": ["canary token"]},
        {"chat_tokens": ["canary-\u00fc"]},
        {"bindings": {}},
        {"bindings": ["shop"]},
        {"bindings": [{"state": "published"}]},
        {"bindings": [{"slug": "a:b", "state": "published"}]},
        {"bindings": [{"slug": "shop"}]},
        {"bindings": [{"slug": "shop", "state": ""}]},
        {"bindings": [{"slug": "shop", "state": True}]},
        {"bindings": [{"slug": "shop", "state": "published", "access": "all"}]},
        {"bindings": [{"slug": "shop", "state": "published", "access": ["read"]}]},
        {"skills": []},
        {"skills": {"help": "shop"}},
        {"skills": {"help": [7]}},
        {"flags": True},
        {"policies": {"shop": "deny"}},
        {"policies": {"shop:refund": "maybe"}},
        {"policies": {"shop:refund": None}},
        {"credentials": {"shop": "canary"}},
        {"credentials": {"shop": {"api key": "canary"}}},
        {"credentials": {"shop": {"api_key": 7}}},
        {"credentials": {"shop": {"api_key": "canary\nx-evil: 1"}}},
        {"credentials": {"shop": {"api_key": "can ary"}}},
        {"credentials": {"shop": {"": "canary"}}},
    ],
    ids=range(31),
)
def test_documents_refused(document: Any) -> None:
    with pytest.raises(DocumentError, match=r"; expected .* \(contract gateway.*\); ") as raised:
        documents.org("org-a", document)
    assert "canary" not in str(raised.value)


@given(JSON)
def test_no_document_crashes_it(value: Any) -> None:
    with suppress(DocumentError):
        documents.org("org-a", value)
    with suppress(*INVALID):
        documents.tools(value)


def registry(**changes: Any) -> dict[str, Any]:
    data = copy.deepcopy(DEFAULT_REGISTRY)
    data["order_lookup"] |= changes
    return data


def test_the_default_registry() -> None:
    tools = documents.tools(DEFAULT_REGISTRY)
    assert tools.registry.access_of("order_lookup", "lookup") == "read"
    assert tools.registry.access_of("shop", "refund") == "write"
    assert [action.name for action in tools.registry.kinds["shop"].actions] == ["get_order", "get_product", "refund"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([], RegistryError),
        (registry(kind="smtp"), DocumentError),
        (registry(path="v1/orders"), DocumentError),
        (registry(path="/v1/../admin"), DocumentError),
        (registry(path="/v1/orders/"), DocumentError),
        (registry(path="/v1?x=1"), DocumentError),
        (registry(path=7), DocumentError),
        (registry(path=None), DocumentError),
        (registry(credentials="api_key"), DocumentError),
        (registry(credentials=["api-key"]), DocumentError),
        (registry(credentials=[7]), DocumentError),
        (registry(actions=[{"name": ".."}]), DocumentError),
        ({"..": {"kind": "http", "actions": []}}, DocumentError),
        ({"a-b": DEFAULT_REGISTRY["order_lookup"], "a_b": DEFAULT_REGISTRY["order_lookup"]}, ToolNameError),
    ],
    ids=range(14),
)
def test_registries_refused(data: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"; expected .*; "):
        documents.tools(data)


def test_a_collision_names_both() -> None:
    """Ruling 8."""
    entry = DEFAULT_REGISTRY["order_lookup"]
    with pytest.raises(ToolNameError, match=r"'a-b:lookup' and 'a_b:lookup'"):
        documents.tools({"a-b": entry, "a_b": entry})


@pytest.mark.parametrize(
    ("required", "given_", "complete"),
    [
        ([], {}, True),
        ([], {"api_key": "x"}, True),
        ([], {"api_key": ""}, False),
        (["api_key"], {}, False),
        (["api_key"], {"api_key": ""}, False),
        (["api_key"], {"api_key": "x"}, True),
        (["api_key"], {"other": "x"}, False),
        (["api_key"], {"api_key": "x", "other": ""}, False),
    ],
)
def test_credentials_complete(required: list[str], given_: dict[str, str], complete: bool) -> None:
    tools = documents.tools(registry(credentials=required))
    org = documents.org("org-a", {"credentials": {"order_lookup": given_}})
    assert documents.credentials_complete(tools, org, "order_lookup") is complete
    assert documents.credentials_complete(tools, org, "unknown")
