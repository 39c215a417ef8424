"""Every answer of a tool has one shape. Source: contract vaultclaw 4, and 9 "All MCP codes"."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import CATEGORIES, Meta, Success, ToolFailure

NO_META = {"request_id": "", "vault_http_status": 0, "vault_code": ""}
JSON_VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers(), max_size=2)


def test_the_codes_and_how_many_there_are_of_each_category() -> None:
    assert len(CATEGORIES) == 35
    assert Counter(CATEGORIES.values()) == {
        "auth": 3,
        "approval": 4,
        "validation": 17,
        "policy": 2,
        "secrets": 3,
        "plans": 3,
        "network": 2,
        "internal": 1,
    }
    assert all(code.startswith("MCP_") for code in CATEGORIES)


@given(JSON_VALUES)
def test_a_success_has_its_data_and_no_error(data: Any) -> None:
    assert Success(data).as_json() == {"ok": True, "data": data, "error": None, "meta": NO_META}


def test_a_success_of_one_decisive_call_says_which_it_was() -> None:
    meta = Meta("a" * 32, 201, more={"resolver": "registry+search.v1"})
    assert Success({}, meta).as_json()["meta"] == {
        "request_id": "a" * 32,
        "vault_http_status": 201,
        "vault_code": "",
        "resolver": "registry+search.v1",
    }


@given(code=st.sampled_from(sorted(CATEGORIES)), message=st.text(), retryable=st.booleans(), vault_code=st.text())
def test_a_failure_has_no_data_and_all_members(code: str, message: str, retryable: bool, vault_code: str) -> None:
    failure = ToolFailure(code, message, retryable=retryable, vault_code=vault_code)
    assert str(failure) == message
    assert failure.as_json() == {
        "ok": False,
        "data": None,
        "error": {
            "code": code,
            "category": CATEGORIES[code],
            "message": message,
            "retryable": retryable,
            "vault_code": vault_code,
            "details": {},
        },
        "meta": {**NO_META, "vault_code": vault_code},
    }


@given(st.fixed_dictionaries({}, optional={"request_id": st.text(), "vault_http_status": st.integers(0, 599)}))
def test_meta_of_a_failure_is_what_its_details_say(details: dict[str, Any]) -> None:
    answer = ToolFailure("MCP_INTERNAL", "m", {**details, "more": [1]}).as_json()
    assert answer["meta"] == {**NO_META, **details}
    assert answer["error"]["details"] == {**details, "more": [1]}


def test_details_are_the_failures_own() -> None:
    details: dict[str, Any] = {"a": 1}
    failure = ToolFailure("MCP_INTERNAL", "m", details)
    details["a"] = 2
    assert failure.details == {"a": 1}


def test_not_retryable_unless_said() -> None:
    assert ToolFailure("MCP_WAIT_TIMEOUT", "m").error()["retryable"] is False


def test_a_code_that_is_none_of_the_surface_is_a_mistake_that_shows() -> None:
    with pytest.raises(KeyError):
        ToolFailure("MCP_NO_SUCH_CODE", "m").as_json()


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=3))
def test_an_envelope_is_json(details: dict[str, Any]) -> None:
    details = {name: value for name, value in details.items() if name not in NO_META}
    answer = ToolFailure("MCP_POLICY_ERROR", "m", details).as_json()
    assert json.loads(json.dumps(answer)) == answer
