"""The four tools of unbounded profiles. Source: contract vaultclaw 11, 12; VC-09."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.reference.vaultclaw.tools.profiles import TOOLS

from .scripted_vault import ScriptedVault, named, run_tool
from .test_execute_job import ATTACHMENT, GET, LIST, PROFILE, PROFILE_ID, UPSERT

LIST_TOOL, GET_TOOL, UPSERT_TOOL, RESOLVE = (
    named(TOOLS, name)
    for name in (
        "unbounded_profiles_list",
        "unbounded_profile_get",
        "unbounded_profile_upsert",
        "unbounded_profile_resolve",
    )
)


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({}, {}),
        (
            {"connector_id": " c ", "verb": "v", "include_revoked": True},
            {"connector_id": "c", "verb": "v", "include_revoked": "true"},
        ),
        ({"connector_id": " ", "include_revoked": False}, {}),
        ({"include_revoked": "true"}, {}),
    ],
)
def test_the_list(arguments: dict[str, Any], query: dict[str, str]) -> None:
    vault = ScriptedVault({LIST: {"items": [1]}})
    assert run_tool(LIST_TOOL, vault, **arguments)["data"] == {"items": [1]}
    assert vault.calls[0].query == query


def test_get_and_upsert_pass_on_what_the_vault_says() -> None:
    vault = ScriptedVault({GET: {"profile": 1}, UPSERT: None})
    assert run_tool(GET_TOOL, vault, profile_id="p")["data"] == {"profile": 1}
    assert run_tool(UPSERT_TOOL, vault, profile={"x": 1})["data"] is None
    assert vault.calls[1].body == {"profile": {"x": 1}}
    assert vault.calls[1].idempotency_key == "random"


@pytest.mark.parametrize(
    ("tool", "name"), [(GET_TOOL, "profile_id"), (UPSERT_TOOL, "profile"), (RESOLVE, "requirements")]
)
def test_required_arguments_come_before_the_session(tool: Any, name: str) -> None:
    assert run_tool(tool, None)["error"]["code"] == "MCP_VALIDATION_ERROR"
    good: Any = {"profile_id": "p", "profile": {}, "requirements": [ATTACHMENT]}[name]
    assert run_tool(tool, None, **{name: good})["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"


def test_resolve_makes_a_profile_and_shows_it_without_empty_members() -> None:
    read_back = {**PROFILE, "type": "", "extra": 1, "slots": [{**PROFILE["slots"][0], "allowed_modes": []}]}  # type: ignore[dict-item]
    vault = ScriptedVault({LIST: {"items": []}, UPSERT: {}, GET: {"profile": read_back}})
    answer = run_tool(RESOLVE, vault, requirements=[{**ATTACHMENT, "required": False}, {"slot": "dropped"}])
    slot = {
        "slot": "api_key",
        "required": True,
        "allowed_intents": ["http.auth"],
        "expected_secret_types": ["api-key"],
        "allowed_targets": ["https://api.example.com"],
    }
    assert answer["data"] == {
        "profile_id": PROFILE_ID,
        "created": True,
        "profile_match": {
            "profile_id": PROFILE_ID,
            "score": 5,
            "satisfied_requirements": ["api_key:read:https://api.example.com"],
            "missing_requirements": None,
        },
        "profile": {
            "profile_id": PROFILE_ID,
            "connector_id": "generic.http",
            "verb": "generic.http.request.v1",
            "slots": [slot],
        },
    }
    assert answer["meta"] == {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def test_resolve_without_leave_to_make_one() -> None:
    vault = ScriptedVault({LIST: {"items": None}})
    error = run_tool(RESOLVE, vault, requirements=[ATTACHMENT], auto_create=False)["error"]
    assert error["code"] == "MCP_UNBOUNDED_PROFILE_REQUIRED"
    assert error["details"] == {"requirements": [{**ATTACHMENT, "required": True}]}


def test_resolve_with_nothing_complete() -> None:
    error = run_tool(RESOLVE, ScriptedVault({}), requirements=[{}])["error"]
    assert (error["code"], error["details"]) == ("MCP_UNBOUNDED_PROFILE_REQUIRED", {})
