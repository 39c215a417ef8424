"""Which tools does a run get, whatever operators write; and is a registry that is wrong refused by name?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.model.tool_registry import (
    Action,
    Binding,
    Registry,
    RegistryError,
    Skill,
    ToolKind,
    call_access,
    expand_to_name_action,
    intersect_read_tools,
    narrowed,
)

SHOP = {
    "order_lookup": {"kind": "http", "path": "/orders", "actions": [{"name": "lookup", "accessClass": "read"}]},
    "shop": {
        "kind": "http",
        "actions": [
            {"name": "refund", "accessClass": "write"},
            {"name": "get_product", "accessClass": "read"},
            {"name": "get_order", "accessClass": "read"},
            {"name": "audit"},
        ],
    },
    "mailer": {"kind": "http", "actions": [{"name": "send", "accessClass": "write"}]},
    "empty": {"kind": "http", "actions": []},
}
REGISTRY = Registry.from_data(SHOP)
SUPPORT = Skill("support", ("order_lookup", "shop", "mailer", "empty", "gone"))

NAMES = st.sampled_from(["a", "b", "a_b", "c-d", "z", "B"])
CLASSES = st.sampled_from(["read", "write", None])
DATA = st.dictionaries(
    NAMES,
    st.dictionaries(NAMES, CLASSES, max_size=4).map(
        lambda actions: {
            "kind": "http",
            "actions": [
                {"name": name} if access is None else {"name": name, "accessClass": access}
                for name, access in actions.items()
            ],
        }
    ),
    max_size=5,
)
BINDINGS = st.lists(
    st.builds(
        Binding,
        org_id=st.sampled_from(["org-a", "org-b"]),
        slug=NAMES,
        access=st.sampled_from(["read", "write", None, "admin"]),
        state=st.sampled_from(["published", "draft", "Published", ""]),
    ),
    max_size=6,
)
SKILLS = st.none() | st.builds(Skill, name=st.just("s"), tools=st.lists(NAMES, max_size=4).map(tuple))


def reads(data: dict[str, Any], slug: str) -> list[str]:
    """Oracle, over the raw data: the pairs of a slug that are declared a read in so many words."""
    return [f"{slug}:{a['name']}" for a in data.get(slug, {"actions": []})["actions"] if a.get("accessClass") == "read"]


# The registry itself


def test_a_registry_holds_what_its_data_says() -> None:
    assert REGISTRY.kinds["shop"] == ToolKind(
        "shop",
        "http",
        (
            Action("refund", "write"),
            Action("get_product", "read"),
            Action("get_order", "read"),
            Action("audit", "write"),
        ),
    )
    assert list(REGISTRY.kinds) == list(SHOP)
    assert Registry.from_data({}).kinds == {}


@pytest.mark.parametrize(
    ("slug", "action", "access"),
    [
        ("order_lookup", "lookup", "read"),
        ("shop", "refund", "write"),
        ("shop", "audit", "write"),
        ("shop", "lookup", None),
        ("gone", "lookup", None),
        ("empty", "lookup", None),
    ],
)
def test_the_class_of_an_action(slug: str, action: str, access: str | None) -> None:
    assert REGISTRY.access_of(slug, action) == access


def test_a_class_of_null_is_a_missing_one() -> None:
    registry = Registry.from_data({"a": {"kind": "http", "actions": [{"name": "b", "accessClass": None}]}})
    assert registry.access_of("a", "b") == "write"


def test_data_is_read_when_the_registry_is_made() -> None:
    data: dict[str, Any] = {"a": {"kind": "http", "actions": [{"name": "b", "accessClass": "read"}]}}
    before = Registry.from_data(data)
    data["a"]["actions"][0]["accessClass"] = "write"
    assert before.access_of("a", "b") == "read"
    assert Registry.from_data(data).access_of("a", "b") == "write"


def entry(**changes: Any) -> dict[str, Any]:
    return {"kind": "http", "actions": [{"name": "b", "accessClass": "read"}], **changes}


def action(**changes: Any) -> dict[str, Any]:
    return {"a": entry(actions=[{"name": "b", "accessClass": "read", **changes}])}


@pytest.mark.parametrize(
    ("data", "named"),
    [
        *(pytest.param(data, "the registry is", id=f"registry-{data!r}") for data in [None, [], "a", 7, True]),
        *(
            pytest.param({slug: entry()}, "a tool's slug is", id=f"slug-{slug!r}")
            for slug in ["", "a:b", "a,b", "a b", " ", "a\n", "a\x00", "a\u00a0b", "\ud800", 7, None]
        ),
        *(pytest.param({"a": e}, "tool a is", id=f"entry-{e!r}") for e in [None, [], "http", 7]),
        *(pytest.param({"a": entry(kind=k)}, "`kind` of tool a is", id=f"kind-{k!r}") for k in [None, "", 7, []]),
        pytest.param({"a": {"actions": []}}, "`kind` of tool a is None", id="no-kind"),
        pytest.param({"a": {"kind": "http"}}, "`actions` of tool a is None", id="no-actions"),
        *(
            pytest.param({"a": entry(actions=x)}, "`actions` of tool a is", id=f"actions-{x!r}")
            for x in [None, {}, "lookup", 7, {"name": "b"}]
        ),
        *(
            pytest.param({"a": entry(actions=[x])}, "an action of tool a is", id=f"action-{x!r}")
            for x in [None, "lookup", 7, []]
        ),
        *(
            pytest.param(action(name=n), "an action's name of tool a is", id=f"name-{n!r}")
            for n in [None, "", "b:c", "b,c", "b c", "b\t", 7]
        ),
        pytest.param({"a": entry(actions=[{"accessClass": "read"}])}, "an action's name of tool a", id="no-name"),
        *(
            pytest.param(action(accessClass=c), "`accessClass` of tool a, action b is", id=f"class-{c!r}")
            for c in ["", "READ", "admin", 0, True, ["read"]]
        ),
        pytest.param(
            {"a": entry(actions=[{"name": "b", "accessClass": "read"}, {"name": "b", "accessClass": "write"}])},
            "a second action of tool a is 'b'",
            id="twice",
        ),
    ],
)
def test_data_that_is_wrong_is_refused_and_the_place_named(data: Any, named: str) -> None:
    with pytest.raises(RegistryError) as refused:
        Registry.from_data(data)
    message = str(refused.value)
    assert message.startswith(named)
    assert "; expected " in message
    assert "; correct the registry" in message
    assert message.encode()


@pytest.mark.parametrize("value", [10**5_000, "x" * 100_000], ids=["int", "text"])
def test_a_value_too_long_to_be_written_is_refused_too(value: Any) -> None:
    with pytest.raises(RegistryError) as refused:
        Registry.from_data({"a": value})
    assert len(str(refused.value)) < 400


def test_a_value_nested_too_deep_to_be_written_is_refused_too() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RegistryError, match="of type list"):
        Registry.from_data({"a": value})


@given(
    data=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["read", "kind", "actions"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "kind", "actions", "name", "accessClass"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_any_data_is_loaded_or_refused(data: Any) -> None:
    try:
        Registry.from_data(data)
    except RegistryError as error:
        assert "; expected " in str(error)  # noqa: PT017 - both outcomes are right, a third is not


# Expansion (GW-10)


def test_expansion_gives_read_actions_sorted_by_the_joined_text() -> None:
    assert expand_to_name_action(["shop", "order_lookup"], REGISTRY) == [
        "order_lookup:lookup",
        "shop:get_order",
        "shop:get_product",
    ]


def test_the_joined_text_sorts_otherwise_than_the_parts() -> None:
    registry = Registry.from_data({"a": entry(), "a-b": entry(), "a_b": entry()})
    assert expand_to_name_action(["a_b", "a", "a-b"], registry) == ["a-b:b", "a:b", "a_b:b"]


@pytest.mark.parametrize(
    "slugs", [[], ["gone"], ["mailer"], ["empty"], [None, 7, [], {}, ("shop",), b"shop"], ["\ud800"]]
)
def test_expansion_of_nothing_known_is_empty(slugs: list[Any]) -> None:
    assert expand_to_name_action(slugs, REGISTRY) == []


@given(data=DATA, slugs=st.lists(NAMES | st.text() | st.none() | st.lists(st.integers(), max_size=1), max_size=8))
def test_expansion_is_the_sorted_set_of_declared_reads(data: dict[str, Any], slugs: list[Any]) -> None:
    expected = sorted({pair for slug in slugs if isinstance(slug, str) for pair in reads(data, slug)})
    assert expand_to_name_action(slugs, Registry.from_data(data)) == expected


@given(data=DATA, slugs=st.lists(NAMES, max_size=8), rng=st.randoms(use_true_random=False))
def test_order_and_repetition_change_no_expansion(data: dict[str, Any], slugs: list[str], rng: Any) -> None:
    registry = Registry.from_data(data)
    again = slugs + slugs[:3]
    rng.shuffle(again)
    assert expand_to_name_action(again, registry) == expand_to_name_action(slugs, registry)
    backwards = {slug: {**kind, "actions": kind["actions"][::-1]} for slug, kind in reversed(list(data.items()))}
    assert expand_to_name_action(slugs, Registry.from_data(backwards)) == expand_to_name_action(slugs, registry)


@given(data=DATA, slugs=st.lists(NAMES, max_size=5), more=st.lists(NAMES, max_size=5))
def test_expansion_is_monotone_and_additive(data: dict[str, Any], slugs: list[str], more: list[str]) -> None:
    registry = Registry.from_data(data)
    both = expand_to_name_action(slugs + more, registry)
    assert set(both) == {*expand_to_name_action(slugs, registry), *expand_to_name_action(more, registry)}
    assert both == sorted(set(both))


# Intersection (GW-20) and narrowing (ruling 11)


def binding(**changes: Any) -> Binding:
    return Binding(**{"org_id": "org-a", "slug": "shop", "access": "read", "state": "published", **changes})


def test_published_read_bindings_of_the_own_org_that_the_skill_asks_for() -> None:
    bindings = [binding(), binding(slug="order_lookup"), binding(slug="order_lookup")]
    assert intersect_read_tools(bindings, SUPPORT, "org-a", REGISTRY) == ["order_lookup", "shop"]


@pytest.mark.parametrize(
    ("changes", "skill"),
    [
        pytest.param({"state": "draft"}, SUPPORT, id="draft"),
        pytest.param({"state": "Published"}, SUPPORT, id="another-spelling"),
        pytest.param({"access": "write"}, SUPPORT, id="write"),
        pytest.param({"access": "admin"}, SUPPORT, id="no-class"),
        pytest.param({"access": ""}, SUPPORT, id="empty-class"),
        pytest.param({"org_id": "org-b"}, SUPPORT, id="other-org"),
        pytest.param({"org_id": "org-a "}, SUPPORT, id="org-not-stripped"),
        pytest.param({}, Skill("sales", ("order_lookup",)), id="unmatched"),
        pytest.param({}, Skill("sales", ("sho", "shop ")), id="part-of-a-name"),
        pytest.param({}, Skill("sales", ()), id="skill-without-tools"),
        pytest.param({}, None, id="no-skill"),
        pytest.param({"slug": "gone"}, SUPPORT, id="not-in-the-registry"),
        pytest.param({"slug": "mailer"}, SUPPORT, id="nothing-to-read"),
        pytest.param({"slug": "empty"}, SUPPORT, id="no-action"),
    ],
)
def test_each_lack_alone_gives_nothing(changes: dict[str, Any], skill: Skill | None) -> None:
    assert intersect_read_tools([binding(**changes)], skill, "org-a", REGISTRY) == []


def test_a_binding_without_a_class_does_not_narrow() -> None:
    assert intersect_read_tools([binding(access=None)], SUPPORT, "org-a", REGISTRY) == ["shop"]
    assert intersect_read_tools([binding(access=None, slug="mailer")], SUPPORT, "org-a", REGISTRY) == []


@given(data=DATA, bindings=BINDINGS, skill=SKILLS, org_id=st.sampled_from(["org-a", "org-b", "org-c"]))
@example(
    data={"a": entry()}, bindings=[Binding("org-a", "a", None, "published")], skill=Skill("s", ("a",)), org_id="org-a"
)
def test_a_slug_is_given_exactly_for_a_binding_that_has_all_it_needs(
    data: dict[str, Any], bindings: list[Binding], skill: Skill | None, org_id: str
) -> None:
    expected = {
        b.slug
        for b in bindings
        if skill is not None
        and b.slug in skill.tools
        and b.org_id == org_id
        and b.state == "published"
        and b.access not in ("write", "admin")
        and reads(data, b.slug)
    }
    assert intersect_read_tools(bindings, skill, org_id, Registry.from_data(data)) == sorted(expected)


@pytest.mark.parametrize(
    ("registry_access", "binding_access", "counts"),
    [
        ("read", "read", "read"),
        ("read", None, "read"),
        ("read", "write", "write"),
        ("read", "admin", "write"),
        ("read", "", "write"),
        ("write", "read", "write"),
        ("write", None, "write"),
        ("write", "write", "write"),
    ],
)
def test_a_binding_only_narrows(registry_access: Any, binding_access: str | None, counts: str) -> None:
    assert narrowed(registry_access, binding_access) == counts


@pytest.mark.parametrize(
    ("action_name", "changes", "access"),
    [
        pytest.param("get_order", {}, "read", id="read"),
        pytest.param("get_order", {"access": None}, "read", id="not-narrowed"),
        pytest.param("get_order", {"access": "write"}, "write", id="narrowed"),
        pytest.param("get_order", {"state": "draft"}, "write", id="withdrawn"),
        pytest.param("get_order", {"org_id": "org-b"}, "write", id="other-org"),
        pytest.param("get_order", {"slug": "mailer"}, "write", id="other-tool"),
        pytest.param("refund", {}, "write", id="never-widened"),
        pytest.param("audit", {}, "write", id="missing-class"),
        pytest.param("vanished", {}, None, id="no-action"),
    ],
)
def test_the_class_of_one_call(action_name: str, changes: dict[str, Any], access: str | None) -> None:
    assert call_access("shop", action_name, [binding(**changes)], "org-a", REGISTRY) == access


def test_one_binding_that_allows_the_read_is_enough() -> None:
    bindings = [binding(access="write"), binding(state="draft"), binding()]
    assert call_access("shop", "get_order", bindings, "org-a", REGISTRY) == "read"
    assert call_access("shop", "get_order", [], "org-a", REGISTRY) == "write"


@given(data=DATA, bindings=BINDINGS, skill=SKILLS)
@example(data={"a": entry()}, bindings=[Binding("org-a", "a", "read", "published")], skill=Skill("s", ("a",)))
def test_what_a_run_is_given_it_may_call(data: dict[str, Any], bindings: list[Binding], skill: Skill | None) -> None:
    registry = Registry.from_data(data)
    for pair in expand_to_name_action(intersect_read_tools(bindings, skill, "org-a", registry), registry):
        slug, _, name = pair.partition(":")
        assert call_access(slug, name, bindings, "org-a", registry) == "read"
