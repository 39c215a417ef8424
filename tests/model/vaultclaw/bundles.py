"""Bundles for the tests of the catalog: the contract's worked example, small ones, and any JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lasttick.model.vaultclaw.bundle import TYPE

TEMPLATE: dict[str, Any] = {
    "entry_id": "tpl_get_user",
    "entry_type": "template.verb.v1",
    "title": "Get user",
    "tags": ["user", " http ", "http"],
    "base_request": {
        "verb": "generic.http.request.v1",
        "connector_id": "generic.http",
        "request": {"url": "", "method": "GET"},
    },
    "bindings": [
        {"target_path": "/request/url", "input_key": "url", "required": True},
        {"target_path": "/request/method", "input_key": "method", "required": False, "default": "GET"},
    ],
}
HTTP_RECIPES: dict[str, Any] = {
    "type": TYPE,
    "cookbook_id": "http.recipes",
    "version": "1.0.0",
    "title": "HTTP",
    "entries": [TEMPLATE],
}
HTTP_HASH = "d812854ac857d4b2fca69fb87f94f4dff891e0f4fdd2c0df03ed4f757ec7740b"


def recipe(entry_id: str = "r", **more: Any) -> dict[str, Any]:
    return {
        "entry_id": entry_id,
        "entry_type": "recipe.verb.v1",
        "connector_id": "c",
        "verb": "v",
        "request": {},
    } | more


def bundle(cookbook_id: str = "a", version: str = "1.0.0", title: str = "A", *entries: Any, **more: Any) -> Any:
    body = {"type": TYPE, "cookbook_id": cookbook_id, "version": version, "title": title}
    return body | {"entries": list(entries) or [recipe()]} | more


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
any_json = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
_members = [
    "type", "cookbook_id", "version", "title", "description", "tags", "entries", "entry_id", "entry_type", "request",
    "connector_id", "verb", "plan", "base_request", "base_plan", "bindings", "target_path", "input_key", "default",
]  # fmt: skip
_texts = st.sampled_from(
    [TYPE, "a", "b", " a ", "", "1.0", "..", "/x", "x/y", "recipe.verb.v1", "template.plan.v1", "template.verb.v1"]
)
bundle_like = st.recursive(
    _texts | scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_members), inner, max_size=8),
    max_leaves=40,
)
"""JSON that comes near to a bundle more often than any would."""


@st.composite
def bent(draw: st.DrawFn) -> Any:
    """A valid bundle in which one or two members anywhere are replaced."""
    value = bundle("a", draw(st.sampled_from(["1", "2"])), "A", recipe(), TEMPLATE | {"bindings": TEMPLATE["bindings"]})
    for _ in range(draw(st.integers(0, 2))):
        value = _replace(draw, value)
    return value


def _replace(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(_texts | any_json)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw(st.sampled_from(keys))
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = _replace(draw, value[key])
    return copy
