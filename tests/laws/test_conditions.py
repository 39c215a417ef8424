"""What a reply means, by the rules of the profile and by those of the protocol."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.laws.conditions import matches, outcome_of
from lasttick.laws.reply import Reply, lost

DOCUMENT = {
    "status": 409,
    "body": {"state": "queued", "n": 1, "ok": True, "nothing": None, "list": ["a", "b"]},
    "error": {"code": -32000, "message": "device is busy"},
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"/status": 409}, True),
        ({"/status": 409.0}, True),
        ({"/status": "409"}, False),
        ({"/status": 410}, False),
        ({"/status": [404, 409]}, True),
        ({"/status": [404, 410]}, False),
        ({"/body/n": 1}, True),
        ({"/body/n": True}, False),
        ({"/body/ok": True}, True),
        ({"/body/ok": 1}, False),
        ({"/body/ok": [1]}, False),
        ({"/body/ok": False}, False),
        ({"/body/list": "a"}, False),
        ({"/body/list/1": "b"}, True),
        ({"/body/state": "queued", "/status": 409}, True),
        ({"/body/state": "queued", "/status": 200}, False),
        ({"/body/missing": 1}, False),
        ({"/body/missing": {"exists": False}}, True),
        ({"/body/missing": {"exists": True}}, False),
        ({"/body/nothing": {"exists": True}}, True),
        ({"/body/nothing": {"exists": False}}, False),
        ({"": {"exists": True}}, True),
        ({"/error/message": {"match": "bus[y]$"}}, True),
        ({"/error/message": {"match": "^busy"}}, False),
        ({"/error/message": {"match": "(?i)BUSY"}}, True),
        ({"/status": {"match": "^4"}}, True),
        ({"/body/ok": {"match": "^true$"}}, True),
        ({"/body/nothing": {"match": "null"}}, True),
        ({"/body": {"match": '"state": "queued"'}}, True),
        ({"/body/missing": {"match": ""}}, False),
    ],
)
def test_conditions(condition: dict[str, Any], holds: bool) -> None:
    assert matches(condition, DOCUMENT) is holds


def test_an_answer_that_is_nested_too_deep_has_no_text() -> None:
    deep: Any = "busy"
    for _ in range(100_000):
        deep = [deep]
    assert not matches({"/body": {"match": "busy"}}, {"body": deep})


BUSY = {"busy": [{"/body/state": "taken"}]}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(True, 200), "ok"),
        (Reply(True), "ok"),
        (Reply(True, 201), "ok"),
        (Reply(True, 202), "pending"),
        (Reply(False, 401), "denied"),
        (Reply(False, 403), "denied"),
        (Reply(False, 404), "error"),
        (Reply(False, 409), "busy"),
        (Reply(False, 423), "busy"),
        (Reply(False, 408), "lost"),
        (Reply(False, 504), "lost"),
        (Reply(False, 500), "error"),
        (Reply(False, 200), "error"),
        (Reply(False), "error"),
        (lost("cut"), "lost"),
        (Reply(True, 200, lost="cut in the middle"), "lost"),
    ],
)
def test_what_an_answer_means_without_rules(reply: Reply, outcome: str) -> None:
    assert outcome_of(reply) == outcome
    assert outcome_of(reply, {}, {"denied": []}) == outcome


def test_rules_run_before_ok_because_errors_hide_in_success() -> None:
    assert outcome_of(Reply(True, 200, body={"state": "taken"}), BUSY) == "busy"


def test_rules_win_over_the_status_and_may_say_ok_and_error() -> None:
    assert outcome_of(Reply(False, 409), {"ok": [{"/status": 409}]}) == "ok"
    assert outcome_of(Reply(True, 200), {"error": [{"/status": 200}]}) == "error"
    assert outcome_of(Reply(False, 403), {"lost": [{"/status": 403}]}) == "lost"


def test_the_verbs_rules_come_before_the_profiles() -> None:
    reply = Reply(False, 404)
    verb, profile = {"denied": [{"/status": 404}]}, {"busy": [{"/status": 404}]}
    assert outcome_of(reply, verb, profile) == "denied"
    assert outcome_of(reply, profile, verb) == "busy"


def test_rules_are_searched_in_the_order_written() -> None:
    everything = [{"": {"exists": True}}]
    assert outcome_of(Reply(True, 200), {"pending": everything, "denied": everything}) == "pending"
    assert outcome_of(Reply(True, 200), {"denied": everything, "pending": everything}) == "denied"
    assert outcome_of(Reply(True, 200), {"busy": [{"/status": 1}, *everything]}) == "busy"


@pytest.mark.parametrize("reply", [lost("cut"), Reply(False, 504), Reply(False, 408)])
def test_no_rule_makes_an_answer_of_none(reply: Reply) -> None:
    assert outcome_of(reply, {"denied": [{"": {"exists": True}}]}) == "lost"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


@given(JSON, SCALARS | st.lists(SCALARS, min_size=1) | st.just({"match": "a|1"}) | st.just({"exists": True}))
def test_any_reply_has_an_outcome(body: Any, wanted: Any) -> None:
    reply = Reply(True, 200, body=body)
    assert outcome_of(reply, {"busy": [{"/body": wanted}, {"/body/0/a": wanted}]}) in ("ok", "busy")


@given(SCALARS)
def test_a_value_is_found_by_itself_and_in_a_list(value: Any) -> None:
    assert matches({"/x": value}, {"x": value})
    assert matches({"/x": [value]}, {"x": value})
    assert matches({"/x": "other"}, {"x": value}) is (value == "other")
