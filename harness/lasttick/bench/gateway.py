"""`lasttick bench gateway`: what do doors, checks and ledger add to a tool call, and is an answer ever wrong?

64 callers of 8 organisations at once, each on a connection of its own over loopback, each with its next call as soon as
the last was answered. Every eighth call names another organisation's run, and must be refused. All times are real.

Twice: the platform's application alone, beside a bare ASGI application that reads and writes the same JSON, both in the
callers' event loop with a third party in memory; and what `lasttick serve gateway` serves, with its third party, as
processes of their own, beside that third party asked directly (gateway_served.py). Source: GW-06, GW-09.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lasttick.bench import gateway_served
from lasttick.bench.figures import Figure, Target, figure, percentile, report, stable
from lasttick.bench.rounds import Effort, conditions, interleaved, pinned, real_ns
from lasttick.targets.gateway import measured

CALLERS = 64
ORGS = 8
CALLS = 8
FOREIGN_EVERY = 8
GATEWAY_MAX = 3.0
NS_PER_US = 1_000
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Slice:
    """What all callers saw in one slice: the median of the admitted calls, and how many answers were wrong."""

    p50_us: float
    wrong: int


def echoed(run_id: str, input: dict[str, Any]) -> Any:
    """The platform's answer where the third party says what it was asked."""
    return {"ok": True, "result": {"asked": input, "run": run_id}}


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that takes tool calls. `strict`: it refuses calls in another organisation's run. `call`: the request
    for an organisation, a run and an input, as it goes over the wire; `right`: its answer, for the run and the input.
    """

    host: str
    port: int
    runs: Mapping[str, str]
    strict: bool
    call: Callable[[str, str, dict[str, Any]], bytes] = measured.call
    right: Callable[[str, dict[str, Any]], Any] = echoed


def measure(effort: Effort, told: Callable[[str], None] = lambda what: None) -> dict[str, Any]:
    """The benchmark, as `--json` prints it. `told` hears what is measured next."""
    told("gateway")
    effort = effort.tight
    with pinned() as processor, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        subjects = runner.run(_subjects(stack, Path(folder)))

        def of(subject: Subject) -> Callable[[], Slice]:
            return lambda: runner.run(played(subject))

        try:
            slices = interleaved({name: of(one) for name, one in subjects.items()}, effort, settled)
        finally:
            runner.run(stack.aclose())
    facts = {**conditions(effort, processor), "callers": CALLERS, "calls": CALLS}
    return report("gateway", facts, figures(slices))


def figures(slices: Mapping[str, Sequence[Slice]]) -> list[Figure]:
    """The median call beside its floor, with the ledger off and on, and served; wrong answers of any of them."""
    p50 = {name: [one.p50_us for one in taken] for name, taken in slices.items()}
    wrong = [float(one.wrong) for taken in slices.values() for one in taken]
    return [
        figure("gateway/p50/ledger-off", "us", p50["off"], p50["floor"], Target("ratio", "at most", GATEWAY_MAX)),
        figure("gateway/p50/ledger-on", "us", p50["on"], p50["floor"]),
        figure("gateway/p50/served", "us", p50["served"], p50["direct"]),
        figure("gateway/wrong", "answers", wrong, target=Target("max", "at most", 0)),
    ]


def settled(so_far: Mapping[str, Sequence[Slice]]) -> bool:
    """Have all ratios to their floors?"""
    return all(
        stable([mine.p50_us / bare.p50_us for mine, bare in zip(so_far[name], so_far[floor], strict=True)])
        for name, floor in (("off", "floor"), ("on", "floor"), ("served", "direct"))
    )


async def _subjects(stack: AsyncExitStack, folder: Path) -> dict[str, Subject]:
    """The floors and the platforms, each behind a server until the stack is closed."""
    org_ids = [f"org-{number}" for number in range(ORGS)]
    subjects = {}
    for name in ("off", "on"):
        (folder / name).mkdir()
        platform = await stack.enter_async_context(measured.platform(folder / name, org_ids, ledger=name == "on"))
        address = await stack.enter_async_context(measured.served(platform.app))
        subjects[name] = Subject(*address, platform.runs, strict=True)
    address = await stack.enter_async_context(measured.served(measured.bare))
    floor = Subject(*address, subjects["off"].runs, strict=False)
    orders = [order_id(number, turn) for number in range(CALLERS) for turn in range(CALLS)]
    parts = await stack.enter_async_context(gateway_served.parts(folder / "served", org_ids, orders))
    direct, gateway = parts.third_party, parts.gateway
    return {
        "floor": floor,
        **subjects,
        "direct": Subject(*direct, parts.runs, False, gateway_served.direct_call, gateway_served.order_of),
        "served": Subject(*gateway, parts.runs, True, right=gateway_served.result_of),
    }


async def played(subject: Subject) -> Slice:
    """All callers at once, from open connections on."""
    lines = [await asyncio.open_connection(subject.host, subject.port) for _ in range(CALLERS)]
    try:
        seen = await asyncio.gather(*(_caller(number, line, subject) for number, line in enumerate(lines)))
    finally:
        for _, writer in lines:
            writer.close()
    times_ns = [time_ns for times, _ in seen for time_ns in times]
    return Slice(percentile(times_ns, 50) / NS_PER_US, sum(wrong for _, wrong in seen))


async def _caller(
    number: int, line: tuple[asyncio.StreamReader, asyncio.StreamWriter], subject: Subject
) -> tuple[list[int], int]:
    """How long each admitted call took, ns, and how many answers were wrong."""
    reader, writer = line
    org_id, other = f"org-{number % ORGS}", f"org-{(number + 1) % ORGS}"
    times_ns, wrong = [], 0
    for turn in range(CALLS):
        foreign = (number + turn) % FOREIGN_EVERY == 0
        run_id = subject.runs[other if foreign else org_id]
        input = {"order_id": order_id(number, turn)}
        request = subject.call(org_id, run_id, input)
        start_ns = real_ns()
        writer.write(request)
        status, body = await _answer(reader)
        took_ns = real_ns() - start_ns
        if foreign and subject.strict:
            wrong += not (status == 404 and json.loads(body).get("code") == "RUN_NOT_FOUND")
        else:
            times_ns.append(took_ns)
            wrong += not (status == 200 and json.loads(body) == subject.right(run_id, input))
    return times_ns, wrong


def order_id(number: int, turn: int) -> str:
    """What a caller asks for in a turn, and nobody else."""
    return f"{number}-{turn}"


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    assert length is not None, head
    return int(head[9:12]), await reader.readexactly(int(length[1]))
