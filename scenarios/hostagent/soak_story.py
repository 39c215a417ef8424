"""What happens in a soak: agents that come in rushes, leave in every way there is, and trouble with everything.

Each session belongs to an agent that wakes a few times a day and taps the phones it has, or one of the few that
everybody wants; now and then two taps at once, or one at the very instant a lease runs out. Meanwhile phones are slow,
hang, crash and are unplugged, the cloud hands out tasks and restarts, the wall clock is set and the machine sleeps, and
the host agent is killed or stopped, and starts again.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from lasttick import World
from lasttick.model.lease import Holder
from lasttick_fakes.devices import Trouble

from .soak_judge import Judge, Seat, cloud_point

TTL_S = 60.0
DOWN_S = 5.0
"""How long a host agent that was killed or stopped stays away; what its devices do then takes twice as long."""
SLOW_S, HANG_S = 90.0, 120.0
"""Together well within `max_call_s`, also for a call that waits for its own session's earlier one."""


MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything, in seconds of the story. `rushes`: when they begin; `quiet_s`: when all is counted."""

    sessions: int
    devices: int
    hot: int
    rushes: tuple[float, ...]
    rush_s: float
    bursts: int
    """Times that each agent wakes."""
    calls: int
    """At most so many calls each time it wakes."""
    leaves: float
    """How likely a session ends after its agent has slept again."""
    tasks: int
    troubles: int
    """By rush."""
    ends: tuple[tuple[float, str], ...]
    """When the host agent is killed or stopped."""
    outages: tuple[tuple[float, float], ...]
    """When the cloud goes down, and for how long."""
    clock_steps: tuple[tuple[float, float], ...]
    """When the wall clock is set or the machine sleeps, and by how much."""
    quiet_s: tuple[float, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        return self.quiet_s[-1]

    @property
    def device_ids(self) -> list[str]:
        return [f"phone-{number:04}" for number in range(self.devices)]


class Story:
    """One run of a plan. `at_quiet` is called at each quiet instant; `judge` has heard everything."""

    def __init__(self, world: World, plan: Plan) -> None:
        self.world = world
        self.plan = plan
        self.judge = Judge(round(TTL_S * 1e9))
        self.opened = self.closed = 0
        self.devices = plan.device_ids
        options = {"devices": self.devices, "duration_s": plan.duration_s, "ttl_s": TTL_S, **plan.options}
        self.soak = world.soak(options, self.judge.device_wrote, self._cloud_told)
        self.idle_ns: int | None = None
        if plan.options.get("rung") == "http":
            self.idle_ns = round(self.soak.options.session_idle_s * 1e9)
        self._up = asyncio.Event()
        self._numbers = 0
        self._marks = 0
        self.agents = [Agent(self, number) for number in range(plan.sessions)]

    @property
    def now_ns(self) -> int:
        return round(self.world.now_s * 1e9)

    async def begin(self) -> None:
        """The host agent, and a session for everybody."""
        await self._start_host()
        self.soak.weigh()
        for work in (self._tasks(), self._troubles(), self._host_ends(), self._cloud_outages(), self._clock_steps()):
            self.world.start(work)
        for agent in self.agents:
            self.world.start(agent.live())

    async def up(self) -> None:
        await self._up.wait()

    def new_seat(self, session_id: str) -> Seat:
        self._numbers += 1
        seat = Seat(self._numbers, Holder("mcp", session_id), self.judge.life, last_ns=self.now_ns)
        self.judge.seats[seat.point] = seat
        self.opened += 1
        return seat

    def is_ill(self, device_id: str) -> bool:
        return bool(self.soak.rack.device(device_id).as_json()["health"] != "ok")

    def _cloud_told(self, kind: str, data: dict[str, Any]) -> None:
        self.judge.now_ns = self.now_ns
        self.judge.cloud_told(kind, data)

    async def _at(self, t_s: float) -> None:
        await self.world.until(max(t_s, self.world.now_s))

    # -- what goes wrong

    async def _start_host(self) -> None:
        await self.soak.start()
        for agent in self.agents:
            await agent.open()
        self._up.set()

    async def _host_ends(self) -> None:
        for t_s, how in self.plan.ends:
            await self._at(t_s)
            self._up.clear()
            self.judge.host_gone()
            self.closed += len(self.agents)
            acting = [self.soak.rack.device(device_id) for device_id in self.judge.left_over]
            for device in acting:
                device.trouble(Trouble("hang"))
            await (self.soak.kill() if how == "kill" else self.soak.stop())
            self.soak.weigh()  # what is left of its sessions goes before others come
            await self._at(self.world.now_s + DOWN_S)
            await self._start_host()
            await self._at(self.world.now_s + DOWN_S)
            for device in acting:
                device.trouble(Trouble("heal"))

    async def _cloud_outages(self) -> None:
        for t_s, for_s in self.plan.outages:
            await self._at(t_s)
            if for_s:
                self.soak.cloud.stop()
                await self._at(t_s + for_s)
                self.soak.cloud.start()
            else:
                self.soak.cloud.restart()

    async def _clock_steps(self) -> None:
        for t_s, by_s in self.plan.clock_steps:
            await self._at(t_s)
            if by_s > 0 and round(by_s) % 2:
                self.world.trouble.suspend(by_s)
            else:
                self.world.trouble.step(by_s)

    async def _tasks(self) -> None:
        """Workflows of one tap, each with a mark of its own."""
        chance = self.world.random("cloud")
        for rush_s in self.plan.rushes:
            for t_s in sorted(rush_s + chance.uniform(0, self.plan.rush_s) for _ in range(self.plan.tasks)):
                await self._at(t_s)
                self._marks = self._marks % 1_000 + 1
                x, y = cloud_point(self._marks)
                tap = {"tool": "tap", "arguments": {"x": x, "y": y}}
                device_id = self.pick(chance)
                task = self.soak.cloud.submit(workflow=[tap], device_id=device_id)
                self.judge.task_submitted(self._marks, task.task_id)

    async def _troubles(self) -> None:
        """One device after another among those that everybody wants."""
        chance = self.world.random("devices")
        for rush_s in self.plan.rushes:
            gap_s = self.plan.rush_s / max(1, self.plan.troubles)
            for number in range(self.plan.troubles):
                await self._at(rush_s + number * gap_s)
                device = self.soak.rack.device(self.devices[chance.randrange(self.plan.hot)])
                kind = chance.choice(["hang", "crash", "disconnect"])
                device.trouble(Trouble(kind))  # type: ignore[arg-type]
                self.judge.ill(device.info.device_id)
                await self._at(self.world.now_s + chance.uniform(1, min(HANG_S, gap_s * 0.9)))
                device.trouble(Trouble("heal"))

    def pick(self, chance: random.Random) -> str:
        """Mostly one of the few that everybody wants."""
        return self.devices[chance.randrange(self.plan.hot if chance.random() < 0.6 else self.plan.devices)]


class Agent:
    """One user of the host agent, with one session after another."""

    def __init__(self, story: Story, number: int) -> None:
        self._story = story
        self._chance = story.world.random(f"agent-{number}")
        self._session: Any = None
        self._seat: Seat | None = None
        plan = story.plan
        rushes = [self._chance.choice(plan.rushes) for _ in range(plan.bursts)]
        self._wakes = sorted(rush_s + self._chance.uniform(0, plan.rush_s) for rush_s in rushes)

    async def live(self) -> None:
        for t_s in self._wakes:
            if t_s > self._story.world.now_s:
                await self._story.world.until(t_s)
            await self._burst()
            if self._chance.random() < self._story.plan.leaves:
                await self._leave()
                await self.open()

    async def open(self) -> None:
        await self._take(await self._story.soak.open())

    async def _take(self, session: Any) -> None:
        self._session, self._seat = session, self._story.new_seat(session.id)

    async def _burst(self) -> None:
        chance, story = self._chance, self._story
        device_id = story.pick(chance)
        for _ in range(chance.randint(1, story.plan.calls)):
            await self._one(device_id)
            what = chance.random()
            if what < 0.2:
                device_id = story.pick(chance)
            elif what < 0.3:
                device_id = story.pick(chance)
                await self._wait_for_the_tick(device_id)
                continue
            await story.world.until(story.world.now_s + chance.choice([0.1, chance.uniform(0.1, 20), 59.999, 60.0]))

    async def _one(self, device_id: str) -> None:
        """A call; seldom two at once, or one under which the session ends."""
        what = self._chance.random()
        if what < 0.05:
            await asyncio.gather(self._call(device_id), self._call(device_id))
        elif what < 0.08:
            await asyncio.gather(self._call(device_id), self._leave_soon())
        else:
            await self._call(device_id)

    async def _call(self, device_id: str) -> None:
        story, judge = self._story, self._story.judge
        await story.up()
        session, seat = self._session, self._seat
        assert seat is not None
        self._plan_latency(device_id)
        told = judge.expect(seat, device_id, story.now_ns)
        x, y = seat.point
        try:
            answer = await session.call("tap", {"device_id": device_id, "x": x, "y": y})
        except ConnectionError:
            judge.lost(seat, story.now_ns, story.idle_ns)
            if seat is self._seat and not seat.ended and not seat.left:
                seat.left = True
                story.closed += 1
                await self.open()
            return
        seat.last_ns = story.now_ns
        judge.answered(told, answer, story.now_ns, is_ill=story.is_ill(device_id))

    def _plan_latency(self, device_id: str) -> None:
        """How long the device's next call takes, whoever's that is."""
        chance, device = self._chance, self._story.soak.rack.device(device_id)
        slow_s = chance.choice([0.1, 0.5, chance.uniform(0.1, 5), chance.uniform(0.1, SLOW_S)])
        device.trouble(Trouble("slow", "tap", slow_s, on_call=device.calls + 1))

    async def _wait_for_the_tick(self, device_id: str) -> None:
        """Until the lease on a device runs out, give or take a tick."""
        story = self._story
        lease = story.judge.fleet.lease(device_id, story.now_ns)
        if lease is not None and lease.uses == 0 and not lease.ended:
            tick = self._chance.choice([-1_000_000, 0, 0, 1_000_000])
            free_ns = lease.last_used_ns + round(TTL_S * 1e9) + tick
            await story.world.until(max(story.world.now_s, free_ns / 1e9))

    async def _leave_soon(self) -> None:
        """The session ends while a call of it may still run, and the agent is back at once."""
        await self._story.world.until(self._story.world.now_s + self._chance.uniform(0.01, 5))
        await self._leave()
        await self.open()

    async def _leave(self) -> None:
        story, how = self._story, self._chance.choice(["end", "vanish", "expire"])
        await story.up()
        session, seat = self._session, self._seat
        assert seat is not None
        story.closed += 1
        if how == "end" or session.tells:
            story.judge.session_ended(seat, story.now_ns)
        seat.left = True
        await getattr(session, how)()
