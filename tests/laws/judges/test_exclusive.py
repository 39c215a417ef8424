"""The judge of lease/exclusive: what is sure is found, what is not sure is no conflict, however late messages are."""

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.judges.exclusive import Judged, Policy, judge
from lasttick.laws.profiles.profile import Outcome, Profile
from lasttick.laws.reply import Reply
from lasttick.laws.said import Effect, Mark, Said

TTL_S, LAG_S = 20.0, 1.0
NUMBERS = itertools.count(1)


def profile(**lease: Any) -> Profile:
    """A service with tools of its own for each verb."""
    verbs = {name: {"tool": name} for name in ("acquire", "use", "renew", "release")}
    policy = {"ttl_s": TTL_S, "renewed_by": ["use", "renew"], **verbs, **lease}
    return Profile.model_validate({"version": 1, "target": {"url": "http://127.0.0.1/mcp"}, "lease": policy})


POLICY = Policy.of(profile())
BY_USE = Policy.of(profile(acquire={"same": "lease.use"}, renewed_by=["use"]))


def said(
    caller: str,
    verb: str,
    sent_s: float,
    answered_s: float | None = None,
    outcome: Outcome = "ok",
    *,
    resource: str | None = "phone-1",
    hold: float = 0.0,
    pending_s: float | None = None,
) -> Said:
    number = next(NUMBERS)
    return Said(
        number=number,
        law="lease/exclusive",
        verb=verb,
        caller=caller,
        session=f"{caller}-1",
        outcome=outcome,
        reply=Reply(outcome == "ok"),
        sent_s=sent_s,
        answered_s=sent_s + hold if answered_s is None else answered_s,
        mark=Mark(f"lt-{number}-{caller}", 1 + number / 1_000_000),
        inputs={"resource": resource, "hold": hold},
        pending_s=pending_s,
    )


def effect(of: Said, at: float | None = None, end: float | None = None) -> Effect:
    assert of.mark is not None
    return Effect(of.mark.number, at=at, end=end, resource=of.resource)


def judged(*history: Said, effects: Sequence[Effect] = (), policy: Policy = POLICY) -> Judged:
    return judge(history, effects, policy)


# -- two holders


def test_two_grants_in_force_at_one_time() -> None:
    alice, bob = said("alice", "lease.acquire", 0, 1), said("bob", "lease.acquire", 2, 3)
    (conflict,) = judged(alice, bob).conflicts
    assert conflict.saids == (alice, bob)
    assert conflict.reason == ("phone-1 was held by alice and by bob at once, for at least 16.730 s from 3.000 s"), (
        "sure until alice's sending + 20 s, less drift and tolerance"
    )


def test_of_two_in_flight_at_once_it_does_not_matter_who_was_first() -> None:
    assert len(judged(said("alice", "lease.acquire", 0, 1), said("bob", "lease.acquire", 0, 1)).conflicts) == 1


def test_after_the_ttl_it_is_anybodys() -> None:
    alice = said("alice", "lease.acquire", 0, 1)
    assert judged(alice, said("bob", "lease.acquire", 18, 19.8)).conflicts == (), "answered when it may be over"
    assert len(judged(alice, said("bob", "lease.acquire", 18, 19.7)).conflicts) == 1


def test_who_waited_in_a_queue_has_it_from_when_it_was_last_seen_to_wait() -> None:
    bob = said("bob", "lease.acquire", 0, 30, pending_s=29.9)
    assert len(judged(bob, said("alice", "lease.acquire", 48, 49)).conflicts) == 1
    assert judged(bob, said("alice", "lease.acquire", 48, 49.7)).conflicts == ()


@pytest.mark.parametrize("verb", ["lease.use", "lease.renew"])
def test_what_renews_keeps_it(verb: str) -> None:
    alice, again = said("alice", "lease.acquire", 0), said("alice", verb, 15)
    bob = said("bob", "lease.acquire", 30)
    assert len(judged(alice, again, bob).conflicts) == 1
    without = Policy.of(profile(renewed_by=["acquire"]))
    assert judged(alice, again, bob, policy=without).conflicts == ()


def test_a_use_is_a_grant_only_where_an_acquire_is_a_first_use() -> None:
    alice, bob = said("alice", "lease.use", 0), said("bob", "lease.acquire", 1)
    assert len(judged(alice, bob, policy=BY_USE).conflicts) == 1
    assert judged(alice, bob, policy=Policy.of(profile(renewed_by=[]))).conflicts == ()


@pytest.mark.parametrize("verb", ["lease.release", "session.end", "session.vanish"])
@pytest.mark.parametrize("outcome", ["ok", "error", "lost"])
def test_whatever_may_have_ended_it_ended_it(verb: str, outcome: Outcome) -> None:
    end = said("alice", verb, 5, 6, outcome, resource=None)
    assert judged(said("alice", "lease.acquire", 0), end, said("bob", "lease.acquire", 5)).conflicts == ()
    assert len(judged(said("alice", "lease.acquire", 0), end, said("bob", "lease.acquire", 3)).conflicts) == 1


def test_an_end_before_it_does_not_end_it() -> None:
    history = [
        said("alice", "session.end", 0, 1),
        said("alice", "lease.acquire", 1, 2),
        said("bob", "lease.acquire", 3),
    ]
    assert len(judged(*history).conflicts) == 1


def test_where_no_time_passes_the_order_of_the_answers_tells() -> None:
    before, alice, after = (
        said("alice", "session.end", 5),
        said("alice", "lease.acquire", 5),
        said("alice", "lease.release", 5),
    )
    bob = said("bob", "lease.acquire", 5)
    assert len(judged(before, alice, bob).conflicts) == 1
    assert judged(alice, after, bob).conflicts == ()


def test_an_end_in_flight_with_it_may_have_come_after_it() -> None:
    history = [
        said("alice", "session.end", 0, 3),
        said("alice", "lease.acquire", 1, 2),
        said("bob", "lease.acquire", 4),
    ]
    assert judged(*history).conflicts == ()


def test_a_holder_that_is_refused_may_have_lost_it() -> None:
    history = [said("alice", "lease.acquire", 0), said("alice", "lease.use", 4, 5, "denied")]
    assert judged(*history, said("bob", "lease.acquire", 6)).conflicts == ()


@pytest.mark.parametrize("outcome", ["busy", "denied", "pending", "lost", "error"])
def test_what_was_not_answered_ok_grants_nothing(outcome: Outcome) -> None:
    assert judged(said("alice", "lease.acquire", 0), said("bob", "lease.acquire", 1, 2, outcome)).conflicts == ()


def test_other_resources_and_other_sessions_of_one_caller_do_not_matter() -> None:
    alice = said("alice", "lease.acquire", 0)
    assert judged(alice, said("bob", "lease.acquire", 1, resource="phone-2")).conflicts == ()
    assert judged(alice, said("alice", "lease.acquire", 1)).conflicts == ()


def test_a_resource_without_a_name_is_the_only_one_there_is_or_unknown() -> None:
    history = [said(name, "lease.acquire", 0, resource=None) for name in ("alice", "bob")]
    assert len(judged(*history).conflicts) == 1
    assert judged(*history, policy=Policy.of(profile(capacity=2))).conflicts == ()
    assert judged(*history, policy=Policy.of(profile(busy="provisions"))).conflicts == ()


# -- during a call


def test_a_grant_during_a_call_that_is_longer_than_the_ttl() -> None:
    call = said("alice", "lease.use", 0, 51, hold=50)
    bob = said("bob", "lease.acquire", 30, 31)
    assert len(judged(call, bob, effects=[effect(call)]).conflicts) == 1
    assert judged(call, bob).conflicts == (), "without its effect nobody knows that it ran"
    ends = Policy.of(profile(in_flight="ends"))
    assert judged(call, bob, effects=[effect(call)], policy=ends).conflicts == ()


def test_a_call_surely_runs_only_between_its_latest_start_and_its_earliest_end() -> None:
    """Sent at 0 and answered at 58, it began at 8 at the latest and ended at 50 at the earliest, less drift."""
    call = said("alice", "lease.use", 0, 58, hold=50)
    refused = [said("bob", "lease.acquire", *times, "busy") for times in ((8.0, 9), (8.1, 9), (49, 49.9), (49, 50.1))]
    assert judged(call, *refused, effects=[effect(call)]).withheld == (refused[1], refused[2])
    granted = said("bob", "lease.acquire", 49, 49.9), said("bob", "lease.acquire", 49, 50)
    assert [len(judged(call, bob, effects=[effect(call)]).conflicts) for bob in granted] == [1, 0]


def test_a_call_that_was_answered_too_soon_did_not_run_as_long_as_asked() -> None:
    call = said("alice", "lease.use", 0, 1, hold=50)
    assert judged(call, said("bob", "lease.acquire", 30), effects=[effect(call)]).conflicts == ()


# -- at the resource


def test_two_calls_at_one_time_by_the_resources_own_clock() -> None:
    one, other = said("alice", "lease.use", 0, 9, hold=5), said("bob", "lease.use", 0, 9, "busy")
    (conflict,) = judged(one, other, effects=[effect(one, 100, 105), effect(other, 104.9, 104.9)]).conflicts
    assert conflict.reason == (
        "bob acted on phone-1 at 104.900 s of its clock, during the call of alice, which ran there until 105.000 s"
    )


@pytest.mark.parametrize(
    ("first", "second", "conflicts"),
    [
        ((100, 105), (105, 106), 0),
        ((100, 105), (100, 100), 0),
        ((100, 100), (100, 105), 0),
        ((100, 100), (100, 100), 0),
        ((100, 105), (100, 105), 1),
        ((100, 105), (103, 110), 1),
        ((100, 105), (103, None), 1),
        ((100, None), (103, 104), 0),
        ((None, None), (103, 104), 0),
    ],
)
def test_only_calls_that_surely_overlap(first: Any, second: Any, conflicts: int) -> None:
    """Both were lost on the way, so nothing but the resource tells; one ok answer says that somebody holds it."""
    one, other = said("alice", "lease.use", 0, 90, "lost"), said("bob", "lease.use", 89, 90)
    for effects in ([effect(one, *first), effect(other, *second)], [effect(other, *second), effect(one, *first)]):
        assert len(judged(one, other, effects=effects).conflicts) == conflicts


def test_a_resource_whose_clock_was_set_back_between_two_calls() -> None:
    one, other = said("alice", "lease.use", 0, 5), said("bob", "lease.use", 60, 61)
    effects = [effect(one, 100, 105), effect(other, 103, 104)]
    assert judged(one, other, effects=effects).conflicts == ()
    lost = replace(one, outcome="lost")
    assert len(judged(lost, other, effects=effects).conflicts) == 1, "nobody knows when it came"


def test_where_nobody_was_answered_ok_nobody_held_it() -> None:
    one, other = said("alice", "lease.use", 0, 9, "busy"), said("bob", "lease.use", 0, 9, "busy")
    assert judged(one, other, effects=[effect(one, 100, 105), effect(other, 101, 102)]).conflicts == ()


def test_a_refused_call_that_happened_all_the_same_while_another_held_it() -> None:
    alice, bob = said("alice", "lease.acquire", 0), said("bob", "lease.use", 5, 6, "busy")
    (conflict,) = judged(alice, bob, effects=[effect(bob)]).conflicts
    assert conflict.saids == (alice, bob)
    late = said("bob", "lease.use", 5, 19, "busy")
    assert judged(alice, late, effects=[effect(late)]).conflicts == (), "it may have happened a lag after its answer"


def test_marks_are_found_as_numbers_as_texts_and_within_texts() -> None:
    alice, bob = said("alice", "lease.acquire", 0), said("bob", "lease.use", 5, 6, "busy")
    assert bob.mark is not None
    for mark in (bob.mark.number, bob.mark.text, f"I/lasttick: {bob.mark.text} 7"):
        assert len(judged(alice, bob, effects=[Effect(mark)]).conflicts) == 1
    for mark in (True, None, "", f"{bob.mark.text}x", {"a": 1}):
        assert judged(alice, bob, effects=[Effect(mark)]).conflicts == ()


# -- what must have been seen


def test_a_refusal_during_a_call_and_a_hand_over_are_counted() -> None:
    call = said("alice", "lease.use", 0, 5, hold=5)
    refused = said("bob", "lease.acquire", 1, 2, "busy")
    before, after = said("bob", "lease.acquire", 0, 0.001, "busy"), said("bob", "lease.acquire", 4, 5.1, "busy")
    taken = said("bob", "lease.use", 30)
    result = judged(call, refused, before, after, taken, effects=[effect(call), effect(taken)], policy=BY_USE)
    assert result.withheld == (refused,)
    assert result.handovers == (taken,)
    assert result.conflicts == ()


def test_to_wait_in_a_queue_is_to_be_kept_off_too() -> None:
    call = said("alice", "lease.use", 0, 5, hold=5)
    queued = said("bob", "lease.acquire", 1, 30, pending_s=29.0)
    unseen = said("bob", "lease.acquire", 1, 30)
    late = said("bob", "lease.acquire", 5, 30, pending_s=29.0)
    assert judged(call, queued, unseen, late, effects=[effect(call)]).withheld == (queued,)


def test_another_resource_is_an_answer_where_the_target_provisions() -> None:
    call = said("alice", "lease.use", 0, 5, hold=5)
    other = said("bob", "lease.acquire", 1, 2, resource="phone-2")
    assert judged(call, other, effects=[effect(call)], policy=Policy.of(profile(busy="provisions"))).withheld == (
        other,
    )
    assert judged(call, other, effects=[effect(call)]).withheld == ()


# -- any history of a right server


OPS = st.lists(
    st.tuples(
        st.sampled_from(["use", "use", "release"]),
        st.floats(0, 8),  # thinking before it
        st.floats(0, 3),  # on the way there
        st.floats(0, 3),  # on the way back
        st.sampled_from([0.0, 0.0, 3.0, 30.0]),  # hold
    ),
    max_size=12,
)
CALLERS = ("alice", "bob", "carol")


def play(stories: Mapping[str, Sequence[Any]], *, exclusive: bool = True) -> tuple[list[Said], list[Effect]]:
    """A lease server with one resource, pinned by calls, TTL from a call's end; messages take their time."""
    history: list[Said] = []
    effects: list[Effect] = []
    holder, free_s = "", 0.0
    queue: list[Any] = []
    for order, (name, ops) in enumerate(stories.items()):
        if ops:
            heapq.heappush(queue, (ops[0][1] + ops[0][2], order, name, 0, ops[0][1]))
    while queue:
        decided_s, order, name, index, sent_s = heapq.heappop(queue)
        op, _, _, back_s, hold_s = stories[name][index]
        end_s, outcome = decided_s, "ok"
        if op == "use":
            if exclusive and holder not in ("", name) and decided_s < free_s:
                outcome = "busy"
            else:
                end_s = decided_s + hold_s
                holder, free_s = name, end_s + TTL_S
        elif holder == name:
            holder = ""
        one = said(name, f"lease.{op}", sent_s, end_s + back_s, outcome, hold=hold_s if op == "use" else 0.0)
        history.append(one)
        if op == "use" and outcome == "ok":
            effects.append(effect(one, 1000 + decided_s, 1000 + end_s))
        if index + 1 < len(stories[name]):
            sends_s = end_s + back_s + stories[name][index + 1][1]
            there_s = sends_s + stories[name][index + 1][2]
            heapq.heappush(queue, (there_s, order, name, index + 1, sends_s))
    return history, effects


@given(st.fixed_dictionaries(dict.fromkeys(CALLERS, OPS)))
def test_a_right_server_is_never_said_to_have_two_holders(stories: Mapping[str, Sequence[Any]]) -> None:
    history, effects = play(stories)
    assert judge(history, effects, BY_USE).conflicts == ()


def test_the_same_server_without_exclusion_is() -> None:
    story = [("use", 1.0, 0.1, 0.1, 3.0), ("use", 1.0, 0.1, 0.1, 0.0)]
    history, effects = play({"alice": story, "bob": story}, exclusive=False)
    assert judge(history, effects, BY_USE).conflicts != ()
