"""The rule that makes guessing slow, over any history of tries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.login_limit import (
    FORGET_NS,
    FREE_TRIES,
    LOCK_NS_MAX,
    NS,
    Tries,
    after_failure,
    after_knock,
    lock_ns,
    retry_after_s,
    shut_for_ns,
)


def failed(times: int, at_ns: int = 0) -> Tries:
    tries = Tries()
    for _ in range(times):
        tries = after_failure(tries, at_ns)
    return tries


def test_slips_cost_nothing_and_the_fifth_costs_a_second() -> None:
    assert [shut_for_ns(failed(times), 0) for times in range(FREE_TRIES + 3)] == [0, 0, 0, 0, 0, NS, 2 * NS, 4 * NS]


def test_to_the_nanosecond() -> None:
    tries = failed(FREE_TRIES, 7)
    assert shut_for_ns(tries, 7 + NS - 1) == 1
    assert shut_for_ns(tries, 7 + NS) == 0
    assert shut_for_ns(tries, 7 + 2 * NS) == 0


def test_a_minute_is_the_longest_however_many() -> None:
    assert [lock_ns(times) for times in (11, 12, 1_000, 10**9)] == [LOCK_NS_MAX] * 4


def test_a_quarter_of_an_hour_of_quiet_forgets() -> None:
    tries = failed(8)
    assert after_failure(tries, FORGET_NS - 1).failed == 9
    assert after_failure(tries, FORGET_NS) == Tries(1, FORGET_NS, FORGET_NS)


def test_a_wait_that_is_told_is_long_enough() -> None:
    assert [retry_after_s(ns) for ns in (1, NS - 1, NS, NS + 1)] == [1, 1, 1, 2]


@given(st.lists(st.tuples(st.integers(0, 120 * NS), st.booleans()), max_size=60))
def test_whoever_waits_a_minute_finds_it_open(steps: list[tuple[int, bool]]) -> None:
    """However somebody else knocks: at an open door wrongly, at a shut one in vain."""
    tries, now_ns = Tries(), 0
    for pause_ns, _ in steps:
        now_ns += pause_ns
        shut = shut_for_ns(tries, now_ns)
        before = tries
        tries = after_knock(tries, now_ns) if shut else after_failure(tries, now_ns)
        assert not shut or tries == before
        assert shut_for_ns(tries, now_ns + LOCK_NS_MAX) == 0
