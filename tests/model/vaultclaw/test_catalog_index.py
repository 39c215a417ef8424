"""What the index says, and what lists and searches show. Source: contract vaultclaw 15."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.model.vaultclaw.bundle import valid_bundle
from lasttick.model.vaultclaw.catalog_index import index_item, listed, read_index, replaced, searched, tags_of
from lasttick.model.vaultclaw.records import WrongType

from .bundles import HTTP_HASH, HTTP_RECIPES, bundle, recipe


def item(*arguments: Any, **more: Any) -> dict[str, Any]:
    return index_item(valid_bundle(bundle(*arguments, **more)))


def ids(items: Any) -> list[tuple[str, ...]]:
    return [tuple(i[k] for k in ("cookbook_id", "version", "entry_id") if k in i) for i in items]


def test_the_item_of_the_worked_example() -> None:
    assert index_item(valid_bundle(HTTP_RECIPES)) == {
        "cookbook_id": "http.recipes",
        "version": "1.0.0",
        "title": "HTTP",
        "entry_count": 1,
        "content_hash": HTTP_HASH,
        "entries": [
            {
                "entry_id": "tpl_get_user",
                "entry_type": "template.verb.v1",
                "title": "Get user",
                "tags": ["http", "user"],
            }
        ],
    }


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        ([{"connector_id": " g "}, {"connector_id": "g"}, {}, 1], "g"),
        ([{"connector_id": "g"}, {"connector_id": "h"}], None),
        ([{"connector_id": 1}], None),
        ([], None),
        ({"connector_id": "g"}, None),
    ],
)
@pytest.mark.parametrize(("entry_type", "base"), [("recipe.plan.v1", "plan"), ("template.plan.v1", "base_plan")])
def test_a_plans_connector(steps: Any, shown: str | None, entry_type: str, base: str) -> None:
    entry = {"entry_id": "e", "entry_type": entry_type, base: {"steps": steps}}
    assert item("a", "1", "A", entry)["entries"][0].get("connector_id") == shown
    own = item("a", "1", "A", entry | {"connector_id": "own"})
    assert own["entries"][0]["connector_id"] == "own"


def test_the_list_and_its_filters() -> None:
    items = replaced([], "b", "1.10", item("b", "1.10", "Bee", tags=["x"]))
    items = replaced(items, "b", "1.9", item("b", "1.9", "Bee", description="Honey"))
    items = replaced(items, "a", "2", item("a", "2", "Ant", tags=["x", "y"]))
    assert ids(items) == [("a", "2"), ("b", "1.9"), ("b", "1.10")]
    assert ids(listed(items, cookbook_id="b")) == [("b", "1.9"), ("b", "1.10")]
    assert ids(listed(items, tag="x")) == [("a", "2"), ("b", "1.10")]
    assert ids(listed(items, query="HONEY")) == [("b", "1.9")]
    assert ids(listed(items, query="aN", tag="y")) == [("a", "2")]
    assert ids(listed(items, query="Y")) == [("a", "2"), ("b", "1.9")], "tags count"
    assert listed(items, cookbook_id="B") == []
    assert ids(replaced(items, "b", "1.9", None)) == [("a", "2"), ("b", "1.10")]


def test_the_search_shows_the_highest_version_first() -> None:
    entries = [recipe("y", tags=["t", "u"]), recipe("x", title="Ex", verb="w", tags=["t"])]
    items = [item("b", "1", "Bee", *entries), item("a", "1.9", "Ant", *entries), item("a", "1.10", "Ant", *entries)]
    assert ids(searched(items)) == [
        ("a", "1.10", "x"),
        ("a", "1.10", "y"),
        ("a", "1.9", "x"),
        ("a", "1.9", "y"),
        ("b", "1", "x"),
        ("b", "1", "y"),
    ]
    assert ids(searched(items, query="bEE")) == [("b", "1", "x"), ("b", "1", "y")], "the cookbook's title counts"
    assert {h["entry_id"] for h in searched(items, query="EX")} == {"x"}
    assert {h["entry_id"] for h in searched(items, tags=["u", "t"])} == {"y"}
    assert {h["entry_id"] for h in searched(items, verb="w")} == {"x"}
    assert len(searched(items, connector_id="c", entry_type="recipe.verb.v1")) == 6
    assert searched(items, connector_id="C") == searched(items, entry_type="recipe") == []
    assert searched([item("a", "1", "A", description="deep")], query="deep") == [], "descriptions do not count"


def test_a_hit_has_these_members() -> None:
    assert searched([item("a", "1", "A", recipe(title="T", tags=["t"]))]) == [
        {
            "cookbook_id": "a",
            "version": "1",
            "entry_id": "r",
            "entry_type": "recipe.verb.v1",
            "title": "T",
            "connector_id": "c",
            "verb": "v",
            "tags": ["t"],
        }
    ]


def test_the_tags_argument() -> None:
    assert tags_of(None) == tags_of(" , ") == tags_of([None]) == []
    assert tags_of(" a,b ,") == tags_of(["a ", "b"]) == ["a", "b"]
    for bad in (1, True, {}, ["a", 1], [["a"]]):
        with pytest.raises(WrongType):
            tags_of(bad)


def test_an_index_file_is_read_or_refused() -> None:
    items = [item("a", "1"), item("b", "1")]
    assert read_index({"items": items[::-1], "more": 1}) == items
    assert read_index({}) == read_index({"items": None}) == [], "decodable, and it lists nothing"
    for bad in ([], None, {"items": 1}, {"items": [{}]}, {"items": [items[0] | {"entries": [{}]}]}):
        with pytest.raises(WrongType):
            read_index(bad)
