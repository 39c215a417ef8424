"""For one host alone, is a shared store the same arbiter as the one in memory? Random histories against the pure model.

The host keeps what runs as often as in real time, so nothing expires that runs. Only when a lease was last used differs
on purpose: each keeping counts.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model.lease import Holder
from lasttick.model.lease_oracle import Op, OpName, PureLeases, Reply
from lasttick.reference.hostagent.shared_store import KEEPS_PER_TTL, SharedLeaseStore

from .shared_servers import HandClock, RuleServer, need, opened

TTL_S = 60.0
TTL_US = 60_000_000
NAMES: list[OpName] = ["acquire", "begin_use", "begin_use", "begin_own_use", "end_use", "end_use", "release"]
HOLDERS = st.sampled_from([Holder("mcp", "alice"), Holder("mcp", "bob"), Holder("cloud", "assignment-1")])
OPS = st.one_of(
    *[st.builds(Op, st.just(name), HOLDERS, st.sampled_from(["phone-1", "phone-2"])) for name in NAMES],
    st.builds(Op, st.just("end_holder"), HOLDERS),
)
HISTORIES = st.lists(st.tuples(OPS, st.sampled_from([0, 1, TTL_US - 1, TTL_US, TTL_US + 1])), max_size=25)


async def reply(store: SharedLeaseStore, op: Op) -> Reply:
    if op.name == "end_holder":
        return await store.end_holder(op.holder)
    answer: Reply = await getattr(store, op.name)(op.device_id, op.holder)
    return answer


async def pass_by(store: SharedLeaseStore, clock: HandClock, us: int) -> None:
    until_us, keep_us = clock.t_us + us, TTL_US // KEEPS_PER_TTL
    while clock.t_us + keep_us < until_us:
        clock.t_us += keep_us
        await store.keep_all()
    clock.t_us = until_us


async def same_as_the_model(server: Any, clock: HandClock, history: list[tuple[Op, int]]) -> None:
    store, model = SharedLeaseStore(server, clock, host="h1", ttl_s=TTL_S), PureLeases(TTL_US * 1_000)
    for op, us in history:
        await pass_by(store, clock, us)
        model, expected = model.apply(op, clock.now_ns())
        assert await reply(store, op) == expected
        seen = [(v.device_id, v.holder, v.acquired_ns, v.uses, v.ended) for v in await store.snapshot()]
        pure = model.snapshot(clock.now_ns())
        assert seen == [(v.device_id, v.holder, v.acquired_ns, v.uses, v.ended) for v in pure]


@settings(max_examples=200, deadline=None)
@given(history=HISTORIES)
def test_any_history_of_one_host_is_that_of_the_pure_model(history: list[tuple[Op, int]]) -> None:
    clock = HandClock()
    asyncio.run(same_as_the_model(RuleServer(clock.now_us), clock, history))


@pytest.mark.parametrize("kind", ["redis"])
def test_some_histories_on_a_real_server_too(kind: str) -> None:
    need(kind)

    @settings(max_examples=25, deadline=None)
    @given(history=HISTORIES)
    def same(history: list[tuple[Op, int]]) -> None:
        async def main() -> None:
            clock = HandClock()
            async with opened(kind, now_us=clock.now_us) as server:
                await same_as_the_model(server, clock, history)

        asyncio.run(main())

    same()
