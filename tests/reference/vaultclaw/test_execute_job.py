"""One request run as a job: its profile, its validation, its hand-off. Source: contract vaultclaw 11, 12, 14, 21."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.reference.vaultclaw.tools.execute_job import TOOLS

from .scripted_vault import REQUEST_ID, ScriptedVault, failing, named, run_tool

TOOL = named(TOOLS, "connector_execute_job")
LIST, GET = "/v0/connectors/unbounded/profiles/list", "/v0/connectors/unbounded/profiles/get"
UPSERT, VALIDATE = "/v0/connectors/unbounded/profiles/upsert", "/v0/connectors/validate"
JOB, PENDING = "/v0/connectors/execute-job", "/v0/connectors/approvals/pending"

ATTACHMENT = {
    "slot": "api_key",
    "intent": "http.auth",
    "expected_secret_types": ["api-key"],
    "mode": "read",
    "target": "https://api.example.com",
}
INNER = {"method": "GET", "url": "https://api.example.com/data", "secret_attachments": [ATTACHMENT]}
REQUEST = {"connector_id": "generic.http", "verb": "generic.http.request.v1", "request": INNER}
PROFILE_ID = "mcp.auto.8042d5b7fd92"
PROFILE = {
    "type": "connector.unbounded.profile.v1",
    "profile_id": PROFILE_ID,
    "connector_id": "generic.http",
    "verb": "generic.http.request.v1",
    "slots": [
        {
            "slot": "api_key",
            "required": True,
            "allowed_intents": ["http.auth"],
            "expected_secret_types": ["api-key"],
            "allowed_modes": ["read"],
            "allowed_targets": ["https://api.example.com"],
        }
    ],
}
DONE = {"job": {"job_id": "job_1", "status": "SUCCEEDED"}}
ASKED = {"job_id": "job_1", "status": "PENDING", "pending_approval": {"challenge": {"challenge_id": "ch_1"}}}


def vault_with(**more: Any) -> ScriptedVault:
    names = {"listed": LIST, "profile": GET, "upsert": UPSERT, "validate": VALIDATE, "job": JOB, "pending": PENDING}
    script = {
        LIST: {"items": []},
        GET: {"profile": PROFILE},
        UPSERT: {"ok": True},
        VALIDATE: {"valid": True},
        JOB: DONE,
    }
    return ScriptedVault(script | {names[name]: reply for name, reply in more.items()})


def test_the_worked_example_makes_a_profile_and_executes_with_it() -> None:
    vault = vault_with()
    envelope = run_tool(TOOL, vault, request=REQUEST)
    assert [call.path for call in vault.calls] == [LIST, UPSERT, GET, VALIDATE, JOB]  # calls 13, 15, 14, 3, 5
    listed, upserted, got, validated, executed = vault.calls
    assert listed.query == {"connector_id": "generic.http", "verb": "generic.http.request.v1"}
    assert upserted.body == {"profile": PROFILE}
    assert upserted.idempotency_key == "mcp-unbounded-profile-8042d5b7fd92"
    assert got.query == {"profile_id": PROFILE_ID}
    assert validated.idempotency_key is None
    sent = {**REQUEST, "request": {**INNER, "profile_id": PROFILE_ID}}
    assert validated.body == executed.body == sent
    assert envelope["ok"]
    report = envelope["data"]["preflight"]
    assert report.pop("module_hash")["applied"] is False
    assert envelope["data"] == {
        "response": DONE,
        "request": sent,
        "preflight": {
            "orchestrated": True,
            "status": "created",
            "profile_id": PROFILE_ID,
            "requirements": [{**ATTACHMENT, "required": True}],
            "profile_match": {
                "profile_id": PROFILE_ID,
                "score": 5,
                "satisfied_requirements": ["api_key:read:https://api.example.com"],
                "missing_requirements": None,
            },
            "validation": {"valid": True},
        },
    }
    assert envelope["meta"] == {"request_id": REQUEST_ID, "vault_http_status": 200, "vault_code": ""}


def test_a_profile_that_fits_is_used_and_unreadable_ones_are_passed_over() -> None:
    def profile(sent: Any) -> Any:
        profile_id = sent.query["profile_id"]
        bad = {"p.gone": failing(404, "UNBOUNDED_PROFILE_NOT_FOUND"), "p.odd": {"profile": {"profile_id": 7}}}
        liar = {"p.liar": {"profile": {**PROFILE, "profile_id": ""}}}
        return (bad | liar).get(profile_id, {"profile": {**PROFILE, "profile_id": profile_id}})

    items = ["x", {"profile_id": " "}, *({"profile_id": f"p.{n}"} for n in ("gone", "odd", "liar", "zeta", "beta"))]
    vault = vault_with(listed={"items": items}, profile=profile)
    envelope = run_tool(TOOL, vault, request=REQUEST)
    assert vault.paths.count("POST /connectors/unbounded/profiles/upsert") == 0
    assert [call.query["profile_id"] for call in vault.calls if call.path == GET] == [
        "p.gone",
        "p.odd",
        "p.liar",
        "p.zeta",
        "p.beta",
    ]
    assert envelope["data"]["preflight"]["status"] == "resolved"
    assert envelope["data"]["request"]["request"]["profile_id"] == "p.beta"


def test_no_profile_and_none_may_be_made() -> None:
    vault = vault_with()
    envelope = run_tool(TOOL, vault, request=REQUEST, orchestration={"auto_create_profiles": False})
    assert envelope["error"]["code"] == "MCP_UNBOUNDED_PROFILE_REQUIRED"
    assert envelope["error"]["details"] == {"requirements": [{**ATTACHMENT, "required": True}]}
    assert [call.path for call in vault.calls] == [LIST]


@pytest.mark.parametrize("code", ["INSUFFICIENT_SCOPE", "insufficient_scope"])
def test_no_scope_to_make_one(code: str) -> None:
    vault = vault_with(upsert=failing(403, code, "MCP_AUTH_FORBIDDEN"))
    error = run_tool(TOOL, vault, request=REQUEST)["error"]
    assert (error["code"], error["vault_code"]) == ("MCP_UNBOUNDED_PROFILE_REQUIRED", "")
    assert "connectors.unbounded.profiles.write" in error["message"]
    assert error["details"] == {
        "requirements": [{**ATTACHMENT, "required": True}],
        "idempotency_key": "mcp-unbounded-profile-8042d5b7fd92",
    }
    assert JOB not in [call.path for call in vault.calls]


@pytest.mark.parametrize(("step", "reply"), [("listed", failing(500, "X")), ("upsert", failing(409, "CONFLICT"))])
def test_other_failures_of_the_profile_step_end_the_tool_as_they_are(step: str, reply: Any) -> None:
    vault = vault_with(**{step: reply})
    assert run_tool(TOOL, vault, request=REQUEST)["error"] == reply.error()
    assert VALIDATE not in [call.path for call in vault.calls]


@pytest.mark.parametrize(
    "answer", [None, {}, {"profile": None}, {"profile": {}}, {"profile": {**PROFILE, "profile_id": "p.other"}}]
)
def test_a_profile_that_reads_back_as_none_or_another_is_never_executed_with(answer: Any) -> None:
    vault = vault_with(profile=answer)
    error = run_tool(TOOL, vault, request=REQUEST)["error"]
    assert (error["code"], error["retryable"]) == ("MCP_INTERNAL", False)
    assert JOB not in [call.path for call in vault.calls]


def test_a_profile_that_cannot_be_read_back_is_taken_as_it_was_sent() -> None:
    vault = vault_with(profile=failing(500, "X"))
    envelope = run_tool(TOOL, vault, request=REQUEST)
    assert envelope["data"]["preflight"]["profile_id"] == PROFILE_ID
    assert envelope["data"]["preflight"]["status"] == "created"


@pytest.mark.parametrize(
    ("request_", "options", "orchestrated"),
    [
        ({**REQUEST, "connector_id": "Generic.HTTP"}, None, False),
        ({**REQUEST, "request": {**INNER, "profile_id": "p"}}, None, True),
        ({**REQUEST, "request": {"method": "GET"}}, None, True),
        (REQUEST, {"unbounded_profiles": False}, False),
    ],
)
def test_requests_that_need_no_profile_step(request_: Any, options: Any, orchestrated: bool) -> None:
    vault = vault_with()
    envelope = run_tool(TOOL, vault, request=request_, orchestration=options)
    assert [call.path for call in vault.calls] == [VALIDATE, JOB]
    assert envelope["data"]["preflight"]["orchestrated"] is orchestrated
    assert envelope["data"]["request"] == request_
    assert ("reason" in envelope["data"]["preflight"]) is (options is None)


def test_the_vaults_no_is_a_no() -> None:
    vault = vault_with(validate={"valid": False, "errors": [{"path": "/x"}]})
    error = run_tool(TOOL, vault, request=REQUEST)["error"]
    assert error["code"] == "MCP_VALIDATION_ERROR"
    assert error["details"]["validation"] == {"valid": False, "errors": [{"path": "/x"}]}
    assert JOB not in [call.path for call in vault.calls]


@pytest.mark.parametrize("arguments", [{}, {"request": "x"}, {"request": None}, {"request": []}])
def test_the_request_is_missing_before_the_session_is(arguments: dict[str, Any]) -> None:
    assert run_tool(TOOL, None, **arguments)["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert run_tool(TOOL, None, request={})["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"


@pytest.mark.parametrize("inner", [None, "x", []])
def test_an_inner_request_that_is_no_object_is_refused(inner: Any) -> None:
    vault = vault_with()
    assert run_tool(TOOL, vault, request={**REQUEST, "request": inner})["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert vault.calls == []


def test_a_malformed_attachment_is_internal_with_empty_details() -> None:
    vault = vault_with()
    error = run_tool(TOOL, vault, request={**REQUEST, "request": {"secret_attachments": [{}]}})["error"]
    assert (error["code"], error["details"], vault.calls) == ("MCP_INTERNAL", {}, [])


def test_a_pending_job_is_handed_off_with_the_pending_id_that_was_looked_up() -> None:
    items = [{"pending_id": "apj_1", "job_id": "JOB_1", "created_seq": 1}]
    vault = vault_with(job={"job": ASKED}, pending={"items": items})
    error = run_tool(TOOL, vault, request=REQUEST)["error"]
    assert vault.calls[-1].query == {
        "challenge_id": "ch_1",
        "states": "WAITING,READY,RUNNING,SUCCEEDED,DENIED,FAILED,EXPIRED",
        "limit": "200",
    }
    assert error["code"] == "MCP_APPROVAL_REQUIRED"
    handle = error["details"]["approval"]["next_action"]["arguments"]["handle"]
    assert handle == {
        "kind": "JOB",
        "job_id": "job_1",
        "run_id": "",
        "challenge_id": "ch_1",
        "pending_id": "apj_1",
    }
    assert vault.paths.count("POST /connectors/execute-job") == 1


@pytest.mark.parametrize(
    "reply",
    [
        *(failing(status, "X") for status in (0, 400, 401, 403, 404, 429, 500, 503)),
        failing(400, "INSUFFICIENT_SCOPE"),
        None,
        {},
        {"items": "x"},
        {"items": [{"job_id": "other", "pending_id": "p"}]},
    ],
)
def test_no_failure_of_the_look_up_replaces_the_hand_off(reply: Any) -> None:
    vault = vault_with(job={"job": ASKED}, pending=reply)
    error = run_tool(TOOL, vault, request=REQUEST)["error"]
    assert error["code"] == "MCP_APPROVAL_REQUIRED"
    approval = error["details"]["approval"]
    assert (approval["pending_id"], approval["pending_id_resolved"], approval["job_id"]) == ("", False, "job_1")
    assert vault.paths.count("POST /connectors/execute-job") == 1


def test_a_pending_id_that_is_known_is_not_looked_up() -> None:
    job = {**ASKED, "pending_approval": {"pending_id": "apj_9", "challenge": {"challenge_id": "c"}}}
    vault = vault_with(job={"job": job})
    approval = run_tool(TOOL, vault, request=REQUEST)["error"]["details"]["approval"]
    assert (approval["pending_id"], approval["pending_id_resolved"]) == ("apj_9", True)


@pytest.mark.parametrize("body", [None, {}, {"job": "SUCCEEDED"}, {"job": {"status": "APPROVED"}}])
def test_an_answer_that_tells_no_state_is_never_success(body: Any) -> None:
    error = run_tool(TOOL, vault_with(job=body), request=REQUEST)["error"]
    assert (error["code"], error["retryable"]) == ("MCP_INTERNAL", False)
    assert error["details"]["vault"] == {"response": body}


def test_a_queued_job_is_a_success() -> None:
    body = {"job": {"job_id": "j", "status": "PENDING"}}
    assert run_tool(TOOL, vault_with(job=body), request=REQUEST)["data"]["response"] == body


def test_an_approval_code_as_http_error_takes_the_ordinary_mapping() -> None:
    failure = failing(409, "PLAN_APPROVAL_REQUIRED", "MCP_APPROVAL_REQUIRED")
    assert run_tool(TOOL, vault_with(job=failure), request=REQUEST)["error"] == failure.error()
