"""`lasttick bench calls`: what does a lease add to a tool call, what does a trace, and does it grow with the leases?

The calls go over byte pipes in one process (the memory rung), one after the other, to a device that answers at once:
all that is measured is the way there and back. All times are the processor's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from lasttick.bench.figures import Figure, Target, figure, report
from lasttick.bench.floors import BareDict
from lasttick.bench.rounds import Effort, compared, conditions, micro, pinned
from lasttick.bench.verbs import verb_layer
from lasttick.engine.clock import SystemClock
from lasttick.engine.trace import Trace
from lasttick.targets import stores
from lasttick.targets.pipes import PipeClient, piped

WRAPPER_MAX = 1.15
TRACING_MAX = 1.2
CYCLE_MIN = 0.25
BUSY_MAX = 2.0
HELD_FEW = 16
HELD_MANY = (1_000, 100_000)
CALLS = 40
CYCLES = 2_000
DEVICE = "phone-1"
TAP = {"name": "tap", "arguments": {"device_id": DEVICE, "x": 1, "y": 2}}


def measure(effort: Effort, told: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The benchmark, as `--json` prints it. `told` hears what is measured next."""
    with pinned() as processor:
        figures = []
        for era in ("handshake", "modern"):
            told(f"calls/{era}")
            figures += of_era(era, effort.tight)
        told("calls/verb")
        figures.append(verb_layer(effort.tight))
        told("lease/cycle")
        figures.append(lease_cycle(effort.tight))
        told("lease/busy")
        figures += busy_path(effort.tight)
        return report("calls", conditions(effort.tight, processor), figures)


def of_era(era: str, effort: Effort) -> list[Figure]:
    """A call without a lease, with one, and with one in a traced world, of one protocol era."""
    clock = SystemClock()
    trace = Trace()
    trace.use_clock(clock.now_ns, clock.wall)
    trace.redact.learn(stores.HOLDER.id, "session-1")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def client(server: Any) -> PipeClient:
            return await stack.enter_async_context(piped(server, era))

        bare = runner.run(client(stores.bare_server(stores.QuickDevice(DEVICE))))
        leased = runner.run(client(stores.leased_server(clock, stores.QuickDevice(DEVICE))))
        traced = runner.run(client(stores.leased_server(clock, stores.QuickDevice(DEVICE, driver_events(trace)))))
        works: Mapping[str, Callable[[int], object]] = {
            "floor": lambda times: runner.run(call(bare, times)),
            "leased": lambda times: runner.run(call(leased, times)),
            "traced": lambda times: runner.run(traced_call(traced, times, trace)),
        }
        try:
            seconds = {name: micro(rounds) for name, rounds in compared(works, CALLS, effort).items()}
        finally:
            runner.run(stack.aclose())
    return [
        figure(
            f"calls/{era}/leased", "us", seconds["leased"], seconds["floor"], Target("ratio", "at most", WRAPPER_MAX)
        ),
        figure(
            f"calls/{era}/traced", "us", seconds["traced"], seconds["leased"], Target("ratio", "at most", TRACING_MAX)
        ),
    ]


async def call(client: PipeClient, times: int) -> None:
    for _ in range(times):
        answer = await client.request("tools/call", TAP)
        assert "result" in answer, answer


async def traced_call(client: PipeClient, times: int, trace: Trace) -> None:
    """As a scenario's client does it: an event before and one after; the events' hash is computed at the end."""
    for number in range(times):
        ref = f"c{number}"
        trace.emit("agent-a", "call.start", ref, tool="tap", device_id=DEVICE, arguments=TAP["arguments"], session="s1")
        answer = await client.request("tools/call", TAP)
        trace.emit("agent-a", "call.end", ref, tool="tap", ok="result" in answer, http_status=None, code=None)
    trace.events.clear()


def driver_events(trace: Trace) -> stores.Seen:
    """What a rack's log adds to a trace: an event when the device begins and one when it ends."""

    def seen(kind: str, tool: str, arguments: Mapping[str, Any]) -> None:
        trace.emit(DEVICE, f"driver.{kind}", "d1", tool=tool, arguments=arguments, call=1)

    return seen


def lease_cycle(effort: Effort) -> Figure:
    """acquire, renew, release a second, on the busy tracker and on a dict with a lock."""
    clock = SystemClock()
    tracker, bare = stores.busy_tracker(clock), BareDict(clock)

    def on_tracker(times: int) -> None:
        for _ in range(times):
            tracker.acquire(DEVICE, "session-1")
            tracker.renew(DEVICE, "session-1")
            tracker.release_device(DEVICE, "session-1")

    def on_dict(times: int) -> None:
        for _ in range(times):
            bare.take(DEVICE, "session-1")
            bare.renew(DEVICE, "session-1")
            bare.give(DEVICE, "session-1")

    seconds = compared({"tracker": on_tracker, "floor": on_dict}, CYCLES, effort)
    per_s = {name: [1 / one for one in rounds] for name, rounds in seconds.items()}
    return figure("lease/cycle", "1/s", per_s["tracker"], per_s["floor"], Target("ratio", "at least", CYCLE_MIN))


def busy_path(effort: Effort) -> list[Figure]:
    """A refusal while so many leases are held; its floor is a refusal while 16 are."""
    clock = SystemClock()

    def refusals(held: int) -> Callable[[int], None]:
        tracker = stores.busy_tracker(clock)
        for number in range(held):
            tracker.acquire(f"device-{number}", "session-1")

        def work(times: int) -> None:
            for number in range(times):
                assert not tracker.acquire(f"device-{number % HELD_FEW}", "session-2")

        return work

    works = {str(held): refusals(held) for held in (HELD_FEW, *HELD_MANY)}
    seconds = {name: micro(rounds) for name, rounds in compared(works, CYCLES, effort, floor=str(HELD_FEW)).items()}
    few = seconds[str(HELD_FEW)]
    return [
        figure(f"lease/busy-{held}", "us", seconds[str(held)], few, Target("ratio", "at most", BUSY_MAX))
        for held in HELD_MANY
    ]
