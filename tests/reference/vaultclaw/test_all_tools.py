"""The forty tools as they are advertised. Source: contract vaultclaw 7; VC-01."""

from __future__ import annotations

import re

from lasttick.reference.vaultclaw.tools import all_tools

# The contract's table: type letters as there, `!` for an argument that is listed as required.
TABLE = """
session_configure: token s!, base_url s, timeout_ms i
session_status:
session_clear:
connectors_list:
connector_get: connector_id s!
connector_validate: request o!
connector_execute: request o!
connector_execute_job: request o!, orchestration o
document_types_suggest: query s!, top_k i
document_types_latest: type_id s!, subject_id s
plan_validate: plan o!
plan_execute: plan o!, plan_input *, orchestration o
plan_run_get: run_id s!
plan_unbounded_profile_preview: plan o!, plan_input *
slot_bindings_list: connector_id s!, verb s!, include_revoked b
slot_bind: connector_id s!, verb s!, slot s!, secret_id s!
unbounded_profiles_list: connector_id s, verb s, include_revoked b
unbounded_profile_get: profile_id s!
unbounded_profile_upsert: profile o!
unbounded_profile_resolve: requirements a!, auto_create b
job_get: job_id s!
approvals_pending_list: states *, limit i, connector_id s, verb s, agent_id s, challenge_id s
approvals_pending_get: challenge_id s!, pending_id s!
approval_wait: handle o!, timeout_ms i, poll_interval_ms i
passport_email_workflow: recipient_email s, request_text s, subject s, body_style s, passport_document_id s, \
manual_fields o, execute b
cookbooks_list: filter o
cookbook_get: cookbook_id s!, version s
cookbook_export: cookbook_id s!, version s
cookbook_delete: cookbook_id s!, version s
cookbook_upsert: bundle o!, conflict_policy s
cookbook_import: bundle o!, conflict_policy s
recipes_search: query s, connector_id s, verb s, tags *, entry_type s
recipe_get: cookbook_id s!, recipe_id s!, version s
template_render: cookbook_id s!, template_id s!, inputs o!, version s, output_kind s
catalog_sources_list:
catalog_source_upsert: source o!
catalog_source_delete: source_id s!
cookbooks_remote_list: source_id s!, query s
cookbook_remote_install: source_id s!, cookbook_id s!, version s, conflict_policy s, expected_sha256 s
route_resolve: request_text s!, options o, context o
"""
LETTERS = {"s": "string", "i": "integer", "b": "boolean", "o": "object", "a": "array"}


def test_exactly_the_forty_with_their_arguments() -> None:
    expected = {}
    for line in TABLE.strip().splitlines():
        name, _, listed = line.partition(":")
        arguments = re.findall(r"(\w+) ([siboa*])(!?)", listed)
        expected[f"vaultclaw_{name}"] = (
            {argument: LETTERS.get(letter) for argument, letter, _ in arguments},
            [argument for argument, _, mark in arguments if mark],
        )
    assert len(expected) == 40
    seen = {
        tool.name: (
            {name: schema.get("type") for name, schema in tool.properties.items()},
            tool.as_json()["inputSchema"].get("required", []),
        )
        for tool in all_tools()
    }
    assert seen == expected


def test_schemas_in_detail() -> None:
    for tool in all_tools():
        schema = tool.as_json()["inputSchema"]
        assert schema["type"] == "object"
        assert tool.description
        assert schema.get("required") != []  # left out where nothing is required
        nested = {name for name, value in schema["properties"].items() if set(value) - {"type"}}
        assert nested == ({"context"} if tool.name == "vaultclaw_route_resolve" else set())
        if nested:
            assert set(schema["properties"]["context"]["properties"]) == {"facts"}
        empty = {name for name, value in schema["properties"].items() if value == {}}
        assert empty <= {"plan_input", "states", "tags"}


def test_they_come_by_name_in_byte_order_and_only_one_waits() -> None:
    names = [tool.name for tool in all_tools()]
    assert names == sorted(names)
    assert [tool.name for tool in all_tools() if tool.waits] == ["vaultclaw_approval_wait"]
