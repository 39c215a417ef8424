"""What does the verb layer of the laws add to a tool call? A verb against the same message sent without it.

Both go to the reference host agent in memory, over HTTP, by one wire. All times are the processor's.
Source: contract laws, "How a law reaches a system".
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from lasttick.bench.figures import Figure, Target, figure
from lasttick.bench.rounds import Effort, compared, micro
from lasttick.engine.loop import VirtualLoop
from lasttick.engine.trace import Trace
from lasttick.laws import reference
from lasttick.laws import target as laws
from lasttick.laws.caller import Caller
from lasttick.laws.wire.message import Message
from lasttick.targets.virtual import VirtualWorld

VERB_MAX = 1.10
CALLS = 40
HELD, OTHER = "phone-1", "phone-2"


def verb_layer(effort: Effort) -> Figure:
    """`lease.use` of the host agent's profile; its floor is the tool call that it becomes."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        world = VirtualWorld(loop, seed=1, trace=Trace(), path=Path(folder))
        caller = runner.run(_caller(world))
        works: Mapping[str, Callable[[int], object]] = {
            "floor": lambda times: runner.run(_messages(caller, times)),
            "verb": lambda times: runner.run(_verbs(caller, times)),
        }
        try:
            seconds = {name: micro(rounds) for name, rounds in compared(works, CALLS, effort).items()}
        finally:
            runner.run(world.abandon())
    return figure("calls/verb", "us", seconds["verb"], seconds["floor"], Target("ratio", "at most", VERB_MAX))


async def _caller(world: VirtualWorld) -> Caller:
    target = laws.Target(await reference.hostagent(world), "bench/verb")
    (caller,) = await target.callers(1)
    return caller


async def _verbs(caller: Caller, times: int) -> None:
    for _ in range(times):
        said = await caller.say("lease.use", {"resource": HELD}, hold=0.0)
        assert said.ok, said.shown()
    caller.target.deployment.history.clear()


async def _messages(caller: Caller, times: int) -> None:
    arguments = {"device_id": OTHER, "x1": 1.5, "y1": 1, "x2": 1.5, "y2": 1, "duration_ms": 0}
    for _ in range(times):
        reply = await caller.wire.send(Message("tool", "swipe", args=arguments))
        assert reply.ok, reply.raw
