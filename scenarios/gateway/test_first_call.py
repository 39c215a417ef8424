"""The path of one tool call, from a message of a person to the data of a third party and back: all of it."""

from __future__ import annotations

import pytest

from lasttick import World, scenario
from lasttick_fakes.model import Call

PLACES = ["agent", "hermes", "model", "platform", "third-party"]
"""In the order in which a run comes to them; the platform is seen where the call comes back to it."""
CALL = ["child.start", "gateway.call", "third.request", "gateway.answer"]


@scenario("GW-17")
@pytest.mark.parametrize("version", ["0.17.0", "0.19.0"])
async def test_a_message_brings_an_answer_from_the_third_party(world: World, version: str) -> None:
    """A person asks for an order. Nothing is prepared but bindings, a skill, the flag and the third party's data, which
    holds a nonce of this run. The answer carries the nonce, the third party saw the call once and no other, the model
    was offered this one tool, and platform, agent, agent program, its MCP server and both ends are processes of their
    own where there are processes. The history shows the one call at each of them, under the id of the run."""
    nonce = f"nonce-{world.random('nonce').getrandbits(64):016x}"
    gateway = await world.gateway(hermes_version=version)
    await gateway.third_party.put_order("A-1", status=nonce)
    await gateway.model.script("my order", Call.one("order_lookup__lookup", order_id="A-1"), "I found {result}")
    await gateway.org(
        "org-a",
        bindings=["order_lookup"],
        skills={"orders": ["order_lookup"]},
        flags={"tool_dispatch_enabled": True},
    )

    answer = await gateway.chat("org-a", "Where is my order A-1?", skill="orders")

    assert nonce in answer.text
    third_party = await gateway.third_party.log()
    assert len(third_party) == 1, f"the third party saw {len(third_party)} requests for one call"
    (seen,) = third_party
    assert (seen.path, seen.status, seen.header("x-correlation-id")) == ("/order_lookup/lookup", 200, answer.run_id)
    (row,) = await gateway.ledger("org-a")
    assert (row["run_id"], row["door"], row["status"]) == (answer.run_id, "internal", 200)
    for asked in await gateway.model.requests():
        assert asked.tools is not None
        assert [name.endswith("order_lookup__lookup") for name in asked.tools] == [True], asked.tools
    run = await gateway.run(str(answer.run_id))
    assert run["metadata"]["runtimeManifest"] == {"allowedTools": ["order_lookup:lookup"]}
    assert run["state"] == "finished"
    (turn,) = await gateway.hermes_turns()
    assert turn.run_id == answer.run_id
    crossed = [event for event in world.history() if event.ref == answer.run_id]
    kinds = [event.kind for event in crossed]
    assert list(dict.fromkeys(event.actor for event in crossed)) == PLACES
    assert [kind for kind in kinds if kind in CALL] == CALL, "the one call, there and back"
    assert kinds[-1] == "hermes.end"
    if world.mode == "process":
        pids = [*gateway.pids.values(), turn.program.pid, *(child.pid for child in turn.children)]
        assert len(dict.fromkeys(pids)) >= 6, pids
