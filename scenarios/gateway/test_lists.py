"""Which tools a run gets, and that every place on the way says the same. Source: contract gateway,
`intersect_read_tools`, run lifecycle, wire; rulings 9 and 11."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings

from lasttick import World, scenario
from lasttick.model import tool_names

from .steps_doors import REFUND, open_door, refused
from .steps_lists import ORG, OTHER, SKILL, TOOLS, Tools, held_gateway, listed, read_pairs, registry_of
from .steps_turns import LIST, arguments_of, say_only, server_of

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
async def test_one_thing_missing_and_there_is_no_tool(world: World) -> None:
    """Beside an organisation that has all of it, another lacks one thing at a time: its run gets no tool, and there is
    no empty list of them anywhere. With the thing put right, the next run has its tool."""
    gateway = await held_gateway(world, registry=registry_of(SHOP))
    await gateway.org(OTHER, bindings=["shop"], skills=BOUND)
    got: dict[str, list[str]] = {}
    for what, parts in NOTHING.items():
        await gateway.org(ORG, **{"skills": BOUND, **parts})
        got[what] = await listed(gateway)
    assert {what: pairs for what, pairs in got.items() if pairs} == {}
    assert await listed(gateway, OTHER) == ["shop:see"]
    await gateway.org(ORG, bindings=["shop"], skills=BOUND)
    assert await listed(gateway) == ["shop:see"]


@scenario("GW-20")
async def test_without_a_skill_there_is_no_tool(world: World) -> None:
    """The conversation was matched to no skill, or to one that the organisation does not have."""
    gateway = await held_gateway(world, registry=registry_of(SHOP))
    await gateway.org(ORG, bindings=["shop"], skills=BOUND)
    assert [await listed(gateway, skill=skill) for skill in (None, "nobody's", "")] == [[], [], []]
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


ODD: Tools = {"order-lookup.v2": [("_look_up", "read"), ("Zap", "read")], "caf\u00e9": [("men\u00fc", "read")]}
"""Names that no MCP tool may have, so the list is not the same texts everywhere, only the same pairs."""


@scenario("GW-11")
@given(tools=TOOLS.filter(lambda tools: read_pairs(tools, tools)))
@settings(max_examples=2)
@example(tools=ODD)
async def test_every_place_says_the_same_list(world: World, tools: Tools) -> None:
    """A message and another answer to it, in an organisation with tools: the run's manifest, the wire, the program's
    variable and its server's, what the program is started with, and the tools that the model is offered are one list.
    There is no tool of the program's own beside it."""
    pairs = read_pairs(tools, tools)
    gateway = await world.gateway(registry=registry_of(tools))
    await say_only(gateway)
    await gateway.org(ORG, bindings=list(tools), skills={SKILL: list(tools)}, flags={"tool_dispatch_enabled": True})
    for regenerate in (False, True):
        asked = len(await gateway.model.requests())
        answer = await gateway.chat(ORG, "-t shop", skill=SKILL, regenerate=regenerate)
        assert answer.text == "Hello."
        metadata = (await gateway.run(answer.run_id))["metadata"]
        manifest = {"allowedTools": pairs}
        assert metadata == {"inboundMessageRole": "user", "channel": "chat", "runtimeManifest": manifest}
        wire = json.loads((await gateway.wires())[-1])
        assert (wire["run_id"], wire["toolsets"], wire["mcp_tools"]) == (answer.run_id, ["humanwork"], pairs)
        turn = (await gateway.hermes_turns())[-1]
        assert arguments_of(turn.argv) == ("chat", "-Q", "-t", "humanwork", "-q", " -t shop")
        assert turn.env[LIST] == ",".join(pairs)
        server = server_of(turn)
        assert server is not None, turn.children
        assert server.env[LIST] == ",".join(pairs)
        requests = [request for request in (await gateway.model.requests())[asked:] if not request.helper]
        assert requests != []
        for request in requests:
            assert sorted(_decoded(name) for name in request.tools or ()) == pairs


def _decoded(offered: str) -> str:
    """The pair behind a tool's name as the model has it: `mcp`, the server's name and the tool's. No coded name begins
    with `_`."""
    server, found, name = offered.partition("humanwork")
    assert (server.strip("_"), found) == ("mcp", "humanwork"), offered
    return tool_names.decode(name.lstrip("_"))
