"""The forty tools at work, and each without what it needs: the plain part of the corpus.

Source: contract vaultclaw 3 to 19.
"""

from __future__ import annotations

from typing import Any

from lasttick.compare.script import (
    CATALOG_1,
    VAULTD,
    Call,
    CallThenEnd,
    Message,
    Raw,
    Remote,
    Script,
    Start,
    Vault,
    answer,
    work,
)

NAMES = (
    "approval_wait",
    "approvals_pending_get",
    "approvals_pending_list",
    "catalog_source_delete",
    "catalog_source_upsert",
    "catalog_sources_list",
    "connector_execute",
    "connector_execute_job",
    "connector_get",
    "connector_validate",
    "connectors_list",
    "cookbook_delete",
    "cookbook_export",
    "cookbook_get",
    "cookbook_import",
    "cookbook_remote_install",
    "cookbook_upsert",
    "cookbooks_list",
    "cookbooks_remote_list",
    "document_types_latest",
    "document_types_suggest",
    "job_get",
    "passport_email_workflow",
    "plan_execute",
    "plan_run_get",
    "plan_unbounded_profile_preview",
    "plan_validate",
    "recipe_get",
    "recipes_search",
    "route_resolve",
    "session_clear",
    "session_configure",
    "session_status",
    "slot_bind",
    "slot_bindings_list",
    "template_render",
    "unbounded_profile_get",
    "unbounded_profile_resolve",
    "unbounded_profile_upsert",
    "unbounded_profiles_list",
)
HTTP = {"connector_id": "generic.http", "verb": "generic.http.request.v1"}
FETCH: dict[str, Any] = {**HTTP, "request": {"method": "GET", "url": "https://api.example.com/"}}
LABELS: dict[str, Any] = {"connector_id": "google", "verb": "google.gmail.labels.list", "request": {"user_id": "me"}}
SEND: dict[str, Any] = {
    "connector_id": "google",
    "verb": "google.gmail.messages.send",
    "request": {"user_id": "me", "to": ["a@example.com"], "subject": "Hi", "text_plain": "Hello"},
}
"""The daemon's policy asks a person about it."""
STEP = {"step_id": "fetch", "policy_version": "1", **HTTP, "request_base": FETCH["request"]}
PLAN: dict[str, Any] = {"type": "connector.execution.plan.v1", "start_step_id": "fetch", "steps": [STEP]}
ASKING_STEP = {
    "step_id": "send",
    "policy_version": "1",
    "connector_id": "google",
    "verb": "google.gmail.messages.send",
    "request_base": SEND["request"],
}
ASKING_PLAN = {"type": "connector.execution.plan.v1", "start_step_id": "send", "steps": [ASKING_STEP]}
PROFILE = {
    "type": "connector.unbounded.profile.v1",
    "profile_id": "p.one",
    **HTTP,
    "slots": [{"slot": "api_key", "required": True, "allowed_modes": ["read"]}],
}
RECIPE = {
    "entry_id": "noop",
    "entry_type": "recipe.verb.v1",
    "title": "Nothing",
    **HTTP,
    "tags": ["noop"],
    "request": {"method": "GET", "url": "http://x.test"},
}

_SLOTS = ("given_name", "family_name", "passport_number", "passport_expiry_date", "passport_issuing_country")


def bundle(cookbook_id: str, version: str = "1.0.0", *entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "accords.cookbook.bundle.v1",
        "cookbook_id": cookbook_id,
        "version": version,
        "title": "A book",
        "entries": list(entries or (RECIPE,)),
        **more,
    }


def _call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


def scripts() -> tuple[Script, ...]:
    return (*_PROTOCOL, _nothing(session=False), _nothing(session=True), *_VAULT, *_CATALOG, *_ERRORS)


def _nothing(*, session: bool) -> Script:
    """Every tool without arguments, but those that change the session."""
    tools = [name for name in NAMES if not name.startswith("session_")]
    name = "tools/nothing-given" if session else "tools/nothing-given-and-no-session"
    return Script(name, tuple(Call(tool) for tool in tools), session=session)


_PROTOCOL = (
    Script(
        "protocol/http",
        (
            Message({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2026-07-28"}}),
            Message({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            Message({"id": "x", "method": "ping"}),
            Message({"id": None, "method": "ping"}),
            Message({"jsonrpc": "1.0", "id": 2, "method": "ping"}),
            Message({"id": 1.5, "method": "resources/list"}),
            Message({"id": {"a": [1]}, "method": "tools/list"}),
            Message({"id": 3, "method": "tools/call"}),
            Message({"id": 3, "method": "tools/call", "params": {"name": 5}}),
            Message({"id": 3, "method": "tools/call", "params": {"name": "vaultclaw_nothing"}}),
            Message({"id": 3, "method": "tools/call", "params": {"name": " vaultclaw_session_clear ", "arguments": 1}}),
            Message({"id": 3, "method": "tools/call", "params": {"name": " vaultclaw_session_clear "}}),
            Raw(b"[]"),
            Raw(b"{"),
            Raw(b"", method="GET"),
            Raw(b"", method="GET", path="/healthz"),
            Raw(b"", method="POST", path="/healthz"),
            Raw(b"{}", path="/v1/mcp/"),
        ),
    ),
    Script(
        "protocol/strict-tenants",
        (Raw(b'{"id": 1, "method": "ping"}'), Raw(b"", method="GET", path="/healthz")),
        start=Start(environ=(("ACCORDS_MCP_HTTP_REQUIRE_TENANT_HEADER", "true"),)),
        session=False,
    ),
    Script(
        "protocol/stdio",
        (
            Message({"jsonrpc": "2.0", "id": 1, "method": "initialize"}),
            Raw(b"nonsense in braces".join((b"{", b"}"))),
            _call("connectors_list"),
            _call("approvals_pending_list", states="WAITING", limit=3),
            CallThenEnd(_call("connectors_list")),
        ),
        start=Start(via="stdio", own="stdio"),
    ),
    Script(
        "session/life",
        (
            _call("session_status"),
            _call("session_configure", token="abc-mnopqrstuv-xyz", base_url=f" {VAULTD}/ ", timeout_ms=-5),
            _call("session_status"),
            _call("connectors_list"),
            _call("session_configure", token=" ", base_url=5),
            _call("session_configure", token="vat-mnopqrstuv-xyz", timeout_ms="1500"),
            _call("session_clear"),
            _call("session_clear"),
            _call("session_status"),
            _call("connectors_list"),
        ),
    ),
)

_VAULT = (
    Script(
        "vault/connectors",
        (
            _call("connectors_list"),
            _call("connector_get", connector_id=" google "),
            _call("connector_get", connector_id="no such one"),
            _call("connector_validate", request=FETCH),
            _call("connector_validate", request=LABELS),
            _call("connector_validate", request={"connector_id": "google", "verb": "google.gmail.messages.list"}),
            _call("connector_validate", request={**LABELS, "module_hash": "given"}),
            _call("connector_validate", request={**FETCH, "request": {"token_secret_id": "s"}}),
            _call("connector_validate", request={"odd": [1.0, 1e21, 12345678901234567890]}),
            _call("connector_execute", request=FETCH),
            _call("connector_execute", request=LABELS),
            _call("connector_execute", request=SEND),
            _call("connector_execute_job", request=FETCH),
            _call("connector_execute_job", request=LABELS, orchestration={"unbounded_profiles": False}),
            _call("connector_execute_job", request={**HTTP, "request": "none"}),
            _call("connector_execute_job", request={**HTTP, "request": {"secret_attachments": [{"slot": 1}]}}),
        ),
    ),
    Script(
        "vault/documents-and-slots",
        (
            Vault("PUT", "/control/documents/doc_1", {"tenant": "acme", "type_id": "identity.passport"}),
            _call("document_types_suggest", query="my passport and an invoice"),
            _call("document_types_suggest", query="passport", top_k=1.9),
            _call("document_types_latest", type_id="identity.passport"),
            _call("document_types_latest", type_id="finance.invoice", subject_id="me"),
            _call("slot_bind", **HTTP, slot="api_key", secret_id="sec_1"),
            _call("slot_bind", **HTTP, slot="api_key", secret_id="sec_2"),
            _call("slot_bind", connector_id="google", verb="none", slot="a", secret_id="b"),
            _call("slot_bindings_list", **HTTP),
            _call("slot_bindings_list", **HTTP, include_revoked=True),
        ),
    ),
    Script(
        "vault/profiles",
        (
            _call("unbounded_profiles_list"),
            _call("unbounded_profile_upsert", profile=PROFILE),
            _call("unbounded_profile_upsert", profile={"type": "odd"}),
            _call("unbounded_profile_get", profile_id="p.one"),
            _call("unbounded_profile_get", profile_id="p.none"),
            _call("unbounded_profiles_list", **HTTP, include_revoked=True),
            _call("unbounded_profile_resolve", requirements=[{"slot": "api_key", "mode": "read", "target": "t"}]),
            _call("unbounded_profile_resolve", requirements=[{"slot": "z", "mode": "m", "target": "t"}]),
            _call(
                "unbounded_profile_resolve", requirements=[{"slot": "y", "mode": "m", "target": "t"}], auto_create=False
            ),
            _call("unbounded_profile_resolve", requirements=[{"slot": "y"}]),
            _call("unbounded_profile_resolve", requirements=["y"]),
        ),
    ),
    Script(
        "vault/plans",
        (
            _call("plan_validate", plan=PLAN),
            _call("plan_validate", plan={"steps": [{"connector_id": "google", "verb": "google.gmail.messages.list"}]}),
            _call("plan_unbounded_profile_preview", plan=PLAN),
            _call("plan_unbounded_profile_preview", plan={"steps": "none"}),
            _call("plan_execute", plan=PLAN, plan_input=None),
            _call("plan_execute", plan=PLAN, orchestration={"unbounded_profiles": False}, analysis=True),
            _call("plan_execute", plan={"steps": []}),
            _call("plan_execute", plan=ASKING_PLAN),
            _call("plan_run_get", run_id="run_1"),
            _call("plan_run_get", run_id="run_3"),
            _call("plan_run_get", run_id="run_9"),
        ),
    ),
    Script(
        "vault/an-approval",
        (
            _call("connector_execute_job", request=SEND),
            _call("approvals_pending_list"),
            _call("approvals_pending_list", states=["waiting", " "], limit=0, verb="google.gmail.messages.send"),
            _call("approvals_pending_list", states=["odd"]),
            _call("approvals_pending_list", states=5),
            _call("approvals_pending_get", challenge_id="ach_1", pending_id="APJ_1"),
            _call("approvals_pending_get", challenge_id="ach_1", pending_id="apj_9"),
            _call("job_get", job_id="job_1"),
            _call("job_get", job_id="job_9"),
            _call("approval_wait", handle={"kind": "job", "job_id": "job_1"}, timeout_ms=1, poll_interval_ms=500),
        ),
    ),
    Script(
        "vault/a-person-decides",
        (
            Vault("PUT", "/control/persons", {"persons": [{"decision": "approve", "times": 1}, {"decision": "deny"}]}),
            _call("connector_execute_job", request=SEND),
            _call("approval_wait", handle={"kind": "JOB", "job_id": "job_1", "pending_id": "p"}),
            _call("plan_execute", plan=ASKING_PLAN),
            _call("approval_wait", handle={"kind": "PLAN_RUN", "run_id": "run_1"}),
            _call("approval_wait", handle={"kind": "PLAN_RUN", "job_id": "run_1"}),
            _call("approval_wait", handle={"kind": "odd"}),
            _call("approval_wait", handle={"kind": "JOB", "job_id": "job_9"}),
        ),
    ),
    Script(
        "vault/passport",
        (
            Vault("PUT", "/control/documents/doc_1", {"tenant": "acme", "type_id": "identity.passport"}),
            Vault("PUT", "/control/identities/acme", dict.fromkeys(_SLOTS, "known")),
            _call("passport_email_workflow", request_text="mail it to nobody"),
            _call("passport_email_workflow", recipient_email="a@example.com", execute=False),
            _call(
                "passport_email_workflow",
                request='send a brief mail to a@example.com subject: "My papers"',
                manual_fields={"given_name": "Ada", "family_name": 5, "odd": "x"},
                execute=False,
            ),
            _call("passport_email_workflow", recipient_email="a@example.com", passport_document_id="doc_1"),
        ),
    ),
    Script("vault/passport-not-uploaded", (_call("passport_email_workflow", text="passport to a@example.com"),)),
    Script(
        "vault/states-of-work",
        (
            work("jobs", (0, "SUCCEEDED")),
            work("jobs", (0, "FAILED")),
            work("jobs", (0, "weird")),
            work("runs", (0, "denied")),
            _call("job_get", job_id="job_1"),
            _call("job_get", job_id="job_2"),
            _call("job_get", job_id="job_3"),
            _call("plan_run_get", run_id="run_1"),
            answer("/v0/jobs/none", {"other": 1}),
            _call("job_get", job_id="none"),
            answer("/v0/connectors/plans/runs/none", {"other": 1}),
            _call("plan_run_get", run_id="none"),
        ),
    ),
)

_REMOTE = {"source_id": "far", "index_url": f"{CATALOG_1}/index.json"}
_CATALOG = (
    Script(
        "catalog/cookbooks",
        (
            _call("cookbooks_list"),
            _call("cookbooks_list", filter={"query": "WORK", "cookbook_id": "google.workspace"}),
            _call("cookbook_get", cookbook_id="google.workspace", version="1.2.0"),
            _call("cookbook_get", cookbook_id="../x"),
            _call("cookbook_upsert", bundle=bundle("plain.book", tags=[" b", "a", "b"]), conflict_policy="fail"),
            _call("cookbook_upsert", bundle=bundle("plain.book", tags=["a", "b"]), conflict_policy="FAIL"),
            _call("cookbook_upsert", bundle=bundle("plain.book", title="Other"), conflict_policy="FAIL"),
            _call("cookbook_import", bundle=bundle("plain.book", title="Other"), conflict_policy="SKIP_IF_EXISTS"),
            _call("cookbook_import", bundle=bundle("plain.book", title="Other"), conflict_policy="overwrite"),
            _call("cookbook_upsert", bundle=bundle("plain.book", "1.10.0-rc.1")),
            _call("cookbook_upsert", bundle=bundle("plain.book", "1.10.0")),
            _call("cookbook_export", cookbook_id="plain.book"),
            _call("cookbook_export", cookbook_id="plain.book", version="9"),
            _call("cookbook_upsert", bundle={**bundle("plain.book"), "entries": []}),
            _call("cookbook_upsert", bundle={**bundle("plain.book"), "title": 5}),
            _call("cookbook_upsert", bundle=bundle("plain.book", "2", RECIPE, RECIPE)),
            _call("recipes_search", query="noth", tags="noop"),
            _call("recipes_search", connector_id="google", entry_type="recipe.verb.v1"),
            _call("recipes_search", tags=[1]),
            _call("recipe_get", cookbook_id="plain.book", recipe_id="noop"),
            _call("recipe_get", cookbook_id="plain.book", recipe_id="none", version="1.10.0"),
            _call("cookbook_delete", cookbook_id="plain.book"),
            _call("cookbook_delete", cookbook_id="plain.book", version="none"),
            _call("cookbook_delete", cookbook_id="plain.book"),
            _call("cookbook_delete", cookbook_id="plain.book"),
            _call("cookbook_delete", cookbook_id="plain.book"),
        ),
    ),
    Script(
        "catalog/templates",
        (
            _call(
                "template_render",
                cookbook_id="google.workspace",
                template_id="gmail_tpl_verb_messages_list_by_label_v1",
                inputs={"label": "starred"},
                version="1.3.0",
            ),
            _call(
                "template_render",
                cookbook_id="google.workspace",
                template_id="gmail_tpl_plan_send_email_v1",
                inputs={"to": ["a@example.com"], "subject": None},
                output_kind="plan",
            ),
            _call(
                "template_render",
                cookbook_id="google.workspace",
                template_id="gmail_tpl_plan_send_email_v1",
                inputs={},
                output_kind="verb_request",
            ),
            _call(
                "template_render", cookbook_id="google.workspace", template_id="gmail_recipe_labels_list_v1", inputs={}
            ),
            _call("template_render", cookbook_id="google.workspace", template_id="none", inputs={}),
        ),
    ),
    Script(
        "catalog/remote",
        (
            Remote(1, "POST", "/control/publish", {"bundle": bundle("remote.book")}),
            Remote(1, "POST", "/control/publish", {"bundle": bundle("remote.book", "1.10.0")}),
            Remote(1, "POST", "/control/publish", {"bundle": bundle("remote.bad"), "listed": {"sha256": "00"}}),
            Remote(1, "POST", "/control/publish", {"bundle": bundle("remote.odd"), "listed": {"version": "9"}}),
            _call("catalog_sources_list"),
            _call("catalog_source_upsert", source=_REMOTE),
            _call("catalog_source_upsert", source={**_REMOTE, "auth_mode": "odd", "auth_env_var": "X"}),
            _call("catalog_source_upsert", source={**_REMOTE, "source_id": "off", "enabled": False}),
            _call("catalog_source_upsert", source={"source_id": "bad", "index_url": "ftp://x"}),
            _call("catalog_source_upsert", source={**_REMOTE, "auth_mode": "bearer_env"}),
            _call("catalog_sources_list"),
            _call("cookbooks_remote_list", source_id="far"),
            _call("cookbooks_remote_list", source_id="far", query="BAD"),
            _call("cookbooks_remote_list", source_id="off"),
            _call("cookbooks_remote_list", source_id="none"),
            _call("cookbook_remote_install", source_id="far", cookbook_id="remote.book"),
            _call("cookbook_remote_install", source_id="far", cookbook_id="remote.book", version="1.0.0"),
            _call("cookbook_remote_install", source_id="far", cookbook_id="remote.bad"),
            _call("cookbook_remote_install", source_id="far", cookbook_id="remote.odd"),
            _call("cookbook_remote_install", source_id="far", cookbook_id="none"),
            Remote(1, "POST", "/trouble", {"kind": "status", "status": 503, "count": 1}),
            _call("cookbooks_remote_list", source_id="far"),
            Remote(1, "POST", "/trouble", {"kind": "garbage", "count": 1}),
            _call("cookbooks_remote_list", source_id="far"),
            _call("cookbook_delete", cookbook_id="remote.book", version="1.10.0"),
            _call("cookbook_delete", cookbook_id="remote.book"),
            _call("catalog_source_delete", source_id="far"),
            _call("catalog_source_delete", source_id="far"),
            _call("catalog_source_delete", source_id="off"),
        ),
    ),
)

_CODES = (
    (403, "CONNECTOR_APPROVAL_DECISION_REQUIRED"),
    (403, "plan_approval_denied"),
    (404, "UNBOUNDED_PROFILE_NOT_FOUND"),
    (401, " UNAUTHENTICATED "),
    (403, "INSUFFICIENT_SCOPE"),
    (422, "PLAN_TRANSITION_AMBIGUOUS"),
    (409, "PLAN_POLICY_DRIFT"),
    (422, "ERR_GENERIC_HTTP_EXTRACT_PARSE_FAILED"),
    (422, "SECRET_INTENT_TYPE_MISMATCH"),
    (404, "PLAN_RUN_NOT_FOUND"),
    (503, "PLAN_RUN_INTERRUPTED"),
    (500, "SOMETHING_ELSE"),
    (418, "SOMETHING_ELSE"),
    (429, "SLOW_DOWN"),
)
_LIST = "/v0/connectors"
_BODIES: tuple[tuple[int, Any], ...] = (
    *((status, {"error": {"code": code, "message": "Said so.", "details": {"a": 1}}}) for status, code in _CODES),
    (401, {}),
    (404, {"error": "text"}),
    (502, {"error": {"code": " ", "message": ""}}),
    (200, {"error": {"code": "X"}}),
    (204, None),
    (200, []),
)
_ERRORS = (
    Script(
        "errors/answers",
        tuple(
            step for status, body in _BODIES for step in (answer(_LIST, body, status=status), _call("connectors_list"))
        ),
    ),
    Script(
        "errors/line",
        (
            _call("session_configure", token="vc-agent", base_url=VAULTD, timeout_ms=500),
            *(
                step
                for kind in ("half", "down", "hang", "garbage")
                for step in (
                    Vault("POST", "/trouble", {"kind": kind, "path": _LIST, "count": 1}),
                    _call("connectors_list"),
                )
            ),
            _call("session_configure", token="vc-agent", base_url="http://127.0.0.1:1"),
            _call("connectors_list"),
            _call("session_configure", token="vc-agent", base_url="no url at all"),
            _call("connectors_list"),
        ),
    ),
)
