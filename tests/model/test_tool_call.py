"""Is a call refused for the first thing that is wrong with it, in the contract's order, and for nothing else?"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from lasttick.model import tool_call
from lasttick.model.tool_call import CallFacts, first_refusal, run_visible

GOOD = CallFacts(
    door="internal",
    run_found=True,
    run_active=True,
    in_manifest=True,
    access="read",
    policy_allows=True,
    flag_on=True,
    credentials_complete=True,
)
# In the contract's order: the fact that is against the call, and the answer.
WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"run_found": False}, 404, "RUN_NOT_FOUND"),
    ({"run_active": False}, 409, "RUN_NOT_ACTIVE"),
    ({"in_manifest": False}, 403, "NOT_IN_MANIFEST"),
    ({"access": "write"}, 403, "ACCESS_CLASS_FORBIDDEN"),
    ({"policy_allows": False}, 403, "POLICY_DENIED"),
    ({"flag_on": False}, 403, "TOOL_DISPATCH_DISABLED"),
    ({"credentials_complete": False}, 424, "CREDENTIALS_INCOMPLETE"),
]


def test_a_call_with_nothing_against_it_is_executed() -> None:
    assert first_refusal(GOOD) is None
    assert first_refusal(replace(GOOD, door="runner")) is None


@pytest.mark.parametrize("subset", list(itertools.product([False, True], repeat=len(WRONG))))
def test_the_first_of_all_that_is_wrong_is_answered(subset: tuple[bool, ...]) -> None:
    chosen = [row for row, wrong in zip(WRONG, subset, strict=True) if wrong]
    facts = GOOD
    for change, _, _ in chosen:
        facts = replace(facts, **change)
    refusal = first_refusal(facts)
    if not chosen:
        assert refusal is None
        return
    assert refusal is not None
    assert (refusal.status, refusal.code) == chosen[0][1:]


@pytest.mark.parametrize(
    ("door", "access", "admitted"),
    [
        ("internal", "read", True),
        ("internal", "write", False),
        ("internal", None, False),
        ("runner", "read", True),
        ("runner", "write", True),
        ("runner", None, False),
    ],
)
def test_the_internal_door_is_for_reading_only(door: Any, access: Any, admitted: bool) -> None:
    refusal = first_refusal(replace(GOOD, door=door, access=access))
    assert refusal == (None if admitted else tool_call.ACCESS_CLASS_FORBIDDEN)


@pytest.mark.parametrize("door", ["internal", "runner"])
def test_a_fact_that_nobody_found_out_is_against_the_call(door: Any) -> None:
    assert first_refusal(CallFacts(door=door, run_found=False)) == tool_call.RUN_NOT_FOUND
    facts = CallFacts(door=door, run_found=True)
    answered = []
    for name in ["run_active", "in_manifest", "access", "policy_allows", "flag_on", "credentials_complete"]:
        refusal = first_refusal(facts)
        assert refusal is not None
        answered.append(refusal.code)
        facts = replace(facts, **{name: getattr(GOOD, name)})
    assert answered == [code for _, _, code in WRONG[1:]]
    assert first_refusal(facts) is None


@pytest.mark.parametrize(
    ("run_org", "claims_org", "body_org", "visible"),
    [
        pytest.param("org-a", "org-a", "org-a", True, id="own"),
        pytest.param("org-b", "org-a", "org-a", False, id="others-run"),
        pytest.param("org-b", "org-a", "org-b", False, id="others-run-others-body"),
        pytest.param("org-a", "org-a", "org-b", False, id="own-run-others-body"),
        pytest.param("org-a", "org-a", " org-a", False, id="blank-before"),
        pytest.param("org-a", "org-a", "ORG-A", False, id="another-case"),
        pytest.param("org-a", "org-a", None, False, id="no-body"),
        pytest.param("org-a", "org-a", ["org-a"], False, id="list-body"),
        pytest.param(None, "org-a", "org-a", False, id="absent"),
        pytest.param(None, "org-a", None, False, id="absent-no-body"),
        pytest.param(None, "org-a", "org-b", False, id="absent-others-body"),
    ],
)
def test_a_run_is_seen_by_its_own_org_alone(run_org: str | None, claims_org: str, body_org: Any, visible: bool) -> None:
    assert run_visible(run_org, claims_org, body_org) is visible


@pytest.mark.parametrize(
    ("state", "active"), [("active", True), ("finished", False), ("Active", False), ("", False), (None, False)]
)
def test_only_an_active_run_is_active(state: Any, active: bool) -> None:
    assert tool_call.is_active(state) is active


@pytest.mark.parametrize(
    ("policies", "allowed"),
    [
        ({}, True),
        ({"shop:refund": "deny"}, True),
        ({"shop:get_order": "allow"}, True),
        ({"shop:get_order": "deny"}, False),
        ({"shop:get_order": "DENY"}, False),
        ({"shop:get_order": "Allow"}, False),
        ({"shop:get_order": None}, False),
        ({"shop:get_order": True}, False),
    ],
)
def test_a_policy_denies_unless_it_says_allow_or_nothing(policies: dict[str, Any], allowed: bool) -> None:
    assert tool_call.policy_allows(policies, "shop:get_order") is allowed


@pytest.mark.parametrize(("value", "on"), [(True, True), (False, False), ("true", False), (1, False), (None, False)])
def test_the_switch_is_off_unless_true_itself(value: Any, on: bool) -> None:
    assert tool_call.flag_on({"tool_dispatch_enabled": value}) is on
    assert tool_call.flag_on({}) is False


def test_every_message_says_what_was_expected_and_what_to_do() -> None:
    refusals = [value for value in vars(tool_call).values() if isinstance(value, tool_call.Refusal)]
    assert sorted(refusal.code for refusal in refusals) == sorted(code for _, _, code in WRONG)
    for refusal in refusals:
        happened, expected, next_ = refusal.message.split("; ")
        assert happened
        assert expected.startswith("expected ")
        assert next_
