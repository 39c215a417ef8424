"""The smoke suite by itself, before a server that is a script: what it reads, makes of answers, and says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from lasttick.targets.vaultclaw.answer import ToolAnswer
from lasttick.targets.vaultclaw.smoke import settings
from lasttick.targets.vaultclaw.smoke.groups import GROUPS
from lasttick.targets.vaultclaw.smoke.settings import Settings, SmokeRefused, SmokeUnreachable
from lasttick.targets.vaultclaw.smoke.suite import Outcome, exit_code, run, summary
from lasttick.targets.vaultclaw.smoke.talk import SCOPES, Talk

TOKEN = "vat-0123456789"
META = {"request_id": "", "vault_http_status": 0, "vault_code": ""}


def ok(data: Any) -> dict[str, Any]:
    return {"ok": True, "data": data, "error": None, "meta": META}


def no(code: str, category: str, vault_code: str = "", details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    error = {
        "code": code,
        "category": category,
        "message": "so it is",
        "retryable": False,
        "vault_code": vault_code,
        "details": dict(details or {}),
    }
    return {"ok": False, "data": None, "error": error, "meta": {**META, "vault_code": vault_code}}


class Scripted:
    """Answers each tool from a script; sessions by itself, as a sound server does."""

    def __init__(self, **script: dict[str, Any]) -> None:
        self._script = script
        self._configured = False
        self.asked: list[str] = []

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None, /) -> ToolAnswer:
        self.asked.append(tool)
        envelope = self._script.get(tool) or self._session(tool)
        return ToolAnswer({"structuredContent": envelope, "content": []})

    def _session(self, tool: str) -> dict[str, Any]:
        if tool in ("session_configure", "session_clear"):
            self._configured = tool == "session_configure"
        if not self._configured and tool == "connectors_list":
            return no("MCP_SESSION_NOT_CONFIGURED", "auth")
        if tool == "session_clear":
            return ok({"cleared": True})
        shown = {"configured": True, "base_url": "http://vault.test", "timeout_ms": 1, "token": "***"}
        return ok(shown if self._configured else {"configured": False})


def played(caller: Scripted, *, manual: bool = False) -> tuple[dict[str, Outcome], list[str]]:
    said: list[str] = []
    given = Settings(TOKEN, "http://vault.test", manual=manual)
    outcomes = asyncio.run(run(caller, given, said.append))
    return {one.group: one for one in outcomes}, said


def test_the_environment_as_the_requirement_says() -> None:
    assert settings.read({"VC_AGENT_TOKEN": f" {TOKEN} "}) == Settings(
        TOKEN, "http://127.0.0.1:8787", "", False, 600_000, 1_500
    )
    by_socket = settings.read({"VC_AGENT_TOKEN": TOKEN, "VC_UNIX_SOCKET": "/s"})
    assert (by_socket.base_url, by_socket.unix_socket) == ("http://localhost", "/s")
    given = {"VC_SMOKE_MANUAL_APPROVAL": "1", "VC_SMOKE_WAIT_TIMEOUT_MS": "5", "VC_SMOKE_POLL_INTERVAL_MS": "7"}
    more = settings.read({"VC_AGENT_TOKEN": TOKEN, "VC_SMOKE_EXPECT_OUTCOME": "DENY", **given})
    assert (more.manual, more.wait_timeout_ms, more.poll_interval_ms) == (True, 5, 7)
    assert TOKEN not in repr(more)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "٣", "3600001", "9" * 5000])
def test_a_time_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(SmokeRefused, match="VC_SMOKE_POLL_INTERVAL_MS is"):
        settings.read({"VC_AGENT_TOKEN": TOKEN, "VC_SMOKE_POLL_INTERVAL_MS": value})


def test_every_outcome_but_deny_is_refused() -> None:
    for outcome in ("ALLOW", "deny", "UNKNOWN"):
        with pytest.raises(SmokeRefused, match="VC_SMOKE_EXPECT_OUTCOME is") as refused:
            settings.read({"VC_AGENT_TOKEN": TOKEN, "VC_SMOKE_EXPECT_OUTCOME": outcome})
        assert refused.value.exit_code == 2


def test_without_a_session_nothing_else_is_played() -> None:
    caller = Scripted(session_status=ok({"configured": True}))
    outcomes, said = played(caller)
    assert outcomes["Session"].verdict == "fail"
    assert {one.verdict for name, one in outcomes.items() if name != "Session"} == {"inconclusive"}
    assert "connector_execute" not in caller.asked
    assert len(said) == len(GROUPS)
    assert exit_code(list(outcomes.values())) == 1


def test_a_token_in_an_answer_fails_the_group() -> None:
    outcomes, _ = played(Scripted(connector_get=ok({"echo": f"Bearer {TOKEN}"})))
    assert "shows the token" in outcomes["Discovery"].reason


def test_the_scope_that_the_vault_names_goes_before_ours() -> None:
    named = {"vault_error": {"details": {"required_scope": "a.finer.scope"}}}
    outcomes, _ = played(
        Scripted(
            connector_get=no("MCP_AUTH_FORBIDDEN", "auth", "insufficient_scope", named),
            approvals_pending_list=no("MCP_AUTH_FORBIDDEN", "auth", "FORBIDDEN"),
        )
    )
    assert outcomes["Discovery"] == Outcome("Discovery", "inconclusive", "the token lacks the scope a.finer.scope")
    assert SCOPES["approvals_pending_list"] in outcomes["Approvals"].reason


def test_an_answer_of_another_shape_is_a_failure_and_no_traceback() -> None:
    outcomes, _ = played(Scripted(connector_validate=ok(None), approvals_pending_list=ok({"items": [1]})))
    for group in ("Execute", "Approvals"):
        assert outcomes[group].verdict == "fail"
        assert "another shape" in outcomes[group].reason


@pytest.mark.parametrize(("category", "verdict"), [("policy", "pass"), ("secrets", "pass"), ("internal", "fail")])
def test_what_the_vault_decides_is_its_own_affair_and_a_fault_is_not(category: str, verdict: str) -> None:
    outcomes, _ = played(Scripted(plan_validate=ok({}), plan_execute=no("MCP_X", category, "VAULT_X")))
    assert outcomes["Plan"].verdict == verdict
    assert "MCP_X" in outcomes["Plan"].reason


def test_a_pending_answer_without_a_handle_is_no_approval() -> None:
    approval = {"next_action": {"tool": "vaultclaw_approval_wait", "arguments": {"handle": {"kind": "PLAN_RUN"}}}}
    approval["next_action"]["arguments"]["handle"]["run_id"] = ""  # type: ignore[index]
    answer = no("MCP_APPROVAL_REQUIRED", "approval", "", {"approval": approval})
    outcomes, _ = played(Scripted(plan_validate=ok({}), plan_execute=answer), manual=True)
    assert outcomes["Plan"].verdict == "fail"
    assert outcomes["ManualApprovalResume_Deny"].verdict == "fail"
    bare = no("MCP_APPROVAL_REQUIRED", "approval", "PLAN_APPROVAL_REQUIRED")
    outcomes, _ = played(Scripted(plan_validate=ok({}), plan_execute=bare), manual=True)
    assert "without details.approval" in outcomes["ManualApprovalResume_Deny"].reason


def test_a_vault_that_is_away_is_no_verdict() -> None:
    async def ask() -> None:
        caller = Scripted(job_get=no("MCP_INTERNAL", "internal", "NETWORK_ERROR"))
        await Talk(caller, Settings(TOKEN, unix_socket="/run/vault.sock"), print).call("job_get")

    with pytest.raises(SmokeUnreachable, match=r"/run/vault\.sock") as away:
        asyncio.run(ask())
    assert away.value.exit_code == 3


def test_exit_codes_and_the_summary() -> None:
    all_of_it = [Outcome("a", "pass"), Outcome("b", "not_applicable", "x"), Outcome("c", "inconclusive", "y")]
    assert [exit_code(all_of_it[:2]), exit_code(all_of_it), exit_code([*all_of_it, Outcome("d", "fail")])] == [0, 4, 1]
    assert summary(all_of_it) == "1 PASS, 1 INCONCLUSIVE, 1 N.A."
    assert exit_code([]) == 4
