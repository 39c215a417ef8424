"""HA-05 and HA-13 over stories written by hand; every way in which a check can say no is seen saying it."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.checks import exclusive, own_turn

# `story` is the hand-written trace of conftest.py: a host with a TTL of 60 s, `drive(caller, start_s, end_s)`.
TICK_S = 0.001


def test_no_driver_call_is_not_applicable(story: Any) -> None:
    assert exclusive(story.events).verdict == "not_applicable"
    assert own_turn(story.events).verdict == "not_applicable"
    assert exclusive([]).verdict == "not_applicable"


def test_one_holder_after_the_other_passes(story: Any) -> None:
    story.drive("alice", 0, 5).drive("alice", 20, 21).drive("bob", 81, 82).drive("bob", 90, 95)
    assert exclusive(story.events).verdict == "pass"


@pytest.mark.parametrize(("ticks", "verdict"), [(-1, "fail"), (0, "pass"), (1, "pass")])
def test_a_lease_ends_exactly_a_ttl_after_the_last_call(story: Any, ticks: int, verdict: str) -> None:
    """Held for all times before the end of the last call + TTL, free from then on (ruling 4)."""
    story.drive("alice", 0, 5).drive("bob", 65 + ticks * TICK_S, 70)
    assert exclusive(story.events).verdict == verdict


def test_two_holders_at_once_fail_with_how_long(story: Any) -> None:
    """The seed's own hole: a 90 s call lost its lease at 60 s (ruling 1)."""
    story.drive("alice", 0, 90).drive("bob", 60, 120)
    verdict = exclusive(story.events)
    assert (verdict.id, verdict.verdict, verdict.t_s) == ("HA-05", "fail", 60.0)
    assert verdict.reason == (
        "two holders of phone-1 for 30.000 s, from t=60.000: tap of bob began during tap of alice; "
        "expected one holder at every instant (HA-05)"
    )


def test_a_call_that_never_ends_pins(story: Any) -> None:
    story.drive("alice", 0, None).drive("bob", 500, 501)
    assert exclusive(story.events).verdict == "fail"


def test_other_devices_are_free(story: Any) -> None:
    story.drive("alice", 0, 90).drive("bob", 10, 20, device="phone-2")
    assert exclusive(story.events).verdict == "pass"


def test_the_longest_call_in_flight_counts(story: Any) -> None:
    story.drive("alice", 0, 100).drive("alice", 10, 20).drive("bob", 90, 91)
    assert exclusive(story.events).verdict == "fail"


def test_an_ended_session_frees_once_its_call_has_ended(story: Any) -> None:
    story.open(0, "alice", "s1").drive("alice", 1, 10).end(5, "alice", "s1").drive("bob", 10.001, 11)
    assert exclusive(story.events).verdict == "pass"


def test_an_ended_session_does_not_free_under_its_call(story: Any) -> None:
    story.open(0, "alice", "s1").drive("alice", 1, 10).end(5, "alice", "s1").drive("bob", 9, 11)
    assert exclusive(story.events).verdict == "fail"


def test_a_session_that_ends_later_frees_nothing_now(story: Any) -> None:
    story.open(0, "alice", "s1").drive("alice", 1, 10).drive("bob", 20, 21).end(20.001, "alice", "s1")
    assert exclusive(story.events).verdict == "fail"


def test_a_new_session_of_the_same_client_is_another_holder(story: Any) -> None:
    """A repeat under a new session may not drive while the lost session's lease stands (HA-20's habit)."""
    story.open(0, "alice", "s1").drive("alice", 1, 2).open(3, "alice", "s2").drive("alice", 4, 5)
    assert exclusive(story.events).verdict == "fail"


def test_a_call_belongs_to_the_session_it_was_sent_in(story: Any) -> None:
    """The driver call starts after its client already has a new session; the old session's end frees it."""
    story.open(0, "alice", "s1").add(1, "alice", "call.start", "c1", tool="tap", device_id="phone-1")
    story.end(1.1, "alice", "s1").open(1.2, "alice", "s2").drive("alice", 1.3, 2, call="c1").drive("bob", 3, 4)
    assert exclusive(story.events).verdict == "pass"


def test_clients_without_sessions_are_told_apart(story: Any) -> None:
    """A modern client's `session` is null; the end of one says nothing about another."""
    story.open(0, "alice", None).open(0, "bob", None).drive("alice", 1, 2).end(3, "bob", None).drive("bob", 4, 5)
    assert exclusive(story.events).verdict == "fail"


@pytest.mark.parametrize("how", ["part.stop", "part.kill"])
def test_a_stopped_host_holds_nothing(story: Any, how: str) -> None:
    story.drive("alice", 0, 5).stop(6, kind=how).start(8).drive("bob", 9, 10)
    assert exclusive(story.events).verdict == "pass"


def test_a_killed_host_leaves_the_device_to_its_running_call(story: Any) -> None:
    story.drive("alice", 0, 30).kill(6).start(8).drive("bob", 9, 10)
    assert exclusive(story.events).verdict == "fail"


def test_a_start_without_a_stop_ends_the_life_before(story: Any) -> None:
    story.drive("alice", 0, 5).start(8).drive("bob", 9, 10)
    assert exclusive(story.events).verdict == "pass"


def test_another_part_that_stops_frees_nothing(story: Any) -> None:
    story.drive("alice", 0, 5).stop(6, host="cloud").drive("bob", 9, 10)
    assert exclusive(story.events).verdict == "fail"


def test_a_cloud_assignment_holds_between_its_calls_and_not_after(story: Any) -> None:
    between = type(story)().drive("cloud:as-1", 0, 5).drive("bob", 7, 8).drive("cloud:as-1", 10, 15)
    assert exclusive(between.events).verdict == "fail"
    after = story.drive("cloud:as-1", 0, 5).drive("cloud:as-1", 10, 15).drive("bob", 15.001, 16)
    assert exclusive(after.events).verdict == "pass"


def test_a_cloud_assignment_waits_for_a_lease_like_anybody(story: Any) -> None:
    story.drive("alice", 0, 5).drive("cloud:as-1", 64, 65)
    assert exclusive(story.events).verdict == "fail"


def test_an_assignment_is_held_anew_after_a_kill(story: Any) -> None:
    story.drive("cloud:as-1", 0, 5).kill(6).start(7).drive("bob", 8, 9).kill(10).start(11)
    story.drive("cloud:as-1", 12, 13)
    assert exclusive(story.events).verdict == "pass"


def test_an_unknown_mark_is_inconclusive_and_a_failure_beats_it(story: Any) -> None:
    story.drive(None, 0, 5)
    verdict = exclusive(story.events)
    assert (verdict.verdict, verdict.t_s) == ("inconclusive", 0.0)
    assert "belongs to no caller" in verdict.reason
    story.drive("alice", 100, 120).drive("bob", 110, 130)
    assert exclusive(story.events).verdict == "fail"


def test_without_a_ttl_a_hand_over_can_not_be_judged(new_story: Any) -> None:
    story = new_story(ttl_s=None).drive("alice", 0, 5).drive("bob", 100, 101)
    assert exclusive(story.events).verdict == "inconclusive"
    assert "no part.start" in exclusive(story.events).reason


def test_two_hosts_need_sessions_that_name_theirs(new_story: Any) -> None:
    def two_hosts(**named: Any) -> Any:
        story = new_story(ttl_s=None).start(0, "host-1", ttl_s=60).start(0, "host-2", ttl_s=10)
        story.open(1, "alice", "s1", **named)
        return story.drive("alice", 2, 3).drive("bob", 20, 21)

    assert exclusive(two_hosts().events).verdict == "inconclusive"
    assert exclusive(two_hosts(host="host-1").events).verdict == "fail"
    assert exclusive(two_hosts(host="host-2").events).verdict == "pass"


def test_each_example_is_judged_alone_and_named(story: Any) -> None:
    story.drive("alice", 0, 5)
    story.example().start(0).drive("bob", 1, 2)
    assert exclusive(story.events).verdict == "pass"
    story.example().start(0).drive("alice", 0, 5).drive("bob", 1, 2)
    verdict = exclusive(story.events)
    assert verdict.verdict == "fail"
    assert verdict.reason.startswith("example 3: ")


def test_history_written_late_is_judged_by_its_time(story: Any) -> None:
    """Process mode reads the rack's log after the fact: order of writing says nothing, time does."""
    story.drive("bob", 60, 120).drive("alice", 0, 90)
    assert exclusive(story.events).verdict == "fail"


def test_damaged_history_is_inconclusive(story: Any) -> None:
    story.drive("alice", 0, 5)
    story.add(6, "phone-1", "driver.end", "nobody")
    assert "has no start" in exclusive(story.events).reason
    story.add(7, "phone-1", "driver.start", None, tool="tap", caller="alice")
    assert exclusive(story.events).verdict == "inconclusive"


def test_many_conflicts_are_counted_and_the_first_is_told(story: Any) -> None:
    story.drive("alice", 0, 90).drive("bob", 10, 11).drive("bob", 20, 21)
    verdict = exclusive(story.events)
    assert verdict.t_s == 10.0
    assert verdict.reason.endswith("(1 more like it)")


def test_a_caller_takes_its_own_turn(story: Any) -> None:
    """Ruling 12: the second call of a session waits inside the server; at the device they never overlap."""
    fine = type(story)().drive("alice", 0, 10).drive("alice", 10, 100).drive("bob", 5, 6, device="phone-2")
    assert own_turn(fine.events).verdict == "pass"
    story.drive("alice", 0, 10).drive("alice", 9, 11)
    verdict = own_turn(story.events)
    assert (verdict.id, verdict.verdict, verdict.t_s) == ("HA-13", "fail", 9.0)
    assert exclusive(story.events).verdict == "pass"


def test_overlaps_of_different_callers_are_not_about_turns(story: Any) -> None:
    story.drive("alice", 0, 10).drive("bob", 9, 11).drive(None, 9, 11).drive(None, 9, 11)
    assert own_turn(story.events).verdict == "pass"


# -- hosts that share a lease store


def two(new_story: Any, end_s: float = 12) -> Any:
    """Alice at host a taps from 10 on; bob is at host b."""
    story = new_story(ttl_s=None).start(0, "a").start(0, "b")
    story.open(1, "alice", "s1", host="a").open(1, "bob", "s2", host="b")
    return story.drive("alice", 10, end_s)


@pytest.mark.parametrize(("ticks", "verdict"), [(-1, "fail"), (0, "pass")])
def test_a_paused_hosts_lease_goes_from_two_thirds_of_a_ttl_on(new_story: Any, ticks: int, verdict: str) -> None:
    """It kept the lease of its running call at most a third of a TTL before the pause."""
    story = two(new_story, end_s=30)
    story.add(12, "a", "part.pause")
    story.drive("bob", 52 + ticks * TICK_S, 53)
    assert exclusive(story.events).verdict == verdict


def test_another_hosts_pause_frees_nothing(new_story: Any) -> None:
    story = two(new_story, end_s=30)
    story.add(12, "b", "part.pause")
    assert exclusive(story.drive("bob", 60, 61).events).verdict == "fail"


def test_a_pause_shorter_than_the_lease_frees_nothing(new_story: Any) -> None:
    story = two(new_story, end_s=30)
    story.add(12, "a", "part.pause")
    story.add(51.9, "a", "part.resume")
    assert exclusive(story.drive("bob", 60, 61).events).verdict == "fail"


def test_a_resume_without_a_pause_makes_no_old_pause_longer(new_story: Any) -> None:
    """As after steps that were cut one by one: the way is mended, and was never said to be cut off."""
    story = two(new_story, end_s=30)
    story.add(12, "a", "part.pause")
    story.add(13, "a", "part.resume")
    story.add(59, "a", "part.resume")
    assert exclusive(story.drive("bob", 60, 61).events).verdict == "fail"


def test_of_two_pauses_in_each_other_the_last_end_counts(new_story: Any) -> None:
    story = two(new_story, end_s=30)
    for t_s, kind in ((12, "pause"), (13, "pause"), (14, "resume"), (59, "resume")):
        story.add(t_s, "a", f"part.{kind}")
    assert exclusive(story.drive("bob", 60, 61).events).verdict == "pass"


def test_a_pause_lets_nobody_in_under_a_running_call(new_story: Any) -> None:
    story = two(new_story, end_s=200)
    story.add(12, "a", "part.pause")
    assert exclusive(story.drive("bob", 150, 151).events).verdict == "fail"


def test_a_pause_long_after_the_call_does_not_shorten_its_lease(new_story: Any) -> None:
    story = two(new_story, end_s=12)
    story.add(16, "a", "part.pause")
    assert exclusive(story.drive("bob", 60, 61).events).verdict == "fail"


def test_a_pause_before_the_call_was_asked_for_frees_nothing(new_story: Any) -> None:
    story = new_story(ttl_s=None).start(0, "a").start(0, "b")
    story.open(1, "alice", "s1", host="a").open(1, "bob", "s2", host="b")
    story.add(2, "a", "part.pause")
    story.add(60, "a", "part.resume")
    story.drive("alice", 61, 62).drive("bob", 80, 81)
    assert exclusive(story.events).verdict == "fail"


def test_an_old_call_that_the_device_let_in_is_red(new_story: Any) -> None:
    """Asked for before the pause, at the device after it, when bob has the device."""
    story = new_story(ttl_s=None).start(0, "a").start(0, "b")
    story.open(1, "alice", "s1", host="a").open(1, "bob", "s2", host="b")
    story.add(2, "alice", "call.start", "c1", tool="tap", device_id="phone-1", arguments={"device_id": "phone-1"})
    story.add(2, "a", "part.pause")
    story.drive("bob", 70, 71)
    story.add(72, "a", "part.resume")
    story.drive("alice", 72, 73)
    verdict = exclusive(story.events)
    assert (verdict.verdict, verdict.t_s) == ("fail", 72.0)


def test_a_call_asked_for_before_the_pause_and_let_in_after_it_holds_no_longer(new_story: Any) -> None:
    """Nobody had the device meanwhile. The grant is older than the pause, and may be lost at any moment."""
    story = new_story(ttl_s=None).start(0, "a").start(0, "b")
    story.open(1, "alice", "s1", host="a").open(1, "bob", "s2", host="b")
    story.add(2, "alice", "call.start", "c1", tool="tap", device_id="phone-1", arguments={"device_id": "phone-1"})
    story.add(2, "a", "part.pause")
    story.add(50, "a", "part.resume")
    story.drive("alice", 50, 55).drive("bob", 62, 63)
    assert exclusive(story.events).verdict == "pass"


def test_a_host_that_is_killed_in_its_pause_holds_as_a_killed_one(new_story: Any) -> None:
    story = two(new_story, end_s=30)
    story.add(12, "a", "part.pause")
    story.kill(13, "a").drive("bob", 31, 32)
    assert exclusive(story.events).verdict == "pass"


def test_a_store_that_forgot_frees_what_was_granted_before(new_story: Any) -> None:
    story = two(new_story, end_s=12)
    story.add(13, "leases", "store.lost")
    assert exclusive(story.drive("bob", 14, 15).events).verdict == "pass"


@pytest.mark.parametrize(("lost_s", "bob_s"), [(9.0, 14.0), (11.0, 11.5), (20.0, 14.0)])
def test_a_store_that_forgot_lets_nobody_in_early(new_story: Any, lost_s: float, bob_s: float) -> None:
    """Forgotten before the grant; a call that still runs; forgotten after bob came."""
    story = two(new_story, end_s=12)
    story.add(lost_s, "leases", "store.lost")
    assert exclusive(story.drive("bob", bob_s, 15).events).verdict == "fail"


def test_after_a_loss_the_older_holders_call_is_red_under_the_new_one(new_story: Any) -> None:
    story = two(new_story, end_s=12)
    story.add(13, "leases", "store.lost")
    story.drive("bob", 14, 15).drive("alice", 16, 17)
    assert exclusive(story.events).verdict == "fail"
