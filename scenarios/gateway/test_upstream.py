"""Who is slow, down or broken at the far end of a call? Its caller gets a code, in bounded time, and nobody goes down.

Two ends: the third party behind the platform, and the platform behind the `humanwork` server. Source: contract gateway,
"Answers to bad requests"; GW-18.
"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario
from lasttick_fakes.model import Call
from lasttick_fakes.thirdparty.trouble import SHAPES

from .steps_calls import A_1, LOOKUP, ORG, SHOP, open_shop, watched
from .steps_turns import LIST

UPSTREAM_S = 2.0
"""How long the platform waits for a third party here; 20 s unless told otherwise."""
TOOL_ERROR_S = 30.0
"""Within this the MCP server answers, however the gateway is (contract gateway)."""
ASK = Call.one("order_lookup__lookup", order_id="A-1")

TROUBLES: dict[str, tuple[list[dict[str, Any]], int, str]] = {
    "down": ([{}], 502, "UPSTREAM_UNREACHABLE"),
    "5xx": ([{"status": 500}, {"status": 503}, {"status": 599}], 502, "UPSTREAM_ERROR"),
    "garbage": ([{"shape": shape} for shape in SHAPES], 502, "UPSTREAM_GARBAGE"),
}


@scenario("GW-18", "GW-09")
@pytest.mark.parametrize("kind", list(TROUBLES))
async def test_a_broken_third_party_is_a_code(world: World, kind: str) -> None:
    """Down, every kind of 5xx, every shape of garbage: 502 with a code of its own, one closed row that says the same,
    nothing of the third party's words, and the next call is served."""
    gateway = await open_shop(world)
    run = await gateway.open_run(ORG, skill="all")
    variants, status, code = TROUBLES[kind]
    for variant in variants:
        await gateway.third_party.trouble(kind, count=1, **variant)
        call = await watched(gateway, run.call(LOOKUP, A_1))
        assert (call.reply.http_status, call.reply.code) == (status, code), (variant, call.reply.body)
        assert [(row["status"], row["outcome"]) for row in call.rows] == [(status, code)]
        assert all(row["closed_at"] is not None for row in call.rows)
        assert len(call.seen) == 1
        assert set(call.reply.body) == {"code", "message"}
        assert "html" not in call.reply.body["message"], call.reply.body
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    await run.end()


@scenario("GW-18")
@pytest.mark.parametrize("late_ticks", [-1, 0, 1, 1_000])
async def test_a_slow_third_party_is_waited_for_until_its_bound(world: World, late_ticks: int) -> None:
    """Answers that come a tick before the bound are results, those that come at or after it are 504 at the bound: a
    third party that takes for ever costs its caller no more. The next call is served."""
    gateway = await open_shop(world, upstream_s=UPSTREAM_S)
    run = await gateway.open_run(ORG, skill="all")
    await gateway.third_party.trouble("slow", count=1, s=UPSTREAM_S + late_ticks * world.tick_s)
    began_s = world.now_s
    call = await watched(gateway, run.call(LOOKUP, A_1))
    took_s = world.now_s - began_s
    if late_ticks > 0:
        assert (call.reply.http_status, call.reply.code) == (504, "UPSTREAM_TIMEOUT"), call.reply.body
        assert [(row["status"], row["outcome"]) for row in call.rows] == [(504, "UPSTREAM_TIMEOUT")]
    elif late_ticks < 0:
        call.done()
    else:
        # At the bound itself either may be; only one of them, and written down as what it was.
        assert [row["status"] for row in call.rows] == [call.reply.http_status]
    assert took_s <= UPSTREAM_S + 2 * world.tick_s, f"the caller waited {took_s} s"
    (await watched(gateway, run.call(LOOKUP, A_1))).done()
    await run.end()


@scenario("GW-18")
@pytest.mark.parametrize("kind", ["slow", "down", "5xx", "garbage"])
async def test_the_agent_is_told_of_a_broken_third_party(world: World, kind: str) -> None:
    """In one turn the model asks twice. The third party fails once, so the first answer is a tool error with the
    gateway's code and the second, of the same MCP server, the order."""
    gateway = await _with_agent(world)
    await gateway.third_party.trouble(kind, count=1, **({"s": 3600.0} if kind == "slow" else {}))
    answer = await gateway.chat(ORG, "Where is my order?", skill="all")
    code = "UPSTREAM_TIMEOUT" if kind == "slow" else TROUBLES[kind][2]
    assert code in answer.text
    assert "shipped" in answer.text
    assert [row["outcome"] for row in await gateway.ledger(ORG)] == [code, "OK"]
    await _one_server(gateway)


@scenario("GW-18")
@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("down", {}, "GATEWAY_UNREACHABLE"),
        ("5xx", {"status": 503}, "GATEWAY_ERROR"),
        ("garbage", {"shape": "bytes"}, "GATEWAY_GARBAGE"),
        ("garbage", {"shape": "deep"}, "GATEWAY_GARBAGE"),
    ],
)
async def test_the_agent_is_told_of_a_broken_gateway(
    world: World, kind: str, options: dict[str, Any], code: str
) -> None:
    """The same with the platform in trouble: a tool error, and the same server serves the next call."""
    gateway = await _with_agent(world)
    await gateway.trouble(kind, count=1, **options)
    answer = await gateway.chat(ORG, "Where is my order?", skill="all")
    assert code in answer.text
    assert "shipped" in answer.text
    assert [row["outcome"] for row in await gateway.ledger(ORG)] == ["OK"]
    await _one_server(gateway)


@scenario("GW-18", needs=["scale"])
async def test_a_gateway_that_never_answers_is_a_tool_error_in_bounded_time(world: World) -> None:
    """The platform takes an hour: the model has its tool error within 30 s, asks again, and gets the order."""
    gateway = await _with_agent(world)
    await gateway.trouble("slow", count=1, s=3600.0)
    answer = await gateway.chat(ORG, "Where is my order?", skill="all")
    assert "GATEWAY_TIMEOUT" in answer.text
    assert "shipped" in answer.text
    asked = [event.t_ns for event in world.trace.events if event.kind == "model.request"]
    assert len(asked) == 3
    waited_s = (asked[1] - asked[0]) / 1e9
    assert waited_s <= TOOL_ERROR_S, f"the model had its tool error after {waited_s} s"
    await _one_server(gateway)


@scenario("GW-18", rung="memory")
@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "-Infinity"])
async def test_a_number_that_no_float_holds_is_no_result(world: World, number: str) -> None:
    """The gateway's answer holds such a number, which JSON could not say again: a tool error, nothing of it for the
    model, and the same server hands on the next result. So with the model's own arguments, which nobody is sent."""
    rung = world.tool_server()
    async with rung.served({"AGENT_SERVICE_SECRET": "agent-secret-0123456789", LIST: LOOKUP}) as server:
        rung.gateway.body = b'{"ok": true, "result": {"total": %b}}' % number.encode()
        is_error, text = await server.call("order_lookup__lookup")
        assert is_error, text
        assert text.startswith("GATEWAY_GARBAGE"), text
        is_error, text = await server.call("order_lookup__lookup", {"total": float(number)})
        assert is_error, text
        assert text.startswith("BAD_ARGUMENTS"), text
        assert len(rung.gateway.got) == 1
        rung.gateway.body = b'{"ok": true, "result": {"total": 1e308}}'
        assert await server.call("order_lookup__lookup") == (False, '{"total":1e+308}')


async def _with_agent(world: World) -> Any:
    """A gateway with the whole agent half, whose model asks for the order twice and says what came of both."""
    gateway = await world.gateway(flag=True, upstream_s=UPSTREAM_S)
    await gateway.third_party.put_order("A-1", status="shipped")
    await gateway.model.script("my order", ASK, ASK, "{results}")
    await gateway.org(ORG, **SHOP)
    return gateway


async def _one_server(gateway: Any) -> None:
    (turn,) = await gateway.hermes_turns()
    assert (len(turn.children), turn.status) == (1, 0)
