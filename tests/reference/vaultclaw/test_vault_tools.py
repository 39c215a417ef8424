"""Connectors, documents and slots: what is sent, what comes back. Source: contract vaultclaw 7, 8, 10, 11, ruling 7."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lasttick.model.vaultclaw.envelope import Success
from lasttick.reference.vaultclaw.checked_request import prepared
from lasttick.reference.vaultclaw.tool import Tool, ToolCall

from .core_rig import TOOLS, Rig, refusal, with_rig

GMAIL = {"connector_id": "google", "verb": "google.gmail.messages.get", "request": {"message_id": "1"}}
PLAIN = {"connector_id": "generic.http", "verb": "generic.http.request.v1", "request": {"url": "x"}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def used(name: str, arguments: Any, answer: Any = lambda request: {"seen": True}) -> tuple[dict[str, Any], Rig]:
    async def body(rig: Rig) -> Any:
        await rig.configure()
        return await rig.call(name, arguments), rig

    result: tuple[dict[str, Any], Rig] = with_rig(body, answer)
    return result


@pytest.mark.parametrize(
    ("name", "arguments", "call"),
    [
        ("connectors_list", {}, "GET /v0/connectors"),
        ("connector_get", {"connector_id": " a/b c?x=1 "}, "GET /v0/connectors/a%2Fb%20c%3Fx%3D1"),
        (
            "document_types_latest",
            {"type_id": "passport"},
            "GET /v0/docs/types/latest?subject_id=self&type_id=passport",
        ),
        (
            "document_types_latest",
            {"type_id": "passport", "subject_id": "anna"},
            "GET /v0/docs/types/latest?subject_id=anna&type_id=passport",
        ),
        (
            "slot_bindings_list",
            {"connector_id": "c", "verb": "v", "include_revoked": "true"},
            "GET /v0/connectors/secrets/slots/bindings?connector_id=c&verb=v",
        ),
        (
            "slot_bindings_list",
            {"connector_id": "c", "verb": "v", "include_revoked": True},
            "GET /v0/connectors/secrets/slots/bindings?connector_id=c&include_revoked=true&verb=v",
        ),
    ],
)
def test_one_get_whose_body_is_the_data(name: str, arguments: Any, call: str) -> None:
    envelope, rig = used(name, arguments)
    assert rig.vault.calls == [call]
    assert envelope["data"] == {"seen": True}
    request_id = rig.vault.asked[0].headers["x-request-id"]
    assert envelope["meta"] == {"request_id": request_id, "vault_http_status": 200, "vault_code": ""}


@pytest.mark.parametrize(
    ("name", "arguments", "path", "sent", "keyed"),
    [
        ("document_types_suggest", {"query": " q "}, "/v0/docs/types/suggest", {"query": "q", "top_k": 5}, False),
        (
            "document_types_suggest",
            {"query": "q", "top_k": 1e6},
            "/v0/docs/types/suggest",
            {"query": "q", "top_k": 1000000},
            False,
        ),
        (
            "slot_bind",
            {"connector_id": "c", "verb": "v", "slot": "s", "secret_id": " i "},
            "/v0/connectors/secrets/slots/bind",
            {"connector_id": "c", "verb": "v", "slot": "s", "secret_id": "i"},
            True,
        ),
    ],
)
def test_one_post(name: str, arguments: Any, path: str, sent: Any, keyed: bool) -> None:
    envelope, rig = used(name, arguments)
    assert rig.vault.calls == [f"POST {path}"]
    assert json.loads(rig.vault.asked[0].content) == sent
    assert ("idempotency-key" in rig.vault.asked[0].headers) is keyed
    assert envelope["data"] == {"seen": True}


@pytest.mark.parametrize("connector_id", [".", ".."])
def test_an_id_that_is_a_way_up_is_refused_before_any_call(connector_id: str) -> None:
    envelope, rig = used("connector_get", {"connector_id": connector_id})
    assert envelope["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert rig.vault.asked == []


def test_a_documents_code_and_details_survive() -> None:
    envelope, _ = used(
        "document_types_latest", {"type_id": "t"}, refusal(404, "DOCUMENT_SLOT_UNRESOLVED", "m", {"k": 1})
    )
    assert envelope["error"]["vault_code"] == envelope["meta"]["vault_code"] == "DOCUMENT_SLOT_UNRESOLVED"
    assert envelope["error"]["details"]["vault_error"]["details"] == {"k": 1}
    assert envelope["meta"]["vault_http_status"] == 404


def test_validate_passes_the_vaults_no_on() -> None:
    envelope, rig = used("connector_validate", {"request": PLAIN}, lambda request: {"valid": False, "errors": ["e"]})
    assert rig.vault.calls == ["POST /v0/connectors/validate"]
    assert "idempotency-key" not in rig.vault.asked[0].headers
    data = envelope["data"]
    assert (data["validation"], data["request"]) == ({"valid": False, "errors": ["e"]}, PLAIN)
    assert data["module_hash"]["applied"] is False


def test_execute_puts_the_hash_in_and_sends_what_was_validated() -> None:
    envelope, rig = used("connector_execute", {"request": GMAIL}, lambda request: {"policy_hash": " h ", "valid": True})
    assert rig.vault.calls == [
        "GET /v0/connectors/google",
        "POST /v0/connectors/validate",
        "POST /v0/connectors/execute",
    ]
    sent = [json.loads(request.content) for request in rig.vault.asked[1:]]
    assert sent == [{**GMAIL, "module_hash": "h"}] * 2
    assert envelope["meta"]["request_id"] == rig.vault.asked[2].headers["x-request-id"]


def test_no_hash_to_be_had() -> None:
    envelope, rig = used("connector_execute", {"request": GMAIL}, lambda request: {"policy_hash": "  "})
    error = envelope["error"]
    assert (error["code"], error["category"], error["retryable"]) == ("MCP_MODULE_HASH_REQUIRED", "policy", False)
    request_id = rig.vault.asked[0].headers["x-request-id"]
    assert error["details"] == {"connector_id": "google", "request_id": request_id, "vault_http_status": 200}
    assert len(rig.vault.asked) == 1


def test_one_call_looks_the_policy_up_once() -> None:
    async def twice(call: ToolCall) -> Success:
        first, second = await prepared(call, GMAIL), await prepared(call, GMAIL)
        return Success([first.request, second.request])

    async def body(rig: Rig) -> Any:
        await rig.configure()
        return (await rig.call("twice"))["data"], rig.vault.calls

    tools = (*TOOLS, Tool("vaultclaw_twice", "Prepares a request twice.", {}, twice))
    data, calls = with_rig(body, lambda request: {"policy_hash": "h"}, tools=tools)
    assert data == [{**GMAIL, "module_hash": "h"}] * 2
    assert calls == ["GET /v0/connectors/google"]


def test_the_next_call_looks_the_policy_up_again() -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure()
        for policy_hash in ("one", "two"):
            rig.vault.answer = lambda request, h=policy_hash: {"policy_hash": h, "valid": True}
            await rig.call("connector_validate", {"request": GMAIL})
        return [json.loads(request.content)["module_hash"] for request in rig.vault.asked if request.method == "POST"]

    assert with_rig(body) == ["one", "two"]


def test_an_approval_error_of_execute_is_only_mapped() -> None:
    async def body(rig: Rig) -> Any:
        await rig.configure()
        deny = refusal(409, "CONNECTOR_APPROVAL_DECISION_REQUIRED", "ask")
        rig.vault.answer = lambda request: deny(request) if request.url.path.endswith("/execute") else {"valid": True}
        return (await rig.rpc("tools/call", {"name": "vaultclaw_connector_execute", "arguments": {"request": PLAIN}}))[
            "result"
        ]

    result = with_rig(body)
    assert result["structuredContent"]["error"]["code"] == "MCP_APPROVAL_REQUIRED"
    assert "approval" not in result["structuredContent"]["error"]["details"]
    assert len(result["content"]) == 1


def ruled_no(answer: Any) -> bool:
    """Ruling 7, said a second time."""
    if not isinstance(answer, dict):
        return False
    if "valid" in answer:
        return answer["valid"] is not True
    return bool(answer.get("errors", []))


@given(answer=JSON | st.fixed_dictionaries({"valid": JSON}) | st.fixed_dictionaries({"errors": JSON}))
@example(answer={"valid": True, "errors": ["x"]})
@example(answer={"valid": 1})
def test_only_a_validated_request_is_executed(answer: Any) -> None:
    def vault(request: httpx.Request) -> Any:
        return httpx.Response(200, json=answer if request.url.path.endswith("/validate") else {"done": True})

    envelope, rig = used("connector_execute", {"request": PLAIN}, vault)
    executed = [request for request in rig.vault.asked if request.url.path.endswith("/execute")]
    assert len(executed) == (0 if ruled_no(answer) else 1)
    if executed:
        assert envelope["data"] == {"done": True}
        assert executed[0].content == rig.vault.asked[0].content
    else:
        error = envelope["error"]
        assert (error["code"], error["retryable"], error["vault_code"]) == ("MCP_VALIDATION_ERROR", False, "")
        assert set(error["details"]) == {"request_id", "vault_http_status", "validation"}
        assert error["details"]["validation"] == answer


NAMES = (
    "connector_validate",
    "connector_execute",
    "connector_get",
    "document_types_suggest",
    "slot_bind",
    "session_status",
)


@given(
    name=st.sampled_from(NAMES),
    arguments=st.none()
    | st.dictionaries(
        st.sampled_from(["request", "connector_id", "verb", "slot", "secret_id", "query", "top_k", "x"]), JSON
    ),
)
def test_any_arguments_get_an_envelope(name: str, arguments: Any) -> None:
    envelope, rig = used(name, arguments, lambda request: {"valid": False})
    assert envelope["ok"] is (envelope["error"] is None)
    assert rig.said == []
    assert not [call for call in rig.vault.calls if "/execute" in call]
