"""Is the store in memory the pure model behind an asynchronous port, with one lock and monotonic time?"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.model.lease import Decision, Granted, Holder, Refused
from lasttick.model.lease_oracle import Op, OpName, PureLeases, Reply
from lasttick.ports import LeaseStore
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore

TTL_S = 60.0
TTL_NS = 60_000_000_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")
CLOUD = Holder("cloud", "assignment-1")


class HandClock:
    """Time set by hand; the wall may be put wrong."""

    def __init__(self) -> None:
        self.t_ns = 0
        self.wall_error_s = 0.0

    def now_ns(self) -> int:
        return self.t_ns

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.t_ns / 1e9 + self.wall_error_s)

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a lease store never waits")


async def reply(store: LeaseStore, op: Op) -> Reply:
    if op.name == "end_holder":
        return await store.end_holder(op.holder)
    answer: Reply = await getattr(store, op.name)(op.device_id, op.holder)
    return answer


STORE_OPS: list[OpName] = ["acquire", "begin_use", "begin_use", "end_use", "end_use", "release", "end_holder"]


@settings(max_examples=200, deadline=None)
@given(
    history=st.lists(
        st.tuples(
            st.builds(
                Op,
                st.sampled_from(STORE_OPS),
                st.sampled_from([ALICE, BOB, CLOUD]),
                st.sampled_from(["phone-1", "phone-2"]),
            ),
            st.sampled_from([0, 1, TTL_NS - 1, TTL_NS, TTL_NS + 1]),
            st.sampled_from([0.0, -1e6, 3600.0]),
        ),
        max_size=30,
    )
)
def test_any_history_is_that_of_the_pure_model_wherever_the_wall_clock_stands(
    history: list[tuple[Op, int, float]],
) -> None:
    async def body() -> None:
        clock = HandClock()
        store, model = MemoryLeaseStore(clock, TTL_S), PureLeases(TTL_NS)
        for op, step_ns, wall_error_s in history:
            clock.t_ns += step_ns
            clock.wall_error_s = wall_error_s
            model, expected = model.apply(op, clock.t_ns)
            assert await reply(store, op) == expected
            assert await store.snapshot() == model.snapshot(clock.t_ns)

    asyncio.run(body())


def test_wall_clock_ages_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant lease-on-wall-clock: an hour forward frees, at this seam."""

    async def bob_gets_it() -> bool:
        clock = HandClock()
        store = MemoryLeaseStore(clock, TTL_S)
        await store.acquire("phone-1", ALICE)
        clock.wall_error_s = 3600
        return isinstance(await store.acquire("phone-1", BOB), Granted)

    assert asyncio.run(bob_gets_it()) is False
    by_wall = staticmethod(lambda clock: lambda: int(clock.wall().timestamp() * 1e9))
    monkeypatch.setattr(MemoryLeaseStore, "age_source", by_wall)
    assert asyncio.run(bob_gets_it()) is True


async def one_at_a_time(store: MemoryLeaseStore, first: Holder, second: Holder) -> list[Decision]:
    return list(await asyncio.gather(store.begin_use("phone-1", first), store.begin_use("phone-1", second)))


@pytest.mark.parametrize(("first", "second"), [(CLOUD, ALICE), (ALICE, CLOUD)], ids=["cloud-first", "session-first"])
def test_cloud_and_session_at_one_instant_are_decided_one_after_the_other(first: Holder, second: Holder) -> None:
    """Ruling HA-2, and the mutant unsynchronised-arbitration at the seam `begin_use`, in both orders."""
    assert asyncio.run(one_at_a_time(MemoryLeaseStore(HandClock()), first, second)) == [
        Granted("phone-1", first, fresh=True),
        Refused("phone-1", first, "held"),
    ]


@pytest.mark.parametrize(("first", "second"), [(CLOUD, ALICE), (ALICE, CLOUD)], ids=["cloud-first", "session-first"])
def test_check_then_act_would_be_seen(first: Holder, second: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check_then_act(self: MemoryLeaseStore, device_id: str, holder: Holder) -> Decision:
        owner = self.table.owner(self.now_ns(), device_id)
        if owner is not None and owner != holder:
            return Refused(device_id, owner, "held")
        await asyncio.sleep(0)
        if device_id in self.table._leases:
            self.table._drop(self.table._leases[device_id])
        return self.table.begin_use(self.now_ns(), device_id, holder)

    monkeypatch.setattr(MemoryLeaseStore, "begin_use", check_then_act)
    decisions = asyncio.run(one_at_a_time(MemoryLeaseStore(HandClock()), first, second))
    assert [type(decision) for decision in decisions] == [Granted, Granted]


@pytest.mark.parametrize("ttl_s", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ttl_that_makes_no_sense_is_refused(ttl_s: float) -> None:
    with pytest.raises(ValueError, match=r"lease TTL is .* s\. It must be .*contract hostagent.* Pass"):
        MemoryLeaseStore(HandClock(), ttl_s)


def test_it_is_a_lease_store() -> None:
    store: LeaseStore = MemoryLeaseStore(HandClock(), 1.5)
    assert store.ttl_s == 1.5
