"""Does a host agent stay as it is for a month? 1,000 sessions, 5,000 phones, 30 virtual days; and a day over HTTP.

Keepalive pings and streams are off, answers are JSON, and once all sessions are open the collector is told to leave
alone what lives. Heartbeats come once a day, since each names all 5,000 phones.
"""

from __future__ import annotations

from lasttick import World, scenario

from ..hostagent.soak_audit import soak
from ..hostagent.soak_story import DAY, HOUR, MINUTE, Plan

DAYS = 30
SESSIONS, DEVICES = 1_000, 5_000
CALLS_MIN, SESSION_CHANGES_MIN = 60_000, 3_000

MONTH = Plan(
    sessions=SESSIONS,
    devices=DEVICES,
    hot=24,
    rushes=tuple(day * DAY + hour * HOUR for day in range(DAYS) for hour in (9, 15)),
    rush_s=HOUR,
    bursts=17,
    calls=6,
    leaves=0.1,
    tasks=8,
    troubles=8,
    ends=((3 * DAY + 9.5 * HOUR, "kill"), (12 * DAY + 15.4 * HOUR, "stop"), (21 * DAY + 9.3 * HOUR, "kill")),
    outages=tuple((day * DAY + 16.2 * HOUR, 90.0 if day % 2 else 0.0) for day in range(DAYS)),
    clock_steps=tuple((day * DAY + 9.2 * HOUR, (-1) ** day * 3_601.0 * day) for day in range(1, DAYS)),
    quiet_s=tuple(day * DAY for day in range(5, DAYS + 1, 5)),
    options={"heartbeat_s": DAY, "freeze": True},
)
DAY_OVER_HTTP = Plan(
    sessions=60,
    devices=40,
    hot=12,
    rushes=tuple(hour * HOUR for hour in range(1, 23, 3)),
    rush_s=HOUR,
    bursts=16,
    calls=6,
    leaves=0.25,
    tasks=12,
    troubles=8,
    ends=((4.5 * HOUR, "kill"), (10.4 * HOUR, "stop"), (19.3 * HOUR, "kill")),
    outages=((7.2 * HOUR, 90.0), (13.4 * HOUR, 0.0)),
    clock_steps=((1.5 * HOUR, -7_200.0), (4.2 * HOUR, 3_601.0), (16.4 * HOUR, 86_400.0)),
    quiet_s=(9 * HOUR, 15 * HOUR, 18 * HOUR, DAY),
    options={"heartbeat_s": 5 * MINUTE, "rung": "http", "session_idle_s": 30 * MINUTE, "freeze": True},
)


@scenario("HA-18", needs=("scale",), rung="memory")
async def test_a_month(world: World) -> None:
    """1,000 sessions use 5,000 phones for 30 days, over byte pipes to the whole host agent.

    60,000 calls and 3,000 changes of session, with phones that are slow, hang, crash and are unplugged, the cloud going
    down, the wall clock being set, the host agent killed twice and stopped once. Every answer, every heartbeat and
    every line of the devices' log is the plain model's; every five days nothing is left, and memory is flat within 5 %.
    """
    story = await soak(world, MONTH)
    counts = story.judge.counts
    assert counts["calls"] >= CALLS_MIN, f"only {counts['calls']} calls"
    assert story.closed >= SESSION_CHANGES_MIN, f"only {story.closed} sessions ended"
    assert min(counts.values()) > 0, f"too little happened to prove anything: {counts}"


@scenario("HA-18", needs=("scale",))
async def test_a_day_over_http(world: World) -> None:
    """60 sessions use 40 phones for a day over HTTP, with everything that can go wrong: nothing is left, or grows."""
    story = await soak(world, DAY_OVER_HTTP)
    assert min(story.judge.counts.values()) > 0, f"too little happened to prove anything: {story.judge.counts}"
