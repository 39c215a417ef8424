"""Does every event lead where the contract's table says, and only a valid result to an approval? LU-08, LU-10."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.lineup.records import CallState, InteractionState, Source
from lasttick.model.lineup.states import (
    LEGAL,
    RESULTS,
    TRANSITIONS,
    Event,
    Pair,
    after,
    legal_pairs,
    result_refusal,
)

EVENTS: tuple[Event, ...] = get_args(Event)
SOURCES: tuple[Source, ...] = get_args(Source)
OPEN: Pair = ("emitted", "pending")

# The contract's rows: event, both states after it, towards the agent, disposition of the state frame.
TABLE: list[tuple[Event, str, str | None, str | None]] = [
    ("completed", "completed/resolved", "option", "accepted"),
    ("cancelled", "completed/resolved", "cancelled", "accepted"),
    ("rejected", "emitted/pending", None, "rejected"),
    ("deadline", "expired/expired", "cancelled", None),
    ("user_cancel", "aborted/aborted", "cancelled", None),
    ("response_timeout", "aborted/aborted", "cancelled", None),
    ("turn_ended", "aborted/aborted", None, None),
    ("agent_gone", "aborted/aborted", None, None),
    ("superseded", "aborted/aborted", "cancelled", None),
    ("older_epoch", "aborted/aborted", None, None),
]


def start(source: Source) -> Pair:
    return ("emitted", None if source == "model" else "pending")


@pytest.mark.parametrize(("event", "becomes", "towards", "disposition"), TABLE)
def test_an_open_permission_card_follows_the_table(
    event: Event, becomes: str, towards: str | None, disposition: str | None
) -> None:
    step = after(OPEN, event)
    assert step is not None
    assert (f"{step.call}/{step.interaction}", step.towards, step.disposition) == (becomes, towards, disposition)


def test_every_event_has_its_row() -> None:
    assert [row[0] for row in TABLE] == list(EVENTS) == list(TRANSITIONS)


def test_only_a_users_cancel_and_a_time_out_cancel_the_session() -> None:
    assert [event for event in EVENTS if TRANSITIONS[event].cancels_session] == ["user_cancel", "response_timeout"]


@pytest.mark.parametrize(
    ("event", "towards"),
    [
        ("completed", "result prompt"),
        ("cancelled", "result prompt"),
        ("rejected", None),
        ("deadline", "notice"),
        ("user_cancel", "notice"),
        ("agent_gone", "notice"),
        ("older_epoch", "notice"),
    ],
)
def test_what_becomes_of_a_model_card_is_told_in_prompts(event: Event, towards: str | None) -> None:
    step = after(("emitted", None), event, "model")
    assert step is not None
    assert (step.call, step.interaction, step.towards) == (TRANSITIONS[event].call, None, towards)


def test_the_end_of_a_turn_closes_permission_cards_only() -> None:
    assert after(OPEN, "turn_ended", "gateway") is None
    assert after(("emitted", None), "turn_ended", "model") is None


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("completed", "resolved"), "already resolved"),
        (("expired", "expired"), "expired"),
        (("aborted", "aborted"), "aborted"),
    ],
)
@pytest.mark.parametrize("event", EVENTS)
def test_a_closed_card_stays_as_it_is_and_only_results_are_answered(pair: Pair, reason: str, event: Event) -> None:
    step = after(pair, event)
    if event not in RESULTS:
        assert step is None
        return
    assert step is not None
    assert ((step.call, step.interaction), step.towards, step.result_status) == (pair, None, None)
    assert (step.disposition, step.reason) == ("rejected", reason)


@given(st.sampled_from(SOURCES), st.lists(st.sampled_from(EVENTS), max_size=8))
def test_whatever_happens_pairs_stay_legal_the_agent_hears_once_and_approval_needs_a_result(
    source: Source, events: list[Event]
) -> None:
    pair, heard = start(source), []
    for event in events:
        step = after(pair, event, source)
        if step is None:
            continue
        pair = (step.call, step.interaction)
        assert f"{pair[0]}/{pair[1]}" in legal_pairs(source)
        if step.towards is not None:
            heard.append((event, step.towards))
    assert len(heard) <= 1
    assert all(event == "completed" for event, towards in heard if towards == "option")


@pytest.mark.parametrize("call", get_args(CallState))
@pytest.mark.parametrize("interaction", [None, *get_args(InteractionState)])
@pytest.mark.parametrize("source", SOURCES)
def test_a_pair_that_is_not_legal_is_an_error_and_no_guess(call: Any, interaction: Any, source: Source) -> None:
    if interaction == (None if source == "model" else LEGAL[call]):
        after((call, interaction), "deadline", source)
        return
    with pytest.raises(ValueError, match=r"expected one of .*contract lineup C-4"):
        after((call, interaction), "completed", source)


@pytest.mark.parametrize("state", [None, *get_args(CallState)])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("due", [True, False])
def test_a_result_is_refused_for_the_first_thing_in_the_contracts_order(
    state: CallState | None, same: bool, due: bool
) -> None:
    closed = {"completed": "already resolved", "expired": "expired", "aborted": "aborted"}
    in_order = [
        (state is None, "unknown call"),
        (not same, "wrong conversation"),
        (state in closed, closed.get(str(state))),
        (due, "expired"),
        (True, None),
    ]
    expected = next(reason for holds, reason in in_order if holds)
    assert result_refusal(state, same_conversation=same, is_due=due) == expected
