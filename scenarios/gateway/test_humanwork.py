"""Which tools does the agent's MCP server offer? Those of the turn, and no other. Source: contract gateway, GW-15."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario
from lasttick.model import tool_names
from lasttick_fakes.model import Call

from .steps_lists import NAMES
from .steps_turns import LIST

SECRET = {"AGENT_SERVICE_SECRET": "agent-secret-0123456789"}
ORDER, REFUND = "order_lookup:lookup", "shop:refund"
PORTABLE = re.compile(r"[A-Za-z0-9_]+")
ODD = ["órder.look-up:get item".replace(" ", "/"), "a__b:_c_", "Z2dZ:Z", "工具:查询"]


@scenario("GW-15", rung="memory")
@given(pairs=st.lists(st.tuples(NAMES, NAMES).map(":".join), min_size=1, max_size=6, unique=True))
@settings(max_examples=6)
@example(pairs=[ORDER])
@example(pairs=ODD)
async def test_it_offers_exactly_the_configured_tools(world: World, pairs: list[str]) -> None:
    """Any list, in its own order and under any names: each tool once, under a name that is portable as an MCP name,
    that the agent's folding does not change, and that leads back to the pair."""
    rung = world.tool_server()
    async with rung.served({**SECRET, LIST: ",".join(pairs)}) as server:
        names = await server.names()
    assert [tool_names.decode(name) for name in names] == pairs
    for name in names:
        assert PORTABLE.fullmatch(name), name
    assert rung.gateway.got == []


@scenario("GW-15", rung="memory")
@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("listed", [None, "", "${HUMANWORK_MCP_TOOLS}", "${env:HUMANWORK_MCP_TOOLS}"])
async def test_without_a_list_it_offers_nothing(world: World, listed: str | None, era: str) -> None:
    """The list is absent, empty, or the text of a placeholder that nobody filled in, as the agent hands on a variable
    that is not set: no tool, and a tool of other turns is none of this one."""
    rung = world.tool_server()
    environ = SECRET if listed is None else {**SECRET, LIST: listed}
    async with rung.served(environ, era=era) as server:
        assert await server.names() == []
        is_error, text = await server.call(tool_names.encode(ORDER))
    assert is_error
    assert text.startswith("TOOL_NOT_CONFIGURED")
    assert rung.gateway.got == []


@scenario("GW-15", rung="memory")
@pytest.mark.parametrize("name", ["shop__refund", ORDER, "order_lookup_lookup", "mcp__humanwork__order_lookup__lookup"])
async def test_a_name_it_does_not_offer_is_not_called(world: World, name: str) -> None:
    """A tool of the registry that is not of this turn, and the offered one in other spellings: a tool error, nothing
    is asked of the gateway, and the offered name is called all the same."""
    rung = world.tool_server()
    async with rung.served({**SECRET, LIST: ORDER}) as server:
        is_error, text = await server.call(name)
        assert is_error
        assert text.startswith("TOOL_NOT_CONFIGURED")
        assert rung.gateway.got == []
        assert await server.call("order_lookup__lookup") == (False, "{}")
    (got,) = rung.gateway.got
    assert b'"toolName":"order_lookup","action":"lookup"' in got.body


@scenario("GW-15", rung="memory")
async def test_two_tools_the_agent_could_not_tell_apart_are_refused(world: World) -> None:
    """`a-b:c` and `a_b:c` are one name once the agent has folded them: the server does not start, and says which two.
    Either of them alone is served."""
    rung = world.tool_server()
    said = await rung.start_error({**SECRET, LIST: "a-b:c,d:e,a_b:c"})
    assert said is not None, "a call of the one tool could reach the other"
    assert "'a-b:c' and 'a_b:c'" in said
    for pair in ("a-b:c", "a_b:c"):
        assert await rung.start_error({**SECRET, LIST: f"{pair},d:e"}) is None


@scenario("GW-15")
async def test_the_model_is_offered_the_tools_of_its_turn(world: World) -> None:
    """A whole turn with a tool whose name is no portable MCP name: the model sees the one tool of the turn's list, and
    not the rest of the registry; what it calls under that name is the action the third party sees."""
    gateway = await world.gateway(flag=True)
    actions = [{"name": "look-up", "accessClass": "read"}, {"name": "cancel", "accessClass": "write"}]
    await gateway.registry({"order.desk": {"kind": "http", "actions": actions}})
    offered = tool_names.encode("order.desk:look-up")
    await gateway.model.script("my order", Call.one(offered, order_id="A-1"), "I found {result}")
    await gateway.org("org-a", bindings=["order.desk"], skills={"orders": ["order.desk"]})

    answer = await gateway.chat("org-a", "Where is my order?", skill="orders")

    for asked in await gateway.model.requests():
        assert asked.tools is not None
        assert [name.endswith(offered) for name in asked.tools] == [True], asked.tools
    (row,) = await gateway.ledger("org-a")
    assert (row["run_id"], row["door"]) == (answer.run_id, "internal")
    assert [seen.path for seen in await gateway.third_party.log()] == ["/order.desk/look-up"]
