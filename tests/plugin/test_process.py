"""The same scenarios in process mode: real children, only the written examples, and what virtual mode alone has."""

from __future__ import annotations

import re
from typing import Any

STORY = """
@scenario("HA-04")
async def test_story(world: World) -> None:
    host = await world.hostagent()
    alice, bob = await host.client("alice"), await host.client("bob")
    assert (await alice.tap("phone-1")).ok
    assert (await bob.tap("phone-1")).reason == "device_busy"
    await world.until(world.device("phone-1").last_end_s + host.ttl_s)
    assert (await bob.tap("phone-1")).ok
    assert world.device("phone-1").callers == ["alice", "bob"]

@scenario("HA-06", sees=["what no example shows"])
@given(n=st.integers(0, 1000))
@example(n=7)
@example(n=8)
async def test_property(world: World, n: int) -> None:
    world.trace.emit("harness", "trouble", None, n=n)

@scenario("HA-06", needs=["wall-clock"])
async def test_wall(world: World) -> None:
    world.trouble.step(10)

@scenario("HA-06", rung="memory")
async def test_memory(world: World) -> None:
    world.lease_store()

@scenario("HA-06")
async def test_asks_too_much(world: World) -> None:
    world.lease_store()
"""


def test_process_mode(project: Any) -> None:
    """Slow: three seconds, for a rack and a host agent."""
    project.write(STORY)
    ran = project.run_apart("--lasttick-mode", "process")
    assert ran.words == {
        "story": "pass",
        "property": "pass",
        "wall": "not_applicable",
        "memory": "not_applicable",
        "asks-too-much": "inconclusive",
    }, ran.out
    entries = ran.scenarios
    assert ran.verdicts["mode"] == "process"
    assert [event["data"]["n"] for event in ran.events("property") if event["kind"] == "trouble"] == [7, 8]
    assert entries["property"]["examples"] == {"run": 2, "failed": 0}
    assert entries["wall"]["reason"] == "needs wall-clock; process mode has none"
    assert entries["memory"]["reason"] == "runs on the memory rung; process mode has only processes"
    told = ran.events("story")
    assert [event["data"]["caller"] for event in told if event["kind"] == "driver.start"] == ["alice", "bob"]
    assert sorted(event["t_ns"] for event in told) == [event["t_ns"] for event in told]
    assert re.search(r"replay: lasttick replay \d{8}T\d{6}Z-\w+ own/story/asks-too-much", ran.out)
