"""Steps of stories that call any tool: the forty names, arguments that fit and others, and a mail to send."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from hypothesis import strategies as st

_TABLE = """
session_configure session_status session_clear connectors_list connector_get connector_validate
connector_execute connector_execute_job document_types_suggest document_types_latest plan_validate plan_execute
plan_run_get plan_unbounded_profile_preview slot_bindings_list slot_bind unbounded_profiles_list
unbounded_profile_get unbounded_profile_upsert unbounded_profile_resolve job_get approvals_pending_list
approvals_pending_get approval_wait passport_email_workflow cookbooks_list cookbook_get cookbook_export
cookbook_delete cookbook_upsert cookbook_import recipes_search recipe_get template_render catalog_sources_list
catalog_source_upsert catalog_source_delete cookbooks_remote_list cookbook_remote_install route_resolve
"""
NAMES = sorted(_TABLE.split())
"""Without their prefix (contract vaultclaw 7)."""
MAIL = {"connector_id": "google", "verb": "google.gmail.messages.send"}
PLAN = {
    "type": "connector.execution.plan.v1",
    "steps": [{"step_id": "send", **MAIL, "request_base": {"to": ["ada@example.com"], "text_plain": "Hi"}}],
}
ATTACHED = [{"slot": "api_key", "mode": "read", "target": "https://api.example.com"}]
GOOGLE = {"cookbook_id": "google.workspace", "version": "1.3.0"}
SOURCE = {"source_id": "away", "index_url": "http://127.0.0.1:9/index.json"}
"""A source that nobody serves."""
SHORT = {"timeout_ms": 1000, "poll_interval_ms": 1000}


def mail(to: str, **more: Any) -> dict[str, Any]:
    """A request for one mail, which the daemon's policy has a person decide."""
    return {**MAIL, "request": {"to": [to], "subject": "Hi", "text_plain": "Hello", **more}}


PLAUSIBLE: list[tuple[str, dict[str, Any]]] = [
    ("session_status", {}),
    ("connectors_list", {}),
    ("connector_get", {"connector_id": "google"}),
    ("connector_validate", {"request": mail("ada@example.com")}),
    ("connector_execute", {"request": mail("ada@example.com")}),
    ("connector_execute_job", {"request": mail("ada@example.com")}),
    ("document_types_suggest", {"query": "passport"}),
    ("document_types_latest", {"type_id": "identity.passport"}),
    ("plan_validate", {"plan": PLAN}),
    ("plan_execute", {"plan": PLAN}),
    ("plan_run_get", {"run_id": "run_1"}),
    ("plan_unbounded_profile_preview", {"plan": PLAN}),
    ("slot_bindings_list", {"connector_id": "generic.http", "verb": "generic.http.request.v1"}),
    (
        "slot_bind",
        {"connector_id": "generic.http", "verb": "generic.http.request.v1", "slot": "api_key", "secret_id": "s-1"},
    ),
    ("unbounded_profiles_list", {}),
    ("unbounded_profile_resolve", {"requirements": ATTACHED}),
    ("unbounded_profile_get", {"profile_id": "mcp.auto.f775acd08af6"}),
    ("unbounded_profile_upsert", {"profile": {}}),
    ("job_get", {"job_id": "job_1"}),
    ("job_get", {"job_id": "../connectors/approvals/decide"}),
    ("approvals_pending_list", {}),
    ("approvals_pending_get", {"challenge_id": "ach_1", "pending_id": "apj_1"}),
    ("approval_wait", {"handle": {"kind": "JOB", "job_id": "job_1"}, **SHORT}),
    ("approval_wait", {"handle": {"kind": "PLAN_RUN", "run_id": "run_1"}, **SHORT}),
    ("approval_wait", {"handle": {"kind": "JOB", "job_id": "job_2"}, "decision": "approve", **SHORT}),
    ("passport_email_workflow", {"request_text": "my passport to ada@example.com", "passport_document_id": "doc_1"}),
    ("cookbooks_list", {}),
    ("cookbook_get", GOOGLE),
    ("cookbook_export", GOOGLE),
    ("recipes_search", {"query": "gmail"}),
    ("recipe_get", {**GOOGLE, "recipe_id": "gmail_recipe_labels_list_v1"}),
    (
        "template_render",
        {**GOOGLE, "template_id": "gmail_tpl_verb_messages_get_metadata_v1", "inputs": {"message_id": "m"}},
    ),
    ("cookbook_upsert", {"bundle": {}}),
    ("cookbook_import", {"bundle": {}}),
    ("cookbook_delete", {"cookbook_id": "google.workspace", "version": "1.1.0"}),
    ("catalog_source_upsert", {"source": SOURCE}),
    ("catalog_sources_list", {}),
    ("cookbooks_remote_list", {"source_id": "away"}),
    ("cookbook_remote_install", {"source_id": "away", "cookbook_id": "x"}),
    ("catalog_source_delete", {"source_id": "away"}),
    ("route_resolve", {"request_text": "list inbox messages in gmail"}),
    ("session_configure", {}),
    ("session_clear", {}),
]
"""Every tool at least once, with arguments that lead it to the vault where it has any business there."""

KEYS = (
    *("request", "plan", "handle", "kind", "job_id", "run_id", "challenge_id", "pending_id", "decision", "states"),
    *("profile", "profile_id", "requirements", "bundle", "query", "type_id", "connector_id", "verb", "source_id"),
    *("request_text", "recipient_email", "passport_document_id", "inputs", "limit", "filter", "cookbook_id"),
)
WORDS = (
    *("JOB", "PLAN_RUN", "job_1", "job_2", "run_1", "run_2", "ach_1", "apj_1", "approve", "..", "a/b?c=1", "google"),
    *("../approvals/decide", "approvals/decide", "WAITING,DENIED", "ada@example.com", "", "\x00", "generic.http"),
)
SCALARS = st.none() | st.booleans() | st.integers(-2, 2000) | st.sampled_from(WORDS)
VALUES = st.recursive(
    SCALARS | st.sampled_from([mail("ada@example.com"), PLAN, ATTACHED]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)


def only_looked_at(path: str) -> str | None:
    """What a path of the vault that a tool may only read is about; None for any other. `path` as it was sent."""
    plain = unquote(path.partition("?")[0])
    for start, what in (
        ("/v0/jobs", "a job was"),
        ("/v0/connectors/plans/runs", "a run was"),
        ("/v0/connectors/approvals", "approvals were"),
    ):
        if plain.startswith(start):
            return what
    return None
