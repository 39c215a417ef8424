"""Does a host agent stay as it is for a month? 1,000 sessions, 5,000 phones, 30 virtual days (HA-18)."""

from __future__ import annotations

from lasttick import World, scenario

from ..hostagent.soak_audit import Audit
from ..hostagent.soak_story import DAY, HOUR, Plan, Story

DAYS = 30
SESSIONS = 1_000
DEVICES = 5_000
CALLS_MIN, SESSION_CHANGES_MIN = 60_000, 3_000

MONTH = Plan(
    sessions=SESSIONS,
    devices=DEVICES,
    hot=24,
    rushes=tuple(day * DAY + hour * HOUR for day in range(DAYS) for hour in (9, 15)),
    rush_s=HOUR,
    bursts=17,
    calls=6,
    leaves=0.25,
    tasks=8,
    troubles=8,
    ends=((3 * DAY + 9.5 * HOUR, "kill"), (12 * DAY + 15.4 * HOUR, "stop"), (21 * DAY + 9.3 * HOUR, "kill")),
    outages=tuple((day * DAY + 16.2 * HOUR, 90.0 if day % 2 else 0.0) for day in range(1, DAYS, 3)),
    clock_steps=tuple((day * DAY + 9.2 * HOUR, (-1) ** day * 3_601.0 * day) for day in range(1, DAYS)),
    quiet_s=tuple(day * DAY for day in range(5, DAYS + 1, 5)),
    options={"heartbeat_s": 6 * HOUR, "freeze": True},
)


@scenario("HA-18", needs=("scale",), rung="memory")
async def test_a_month(world: World) -> None:
    """1,000 sessions on 5,000 phones"""
    story = Story(world, MONTH)
    audit = Audit(story)
    await story.begin()
    for quiet_s in MONTH.quiet_s:
        await world.until(quiet_s)
        await audit.look(sessions=SESSIONS)
        print(audit.lines[-1], story.judge.counts, story.opened, story.closed, flush=True)
        print(story.judge.problems[:5], audit.problems, flush=True)
    await story.soak.close()
