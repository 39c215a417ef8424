"""A cloud assignment that arrives while an MCP session holds the device, before a heartbeat could say so."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick import World, scenario

from .steps import HELD_BY_MCP, heard, listening, over, seen_busy, workflow

WORK: dict[str, dict[str, Any]] = {
    "goal": {"goal": "tap Messages"},
    "workflow": {"workflow": workflow(90, 300)},
}


@scenario("HA-09")
@pytest.mark.parametrize("kind", list(WORK))
async def test_in_the_blind_window_it_fails_at_once(world: World, kind: str) -> None:
    """An agent takes a phone just after a heartbeat; the cloud, which cannot know, hands out work for it.
    The assignment fails at once with its reason, the attempt is spent and reported, and nobody touches the phone."""
    heartbeat_s = world.ttl_s * 4  # the window is as wide as the distance of two heartbeats
    cloud = await world.cloud(heartbeat_s=heartbeat_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=heartbeat_s)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    await world.settle()  # the host's long poll is open
    assert (await alice.tap("phone-1")).ok
    assert await seen_busy(world, cloud) == [], "the cloud must not know of the lease yet"
    asked_s = world.now_s

    with listening(world) as log:
        task = await over(world, cloud, await cloud.submit(**WORK[kind], device_id="phone-1", attempts=1))

    assert (task["state"], task["failure_reason"]) == ("failed", HELD_BY_MCP)
    assert task["attempts_left"] == 0
    (spent,) = task["assignments"]
    assert (spent["state"], spent["failure_reason"]) == ("failed", HELD_BY_MCP)
    assert phone.callers == ["alice"], f"the assignment must not touch the phone, its log shows {phone.callers}"
    assert await host.busy() == ["phone-1"]
    if world.mode == "virtual":
        assert world.now_s == asked_s, "failing fast takes no time"
        assert spent["ended_ns"] == spent["delivered_ns"]
        assert log.levels(HELD_BY_MCP) == ["INFO"], "row 6: one line, at INFO"


@scenario("HA-09")
async def test_every_attempt_is_spent_and_then_the_phone_is_free_again(world: World) -> None:
    """A task with two attempts meets a held phone; later, when the agent has left, the same work is asked for again.
    Each attempt fails with the reason and costs one; the later task runs, for a refusal leaves nothing behind."""
    heartbeat_s = world.ttl_s * 4
    cloud = await world.cloud(heartbeat_s=heartbeat_s)
    host = await world.hostagent(devices=["phone-1"], heartbeat_s=heartbeat_s)
    phone = world.device("phone-1")
    alice = await host.client("alice")
    await heard(world, cloud)
    assert (await alice.tap("phone-1")).ok

    task = await cloud.finished(await cloud.submit(workflow=workflow(90, 301), device_id="phone-1", attempts=2))
    assert [tried["failure_reason"] for tried in task["assignments"]] == [HELD_BY_MCP, HELD_BY_MCP]
    assert [tried["attempt"] for tried in task["assignments"]] == [1, 2]
    assert (task["state"], task["attempts_left"]) == ("failed", 0)
    assert phone.callers == ["alice"]

    await alice.end()
    goal = "open messages then tap Message then type hello"
    again = await cloud.finished(await cloud.submit(goal=goal, device_id="phone-1"))
    assert again["state"] == "succeeded", again["failure_reason"]
    assert phone.callers[-1] == f"cloud:{again['assignments'][0]['assignment_id']}"
