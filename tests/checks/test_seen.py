"""Each sight is seen when it happened, and not seen when something only like it happened."""

from __future__ import annotations

from typing import Any

from lasttick.checks import seen


def test_nothing_is_seen_in_peace(story: Any) -> None:
    story.drive("alice", 0, 5).drive("alice", 70, 75).drive("bob", 10, 15, device="phone-2")
    assert seen(story.events) == frozenset()


def test_a_refusal_during_a_call(story: Any) -> None:
    story.drive("alice", 0, 50).refused("bob", 20, 20)
    assert seen(story.events) == {"refusal-during-call"}


def test_a_refusal_beside_the_call_does_not_count(story: Any) -> None:
    story.drive("alice", 0, 50).refused("bob", 55, 55).refused("bob", 20, 20, device="phone-2")
    story.refused("alice", 20, 20).refused("bob", 49, 51)
    assert seen(story.events) == frozenset()


def test_a_hand_over_and_one_at_the_tick(story: Any) -> None:
    later = type(story)().drive("alice", 0, 5).drive("bob", 65.001, 66)
    assert seen(later.events) == {"hand-over"}
    assert seen(later.events, tick_s=0.25) == {"hand-over", "hand-over-at-tick"}
    exact = story.drive("alice", 0, 5).drive("bob", 65, 66)
    assert seen(exact.events) == {"hand-over", "hand-over-at-tick"}


def test_a_hand_over_by_session_end_is_not_at_the_tick(story: Any) -> None:
    story.open(0, "alice", "s1").drive("alice", 0, 5).end(64, "alice", "s1").drive("bob", 65, 66)
    assert seen(story.events) == {"hand-over"}


def test_a_hand_over_needs_both_calls_in_one_example(story: Any) -> None:
    story.drive("alice", 0, 5).example().start(0).drive("bob", 65, 66)
    assert seen(story.events) == frozenset()
