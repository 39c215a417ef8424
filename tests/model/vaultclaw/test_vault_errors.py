"""The mapping of the vault's failures, row by row. Source: contract vaultclaw 9; VC-05."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import CATEGORIES
from lasttick.model.vaultclaw.vault_errors import MCP_CODES, failure_of, network_failure

# Written out again from the contract, so that the table is not its own judge.
ROWS = {
    "CONNECTOR_APPROVAL_DECISION_REQUIRED PLAN_APPROVAL_REQUIRED CONNECTOR_APPROVAL_GRANT_REQUIRED": (
        "MCP_APPROVAL_REQUIRED",
        "approval",
    ),
    "PLAN_APPROVAL_DENIED CONNECTOR_APPROVAL_RULE_DENIED": ("MCP_APPROVAL_DENIED", "approval"),
    "UNBOUNDED_PROFILE_SLOT_UNRESOLVED UNBOUNDED_PROFILE_SLOT_VIOLATION UNBOUNDED_PROFILE_NOT_FOUND "
    "UNBOUNDED_PROFILE_REQUIRED_FIELDS_MISSING": ("MCP_UNBOUNDED_PROFILE_INVALID", "secrets"),
    "UNAUTHENTICATED UNAUTHORIZED": ("MCP_AUTH_UNAUTHENTICATED", "auth"),
    "FORBIDDEN INSUFFICIENT_SCOPE": ("MCP_AUTH_FORBIDDEN", "auth"),
    "INVALID_ARGUMENT PLAN_INVALID PLAN_STEP_INVALID PLAN_BINDING_INVALID PLAN_BINDING_SOURCE_MISSING "
    "PLAN_TRANSITION_AMBIGUOUS PLAN_TRANSITION_NO_MATCH": ("MCP_VALIDATION_ERROR", "validation"),
    "PLAN_POLICY_DRIFT ERR_GENERIC_HTTP_RESPONSE_MODE_NOT_ALLOWED ERR_GENERIC_HTTP_CONTENT_TYPE_NOT_ALLOWED "
    "ERR_GENERIC_HTTP_SECRET_ATTACHED_BODY_NOT_ALLOWED ERR_GENERIC_HTTP_EXTRACT_SPEC_INVALID "
    "ERR_GENERIC_HTTP_EXTRACT_PARSE_FAILED ERR_GENERIC_HTTP_EXTRACT_REQUIRED_FIELD_MISSING": (
        "MCP_POLICY_ERROR",
        "policy",
    ),
    "SECRET_SLOT_NOT_DEFINED SECRET_SLOT_UNRESOLVED SECRET_SLOT_CONFLICT SECRET_SLOT_BINDING_INVALID "
    "SECRET_SLOT_BINDING_NOT_FOUND SECRET_INTENT_INVALID SECRET_INTENT_NOT_FOUND SECRET_INTENT_TYPE_MISMATCH": (
        "MCP_SECRET_ERROR",
        "secrets",
    ),
    "PLAN_RUN_NOT_FOUND": ("MCP_PLAN_RUN_NOT_FOUND", "plans"),
    "PLAN_RUN_INTERRUPTED": ("MCP_PLAN_RUN_INTERRUPTED", "plans"),
}
MAPPED = [(vault, *row) for codes, row in ROWS.items() for vault in codes.split()]


def failed(status: int, error: Any) -> Any:
    return failure_of(status, {"error": error}, "rid").as_json()


def test_there_are_37_mapped_codes() -> None:
    assert len(MAPPED) == len(MCP_CODES) == 37


@pytest.mark.parametrize(("vault", "mcp", "category"), MAPPED)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_a_mapped_code(vault: str, mcp: str, category: str, status: int) -> None:
    sent = f" {vault.title()} "
    answer = failed(status, {"code": sent, "message": " as it is ", "details": {"a": 1}})
    assert answer["error"] == {
        "code": mcp,
        "category": category,
        "message": " as it is ",
        "retryable": status != 400,
        "vault_code": sent.strip(),
        "details": {
            "request_id": "rid",
            "vault_http_status": status,
            "vault_error": {"code": sent.strip(), "message": " as it is ", "details": {"a": 1}},
        },
    }
    assert answer["meta"] == {"request_id": "rid", "vault_http_status": status, "vault_code": sent.strip()}


@given(
    code=st.text(min_size=1).filter(lambda c: c.strip() and c.strip().upper() not in MCP_CODES),
    status=st.integers(400, 599),
)
def test_an_unknown_code_goes_by_its_status(code: str, status: int) -> None:
    error = failed(status, {"code": code, "message": "m"})["error"]
    assert error["code"] == ("MCP_NETWORK_ERROR" if status >= 500 else "MCP_INTERNAL")
    assert error["category"] == CATEGORIES[error["code"]]
    assert error["retryable"] is (status >= 500 or status == 429)


@pytest.mark.parametrize("code", ["DOCUMENT_SLOT_UNRESOLVED", "CONFLICT", "APPROVAL_DECISION_EXPIRED"])
def test_codes_that_are_not_mapped(code: str) -> None:
    assert failed(409, {"code": code})["error"]["code"] == "MCP_INTERNAL"


@pytest.mark.parametrize("body", [None, [], "text", {}, {"error": "boom"}, {"error": []}, {"error": {"code": "  "}}])
@pytest.mark.parametrize(
    ("status", "code", "retryable", "phrase"),
    [
        (401, "MCP_INTERNAL", False, "Unauthorized"),
        (403, "MCP_INTERNAL", False, "Forbidden"),
        (404, "MCP_INTERNAL", False, "Not Found"),
        (422, "MCP_INTERNAL", False, "Unprocessable Entity"),
        (429, "MCP_INTERNAL", True, "Too Many Requests"),
        (500, "MCP_NETWORK_ERROR", True, "Internal Server Error"),
        (502, "MCP_NETWORK_ERROR", True, "Bad Gateway"),
    ],
)
def test_no_code_in_the_answer(body: Any, status: int, code: str, retryable: bool, phrase: str) -> None:
    error = failure_of(status, body, "rid").error()
    assert (error["code"], error["retryable"], error["vault_code"]) == (code, retryable, "HTTP_ERROR")
    assert error["message"] == phrase
    assert error["details"]["vault_error"] == {"code": "HTTP_ERROR", "message": phrase, "details": None}


def test_a_status_without_a_phrase_has_a_message_all_the_same() -> None:
    assert failure_of(599, None, "rid").message == "HTTP status 599"


def test_no_answer_at_all() -> None:
    answer = network_failure("refused", "rid").as_json()
    assert answer["error"]["code"] == "MCP_INTERNAL"
    assert answer["error"]["category"] == "internal"
    assert answer["error"]["retryable"] is True
    assert answer["meta"] == {"request_id": "rid", "vault_http_status": 0, "vault_code": "NETWORK_ERROR"}


@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["error", "code", "message", "details", "x"]), inner)
        ),
    ),
    status=st.integers(400, 999),
)
def test_any_json_is_a_whole_failure(body: Any, status: int) -> None:
    error = failure_of(status, body, "rid").error()
    assert error["code"] in CATEGORIES
    assert error["message"]
    assert set(error["details"]["vault_error"]) == {"code", "message", "details"}
