"""Two hours with everything that can go wrong: the small form of the long soak (`scenarios/soak`)."""

from __future__ import annotations

from lasttick import World, scenario

from .soak_story import Plan, Story

MINUTE = 60.0
SMALL = Plan(
    sessions=20,
    devices=50,
    hot=6,
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
    options={"heartbeat_s": 300.0},
)


@scenario("HA-18", needs=("scale",), rung="memory")
async def test_two_hours_with_everything_that_can_go_wrong(world: World) -> None:
    """20 sessions, 50 phones"""
    story = Story(world, SMALL)
    await story.begin()
    for quiet_s in SMALL.quiet_s:
        await world.until(quiet_s)
        print(world.now_s, story.soak.census(), story.soak.weigh(), story.opened, story.closed)
        print(story.judge.problems[:5])
    print(story.judge.counts)
    await story.soak.close()
