"""Steps of the core stories: the 40 tools as contract vaultclaw 7 lists them, and arguments that each of them takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .steps_approvals import EXECUTE_JOB, EXECUTE_PLAN, HTTP

PREFIX = "vaultclaw_"
TYPES = {"s": "string", "i": "integer", "b": "boolean", "o": "object", "a": "array"}

SCHEMAS = """
session_configure           token! s, base_url s, timeout_ms i
session_status
session_clear
connectors_list
connector_get               connector_id! s
connector_validate          request! o
connector_execute           request! o
connector_execute_job       request! o, orchestration o
document_types_suggest      query! s, top_k i
document_types_latest       type_id! s, subject_id s
plan_validate               plan! o
plan_execute                plan! o, plan_input *, orchestration o
plan_run_get                run_id! s
plan_unbounded_profile_preview plan! o, plan_input *
slot_bindings_list          connector_id! s, verb! s, include_revoked b
slot_bind                   connector_id! s, verb! s, slot! s, secret_id! s
unbounded_profiles_list     connector_id s, verb s, include_revoked b
unbounded_profile_get       profile_id! s
unbounded_profile_upsert    profile! o
unbounded_profile_resolve   requirements! a, auto_create b
job_get                     job_id! s
approvals_pending_list      states *, limit i, connector_id s, verb s, agent_id s, challenge_id s
approvals_pending_get       challenge_id! s, pending_id! s
approval_wait               handle! o, timeout_ms i, poll_interval_ms i
passport_email_workflow     recipient_email s, request_text s, subject s, body_style s, passport_document_id s, \
manual_fields o, execute b
cookbooks_list              filter o
cookbook_get                cookbook_id! s, version s
cookbook_export             cookbook_id! s, version s
cookbook_delete             cookbook_id! s, version s
cookbook_upsert             bundle! o, conflict_policy s
cookbook_import             bundle! o, conflict_policy s
recipes_search              query s, connector_id s, verb s, tags *, entry_type s
recipe_get                  cookbook_id! s, recipe_id! s, version s
template_render             cookbook_id! s, template_id! s, inputs! o, version s, output_kind s
catalog_sources_list
catalog_source_upsert       source! o
catalog_source_delete       source_id! s
cookbooks_remote_list       source_id! s, query s
cookbook_remote_install     source_id! s, cookbook_id! s, version s, conflict_policy s, expected_sha256 s
route_resolve               request_text! s, options o, context o
"""
"""`name  argument type, ...`; ! is required. Type letters as in the contract."""


@dataclass(frozen=True)
class Advertised:
    """One tool of the contract's table."""

    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    @property
    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "properties": self.properties}
        return schema | ({"required": self.required} if self.required else {})


def _read(table: str) -> dict[str, Advertised]:
    tools = {}
    for line in table.strip().splitlines():
        name, _, listed = line.partition(" ")
        arguments = [one.split() for one in listed.split(",") if one.strip()]
        properties = {key.rstrip("!"): {"type": TYPES[kind]} if kind in TYPES else {} for key, kind in arguments}
        tools[name] = Advertised(properties, [key[:-1] for key, _ in arguments if key.endswith("!")])
    tools["route_resolve"].properties["context"]["properties"] = {"facts": {"type": "object"}}
    return tools


TOOLS: dict[str, Advertised] = _read(SCHEMAS)

REQUEST: dict[str, Any] = {**HTTP, "request": {"method": "GET", "url": "https://api.example.com/x"}}
STEP = {"step_id": "a", **HTTP, "request_base": REQUEST["request"]}
PLAN: dict[str, Any] = {"type": "connector.execution.plan.v1", "start_step_id": "a", "steps": [STEP]}
NEEDED = {"slot": "api_key", "mode": "read", "target": "https://api.example.com"}
BUNDLE: dict[str, Any] = {
    "type": "accords.cookbook.bundle.v1",
    "cookbook_id": "shelf",
    "version": "1.0.0",
    "title": "A shelf",
    "entries": [{"entry_id": "list", "entry_type": "recipe.verb.v1", **REQUEST}],
}

OF_THE_VAULT: dict[str, dict[str, Any]] = {
    "connectors_list": {},
    "connector_get": {"connector_id": "google"},
    "connector_validate": {"request": REQUEST},
    "connector_execute": {"request": REQUEST},
    "connector_execute_job": {"request": REQUEST},
    "document_types_suggest": {"query": "passport"},
    "document_types_latest": {"type_id": "identity.passport"},
    "plan_validate": {"plan": PLAN},
    "plan_execute": {"plan": PLAN},
    "plan_run_get": {"run_id": "run_1"},
    "plan_unbounded_profile_preview": {"plan": PLAN},
    "slot_bindings_list": HTTP,
    "slot_bind": {**HTTP, "slot": "api_key", "secret_id": "sec_1"},
    "unbounded_profiles_list": {},
    "unbounded_profile_get": {"profile_id": "p"},
    "unbounded_profile_upsert": {"profile": {"profile_id": "p", **HTTP, "slots": []}},
    "unbounded_profile_resolve": {"requirements": [NEEDED]},
    "job_get": {"job_id": "job_1"},
    "approvals_pending_list": {},
    "approvals_pending_get": {"challenge_id": "ch_1", "pending_id": "ap_1"},
    "approval_wait": {"handle": {"kind": "JOB", "job_id": "job_1"}, "timeout_ms": 1000, "poll_interval_ms": 250},
    "passport_email_workflow": {"recipient_email": "a@example.com"},
}
"""Arguments that lead each of these to the vault."""

OF_THE_CATALOG: dict[str, dict[str, Any]] = {
    "cookbooks_list": {},
    "cookbook_upsert": {"bundle": BUNDLE},
    "cookbook_import": {"bundle": BUNDLE},
    "cookbook_get": {"cookbook_id": "shelf"},
    "cookbook_export": {"cookbook_id": "shelf"},
    "recipes_search": {"query": "list"},
    "recipe_get": {"cookbook_id": "shelf", "recipe_id": "list"},
    "template_render": {"cookbook_id": "shelf", "template_id": "list", "inputs": {}},
    "cookbook_delete": {"cookbook_id": "shelf"},
    "catalog_sources_list": {},
    "catalog_source_upsert": {"source": {"source_id": "src", "index_url": "http://127.0.0.1:9/index.json"}},
    "cookbooks_remote_list": {"source_id": "src"},
    "cookbook_remote_install": {"source_id": "src", "cookbook_id": "shelf"},
    "catalog_source_delete": {"source_id": "src"},
    "route_resolve": {"request_text": "what time is it"},
}
"""Those that need no session, in an order in which each finds what it needs."""

OF_THE_SESSION: dict[str, dict[str, Any]] = {
    "session_status": {},
    "session_configure": {"token": "a-token-of-enough-length"},
    "session_clear": {},
}
EXECUTING = ("POST /v0/connectors/execute", f"POST {EXECUTE_JOB}", f"POST {EXECUTE_PLAN}")
"""Calls 4, 5 and 7 of the contract (ruling 7), as the vault's log has them."""
