"""A refused call that happened is told from one that did not, and from one that may yet happen."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.judges.untouched import Refusals, happened, judged
from lasttick.laws.said import Said

from ..sayings import effect, mark, said


def call(number: int, outcome: str, resource: str | None = None) -> Said:
    inputs = {} if resource is None else {"resource": resource}
    return said(number, outcome=outcome, mark=mark(number), inputs=inputs)  # type: ignore[arg-type]


def test_a_refused_call_with_an_effect_is_touched_whatever_came_after() -> None:
    denied, busy = call(1, "denied"), call(2, "busy")
    assert judged([denied, busy], [effect(1), effect(2)]) == Refusals((denied, busy), (), ())


def test_a_later_good_call_that_arrived_is_the_barrier() -> None:
    denied, good = call(1, "denied"), call(2, "ok")
    assert judged([denied, good], [effect(2)]) == Refusals((), (denied,), ())


def test_no_barrier_is_a_good_call_that_did_not_arrive_or_came_before_or_was_under_way() -> None:
    denied = call(5, "denied")
    under_way = said(6, mark=mark(6), sent_s=5.4, answered_s=6.0)
    for good, effects in [(call(6, "ok"), []), (call(4, "ok"), [effect(4)]), (under_way, [effect(6)])]:
        assert judged([denied, good], effects) == Refusals((), (), (denied,))


def test_no_barrier_is_a_good_call_of_another_resource() -> None:
    denied = call(1, "denied", "phone-1")
    others = [call(2, "ok", "phone-2"), call(3, "ok")]
    assert judged([denied, *others], [effect(2), effect(3)]) == Refusals((), (), (denied,))
    assert judged([denied, call(4, "ok", "phone-1")], [effect(4)]) == Refusals((), (denied,), ())


def test_errors_lost_answers_and_calls_without_a_mark_are_no_refusals() -> None:
    calls = [call(1, "error"), call(2, "lost"), call(3, "pending"), said(4, outcome="denied")]
    assert judged([*calls, call(5, "ok")], [effect(1), effect(2), effect(3), effect(5)]) == Refusals((), (), ())


def test_a_mark_is_a_word_of_its_own_and_may_be_a_number() -> None:
    assert not happened(call(1, "denied"), [effect(12)])
    assert happened(call(1, "denied"), [effect(12), effect(1)])
    numbered = effect(1).__class__(mark=1.001)
    assert happened(call(1, "denied"), [numbered])
    assert not happened(said(1, outcome="denied"), [effect(1)])


def test_what_was_said_of_one_request_is_not_judged_one_by_one() -> None:
    """A resume that was refused because the first one ran it has touched nothing."""
    first, second = call(1, "ok"), replace(call(2, "denied"), mark=mark(1))
    refusals = judged([first, second], [effect(1)])
    assert refusals == Refusals((), (), ())


outcomes = st.sampled_from(["ok", "busy", "denied", "error", "lost", "pending"])


@given(st.lists(st.tuples(outcomes, st.sampled_from([None, "a", "b"]), st.booleans()), max_size=12))
def test_every_refused_call_is_judged_once_and_touched_exactly_when_it_happened(
    calls: list[tuple[str, str | None, bool]],
) -> None:
    history = [call(number, outcome, resource) for number, (outcome, resource, _) in enumerate(calls)]
    effects = [effect(number) for number, (_, _, happens) in enumerate(calls) if happens]
    refusals = judged(history, effects)
    assert sorted([*refusals.touched, *refusals.untouched, *refusals.unknown], key=lambda one: one.number) == [
        one for one in history if one.refused
    ]
    assert [one.number for one in refusals.touched] == [
        number for number, (outcome, _, happens) in enumerate(calls) if outcome in ("busy", "denied") and happens
    ]
    for one in refusals.untouched:
        assert any(
            later.ok and later.resource == one.resource and later.number > one.number and calls[later.number][2]
            for later in history
        )
