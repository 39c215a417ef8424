"""A scene for every ruling: what is done so that a program that follows the public one answers otherwise than ours.

The step that differs is the last of its script, or nothing after it depends on it. Source: rulings 1 to 20.
"""

from __future__ import annotations

from typing import Any

from lasttick.compare.corpus_examples import A
from lasttick.compare.corpus_tools import FETCH, HTTP, LABELS, PLAN, bundle
from lasttick.compare.script import (
    CATALOG_1,
    CATALOG_2,
    VAULTD,
    Call,
    CallThenEnd,
    Remote,
    Restart,
    Script,
    Start,
    Step,
    Vault,
    Written,
    answer,
    work,
)

EXECUTE, EXECUTE_JOB = "/v0/connectors/execute", "/v0/connectors/execute-job"
PLAN_EXECUTE, VALIDATE = "/v0/connectors/plans/execute", "/v0/connectors/validate"
PENDING, PROFILE_GET = "/v0/connectors/approvals/pending", "/v0/connectors/unbounded/profiles/get"
SOURCE_TOKEN, AGENT_TOKEN = "far-token-0123456789", "vat-of-the-environment"
SUMMARY = "Tomorrow in Boston: 58F with morning showers."
GRANT, DECISION = "CONNECTOR_APPROVAL_GRANT_REQUIRED", "CONNECTOR_APPROVAL_DECISION_REQUIRED"
_JOB_1 = {"kind": "JOB", "job_id": "job_1"}
_MAIL = "send email to a@example.com"
_FETCH_A = {**FETCH, "request": {**FETCH["request"], "secret_attachments": [A]}}


def scripts() -> tuple[Script, ...]:
    told = (*_WAITS, *_EXECUTING, *_HANDOFFS, *_PASSPORT, *_ROUTES, *_CATALOG, *_SESSIONS)
    return tuple(Script(f"rulings/{name}", tuple(steps), start) for name, steps, start in told)


def _told(name: str, *steps: Step, start: Start | None = None) -> tuple[str, tuple[Step, ...], Start]:
    return name, steps, start or Start()


def _wait(timeout_ms: int, poll_interval_ms: int, handle: dict[str, Any] | None = None) -> Call:
    given = {"handle": handle or _JOB_1, "timeout_ms": timeout_ms, "poll_interval_ms": poll_interval_ms}
    return Call("approval_wait", given)


def _job(**members: Any) -> Call:
    return Call("connector_execute_job", {"request": FETCH, **members})


def _route(text: str, **facts: Any) -> Call:
    return Call("route_resolve", {"request_text": text, **({"context": {"facts": facts}} if facts else {})})


_WAITS = (
    _told("1-the-deadline-is-exact", work("jobs", (0, "RUNNING"), (1.4, "SUCCEEDED")), _wait(1000, 900)),
    _told(
        "2-one-bad-poll",
        work("jobs", (0, "SUCCEEDED")),
        Vault("POST", "/trouble", {"kind": "5xx", "path": "/v0/jobs/*", "count": 1}),
        _wait(3000, 250),
    ),
    _told("2-a-busy-vault", work("jobs", (0, "SUCCEEDED")), answer("/v0/jobs/job_1", {}, status=429), _wait(3000, 250)),
    _told(
        "2-nothing-but-bad-polls",
        work("jobs", (0, "RUNNING")),
        Vault("POST", "/trouble", {"kind": "5xx", "path": "/v0/jobs/*"}),
        _wait(1000, 600),
    ),
    _told(
        "3-cancelled-and-expired",
        work("jobs", (0, "CANCELLED")),
        work("runs", (0, "expired")),
        Call("job_get", {"job_id": "job_1"}),
        Call("plan_run_get", {"run_id": "run_1"}),
        _wait(1000, 600),
        _wait(1000, 600, {"kind": "PLAN_RUN", "run_id": "run_1"}),
    ),
    _told(
        "19-the-input-ends-during-a-wait",
        work("jobs", (0, "RUNNING")),
        CallThenEnd(_wait(1000, 400)),
        start=Start(via="stdio", own="19"),
    ),
)

_PATHS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("connector_get", {"connector_id": "a?x=1"}),
    ("connector_get", {"connector_id": ".."}),
    ("job_get", {"job_id": "../connectors"}),
    ("plan_run_get", {"run_id": "r#1"}),
    ("approval_wait", {"handle": {"kind": "JOB", "job_id": "a/b"}, "timeout_ms": 1000}),
)
_RUN_JOB, _RUN_PLAN = Call("connector_execute_job", {"request": FETCH}), Call("plan_execute", {"plan": PLAN})
_EXECUTING = (
    *(
        _told(f"4-no-state-{name}", answer(path, body), call)
        for name, path, call, body in (
            ("nothing", EXECUTE_JOB, _RUN_JOB, {"ok": True}),
            ("odd", EXECUTE_JOB, _RUN_JOB, {"job": {"job_id": "j", "status": "odd"}}),
            ("no-run", PLAN_EXECUTE, _RUN_PLAN, {}),
            ("odd-run", PLAN_EXECUTE, _RUN_PLAN, {"run": {"run_id": "r", "state": "odd"}}),
        )
    ),
    *(
        _told(f"7-not-valid-{number}", answer(VALIDATE, body), Call(tool, {"request": FETCH}))
        for number, (tool, body) in enumerate(
            (
                ("connector_execute", {"valid": False}),
                ("connector_execute", {"errors": [{"path": "/"}]}),
                ("connector_execute_job", {"valid": "true"}),
                ("connector_execute_job", {"valid": None, "errors": []}),
            ),
            1,
        )
    ),
    _told("7-the-vault-refuses", Call("connector_execute", {"request": {**FETCH, "request": {"method": "GET"}}})),
    *(_told(f"9-path-{number}", Call(tool, arguments)) for number, (tool, arguments) in enumerate(_PATHS, 1)),
    _told("16-no-profile", answer(PROFILE_GET, {}), Call("unbounded_profile_resolve", {"requirements": [A]})),
    _told(
        "16-another-profile",
        answer(PROFILE_GET, {"profile": {"profile_id": "another", **HTTP, "slots": []}}),
        Call("unbounded_profile_resolve", {"requirements": [A]}),
    ),
    _told("16-no-execution", answer(PROFILE_GET, {}), Call("connector_execute_job", {"request": _FETCH_A})),
)


def _pending(**members: Any) -> dict[str, Any]:
    return {"job": {"job_id": "j1", "status": "PENDING", **members}}


_ASKED = {"challenge": {"challenge_id": "c1"}}
_HANDOFFS = (
    *(
        _told(f"12-look-up-{name}", answer(EXECUTE_JOB, _pending(pending_approval=_ASKED)), trouble, _job())
        for name, trouble in (
            ("500", answer(PENDING, {}, status=500)),
            ("unknown", answer(PENDING, {"error": {"code": "SOMETHING"}}, status=418)),
            ("half", Vault("POST", "/trouble", {"kind": "half", "path": PENDING, "count": 1})),
        )
    ),
    _told("13-grant", answer(EXECUTE_JOB, _pending(error={"code": GRANT})), _job()),
    _told(
        "13-grant-of-a-plan",
        answer(PLAN_EXECUTE, {"run": {"run_id": "r1", "state": "READY", "last_error_code": GRANT, "challenge_id": ""}}),
        Call("plan_execute", {"plan": PLAN}),
    ),
    _told(
        "13-grant-is-looked-at",
        answer("/v0/jobs/j1", _pending(error={"code": GRANT})),
        Call("job_get", {"job_id": "j1"}),
    ),
    _told("13-pending-string", answer(EXECUTE_JOB, _pending(pending_approval="apj_1")), _job()),
    _told(
        "13-no-job-id",
        answer(EXECUTE_JOB, {"job": {"status": "PENDING", "error": {"code": DECISION}}}),
        _job(),
    ),
    _told(
        "13-no-run-id",
        answer(PLAN_EXECUTE, {"run": {"state": "PENDING_APPROVAL"}}),
        Call("plan_execute", {"plan": PLAN}),
    ),
)

_MAIL_CALL = Call("passport_email_workflow", {"recipient_email": "a@example.com", "passport_document_id": "d1"})


def _step_fails(step_id: str, **details: Any) -> Vault:
    error = {"code": "STEP_FAILED", "message": "It failed.", "details": {"step_id": step_id, **details}}
    return answer(PLAN_EXECUTE, {"error": error}, status=422)


_PASSPORT = (
    _told("11-extraction", _step_fails("extract_passport_fields"), _MAIL_CALL),
    _told("11-read", _step_fails("read_existing_profile"), _MAIL_CALL),
    _told(
        "11-missing",
        _step_fails("read_after_extract_profile", missing_slots=["given_name", "passport_number"]),
        Call("passport_email_workflow", {**_MAIL_CALL.arguments, "manual_fields": {"given_name": "Ada"}}),
    ),
    _told("11-a-send-is-a-send", _step_fails("send_draft_after_extract"), _MAIL_CALL),
)

_TIDES = {
    "entry_id": "tpl_tides",
    "entry_type": "template.verb.v1",
    "connector_id": "generic.http",
    "base_request": {"connector_id": "generic.http", "verb": "do.v1", "request": {}},
    "bindings": [{"target_path": f"/request/{name}", "input_key": name} for name in ("zone", "day")],
}
_LONG = [{"slot": "s", "mode": "m", "target": "t", "expected_secret_types": [f"t{n}"]} for n in range(14, 0, -1)]
_ROUTES = (
    _told("5-weather", _route(f"{_MAIL} about weather in boston tomorrow")),
    _told("5-weather-is-known", _route(f"{_MAIL} about weather in boston tomorrow", weather_summary=SUMMARY)),
    _told("5-weather-of-a-week", _route(f"{_MAIL} with the weather forecast for new york next week")),
    _told("6-attachment", _route("send my passport over email to a@b.com")),
    _told("6-attachment-of-a-draft", _route("create draft email with drivers license to a@b.com")),
    _told(
        "18-order-of-facts",
        _route(f"reply to the email saying hi to {'a@b.com'}", thread_id="t1", subject="S", text_html="<p>"),
        _route("modify the labels of the gmail message", message_id="m1", remove_label_ids=["b"], add_label_ids=["a"]),
    ),
    _told("18-longest-tie", _route("zzalpha zzgamma")),
    _told("18-stable-at-any-length", Call("unbounded_profile_resolve", {"requirements": _LONG})),
    _told(
        "contract-20.4-search-route",
        Call("cookbook_upsert", {"bundle": bundle("tides.book", "1.0.0", _TIDES)}),
        _route("show the tides"),
        Call("cookbook_delete", {"cookbook_id": "tides.book"}),
    ),
)

_FAR = {
    "source_id": "far",
    "index_url": f"{CATALOG_1}/index.json",
    "auth_mode": "BEARER_ENV",
    "auth_env_var": "FAR_TOKEN",
}
_WITH_TOKEN = Start(environ=(("FAR_TOKEN", SOURCE_TOKEN),))
_KNOWN = Remote(1, "PUT", "/control/token", {"token": SOURCE_TOKEN})
_PUBLISHED = Remote(1, "POST", "/control/publish", {"bundle": bundle("far.book")})
_SOURCE = Call("catalog_source_upsert", {"source": _FAR})
_INSTALL = Call("cookbook_remote_install", {"source_id": "far", "cookbook_id": "far.book"})
_CLEANED = (
    Call("cookbook_delete", {"cookbook_id": "far.book"}),
    Call("catalog_source_delete", {"source_id": "far"}),
)
_GONE = Call("cookbook_delete", {"cookbook_id": "google.workspace", "version": "1.3.0"})
_CATALOG = (
    _told(
        "8-download-elsewhere",
        _KNOWN,
        Remote(
            1,
            "POST",
            "/control/publish",
            {"bundle": bundle("far.book"), "listed": {"download_url": f"{CATALOG_2}/bundles/1.json"}},
        ),
        Remote(2, "POST", "/control/publish", {"bundle": bundle("far.book")}),
        _SOURCE,
        _INSTALL,
        *_CLEANED,
        start=_WITH_TOKEN,
    ),
    _told(
        "8-redirect-elsewhere",
        _KNOWN,
        _PUBLISHED,
        Remote(2, "POST", "/control/publish", {"bundle": bundle("far.book")}),
        Remote(
            1,
            "POST",
            "/trouble",
            {"kind": "redirect", "path": "/bundles/1.json", "to": f"{CATALOG_2}/bundles/1.json", "count": 1},
        ),
        _SOURCE,
        _INSTALL,
        *_CLEANED,
        start=_WITH_TOKEN,
    ),
    _told(
        "8-a-huge-body",
        _KNOWN,
        _PUBLISHED,
        Remote(1, "POST", "/trouble", {"kind": "huge", "mib": 17, "path": "/bundles/1.json"}),
        _SOURCE,
        _INSTALL,
        Call("catalog_source_delete", {"source_id": "far"}),
        start=_WITH_TOKEN,
    ),
    _told(
        "10-a-bundled-cookbook-is-gone",
        _GONE,
        Restart(),
        _route("list labels of my gmail"),
        Call(
            "recipe_get",
            {"cookbook_id": "google.workspace", "recipe_id": "gmail_recipe_labels_list_v1", "version": "1.3.0"},
        ),
        Call(
            "template_render",
            {
                "cookbook_id": "google.workspace",
                "template_id": "gmail_tpl_plan_send_email_v1",
                "version": "1.3.0",
                "inputs": {},
            },
        ),
        start=Start(own="10"),
    ),
    _told(
        "15-a-stale-index",
        Call("cookbook_upsert", {"bundle": bundle("stale.book")}),
        Written("index.json", '{"items": []}\n'),
        Call("cookbook_upsert", {"bundle": bundle("stale.book")}),
        Call("cookbooks_list", {"filter": {"cookbook_id": "stale.book"}}),
        start=Start(own="15"),
    ),
    _told("20-no-cookbooks", _route("list labels of my gmail"), start=Start(cookbooks=False, own="20")),
)

_OTHER = "another-scope"
_SESSIONS = (
    _told(
        "14-whose-is-the-token",
        Vault("PUT", f"/control/tokens/{AGENT_TOKEN}", {"tenant": "acme", "agent_id": "agent-1"}),
        Call("session_status", {}, "default"),
        Call("connectors_list", {}, "default"),
        Call("session_status", {}, _OTHER),
        Call("connectors_list", {}, _OTHER),
        start=Start(environ=(("VC_AGENT_TOKEN", AGENT_TOKEN), ("VC_BASE_URL", VAULTD))),
    ),
    _told("17-a-short-token", Call("session_configure", {"token": "abcdefgh"}), Call("session_status")),
    _told(
        "17-the-vault-echoes",
        Vault("PUT", f"/control/tokens/{AGENT_TOKEN}", {"tenant": "acme", "agent_id": "agent-1"}),
        Call("session_configure", {"token": AGENT_TOKEN, "base_url": VAULTD}),
        Vault("POST", "/trouble", {"kind": "echo", "count": 2}),
        Call("connectors_list"),
        Call("connector_execute", {"request": LABELS}),
    ),
)
