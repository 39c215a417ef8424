"""An hour or two with everything that can go wrong: the small form of the long soak (`scenarios/soak`)."""

from __future__ import annotations

from dataclasses import replace

from lasttick import World, scenario

from .soak_audit import soak
from .soak_story import MINUTE, Plan

SMALL = Plan(
    sessions=20,
    devices=50,
    hot=5,
    rushes=(5 * MINUTE, 35 * MINUTE, 65 * MINUTE, 95 * MINUTE),
    rush_s=10 * MINUTE,
    bursts=4,
    calls=5,
    leaves=0.3,
    tasks=4,
    troubles=4,
    ends=((40 * MINUTE, "kill"), (70 * MINUTE, "stop")),
    outages=((8 * MINUTE, 90.0), (98 * MINUTE, 0.0)),
    clock_steps=((7 * MINUTE, 3_600.0), (9 * MINUTE, -7_200.0), (38 * MINUTE, 601.0)),
    quiet_s=(30 * MINUTE, 60 * MINUTE, 90 * MINUTE, 120 * MINUTE),
    options={"heartbeat_s": 5 * MINUTE},
)
OVER_HTTP = replace(
    SMALL,
    sessions=8,
    devices=10,
    hot=3,
    rushes=SMALL.rushes[:2],
    bursts=3,
    ends=((40 * MINUTE, "kill"),),
    quiet_s=(30 * MINUTE, 60 * MINUTE),
    options={"heartbeat_s": 10 * MINUTE, "rung": "http", "session_idle_s": 8 * MINUTE},
)


@scenario("HA-18", needs=("scale",), rung="memory")
async def test_two_hours_with_everything_that_can_go_wrong(world: World) -> None:
    """20 sessions use 50 phones for two hours, over byte pipes to the whole host agent.

    Phones are slow, hang, crash and are unplugged; sessions are closed, cut off and expire; the cloud goes down and
    restarts, the wall clock is set, the machine sleeps, the host agent is killed once and stopped once. Every answer,
    every heartbeat and every line of the devices' log is the plain model's, and each half hour nothing is left.
    """
    story = await soak(world, SMALL)
    assert min(story.judge.counts[name] for name in ("served", "refused", "failed", "handed over")) > 0


@scenario("HA-18", needs=("scale",))
async def test_an_hour_over_http(world: World) -> None:
    """The same for an hour over HTTP: 8 sessions, 10 phones in a rack of their own, one kill.

    Sessions that sleep longer than the idle limit are gone when their agent wakes, and only those.
    """
    story = await soak(world, OVER_HTTP)
    assert min(story.judge.counts[name] for name in ("served", "refused", "lost", "handed over")) > 0
