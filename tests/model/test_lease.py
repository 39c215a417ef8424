"""Does each pure rule of a lease decide as ruled, at the last tick before, at, and after the boundary?"""

from __future__ import annotations

import pytest

from lasttick.model import lease
from lasttick.model.lease import Granted, Holder, Lease, LeaseView, Refused
from lasttick.model.lease_oracle import Op, PureLeases

TTL_NS = 60_000_000_000
ALICE, BOB = Holder("mcp", "alice"), Holder("mcp", "bob")
CLOUD = Holder("cloud", "assignment-1")


def record(holder: Holder = ALICE, uses: int = 0, ended: bool = False) -> Lease:
    return Lease("phone-1", holder, acquired_ns=0, last_used_ns=1_000, uses=uses, ended=ended)


@pytest.mark.parametrize(("ticks", "held"), [(-1, True), (0, False), (1, False)])
def test_an_idle_lease_is_held_before_its_expiry_and_free_from_it_on(ticks: int, held: bool) -> None:
    assert lease.expires_ns(1_000, TTL_NS) == 1_000 + TTL_NS
    assert lease.held(record(), 1_000 + TTL_NS + ticks, TTL_NS) is held


def test_time_frees_neither_a_pinned_lease_nor_a_cloud_hold() -> None:
    long_after_ns = 100 * TTL_NS
    assert lease.held(record(uses=1), long_after_ns, TTL_NS)
    assert lease.held(record(CLOUD), long_after_ns, TTL_NS)


def test_an_ended_lease_is_held_only_by_its_calls() -> None:
    assert lease.held(record(uses=1, ended=True), 1_000, TTL_NS)
    assert not lease.held(record(ended=True), 1_000, TTL_NS)
    assert not lease.held(record(CLOUD, ended=True), 1_000, TTL_NS)


@pytest.mark.parametrize("ticks", [-1, 0])
def test_who_may_take_a_device(ticks: int) -> None:
    now_ns = 1_000 + TTL_NS + ticks
    assert lease.answer(record(), ALICE, now_ns, TTL_NS) == ("again" if ticks < 0 else "fresh")
    assert lease.answer(record(), BOB, now_ns, TTL_NS) == ("held" if ticks < 0 else "fresh")
    assert lease.answer(record(), CLOUD, now_ns, TTL_NS) == ("held" if ticks < 0 else "fresh")


def test_only_the_holder_of_a_live_lease_may_renew_it_or_give_it_back() -> None:
    at_expiry_ns = 1_000 + TTL_NS
    assert lease.live(record(), ALICE, at_expiry_ns - 1, TTL_NS)
    assert not lease.live(record(), ALICE, at_expiry_ns, TTL_NS)
    assert not lease.live(record(), BOB, at_expiry_ns - 1, TTL_NS)
    assert not lease.live(record(uses=1, ended=True), ALICE, 1_000, TTL_NS), "given back already"


def test_a_pin_is_a_count_and_the_ttl_runs_from_a_calls_end() -> None:
    assert lease.unpinned(lease.pinned(lease.pinned(0))) == 1
    assert lease.last_used_after_call_ns(started_ns=5, ended_ns=90) == 90
    assert lease.goes_at_once(record())
    assert not lease.goes_at_once(record(uses=1))


def test_holders_are_told_apart_by_kind_and_id() -> None:
    assert Holder("mcp", "x") != Holder("cloud", "x")
    assert sorted([ALICE, CLOUD]) == [CLOUD, ALICE]


class TestOracle:
    """One history written out by hand, so that the oracle is not only compared with what it judges."""

    def test_a_call_longer_than_the_ttl(self) -> None:
        state = PureLeases(ttl_ns=60)
        state, answer = state.apply(Op("begin_use", ALICE, "phone-1"), 0)
        assert answer == Granted("phone-1", ALICE, fresh=True)
        state, answer = state.apply(Op("acquire", BOB, "phone-1"), 89)
        assert answer == Refused("phone-1", ALICE, "held")
        state, answer = state.apply(Op("end_use", ALICE, "phone-1"), 90)
        assert answer is True
        assert state.snapshot(149) == [LeaseView("phone-1", ALICE, 0, 90, 0, ended=False)]
        assert state.busy(149) == ["phone-1"]
        assert state.busy(149, "cloud") == []
        assert state.busy(150) == []
        assert state.apply(Op("renew", ALICE, "phone-1"), 150)[1] is False
        assert state.apply(Op("acquire", BOB, "phone-1"), 150)[1] == Granted("phone-1", BOB, fresh=True)

    def test_a_session_that_ends_in_a_call(self) -> None:
        state, _ = PureLeases(ttl_ns=60).apply(Op("begin_use", ALICE, "phone-1"), 0)
        state, _ = state.apply(Op("acquire", ALICE, "phone-2"), 0)
        state, ids = state.apply(Op("end_holder", ALICE), 5)
        assert ids == ["phone-1", "phone-2"]
        assert state.busy(5) == ["phone-1"]
        assert state.apply(Op("end_holder", ALICE), 5)[1] == []
        assert state.apply(Op("acquire", ALICE, "phone-3"), 6)[1] == Refused("phone-3", None, "ended")
        assert state.apply(Op("acquire", BOB, "phone-1"), 6)[1] == Refused("phone-1", ALICE, "held")
        state, answer = state.apply(Op("end_use", ALICE, "phone-1"), 7)
        assert answer is True
        assert state.busy(7) == []

    def test_a_cloud_hold_lasts_until_it_is_ended(self) -> None:
        state, _ = PureLeases(ttl_ns=60).apply(Op("begin_use", CLOUD, "phone-1"), 0)
        state, _ = state.apply(Op("end_use", CLOUD, "phone-1"), 1)
        assert state.busy(10_000, "cloud") == ["phone-1"]
        state, _ = state.apply(Op("end_holder", CLOUD), 10_000)
        assert state.busy(10_000) == []
