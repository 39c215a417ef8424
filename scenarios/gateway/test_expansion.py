"""Slugs become pairs: which actions a list holds, whatever the registry and the skill look like. Source: contract
gateway, `expand_to_name_action`, rulings 3, 4 and 11."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_lists import NAMES, ORG, SKILL, TOOLS, Tools, held_gateway, listed, read_pairs, registry_of

TRICKY: Tools = {
    "a": [("x", "read"), ("b", "read"), ("w", "write")],
    "a0": [("x", "read"), ("none", None)],
    "a-b": [("x", "read")],
    "order.lookup": [("lookup", "read")],
    "empty": [],
}
"""By the joined text `a-b:x` < `a0:x` < `a:b`; by slug it is the other way round."""


@scenario("GW-10")
@given(tools=TOOLS, junk=st.lists(st.one_of(NAMES, st.sampled_from(["", ":", "a:b", ",", " ", "é"])), max_size=3))
@settings(max_examples=5)
@example(tools=TRICKY, junk=["a:x", "", "nobody"])
async def test_a_list_is_the_read_actions_sorted_each_once(world: World, tools: Tools, junk: list[str]) -> None:
    """A skill asks for every tool of a registry, for slugs that nobody knows, and for all of them again in another
    order: the list is the read actions as `name:action`, sorted by that text, each once, and always the same. A skill
    that asks for less gets a part of it; one that asks for nothing known gets nothing."""
    slugs = [*tools, *junk]
    shuffled = [*slugs, *slugs]
    world.random("order of slugs").shuffle(shuffled)
    fewer = list(tools)[::2]
    skills = {
        "plain": slugs,
        "shuffled": shuffled,
        "fewer": fewer,
        "junk": [slug for slug in junk if slug not in tools],
    }
    gateway = await held_gateway(world, registry=registry_of(tools))
    await gateway.org(ORG, bindings=list(tools), skills=skills)

    whole = await listed(gateway, skill="plain")
    assert whole == read_pairs(tools, tools)
    assert await listed(gateway, skill="shuffled") == whole
    part = await listed(gateway, skill="fewer")
    assert part == read_pairs(tools, fewer)
    assert [pair for pair in part if pair not in whole] == []
    assert await listed(gateway, skill="junk") == []


@scenario("GW-10")
async def test_an_action_without_a_class_is_a_write(world: World) -> None:
    """Of three actions one is a read, one a write and one has no class: the read is listed alone. When the operator
    reclassifies it, the next run's list is empty: the registry is read at every turn."""
    tools: Tools = {"shop": [("see", "read"), ("pay", "write"), ("ship", None)]}
    gateway = await held_gateway(world, registry=registry_of(tools))
    await gateway.org(ORG, bindings=["shop"], skills={SKILL: ["shop"]})
    assert await listed(gateway) == ["shop:see"]
    await gateway.registry(registry_of({"shop": [("see", None), ("pay", "write"), ("ship", None)]}))
    assert await listed(gateway) == []


@scenario("GW-10")
@pytest.mark.parametrize("place", ["slug", "action"])
async def test_a_name_that_would_break_a_list_is_refused(world: World, place: str) -> None:
    """A slug or an action with a separator, a blank, a control character or nothing in it: the registry is refused
    whole, and the one before it stays in force."""
    gateway = await held_gateway(world, registry=registry_of({"old": [("see", "read")]}))
    for name in ("a:b", ":", "a,b", "a b", "", "a\x00", "a\n", "a\u2003b"):
        tools: Tools = {name: [("see", "read")]} if place == "slug" else {"shop": [(name, "read")]}
        with pytest.raises(AssertionError, match="gave HTTP 400"):
            await gateway.registry(registry_of(tools))
    await gateway.org(ORG, bindings=["old"], skills={SKILL: ["old", "shop"]})
    assert await listed(gateway) == ["old:see"]


NO_ENTRIES: dict[str, Any] = {
    "no actions": {"kind": "http"},
    "actions are null": {"kind": "http", "actions": None},
    "actions are an object": {"kind": "http", "actions": {"see": "read"}},
    "actions are text": {"kind": "http", "actions": "see"},
    "an action is text": {"kind": "http", "actions": ["see"]},
    "an action without a name": {"kind": "http", "actions": [{"accessClass": "read"}]},
    "no kind": {"actions": [{"name": "see", "accessClass": "read"}]},
    "null": None,
    "a list": [{"name": "see", "accessClass": "read"}],
}


@scenario("GW-10")
@pytest.mark.parametrize("what", list(NO_ENTRIES))
async def test_an_entry_that_is_none_is_refused(world: World, what: str) -> None:
    """An entry without actions, or with anything in their place but a list of them: the registry is refused whole, the
    tool is named, and the one before it stays in force. A list without an action in it is one: nothing is listed."""
    old = registry_of({"old": [("see", "read")]})
    gateway = await held_gateway(world, registry=old)
    await gateway.org(ORG, bindings=["old", "shop"], skills={SKILL: ["old", "shop"]})
    with pytest.raises(AssertionError, match=r"gave HTTP 400: .*tool shop "):
        await gateway.registry({**old, "shop": NO_ENTRIES[what]})
    assert await listed(gateway) == ["old:see"]
    await gateway.registry({**old, "shop": {"kind": "http", "actions": []}})
    assert await listed(gateway) == ["old:see"]
