"""The worked examples of the contract, as calls. Source: contract vaultclaw 21."""

from __future__ import annotations

from typing import Any

from lasttick.compare.corpus_tools import FETCH, HTTP, bundle
from lasttick.compare.script import Call, Script, Vault, answer, work

A: dict[str, Any] = {
    "slot": "api_key",
    "intent": "http.auth",
    "expected_secret_types": ["api-key"],
    "mode": "read",
    "target": "https://api.example.com",
}
B: dict[str, Any] = {name: A[name] for name in ("slot", "mode", "target")}
C: list[dict[str, Any]] = [
    {"slot": "z_tok", "mode": "write", "target": "https://b.example/x?a=1&b=<2>", "required": False},
    {
        "slot": " api_key ",
        "intent": " http.auth ",
        "expected_secret_types": ["oauth2", " api-key", "api-key", ""],
        "mode": "read",
        "target": "https://a.example",
    },
    {"slot": "api_key", "mode": "read", "target": "https://a.example"},
]
D = {"slot": "cl\u00e9", "mode": "read", "target": 'https://\u4f8b.example/\u2028\u007f\t"\\/'}
SENTENCES = (
    "send email to a@example.com about tomorrow's weather in boston",
    "send email to a@example.com with tomorrow weather in new york",
    "send email to a@example.com",
    "send an email",
    "send email to a@example.com with subject as Soup and body summary of the recipe",
    "send email to a@example.com with subject Hello and message body Dinner at eight, ok",
    "list inbox messages in gmail",
    "email my passport without passport details to a@example.com",
    "trash the gmail message 18f2a9c0d1e2",
    "untrash message",
    "call the api endpoint",
    "what time is it",
    "email the passport fields to a@example.com",
    "email the passport details",
    "email the passport fields to a@example.com and b@example.com",
    "reply to the email thread id: 18f2a9c0d1e2 saying thanks",
)
"""Those that a ruling changes are in `corpus_rulings`."""
_HTTP_BOOK = bundle(
    "http.recipes",
    "1.0.0",
    {
        "entry_id": "tpl_get_user",
        "entry_type": "template.verb.v1",
        "title": "Get user",
        "tags": ["user", " http ", "http"],
        "base_request": {**HTTP, "request": {"method": "GET", "url": ""}},
        "bindings": [
            {"target_path": "/request/url", "input_key": "url", "required": True},
            {"target_path": "/request/method", "input_key": "method", "required": False, "default": "GET"},
        ],
    },
    title="HTTP",
)
_LIST_BOOK = bundle(
    "list.recipes",
    "1.0.0",
    {
        "entry_id": "tpl_list",
        "entry_type": "template.verb.v1",
        "base_request": {**HTTP, "request": {"list": ["a"]}},
        "bindings": [
            {"target_path": "/request/list/2/k", "input_key": "k", "required": False},
            {"target_path": "/request/new/1", "input_key": "new", "required": False},
            {"target_path": "/request/0", "input_key": "zero", "required": False},
        ],
    },
)


def _ref(path: str, ref: Any) -> dict[str, Any]:
    return {"path": path, "ref": ref}


_UNRESOLVED = [
    _ref("/url", {"source": "plan_input", "path": "/u"}),
    _ref("/m", {"source": "plan_input", "path": "/b/c"}),
    _ref("/n", {"source": "plan_input", "path": "/b/c"}),
    _ref("/o", {"source": "step_output", "path": "/x"}),
    _ref("/r", {"source": "runtime", "path": "/y"}),
    _ref("/p", {"source": "plan_input"}),
    _ref("/q", {"source": "literal"}),
    _ref("/s", {}),
    _ref("/t", {"source": "weird"}),
    _ref("/k", {"source": "plan_input", "path": "u"}),
]
_RESOLVED = [
    _ref("/url", {"source": "plan_input", "path": "/u"}),
    _ref("/headers/x~1y", {"source": "literal", "value": 1}),
    _ref("/c", {"value": [1, 2]}),
    _ref("/secret_attachments", {"source": "plan_input", "path": "/att"}),
]


def _plan(bindings: list[dict[str, Any]]) -> dict[str, Any]:
    step = {"step_id": "a", **HTTP, "request_base": {"method": "GET"}, "request_bindings": bindings}
    return {"type": "connector.execution.plan.v1", "start_step_id": "a", "steps": [step]}


def _slot(**lists: list[str]) -> list[dict[str, Any]]:
    return [{"slot": "api_key", "required": True, **lists}]


_EXACT = {
    "allowed_intents": ["http.auth"],
    "expected_secret_types": ["api-key"],
    "allowed_modes": ["read"],
    "allowed_targets": ["https://api.example.com"],
}
_TIED = {
    "p.zeta": _slot(**_EXACT),
    "p.beta": _slot(**_EXACT),
    "p.alpha": _slot(**{**_EXACT, "allowed_modes": ["write"]}),
    "p.open": _slot(),
}
_FETCH_A = {**FETCH, "request": {**FETCH["request"], "secret_attachments": [A]}}
_WAITING = {
    "run": {"run_id": "r1", "state": "PENDING_APPROVAL", "job_id": "job_9"},
    "job": {"job_id": "job_9", "status": "PENDING"},
}


def _run(state: str, code: str = "") -> dict[str, Any]:
    return {"run": {**_WAITING["run"], "state": state, "last_error_code": code}}


_RUN = "/v0/connectors/plans/runs/r1"
_WAIT = Call(
    "approval_wait", {"handle": {"kind": "PLAN_RUN", "run_id": "r1"}, "timeout_ms": 5000, "poll_interval_ms": 1}
)


def scripts() -> tuple[Script, ...]:
    resolve = "unbounded_profile_resolve"
    return (
        Script(
            "examples/profile-hashes",
            tuple(Call(resolve, {"requirements": one}) for one in ([A], [B], [B, B], C, [D])),
        ),
        Script("examples/execute-job-of-a", (Call("connector_execute_job", {"request": _FETCH_A}),)),
        Script(
            "examples/tie-break",
            (
                *(
                    Call(
                        "unbounded_profile_upsert",
                        {
                            "profile": {
                                "type": "connector.unbounded.profile.v1",
                                "profile_id": name,
                                **HTTP,
                                "slots": slots,
                            }
                        },
                    )
                    for name, slots in _TIED.items()
                ),
                Call(resolve, {"requirements": [A]}),
            ),
        ),
        Script(
            "examples/plan-bindings",
            (
                Call("plan_execute", {"plan": _plan(_UNRESOLVED), "plan_input": {"b": {}}}),
                Call("plan_unbounded_profile_preview", {"plan": _plan(_UNRESOLVED), "plan_input": {"b": {}}}),
                Call("plan_execute", {"plan": _plan(_RESOLVED), "plan_input": {"u": "https://x.test", "att": [A]}}),
                Call("plan_unbounded_profile_preview", {"plan": _plan(_RESOLVED), "plan_input": {"u": 1, "att": [A]}}),
            ),
        ),
        Script(
            "examples/pending-id",
            (
                answer(
                    "/v0/connectors/execute-job",
                    {
                        "job": {
                            "job_id": "JOB_9",
                            "status": "pending",
                            "error": {"error": {"code": "plan_approval_required"}},
                            "pending_approval": {
                                "challenge": {"challenge_id": "c1"},
                                "remote_attestation_url": "http://u",
                            },
                        }
                    },
                ),
                answer(
                    "/v0/connectors/approvals/pending",
                    {
                        "items": [
                            {"pending_id": "apj_b", "job_id": "job_9", "created_seq": 5},
                            {"pending_id": "apj_a", "job_id": "job_9", "created_seq": 5},
                            {"pending_id": "apj_c", "job_id": "job_9", "created_seq": 4},
                            {"pending_id": "apj_x", "job_id": "other", "created_seq": 99},
                        ]
                    },
                ),
                Call("connector_execute_job", {"request": FETCH}),
            ),
        ),
        Script(
            "examples/wait",
            (
                answer(_RUN, _run("PENDING_APPROVAL")),
                answer(_RUN, _run("READY")),
                answer(_RUN, _run("DENIED", "PLAN_APPROVAL_DENIED")),
                _WAIT,
                answer(_RUN, _run("DENIED", "PLAN_POLICY_DRIFT")),
                _WAIT,
                answer(_RUN, _run("FAILED", "PLAN_APPROVAL_DENIED")),
                _WAIT,
            ),
        ),
        Script(
            "examples/wait-limits",
            (
                work("jobs", (0, "RUNNING")),
                Call(
                    "approval_wait",
                    {"handle": {"kind": "JOB", "job_id": "job_1"}, "timeout_ms": 1, "poll_interval_ms": 300},
                ),
            ),
        ),
        Script(
            "examples/content-hash",
            (
                Call("cookbook_upsert", {"bundle": _HTTP_BOOK}),
                Call(
                    "cookbook_upsert",
                    {"bundle": {**_HTTP_BOOK, "version": "2", "tags": ["b", "a"], "description": "d"}},
                ),
                Call("template_render", {**_entry("http.recipes", "tpl_get_user"), "inputs": {"url": "http://x"}}),
                Call("template_render", {**_entry("http.recipes", "tpl_get_user"), "inputs": {}}),
                Call("cookbook_upsert", {"bundle": _LIST_BOOK}),
                Call("template_render", {**_entry("list.recipes", "tpl_list"), "inputs": {"k": {"x": 1}, "new": "v"}}),
                Call("template_render", {**_entry("list.recipes", "tpl_list"), "inputs": {"zero": 1}}),
                *(
                    Call("cookbook_delete", {"cookbook_id": name})
                    for name in ("http.recipes", "http.recipes", "list.recipes")
                ),
            ),
        ),
        Script("examples/routes", tuple(Call("route_resolve", {"request_text": text}) for text in SENTENCES)),
        Script(
            "examples/route-options",
            (
                Vault("POST", "/trouble", {"kind": "heal"}),
                Call(
                    "route_resolve", {"text": "show the workspace status", "options": {"allow_search_fallback": False}}
                ),
                Call("route_resolve", {"request": "send an email", "context": {"facts": {"email_subject": "Hi"}}}),
                Call(
                    "route_resolve",
                    {"request_text": "call the webhook", "context": {"facts": {"http_url": "http://x"}}},
                ),
            ),
        ),
    )


def _entry(cookbook_id: str, template_id: str) -> dict[str, Any]:
    return {"cookbook_id": cookbook_id, "template_id": template_id}
