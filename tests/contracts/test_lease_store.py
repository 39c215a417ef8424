"""What every lease store must do, whatever it stores in: one small case per sentence of the port, on each store.

Time goes where the story says, to the tick, and a store sees it only through its clock: memory and SQLite that of the
host, the shared ones that of their server, here the same one. What a shared store does differently on purpose: a pin
lasts while its host keeps it, so between two instants of a story the host keeps as often as it would in real time.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lasttick.model.lease import Granted, Holder, LeaseView, Refused
from lasttick.ports import LeaseStore
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick.reference.hostagent.shared_store import KEEPS_PER_TTL, SharedLeaseStore
from lasttick.reference.hostagent.sqlite_store import SqliteLeaseStore

from .shared_servers import HandClock, need, opened

TTL_S = 60.0
TICK_S = 0.001
S = 1_000_000_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")
CLOUD, OTHER_CLOUD = Holder("cloud", "assignment-1"), Holder("cloud", "assignment-2")

STORES = ["memory", "sqlite", "rule", "redis", "postgres"]


class Story:
    """The time of one story, in seconds from its beginning."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock
        self.store: LeaseStore | None = None

    def time(self) -> float:
        return self._clock.t_us / 1e6

    async def until(self, t_s: float) -> None:
        """Let time go on; a host of a shared store keeps what runs there meanwhile."""
        t_us, keep_us = round(t_s * 1e6), round(TTL_S * 1e6) // KEEPS_PER_TTL
        while isinstance(self.store, SharedLeaseStore) and self._clock.t_us + keep_us < t_us:
            self._clock.t_us += keep_us
            await self.store.keep_all()
        self._clock.t_us = t_us


Told = Callable[[LeaseStore, Story], Awaitable[None]]
Play = Callable[[Told], None]


@asynccontextmanager
async def a_store(kind: str, clock: HandClock) -> AsyncIterator[LeaseStore]:
    if kind == "memory":
        yield MemoryLeaseStore(clock, TTL_S)
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            sqlite = SqliteLeaseStore(Path(folder) / "leases.db", clock, TTL_S)
            try:
                yield sqlite
            finally:
                sqlite.close()
    else:
        async with opened(kind, now_us=clock.now_us) as server:
            store = SharedLeaseStore(server, clock, host="host-1", ttl_s=TTL_S)
            async with store.running():
                yield store


@pytest.fixture(params=STORES)
def play(request: pytest.FixtureRequest) -> Play:
    """Runs a story on a fresh store of one kind."""
    if request.param in ("redis", "postgres"):
        need(request.param)

    def run(told: Told) -> None:
        async def main() -> None:
            clock = HandClock()
            story = Story(clock)
            async with a_store(request.param, clock) as story.store:
                await told(story.store, story)

        asyncio.run(main())

    return run


async def free(store: LeaseStore, device_id: str = "phone-1") -> bool:
    """Whether the store shows nobody on the device. Asks the snapshot only, which changes nothing."""
    return device_id not in [view.device_id for view in await store.snapshot()]


def test_ttl_is_told(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        assert store.ttl_s == TTL_S

    play(story)


def test_acquire_takes_a_free_device_and_keeps_ones_own(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        assert await store.acquire("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=True)
        assert await store.acquire("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=False)
        assert await store.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
        assert await store.acquire("phone-2", BOB) == Granted("phone-2", BOB, fresh=True)

    play(story)


@pytest.mark.parametrize("late_s", [-TICK_S, 0.0, TICK_S])
def test_free_exactly_at_ttl(play: Play, late_s: float) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.acquire("phone-1", ALICE)
        await loop.until(7)
        await store.acquire("phone-1", ALICE)
        await loop.until(7 + TTL_S + late_s)
        assert await free(store) is (late_s >= 0)
        expected = Granted("phone-1", BOB, True) if late_s >= 0 else Refused("phone-1", ALICE, "held")
        assert await store.acquire("phone-1", BOB) == expected

    play(story)


def test_an_expired_lease_is_fresh_for_its_last_holder_too(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.acquire("phone-1", ALICE)
        await loop.until(TTL_S)
        assert await store.acquire("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=True)

    play(story)


def test_a_refusal_renews_nothing(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.acquire("phone-1", ALICE)
        await loop.until(30)
        await store.acquire("phone-1", BOB)
        await store.begin_use("phone-1", BOB)
        await store.snapshot()
        await loop.until(TTL_S)
        assert await free(store)

    play(story)


def test_a_use_pins_and_the_ttl_runs_from_its_end(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        assert await store.begin_use("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=True)
        await loop.until(10 * TTL_S)
        assert await store.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
        assert await store.end_use("phone-1", ALICE) is True
        await loop.until(11 * TTL_S - TICK_S)
        assert not await free(store)
        await loop.until(11 * TTL_S)
        assert await free(store)

    play(story)


def test_the_pin_is_a_count(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.begin_use("phone-1", ALICE)
        assert await store.begin_use("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=False)
        assert await store.end_use("phone-1", ALICE) is True
        await loop.until(10 * TTL_S)
        assert not await free(store)
        assert await store.end_use("phone-1", ALICE) is True
        assert await store.end_use("phone-1", ALICE) is False

    play(story)


def test_end_use_of_somebody_else_or_nothing_is_false(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        assert await store.end_use("phone-1", ALICE) is False
        await store.begin_use("phone-1", ALICE)
        assert await store.end_use("phone-1", BOB) is False
        assert await store.end_use("phone-2", ALICE) is False
        await loop.until(10 * TTL_S)
        assert not await free(store)

    play(story)


def test_release_gives_one_device_back(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.acquire("phone-1", ALICE)
        await store.acquire("phone-2", ALICE)
        assert await store.release("phone-1", BOB) is False
        assert await store.release("phone-1", ALICE) is True
        assert await store.release("phone-1", ALICE) is False
        assert await free(store)
        assert not await free(store, "phone-2")

    play(story)


def test_release_during_a_call_waits_for_its_end(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.begin_use("phone-1", ALICE)
        assert await store.release("phone-1", ALICE) is True
        assert await store.acquire("phone-1", BOB) == Refused("phone-1", ALICE, "held")
        await store.end_use("phone-1", ALICE)
        assert await free(store)

    play(story)


def test_the_end_of_a_holder_frees_what_it_held_and_is_for_ever(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        for device_id in ("phone-2", "phone-1", "phone-3"):
            await store.acquire(device_id, ALICE)
        await store.begin_use("phone-3", ALICE)
        await store.acquire("phone-4", BOB)
        assert await store.end_holder(ALICE) == ["phone-1", "phone-2", "phone-3"]
        assert await store.end_holder(ALICE) == []
        assert [view.device_id for view in await store.snapshot()] == ["phone-3", "phone-4"]
        assert await store.acquire("phone-3", BOB) == Refused("phone-3", ALICE, "held")
        for refused in (await store.acquire("phone-1", ALICE), await store.begin_use("phone-3", ALICE)):
            assert refused == Refused(refused.device_id, None, "ended")
        assert await store.end_use("phone-3", ALICE) is True
        assert await store.acquire("phone-3", BOB) == Granted("phone-3", BOB, fresh=True)
        await loop.until(10 * TTL_S)
        assert await store.acquire("phone-1", ALICE) == Refused("phone-1", None, "ended")

    play(story)


def test_a_holder_that_never_came_can_end(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        assert await store.end_holder(BOB) == []
        assert await store.acquire("phone-1", BOB) == Refused("phone-1", None, "ended")
        assert await free(store)

    play(story)


def test_a_cloud_hold_knows_no_ttl(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.begin_use("phone-1", CLOUD)
        await store.end_use("phone-1", CLOUD)
        await loop.until(50 * TTL_S)
        assert await store.acquire("phone-1", ALICE) == Refused("phone-1", CLOUD, "held")
        assert await store.acquire("phone-1", OTHER_CLOUD) == Refused("phone-1", CLOUD, "held")
        assert await store.end_holder(CLOUD) == ["phone-1"]
        assert await store.acquire("phone-1", ALICE) == Granted("phone-1", ALICE, fresh=True)

    play(story)


def test_kinds_of_holders_with_one_id_are_two_holders(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.acquire("phone-1", Holder("mcp", "same"))
        assert await store.acquire("phone-1", Holder("cloud", "same")) == Refused(
            "phone-1", Holder("mcp", "same"), "held"
        )
        await store.end_holder(Holder("cloud", "same"))
        assert not await free(store)

    play(story)


def test_the_snapshot_shows_both_sides_sorted(play: Play) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        await store.begin_use("phone-2", CLOUD)
        await loop.until(5)
        await store.acquire("phone-1", ALICE)
        await loop.until(8)
        await store.acquire("phone-1", ALICE)
        assert await store.snapshot() == [
            LeaseView("phone-1", ALICE, 5 * S, 8 * S, uses=0, ended=False),
            LeaseView("phone-2", CLOUD, 0, 0, uses=1, ended=False),
        ]
        await store.end_holder(CLOUD)
        assert (await store.snapshot())[1] == LeaseView("phone-2", CLOUD, 0, 0, uses=1, ended=True)

    play(story)


@pytest.mark.parametrize("order", [(ALICE, BOB, CLOUD), (CLOUD, BOB, ALICE), (BOB, CLOUD, ALICE)])
def test_of_many_at_one_instant_exactly_one_wins(play: Play, order: tuple[Holder, ...]) -> None:
    async def story(store: LeaseStore, loop: Story) -> None:
        decisions = await asyncio.gather(*(store.begin_use("phone-1", holder) for holder in order))
        (winner,) = [decision for decision in decisions if isinstance(decision, Granted)]
        assert winner.fresh
        assert [d.owner for d in decisions if isinstance(d, Refused)] == [winner.holder] * 2
        assert [(view.holder, view.uses) for view in await store.snapshot()] == [(winner.holder, 1)]

    play(story)


@pytest.mark.parametrize("device_id", ["", "phone 1/ü", "x" * 300, "\x00", "\ud800"])
def test_any_text_is_a_device_id(play: Play, device_id: str) -> None:
    """Whether a device exists is not the store's business. SQLite's texts are Unicode: no lone surrogates there."""

    async def story(store: LeaseStore, loop: Story) -> None:
        if isinstance(store, SqliteLeaseStore) and device_id == "\ud800":
            with pytest.raises(UnicodeEncodeError):
                await store.acquire(device_id, ALICE)
            return
        assert await store.acquire(device_id, ALICE) == Granted(device_id, ALICE, fresh=True)
        assert await store.acquire(device_id, BOB) == Refused(device_id, ALICE, "held")
        assert await store.end_holder(ALICE) == [device_id]

    play(story)


def test_nobody_waits(play: Play) -> None:
    """A store answers without waiting for any instant, also while it refuses."""

    async def story(store: LeaseStore, loop: Story) -> None:
        for holder in (ALICE, BOB):
            await store.begin_use("phone-1", holder)
            await store.end_use("phone-1", holder)
            await store.release("phone-1", holder)
            await store.end_holder(holder)
        await store.snapshot()
        assert loop.time() == 0

    play(story)
