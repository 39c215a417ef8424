"""Which tools a run gets, and that every place on the way says the same. Source: contract gateway,
`intersect_read_tools`, run lifecycle, wire; rulings 9 and 11."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

from .steps_doors import REFUND, open_door, refused
from .steps_lists import ORG, OTHER, SKILL, Tools, held_gateway, listed, registry_of

SHOP: Tools = {
    "shop": [("see", "read"), ("pay", "write")],
    "till": [("pay", "write")],
    "safe": [("open", None)],
    "news": [("read", "read")],
}


def _binding(slug: str = "shop", **parts: Any) -> dict[str, Any]:
    return {"slug": slug, "state": "published", **parts}


BOUND = {SKILL: ["shop", "till", "safe"]}
NOTHING: dict[str, dict[str, Any]] = {
    "draft": {"bindings": [_binding(state="draft")]},
    "withdrawn": {"bindings": [_binding(state="withdrawn")]},
    "state in other letters": {"bindings": [_binding(state="Published")]},
    "narrowed to write": {"bindings": [_binding(access="write")]},
    "only writes": {"bindings": [_binding("till")]},
    "writes said to be reads": {"bindings": [_binding("till", access="read")]},
    "no class": {"bindings": [_binding("safe", access="read")]},
    "another org's": {"bindings": []},
    "not in the skill": {"bindings": [_binding("news")]},
    "a skill of nothing": {"bindings": [_binding()], "skills": {SKILL: []}},
    "a skill of another name": {"bindings": [_binding()], "skills": {SKILL.upper(): ["shop"]}},
    "no tool of that name": {"bindings": [_binding("ghost")], "skills": {SKILL: ["ghost"]}},
}


@scenario("GW-20")
@pytest.mark.parametrize("what", list(NOTHING))
async def test_one_thing_missing_and_there_is_no_tool(world: World, what: str) -> None:
    """Beside an organisation that has all of it, this one lacks one thing: its run gets no tool, and there is no empty
    list of them anywhere. With the thing put right, the next run has its tool."""
    gateway = await held_gateway(world, registry=registry_of(SHOP))
    await gateway.org(OTHER, bindings=["shop", "till", "safe"], skills=BOUND)
    await gateway.org(ORG, **{"skills": BOUND, **NOTHING[what]})
    assert await listed(gateway) == []
    assert await listed(gateway, OTHER) == ["shop:see"]
    await gateway.org(ORG, bindings=["shop"], skills=BOUND)
    assert await listed(gateway) == ["shop:see"]


@scenario("GW-20")
@pytest.mark.parametrize("skill", [None, "nobody's", ""])
async def test_without_a_skill_there_is_no_tool(world: World, skill: str | None) -> None:
    """The conversation was matched to no skill, or to one that the organisation does not have."""
    gateway = await held_gateway(world, registry=registry_of(SHOP))
    await gateway.org(ORG, bindings=["shop"], skills=BOUND)
    assert await listed(gateway, skill=skill) == []
    assert await listed(gateway) == ["shop:see"]


@scenario("GW-20")
async def test_two_bindings_of_one_tool_list_it_once(world: World) -> None:
    """A draft beside a published binding of the same tool, and two published ones: the tool is there, once."""
    gateway = await held_gateway(world, registry=registry_of(SHOP))
    for bindings in ([_binding(state="draft"), _binding()], [_binding(), _binding(access="read")]):
        await gateway.org(ORG, bindings=bindings, skills=BOUND)
        assert await listed(gateway) == ["shop:see"]


@scenario("GW-20")
async def test_a_binding_only_narrows(world: World) -> None:
    """A binding that calls a write a read does not make it one, not even with the write in the manifest; one that
    calls everything a write takes the reads away."""
    door = await open_door(world)
    secret = {"x-agent-secret": door.secret}
    await door.gateway.change_org(ORG, bindings=[_binding(access="read")])
    widened = await door.knock(secret, door.body(name_action=REFUND))
    assert refused(widened, 403), widened.body
    assert widened.body["code"] == "ACCESS_CLASS_FORBIDDEN"
    read = door.body(name_action="shop:get_order")
    await door.gateway.set_manifest(door.run.id, ["shop:get_order"])
    assert (await door.knock(secret, read)).ok
    await door.gateway.change_org(ORG, bindings=[_binding(access="write")])
    narrowed = await door.knock(secret, read)
    assert refused(narrowed, 403), narrowed.body
    assert narrowed.body["code"] == "ACCESS_CLASS_FORBIDDEN"
    assert [seen.path for seen in await door.gateway.third_party.log()] == ["/shop/get_order"]
    await door.run.end()
