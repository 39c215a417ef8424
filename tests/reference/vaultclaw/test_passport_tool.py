"""The passport workflow as a tool: every way it can end. Source: contract vaultclaw 19; ruling VC-11; VC-19."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.reference.vaultclaw.tools.passport import TOOLS

from .scripted_vault import REQUEST_ID, ScriptedVault, failing, named, run_tool

TOOL = named(TOOLS, "passport_email_workflow")
LATEST, RUN = "/v0/docs/types/latest", "/v0/connectors/plans/execute"
DONE = {"run": {"run_id": "r1", "state": "SUCCEEDED"}}
TEXT = "send my passport details formally to a@b.com with subject Papers"


def vault_with(latest: Any = None, run: Any = DONE) -> ScriptedVault:
    return ScriptedVault({LATEST: {"document_id": "doc_1"} if latest is None else latest, RUN: run})


def test_the_mail_is_sent_by_one_plan_as_shown() -> None:
    vault = vault_with()
    answer = run_tool(TOOL, vault, request_text=TEXT)
    latest, run = vault.calls
    assert latest.query == {"type_id": "identity.passport", "subject_id": "self"}
    data = answer["data"]
    assert run.body == {"plan": data["plan"], "plan_input": data["plan_input"]}
    assert data["status"] == "SENT"
    assert data["execution"]["response"] == DONE
    assert data["execution"]["preflight"]["orchestrated"] is False
    assert data["plan_input"]["passport"]["document_id"] == "doc_1"
    assert sorted(data) == sorted(
        [
            "status",
            "pre_send_summary",
            "resolved_fields",
            "composed_text",
            "composed_text_alt",
            "plan",
            "plan_input",
            "document_type_id",
            "document_subject",
            "required_slot_set",
            "execution",
        ]
    )
    assert answer["meta"]["request_id"] == REQUEST_ID


def test_without_execute_it_only_shows() -> None:
    vault = vault_with()
    answer = run_tool(TOOL, vault, text=TEXT, passport_document_id="mine", execute=False)
    assert vault.calls == []
    assert (answer["data"]["status"], "execution" in answer["data"]) == ("READY_TO_SEND", False)
    assert answer["data"]["plan_input"]["passport"]["document_id"] == "mine"
    assert answer["meta"] == {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def test_the_recipient_is_asked_for_before_the_session() -> None:
    assert run_tool(TOOL, None, text="send it")["error"]["code"] == "MCP_RECIPIENT_REQUIRED"
    assert run_tool(TOOL, None, text=TEXT, execute=False)["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"


@pytest.mark.parametrize(
    ("latest", "vault_code"),
    [
        (failing(404, "DOCUMENT_SLOT_UNRESOLVED"), "DOCUMENT_SLOT_UNRESOLVED"),
        ({}, ""),
        ({"item": {"document_id": " "}}, ""),
    ],
)
def test_a_document_that_is_not_there_is_to_be_uploaded(latest: Any, vault_code: str) -> None:
    vault = vault_with(latest)
    error = run_tool(TOOL, vault, text=TEXT)["error"]
    assert (error["code"], error["category"], error["vault_code"]) == (
        "MCP_DOCUMENT_UPLOAD_REQUIRED",
        "validation",
        vault_code,
    )
    action = error["details"]["action"]
    assert sorted(action) == ["document_requirement", "message", "resume_arguments", "title", "type"]
    assert action["type"] == "UPLOAD_DOCUMENT"
    assert action["document_requirement"] == {"type_id": "identity.passport", "subject_id": "self"}
    assert action["resume_arguments"] == {"recipient_email": "a@b.com", "subject": "Papers", "body_style": "formal"}
    assert RUN not in [call.path for call in vault.calls]


def test_a_document_that_cannot_be_looked_up() -> None:
    error = run_tool(TOOL, vault_with(failing(403, "INSUFFICIENT_SCOPE", "MCP_AUTH_FORBIDDEN")), text=TEXT)["error"]
    assert (error["code"], error["vault_code"], error["retryable"]) == ("MCP_DOCUMENT_RESOLUTION_FAILED", "", False)
    assert error["details"] == {"upstream_error": "INSUFFICIENT_SCOPE: no"}


def test_an_approval_is_handed_off_with_the_summary() -> None:
    run = {"run_id": "r1", "state": "PENDING_APPROVAL"}
    error = run_tool(TOOL, vault_with(run={"run": run}), text=TEXT)["error"]
    assert error["code"] == "MCP_APPROVAL_REQUIRED"
    assert error["details"]["approval"]["run_id"] == "r1"
    assert error["details"]["pre_send_summary"]["recipient"] == "a@b.com"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (failing(422, "X", step_id="extract_passport_fields"), "MCP_PASSPORT_EXTRACTION_FAILED"),
        (failing(422, "X", step_id="read_existing_profile"), "MCP_PASSPORT_PROFILE_READ_FAILED"),
        (
            failing(422, "X", step_id="read_after_extract_profile", missing_slots=["given_name"]),
            "MCP_MANUAL_FIELDS_REQUIRED",
        ),
        (failing(403, "PLAN_APPROVAL_DENIED", "MCP_APPROVAL_DENIED"), "MCP_GMAIL_DRAFT_SEND_FAILED"),
        (failing(500, "X", step_id="send_draft_from_existing"), "MCP_GMAIL_DRAFT_SEND_FAILED"),
    ],
)
def test_a_failed_plan(reply: Any, code: str) -> None:
    error = run_tool(TOOL, vault_with(run=reply), text=TEXT)["error"]
    assert (error["code"], error["retryable"]) == (code, False)
    assert error["details"]["upstream_error"] == reply.error()
    assert error["details"]["pre_send_summary"]["subject"] == "Papers"
    assert ("missing_fields" in error["details"]) is (code == "MCP_MANUAL_FIELDS_REQUIRED")


@pytest.mark.parametrize("body", [None, {}, {"run": {"state": "SENT"}}])
def test_nothing_is_sent_by_silence(body: Any) -> None:
    error = run_tool(TOOL, ScriptedVault({LATEST: {"document_id": "d"}, RUN: body}), text=TEXT)["error"]
    assert error["code"] == "MCP_GMAIL_DRAFT_SEND_FAILED"
