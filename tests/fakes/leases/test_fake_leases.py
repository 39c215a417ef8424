"""The fake lease store: its steps are the rule's, and its trouble is what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lease import Granted, Holder, Refused
from lasttick.model.shared_lease import Take
from lasttick.ports import LeaseServer, StoreUnavailable
from lasttick_fakes.leases import FakeLeaseServer

TTL_US = 60_000_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")


def take(holder: Holder, host: str = "a", pin: str = "a.1") -> Take:
    return Take("begin_use", "phone-1", holder, host, pin)


def story(tell: Any) -> None:
    async def run(loop: VirtualLoop) -> None:
        await tell(loop, FakeLeaseServer(VirtualClock(loop)))

    run_virtual(run)


async def lost(step: Awaitable[object]) -> str:
    with pytest.raises(StoreUnavailable) as raised:
        await step
    return str(raised.value)


def test_two_hosts_share_one_table() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        a: LeaseServer = server.link("a")
        b: LeaseServer = server.link("b")
        granted = await a.take(take(ALICE), TTL_US)
        assert isinstance(granted, Granted)
        assert await b.take(take(BOB, "b", "b.1"), TTL_US) == Refused("phone-1", ALICE, "held")
        assert await a.end_use("phone-1", ALICE, "a.1", TTL_US)
        assert await b.end_holder(ALICE, TTL_US) == ["phone-1"]
        assert await b.end_holder(ALICE, TTL_US) == []
        again = await b.take(take(BOB, "b", "b.2"), TTL_US)
        assert isinstance(again, Granted)
        assert again.fence > granted.fence
        assert [record.holder for record in (await a.records(TTL_US))[1]] == [BOB]

    story(tell)


def test_an_answer_that_is_held_back_is_of_a_step_that_was_done() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        server.way("a").hold()
        asked = asyncio.ensure_future(server.link("a").take(take(ALICE), TTL_US))
        await loop.until(5)
        assert not asked.done()
        assert isinstance(await server.link("b").take(take(BOB, "b", "b.1"), TTL_US), Refused)
        server.way("a").release()
        assert isinstance(await asked, Granted)

    story(tell)


@pytest.mark.parametrize(("when", "held"), [("before", 0), ("after", 1)])
def test_a_cut_loses_the_step_or_its_answer(when: Any, held: int) -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        link = server.link("a")
        server.way("a").cut(when, steps=1)
        said = {"before": "before the step was done", "after": "before its answer came"}
        assert said[when] in await lost(link.take(take(ALICE), TTL_US))
        assert len((await link.records(TTL_US))[1]) == held

    story(tell)


def test_a_cut_without_a_number_lasts_until_it_is_mended_and_is_one_hosts() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        server.way("a").cut()
        for _ in range(3):
            await lost(server.link("a").now_us())
        await server.link("b").now_us()
        server.way("a").mend()
        await server.link("a").now_us()

    story(tell)


def test_a_restart_loses_held_answers_and_if_empty_everything() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        link = server.link("a")
        server.way("a").hold()
        asked = asyncio.ensure_future(link.take(take(ALICE), TTL_US))
        await loop.until(1)
        server.restart()
        await lost(asked)
        server.way("a").release()
        assert len((await link.records(TTL_US))[1]) == 1
        server.restart(empty=True)
        assert (await link.records(TTL_US))[1] == []
        server.stop()
        await lost(link.now_us())

    story(tell)


def test_a_fail_over_forgets_the_latest_steps_only() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        link = server.link("a")
        await link.end_holder(BOB, TTL_US)
        await loop.until(1)
        first = await link.take(take(ALICE), TTL_US)
        await loop.until(2)
        server.fail_over(lost=1)
        assert (await link.records(TTL_US))[1] == []
        assert isinstance(await link.take(take(BOB, "a", "a.2"), TTL_US), Refused), "that bob ended is older"
        second = await link.take(take(Holder("mcp", "carol"), "a", "a.3"), TTL_US)
        assert isinstance(first, Granted)
        assert isinstance(second, Granted)
        assert second.fence > first.fence, "a token must not be given twice, whatever was forgotten"
        with pytest.raises(ValueError, match="cannot forget"):
            server.fail_over(lost=99)

    story(tell)


def test_its_clock_is_its_own() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        link = server.link("a")
        server.step(1000)
        assert await link.now_us() == 1_000_000_000
        await link.take(take(ALICE), TTL_US)
        server.step(60)
        assert isinstance(await link.take(take(BOB, "a", "a.2"), TTL_US), Granted)

    story(tell)


def test_what_is_left_of_a_killed_host_reaches_nobody() -> None:
    async def tell(loop: VirtualLoop, server: FakeLeaseServer) -> None:
        killed = server.link("a")
        await killed.take(take(ALICE), TTL_US)
        killed.close()
        await lost(killed.end_use("phone-1", ALICE, "a.1", TTL_US))
        (record,) = (await server.link("a").records(TTL_US))[1]
        assert record.pins == ("a.1",)

    story(tell)
