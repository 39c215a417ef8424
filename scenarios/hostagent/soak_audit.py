"""Is anything lost or left at a quiet instant of a soak, and has anything grown since the first one?

At a quiet instant nobody calls and every lease has run out: what is then left of calls, leases, turns, tasks, timers
and files is a leak, and there are as many sessions as agents.
"""

from __future__ import annotations

from typing import Any

from lasttick import World

from .soak_story import Plan, Story

NOTHING = (
    "sessions of the SDK",
    "leases",
    "idle leases",
    "holders",
    "lines",
    "turns",
    "calls",
    "driver calls",
    "watchers",
    "quarantines",
    "request ids",
    "requests",
    "device actions",
    "open assignments",
)
"""What there is none of when nobody calls. (The SDK's manager has sessions over HTTP only, and theirs have expired.)"""
STEADY = ("tasks", "timers", "files", "objects of the host agent")
"""What there is as much of as the first time."""
BOUNDED = {"tombstones": 2_000, "tasks on the console": 60}
"""What is remembered on purpose, up to a limit."""
FLAT = 0.05
"""By how much memory may grow, once it is warm."""
WARM = 1
"""From the second quiet instant on: by the first, few sessions of the start have been replaced by others."""


class Audit:
    """Looks at a story at each quiet instant; `problems` is what it found, `lines` its figures for people."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._first: dict[str, int] = {}
        self._weights: list[Any] = []
        self.problems: list[str] = []
        self.lines: list[str] = []

    async def look(self) -> None:
        story, soak = self._story, self._story.soak
        shown, expected = await soak.snapshot(), story.judge.fleet.snapshot(story.now_ns)
        if shown != expected:
            self._wrong(f"the store shows {shown}, the model {expected}")
        story.judge.forget(story.now_ns)
        weight, census = soak.weigh(), soak.census()
        for name in NOTHING:
            if census[name]:
                self._wrong(f"{census[name]} {name} are left though nobody calls")
        # Over HTTP all agents sleep longer than the idle limit.
        sessions = story.plan.sessions if story.idle_ns is None else 0
        if census["sessions listed"] != sessions:
            self._wrong(f"{census['sessions listed']} sessions are listed; {sessions} are open")
        for name, most in BOUNDED.items():
            if census[name] > most:
                self._wrong(f"{census[name]} {name}; expected at most {most}")
        self._first = self._first or census
        for name in STEADY:
            if census[name] > self._first[name]:
                self._wrong(f"{census[name]} {name}; there were {self._first[name]} at first")
        self._weigh(weight)

    def _weigh(self, weight: Any) -> None:
        self._weights.append(weight)
        warm = self._weights[min(WARM, len(self._weights) - 1)]
        for name, before, now in (
            ("blocks of memory", warm.blocks, weight.blocks),
            ("bytes of resident memory", warm.rss_bytes, weight.rss_bytes),
        ):
            if now > before * (1 + FLAT):
                self._wrong(f"{now} {name}, {now / before - 1:.1%} more than the {before} when it was warm")
        self.lines.append(
            f"t={self._story.world.now_s:>9.0f} s: {weight.blocks} blocks, {weight.objects} objects, "
            f"{weight.rss_bytes / 2**20:.0f} MiB resident, {weight.cpu_s:.0f} s of processor time"
        )

    def _wrong(self, what: str) -> None:
        self.problems.append(f"t={self._story.world.now_s:.0f}: {what}")


async def soak(world: World, plan: Plan) -> Story:
    """Play a whole plan and hold it to what it must show. Raises AssertionError with the first of what was wrong."""
    story = Story(world, plan)
    audit = Audit(story)
    await story.begin()
    for quiet_s in plan.quiet_s:
        await world.until(quiet_s)
        await audit.look()
        problems = story.judge.problems + audit.problems
        assert not problems, f"{len(problems)} problems by t={quiet_s:.0f} s, the first: " + "\n".join(
            problems[:5] + audit.lines
        )
    figures = {**story.judge.counts, "sessions opened": story.opened, "sessions ended": story.closed}
    world.trace.emit("harness", "said.soak", None, **figures)
    print(", ".join(f"{name} {count}" for name, count in figures.items()), *audit.lines, sep="\n")
    await story.soak.close()
    return story
