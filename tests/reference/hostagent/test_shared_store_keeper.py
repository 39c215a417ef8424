"""Does a host with much to settle, or with a slow lease store, still keep the leases of the calls that run?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lease import Granted, Holder
from lasttick.ports import StoreUnavailable
from lasttick.reference.hostagent.shared_store import SharedLeaseStore
from lasttick_fakes.leases import FakeLeaseServer

TTL_S = 60.0
ALICE = Holder("mcp", "alice")


class FarServer:
    """A lease server whose every step takes `step_s`; `bad` holders can never be ended."""

    def __init__(self, loop: VirtualLoop, step_s: float) -> None:
        clock = VirtualClock(loop)
        self.near = FakeLeaseServer(clock)
        self.step_s = step_s
        self.bad: list[Holder] = []
        self.ended: list[Holder] = []
        self._link = self.near.link("host")
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        async def step(*arguments: Any) -> Any:
            await self._clock.sleep(self.step_s)
            if name == "end_holder" and arguments[0] in self.bad:
                raise StoreUnavailable("no")
            answer = await getattr(self._link, name)(*arguments)
            if name == "end_holder":
                self.ended.append(arguments[0])
            return answer

        return step

    async def aclose(self) -> None:
        pass


def play(body: Any, step_s: float) -> None:
    async def main(loop: VirtualLoop) -> None:
        server = FarServer(loop, step_s)
        store = SharedLeaseStore(server, VirtualClock(loop), host="h1", ttl_s=TTL_S)
        async with store.running():
            await body(loop, server, store)

    run_virtual(main)


def test_a_thousand_doubts_cost_no_running_call_its_lease() -> None:
    async def body(loop: VirtualLoop, server: FarServer, store: SharedLeaseStore) -> None:
        server.near.stop()
        waiting = [store.begin_use(f"phone-{number}", ALICE) for number in range(1_000)]
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(answer, StoreUnavailable) for answer in answers)
        server.near.start()
        assert isinstance(await store.begin_use("phone-1", ALICE), Granted)
        for _ in range(12):
            await loop.advance(TTL_S / 3)
            assert [view.device_id for view in await store.snapshot()] == ["phone-1"], f"at {loop.time():g} s"

    play(body, 0.25)


@pytest.mark.parametrize("calls", [300])
def test_hundreds_of_calls_are_kept_by_a_slow_server(calls: int) -> None:
    async def body(loop: VirtualLoop, server: FarServer, store: SharedLeaseStore) -> None:
        await asyncio.gather(*(store.begin_use(f"phone-{number}", ALICE) for number in range(calls)))
        for _ in range(9):
            await loop.advance(TTL_S / 3)
            assert len(await store.snapshot()) == calls, f"at {loop.time():g} s"

    play(body, 0.25)


def test_an_end_that_cannot_be_told_holds_up_no_other() -> None:
    async def body(loop: VirtualLoop, server: FarServer, store: SharedLeaseStore) -> None:
        bad, good = Holder("mcp", "bad"), Holder("mcp", "good")
        server.near.stop()
        for holder in (bad, good):
            with pytest.raises(StoreUnavailable):
                await store.end_holder(holder)
        server.near.start()
        server.bad = [bad]
        await loop.advance(TTL_S)
        assert server.ended == [good]

    play(body, 0.01)
