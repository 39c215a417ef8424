"""`lasttick bench leases`: how many grants a second, how fair, and is a device ever shared, store by store?

A cell is one store under one policy, driven by tasks or threads, with so many sessions on so many devices; it is
measured turn by turn with its floor. Some figures are measured without the loop around them, where the loop's own cost
would flatter the ratio: a lease's whole life on SQLite, Redis and PostgreSQL, and what a hot device keeps of a single
session's rate. A server that is not there is named instead.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

from lasttick.bench import contention
from lasttick.bench.contention import Drive, Give, Retried, Seen, Take
from lasttick.bench.figures import Figure, Target, figure, report, stable
from lasttick.bench.floors import BareDict, BareLine, BareRow
from lasttick.bench.rounds import Effort, compared, conditions, interleaved, micro, pinned, real_ns
from lasttick.engine.clock import SystemClock
from lasttick.model.lease import Holder
from lasttick.targets import shared_stores, stores

Store = Literal["memory", "sqlite"]
Policy = Literal["retry", "line"]

KINDS: tuple[tuple[Store, Policy, Drive], ...] = (
    ("memory", "retry", "tasks"),
    ("memory", "line", "tasks"),
    ("memory", "retry", "threads"),
    ("sqlite", "retry", "tasks"),
    ("sqlite", "retry", "threads"),
)
UNITS = {
    "grants_per_s": "1/s",
    "acquire_p50_us": "us",
    "acquire_p99_us": "us",
    "held_p50_us": "us",
    "held_p99_us": "us",
    "jain": "index",
    "starvation_ms": "ms",
    "starved": "sessions",
    "doubles": "times",
}
HOT = 64
SQLITE_RATIO_MAX = 1.3
HOT_KEEPS_MIN = 0.5
JAIN_MIN = 0.95
CYCLES = 50
SHARED_CYCLES = 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the benchmark's grid."""

    store: Store
    policy: Policy
    drive: Drive
    sessions: int
    devices: int

    @property
    def id(self) -> str:
        return f"{self.store}/{self.policy}/{self.drive}/{self.sessions}x{self.devices}"


def cells(sessions: Sequence[int], devices: Sequence[int]) -> list[Cell]:
    return [Cell(*kind, many, on) for kind, many, on in product(KINDS, sessions, devices)]


def measure(
    sessions: Sequence[int],
    devices: Sequence[int],
    effort: Effort,
    told: Callable[[str], None] = lambda what: None,
    shared: Sequence[shared_stores.Kind] = shared_stores.KINDS,
) -> dict[str, Any]:
    """The whole benchmark, as `--json` prints it. `told` hears what is measured next."""
    figures: list[Figure] = []
    absent: list[str] = []
    with pinned() as processor, tempfile.TemporaryDirectory(prefix="lasttick-bench-") as folder:
        for cell in cells(sessions, devices):
            told(cell.id)
            figures += of_cell(cell, effort, Path(folder))
        told("sqlite/cycle")
        figures.append(sqlite_cycle(effort, Path(folder)))
        for kind in shared:
            told(f"{kind}/cycle")
            try:
                figures.append(shared_cycle(kind, effort))
            except shared_stores.NotThere as error:
                absent.append(str(error))
        told(f"memory/line/tasks/{HOT}x1 beside 1x1")
        figures.append(hot_keeps(effort))
        facts = conditions(effort, processor)
    facts |= {"sqlite": sqlite3.sqlite_version, "journal_mode": "wal", "synchronous": "normal"}
    facts["not_measured"] = absent
    return report("leases", facts, figures)


def of_cell(cell: Cell, effort: Effort, folder: Path) -> list[Figure]:
    """All figures of one cell, each beside its floor's."""
    with rivals(cell, folder) as (mine, floor):

        def subject(loop: tuple[Take, Give]) -> Callable[[], Seen]:
            return lambda: contention.contend(
                *loop,
                sessions=cell.sessions,
                devices=cell.devices,
                drive=cell.drive,
                slice_s=effort.slice_s,
            )

        def settled(so_far: Mapping[str, list[Seen]]) -> bool:
            pairs = zip(so_far["mine"], so_far["floor"], strict=True)
            return stable([a.grants_per_s / b.grants_per_s for a, b in pairs if b.grants_per_s])

        seen = interleaved({"mine": subject(mine), "floor": subject(floor)}, effort, settled)
    columns = {name: {key: [asdict(one)[key] for one in rounds] for key in UNITS} for name, rounds in seen.items()}
    return [
        figure(f"{cell.id}/{key}", unit, columns["mine"][key], columns["floor"][key], target_of(cell, key))
        for key, unit in UNITS.items()
    ]


def target_of(cell: Cell, key: str) -> Target | None:
    if key == "doubles":
        return Target("max", "at most", 0)
    if cell.policy == "line" and cell.devices == 1 and cell.sessions > 1:
        if key == "jain":
            return Target("median", "at least", JAIN_MIN)
        if key == "starved":
            return Target("max", "at most", 0)
    return None


@contextmanager
def rivals(cell: Cell, folder: Path) -> Iterator[tuple[tuple[Take, Give], tuple[Take, Give]]]:
    """The store of a cell and its floor, each as what a session does to take and to give."""
    clock = SystemClock()
    if cell.policy == "line":
        yield contention.lining_up(stores.busy_tracker(clock)), contention.lining_up(BareLine())
    elif cell.store == "memory":
        yield contention.retrying(stores.memory_store(clock)), contention.retrying(BareDict(clock))
    else:
        with sqlite_pair(folder) as (store, floor):
            yield contention.retrying(store), contention.retrying(floor)


@contextmanager
def sqlite_pair(folder: Path) -> Iterator[tuple[Retried, Retried]]:
    clock = SystemClock()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        store = stack.enter_context(stores.sqlite_store(place / "store.db", clock))
        floor = stack.enter_context(BareRow.opened(place / "bare.db", clock))
        yield store, floor


def sqlite_cycle(effort: Effort, folder: Path) -> Figure:
    """acquire, acquire again, release: seconds on the store over seconds on the bare row, without contention."""
    with sqlite_pair(folder) as (store, floor):
        works = {"store": life_of_a_lease(store), "floor": life_of_a_lease(floor)}
        seconds = compared(works, CYCLES, effort.tight, clock_ns=real_ns)
    target = Target("ratio", "at most", SQLITE_RATIO_MAX)
    return figure("sqlite/cycle", "us", micro(seconds["store"]), micro(seconds["floor"]), target)


def shared_cycle(kind: shared_stores.Kind, effort: Effort) -> Figure:
    """acquire, acquire again, release: three steps over the wire, over three of the floor's. Raises NotThere."""
    holder, device_id = Holder("mcp", "session-1"), "device-1"

    async def cycles(store: shared_stores.Stepped, times: int) -> None:
        for _ in range(times):
            await store.acquire(device_id, holder)
            await store.acquire(device_id, holder)
            await store.release(device_id, holder)

    with asyncio.Runner() as runner:
        opened = shared_stores.pair(kind, device_id)
        store, floor = runner.run(opened.__aenter__())
        try:
            works = {
                "store": lambda times: runner.run(cycles(store, times)),
                "floor": lambda times: runner.run(cycles(floor, times)),
            }
            seconds = compared(works, SHARED_CYCLES, effort, clock_ns=real_ns)
        finally:
            runner.run(opened.__aexit__(None, None, None))
    return figure(f"{kind}/cycle", "us", micro(seconds["store"]), micro(seconds["floor"]))


def life_of_a_lease(store: Retried) -> Callable[[int], None]:
    holder = Holder("mcp", "session-1")

    def work(times: int) -> None:
        for _ in range(times):
            at_once(store.acquire("device-1", holder))
            at_once(store.acquire("device-1", holder))
            at_once(store.release("device-1", holder))

    return work


def hot_keeps(effort: Effort) -> Figure:
    """Grants a second on one device that 64 sessions wait for in line; its floor is what one session gets alone."""

    def rate(sessions: int) -> Callable[[], float]:
        take, give = contention.lining_up(stores.busy_tracker(SystemClock()))
        return lambda: (
            contention.contend(
                take, give, sessions=sessions, devices=1, drive="tasks", slice_s=effort.slice_s
            ).grants_per_s
        )

    def settled(so_far: Mapping[str, list[float]]) -> bool:
        return stable([many / one for many, one in zip(so_far["many"], so_far["one"], strict=True)])

    seen = interleaved({"many": rate(HOT), "one": rate(1)}, effort, settled)
    target = Target("ratio", "at least", HOT_KEEPS_MIN)
    return figure(f"memory/line/hot-{HOT}-of-1", "1/s", seen["many"], seen["one"], target)


def at_once(transition: Coroutine[Any, Any, Any]) -> Any:
    """The answer of a coroutine that waits for nothing, without an event loop."""
    try:
        transition.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a lease store waited; expected an answer at once (ports.LeaseStore); drive it by an event loop")
