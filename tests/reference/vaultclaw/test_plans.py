"""Plans: preflight, execution, hand-off, preview, runs. Source: contract vaultclaw 13, 14, 21; VC-10, VC-11."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lasttick.reference.vaultclaw.tools.plans import TOOLS

from .scripted_vault import REQUEST_ID, ScriptedVault, failing, named, run_tool
from .test_execute_job import ATTACHMENT, GET, LIST, PROFILE, PROFILE_ID, UPSERT

VALIDATE_TOOL, EXECUTE, RUN_GET, PREVIEW = (
    named(TOOLS, name) for name in ("plan_validate", "plan_execute", "plan_run_get", "plan_unbounded_profile_preview")
)
VALIDATE, RUN, RUNS = "/v0/connectors/plans/validate", "/v0/connectors/plans/execute", "/v0/connectors/plans/runs/r1"
DONE = {"run": {"run_id": "r1", "state": "SUCCEEDED"}}
GENERIC = {"connector_id": "generic.http", "verb": "generic.http.request.v1"}
PLAIN = {"step_id": "p", **GENERIC, "request_base": {"method": "GET"}}
BINDS = {
    "step_id": "s1",
    **GENERIC,
    "request_base": {"method": "GET"},
    "request_bindings": [
        {"path": "/url", "ref": {"source": "plan_input", "path": "/u"}},
        {"path": "/headers/x~1y", "ref": {"source": "literal", "value": 1}},
        {"path": "/c", "ref": {"value": [1, 2]}},
        {"path": "/secret_attachments", "ref": {"source": "plan_input", "path": "/att"}},
    ],
}
OTHER = {
    "step_id": "o",
    "connector_id": "google",
    "verb": "google.gmail.messages.list",
    "request_bindings": [{"path": "/x", "ref": {"source": "step_output", "path": "/y"}}],
}
UNRESOLVED = {
    "step_id": "u",
    **GENERIC,
    "request_bindings": [{"path": "/x", "ref": {"source": "runtime", "path": "/y"}}],
}
MALFORMED = {"step_id": "m", **GENERIC, "request_bindings": ["x"]}
INPUT = {"u": "https://api.example.com", "att": [ATTACHMENT]}
SENT_BASE = {
    "method": "GET",
    "url": "https://api.example.com",
    "headers": {"x/y": 1},
    "c": [1, 2],
    "secret_attachments": [ATTACHMENT],
    "profile_id": PROFILE_ID,
}


def vault_with(run: Any = DONE, **more: Any) -> ScriptedVault:
    script = {
        LIST: {"items": []},
        GET: {"profile": PROFILE},
        UPSERT: {"ok": True},
        VALIDATE: {"valid": True},
        RUN: run,
        RUNS: DONE,
    }
    return ScriptedVault(script | {f"/v0/{path}": reply for path, reply in more.items()})


def listing_one() -> ScriptedVault:
    vault = vault_with()
    vault.script[LIST] = {"items": [{"profile_id": PROFILE_ID}]}
    return vault


def test_the_worked_example_of_bindings_and_the_plan_sent_is_the_plan_shown() -> None:
    vault = vault_with()
    plan = {"steps": [BINDS, OTHER, "no step"]}
    before = copy.deepcopy(plan)
    envelope = run_tool(EXECUTE, vault, plan=plan, plan_input=INPUT)
    assert [call.path for call in vault.calls] == [LIST, UPSERT, GET, RUN]
    sent = vault.calls[-1].body
    first, second, third = sent["plan"]["steps"]
    assert (first["request_base"], first["request_bindings"]) == (SENT_BASE, [])
    assert second["request_bindings"] == OTHER["request_bindings"]
    assert second["request_base"] == {}
    assert second["query_ast_base"]["pred"]["field"] == "label"
    assert third == "no step"
    assert sent["plan_input"] == INPUT
    assert envelope["data"]["plan"] == sent["plan"]
    assert envelope["data"]["response"] == DONE
    assert envelope["meta"]["request_id"] == REQUEST_ID
    assert plan == before
    report = envelope["data"]["preflight"]
    assert report["orchestrated"] is True
    assert report["module_hash"]["applied_count"] == 0
    assert report["resolutions"] == [
        {
            "step_id": "s1",
            "status": "CREATED",
            "profile_id": PROFILE_ID,
            "requirements": [{**ATTACHMENT, "required": True}],
        }
    ]


@pytest.mark.parametrize(
    ("plan", "resolutions"), [({}, None), ({"steps": []}, None), ({"steps": "x"}, None), ({"steps": [OTHER]}, [])]
)
def test_resolutions_of_plans_without_generic_http_steps(plan: Any, resolutions: Any) -> None:
    assert run_tool(EXECUTE, vault_with(), plan=plan)["data"]["preflight"]["resolutions"] == resolutions
    assert run_tool(PREVIEW, vault_with(), plan=plan)["data"] == {"resolutions": resolutions, "transformed_plan": plan}


def test_steps_that_need_no_profile_are_resolved_without_a_call() -> None:
    vault = vault_with()
    kept = {"step_id": "k", **GENERIC, "request_base": {"profile_id": "p.mine"}}
    envelope = run_tool(EXECUTE, vault, plan={"steps": [PLAIN, kept]})
    assert [call.path for call in vault.calls] == [RUN]
    plain, mine = envelope["data"]["preflight"]["resolutions"]
    assert (plain["status"], "profile_id" in plain) == ("RESOLVED", False)
    assert (mine["status"], mine["profile_id"]) == ("RESOLVED", "p.mine")
    assert envelope["data"]["plan"]["steps"][0]["request_bindings"] == []


def test_an_unresolved_step_ends_the_plan_after_profiles_of_steps_before_it() -> None:
    vault = vault_with()
    error = run_tool(EXECUTE, vault, plan={"steps": [BINDS, UNRESOLVED]}, plan_input=INPUT)["error"]
    assert (error["code"], error["category"], error["retryable"]) == (
        "MCP_PLAN_PROFILE_PRECHECK_UNRESOLVED",
        "plans",
        False,
    )
    assert error["details"] == {
        "step_id": "u",
        "unresolved_refs": ["/x -> runtime:/y"],
        "required_plan_input_paths": [],
    }
    assert [call.path for call in vault.calls] == [LIST, UPSERT, GET]


def test_a_malformed_binding_ends_the_plan() -> None:
    error = run_tool(EXECUTE, vault_with(), plan={"steps": [MALFORMED]})["error"]
    assert (error["code"], error["details"]) == ("MCP_INTERNAL", {})


def test_a_plan_that_may_make_no_profile() -> None:
    vault = vault_with()
    options = {"auto_create_profiles": False}
    error = run_tool(EXECUTE, vault, plan={"steps": [BINDS]}, plan_input=INPUT, orchestration=options)["error"]
    assert error["code"] == "MCP_UNBOUNDED_PROFILE_REQUIRED"
    assert RUN not in [call.path for call in vault.calls]


def test_switched_off_nothing_is_resolved() -> None:
    vault = vault_with()
    options = {"unbounded_profiles": False}
    envelope = run_tool(EXECUTE, vault, plan={"steps": [BINDS, MALFORMED]}, orchestration=options)
    report = envelope["data"]["preflight"]
    assert (sorted(report), report["orchestrated"]) == (["module_hash", "orchestrated"], False)
    assert [call.path for call in vault.calls] == [RUN]
    assert vault.calls[0].body["plan"]["steps"][0]["request_bindings"] == BINDS["request_bindings"]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ({}, {}),
        ({"plan_input": None}, {"plan_input": None}),
        ({"plan_input": [1]}, {"plan_input": [1]}),
        (
            {"analysis": True, "analysis_api_key_secret_id": " k ", "analysis_model": "m"},
            {"analysis": True, "analysis_api_key_secret_id": "k", "analysis_model": "m"},
        ),
        ({"analysis": "yes", "analysis_model": " "}, {}),
    ],
)
def test_what_is_sent_with_a_plan(arguments: dict[str, Any], sent: dict[str, Any]) -> None:
    vault = vault_with()
    run_tool(EXECUTE, vault, plan={}, **arguments)
    assert vault.calls[0].body == {"plan": {}, **sent}


def test_a_pending_run_is_handed_off() -> None:
    run = {"run_id": "r1", "job_id": "j1", "state": "PENDING_APPROVAL", "challenge_id": "c1"}
    vault = vault_with({"run": run})
    vault.script["/v0/connectors/approvals/pending"] = {"items": [{"pending_id": "p1", "job_id": "j1"}]}
    error = run_tool(EXECUTE, vault, plan={})["error"]
    assert error["code"] == "MCP_APPROVAL_REQUIRED"
    assert error["details"]["approval"]["next_action"] == {
        "tool": "vaultclaw_approval_wait",
        "arguments": {
            "handle": {"kind": "PLAN_RUN", "job_id": "j1", "run_id": "r1", "challenge_id": "c1", "pending_id": "p1"}
        },
    }


@pytest.mark.parametrize("body", [None, {}, {"run_id": "r1"}, {"run": {"run_id": "r1", "state": "APPROVED"}}])
def test_an_answer_that_tells_no_state_is_never_success(body: Any) -> None:
    error = run_tool(EXECUTE, vault_with(body), plan={})["error"]
    assert (error["code"], error["retryable"]) == ("MCP_INTERNAL", False)


def test_a_preview_shows_every_step_and_makes_nothing() -> None:
    vault = vault_with()
    plan = {"steps": [BINDS, UNRESOLVED, MALFORMED, PLAIN, OTHER]}
    envelope = run_tool(PREVIEW, vault, plan=plan, plan_input=INPUT)
    assert [call.path for call in vault.calls] == [LIST]
    items = envelope["data"]["resolutions"]
    assert [(item["step_id"], item["status"]) for item in items] == [
        ("s1", "FAILED"),
        ("u", "UNRESOLVED"),
        ("m", "FAILED"),
        ("p", "RESOLVED"),
    ]
    assert items[0]["requirements"] == [{**ATTACHMENT, "required": True}]
    assert items[1]["unresolved_refs"] == ["/x -> runtime:/y"]
    steps = envelope["data"]["transformed_plan"]["steps"]
    assert steps == [BINDS, UNRESOLVED, MALFORMED, {**PLAIN, "request_bindings": []}, OTHER]
    assert envelope["meta"] == {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def test_a_preview_with_a_profile_that_fits() -> None:
    data = run_tool(PREVIEW, listing_one(), plan={"steps": [BINDS]}, plan_input=INPUT)["data"]
    assert data["resolutions"][0]["status"] == "RESOLVED"
    assert data["transformed_plan"]["steps"][0]["request_base"] == SENT_BASE


def test_a_preview_outlives_a_failing_vault() -> None:
    vault = vault_with(**{"connectors/unbounded/profiles/list": failing(403, "FORBIDDEN", "MCP_AUTH_FORBIDDEN")})
    data = run_tool(PREVIEW, vault, plan={"steps": [BINDS]}, plan_input=INPUT)["data"]
    assert data["resolutions"] == [{"step_id": "s1", "status": "FAILED", "reason": "FORBIDDEN: no"}]
    assert data["transformed_plan"] == {"steps": [BINDS]}


def test_a_plan_is_normalised_before_it_is_validated() -> None:
    vault = vault_with()
    envelope = run_tool(VALIDATE_TOOL, vault, plan={"steps": [OTHER]})
    assert envelope["data"] == {"valid": True}
    assert vault.calls[0].body["plan"]["steps"][0]["request_base"] == {}


@pytest.mark.parametrize("tool", [VALIDATE_TOOL, EXECUTE, PREVIEW])
@pytest.mark.parametrize("plan", [None, [], "x", 3])
def test_the_plan_is_missing_before_the_session_is(tool: Any, plan: Any) -> None:
    assert run_tool(tool, None, plan=plan)["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert run_tool(tool, None, plan={})["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"


@pytest.mark.parametrize(
    ("body", "status", "outcome"),
    [
        ({"run": {"state": "PENDING_APPROVAL"}}, "PENDING_APPROVAL", "PENDING"),
        ({"run": {"state": "SUCCEEDED"}, "x": 1}, "TERMINAL", "ALLOW"),
        ({"run": {"state": "DENIED"}, "job": {"error": {"code": "PLAN_APPROVAL_DENIED"}}}, "TERMINAL", "DENY"),
        ({"run": {"state": "CANCELLED"}}, "TERMINAL", "UNKNOWN"),
        ({"run": {"state": "NEW"}}, "UNKNOWN", "UNKNOWN"),
    ],
)
def test_a_run_is_read_with_its_outcome(body: dict[str, Any], status: str, outcome: str) -> None:
    vault = vault_with(**{"connectors/plans/runs/r1": body})
    assert run_tool(RUN_GET, vault, run_id=" r1 ")["data"] == {
        **body,
        "decision_outcome": outcome,
        "approval_state": {"status": status, "decision_outcome": outcome},
    }


@pytest.mark.parametrize("body", [None, {}, {"run": "x"}])
def test_an_answer_without_a_run_is_passed_on(body: Any) -> None:
    envelope = run_tool(RUN_GET, vault_with(**{"connectors/plans/runs/r1": body}), run_id="r1")
    assert (envelope["ok"], envelope["data"]) == (True, body)


def test_a_run_id_is_required() -> None:
    assert run_tool(RUN_GET, None, run_id=7)["error"]["code"] == "MCP_VALIDATION_ERROR"
