"""Pending approvals, and the wait for a decision, in virtual time. Source: contract vaultclaw 14, 21; VC-12, VC-13."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.vaultclaw.envelope import ToolFailure
from lasttick.model.vaultclaw.json_text import canonical
from lasttick.reference.vaultclaw.tools.approvals import TOOLS
from lasttick.reference.vaultclaw.tools.jobs import TOOLS as JOB_TOOLS

from .scripted_vault import REQUEST_ID, ScriptedVault, Sent, call_of, envelope, failing, named, run_tool

LIST, GET, WAIT = (named(TOOLS, name) for name in ("approvals_pending_list", "approvals_pending_get", "approval_wait"))
JOB_GET = named(JOB_TOOLS, "job_get")
PENDING, JOB, RUN = "/v0/connectors/approvals/pending", "/v0/jobs/j1", "/v0/connectors/plans/runs/r1"
JOB_HANDLE = {"kind": "JOB", "job_id": "j1", "run_id": "", "challenge_id": "c1", "pending_id": ""}
RUN_HANDLE = {"kind": "PLAN_RUN", "run_id": "r1"}
OPEN = {"job": {"job_id": "j1", "status": "RUNNING"}}
DONE = {"job": {"job_id": "j1", "status": "SUCCEEDED"}}
ALL = "WAITING,READY,RUNNING,SUCCEEDED,DENIED,FAILED,EXPIRED"
TICK_S = 0.001


def waiting(vault: ScriptedVault, **arguments: Any) -> tuple[dict[str, Any], float]:
    """The wait's envelope, and when it was there; virtual seconds."""

    async def main(loop: VirtualLoop) -> tuple[dict[str, Any], float]:
        answer = await envelope(WAIT, call_of(loop, vault, arguments))
        return answer, loop.time()

    return run_virtual(main)


@pytest.mark.parametrize("interval_ms", [0, 249, 250, 10_000, 10_001])
@pytest.mark.parametrize("timeout_ms", [-1, 0, 1, 999, 1_000, 3_600_000, 3_600_001])
def test_the_exact_instants_of_all_polls(timeout_ms: int, interval_ms: int) -> None:
    limit_ms = {-1: 600_000, 0: 600_000, 1: 1_000, 999: 1_000, 3_600_001: 3_600_000}.get(timeout_ms, timeout_ms)
    every_ms = {0: 1_500, 249: 250, 10_001: 10_000}.get(interval_ms, interval_ms)
    vault = ScriptedVault({JOB: OPEN})
    answer, end_s = waiting(vault, handle=JOB_HANDLE, timeout_ms=timeout_ms, poll_interval_ms=interval_ms)
    assert [round(t_s * 1e9) for t_s in vault.instants] == [
        *(at_ms * 1_000_000 for at_ms in range(0, limit_ms, every_ms)),
        limit_ms * 1_000_000,
    ]
    assert len(vault.calls) == math.ceil(limit_ms / every_ms) + 1
    assert end_s == limit_ms / 1_000
    assert answer["error"]["code"] == "MCP_WAIT_TIMEOUT"
    assert answer["error"]["details"]["wait_options"] == {"timeout_ms": limit_ms, "poll_interval_ms": every_ms}


def succeeds_at(t_s: float) -> Any:
    return lambda sent: DONE if asyncio.get_running_loop().time() >= t_s else OPEN


@pytest.mark.parametrize(("ticks", "allowed"), [(-1, True), (0, True), (1, False)])
def test_a_decision_counts_until_the_poll_at_the_deadline(ticks: int, allowed: bool) -> None:
    vault = ScriptedVault({JOB: succeeds_at(600 + ticks * TICK_S)})
    answer, end_s = waiting(vault, handle=JOB_HANDLE)
    assert end_s == 600
    if allowed:
        assert answer["data"]["decision_outcome"] == "ALLOW"
    else:
        assert answer["error"]["code"] == "MCP_WAIT_TIMEOUT"
        assert answer["error"]["details"]["latest"] == {"job": OPEN["job"], "run": None}


def test_polls_come_one_interval_after_each_answer() -> None:
    vault = ScriptedVault({JOB: OPEN}, latency_s=0.25)
    _, end_s = waiting(vault, handle=JOB_HANDLE, timeout_ms=2_000, poll_interval_ms=500)
    assert vault.instants == [0, 0.75, 1.5, 2.0]
    assert end_s == 2.25


def test_a_poll_under_way_at_the_deadline_is_the_last_and_its_end_counts() -> None:
    vault = ScriptedVault({JOB: [OPEN, DONE]}, latency_s=0.25)
    answer, end_s = waiting(vault, handle=JOB_HANDLE, timeout_ms=1_000, poll_interval_ms=500)
    assert (vault.instants, end_s) == ([0, 0.75], 1.0)
    assert answer["data"]["decision_outcome"] == "ALLOW"


@pytest.mark.parametrize("hangs_from", [0, 1, 2])
def test_a_vault_that_hangs_ends_a_wait_a_second_after_its_deadline_at_the_latest(hangs_from: int) -> None:
    async def hang(_: Sent) -> None:
        await asyncio.sleep(100_000)

    vault = ScriptedVault({JOB: [*[OPEN] * hangs_from, lambda sent: hang(sent)]})
    answer, end_s = waiting(vault, handle=JOB_HANDLE, timeout_ms=5_000, poll_interval_ms=4_500)
    assert 5 <= end_s <= 6
    assert answer["error"]["code"] == "MCP_WAIT_TIMEOUT"
    assert answer["error"]["details"]["latest_error"]["vault_code"] == "NETWORK_ERROR"
    assert all(call.timeout_s == max(5 - call.t_s, 1) for call in vault.calls)


def test_the_worked_example_of_a_denied_run() -> None:
    runs = [{"run": {"state": state}} for state in ("PENDING_APPROVAL", "READY")]
    denied = {"run": {"run_id": "r1", "state": "denied", "last_error_code": "PLAN_APPROVAL_DENIED"}, "job": {"x": 1}}
    vault = ScriptedVault({RUN: [*runs, denied]})
    answer, end_s = waiting(vault, handle=RUN_HANDLE)
    assert (len(vault.calls), end_s) == (3, 3.0)
    assert answer == {
        "ok": True,
        "data": {
            "done": True,
            "terminal_status": "DENIED",
            "decision_outcome": "DENY",
            "handle": {"kind": "PLAN_RUN", "run_id": "r1"},
            "job": {"x": 1},
            "run": denied["run"],
        },
        "error": None,
        "meta": {"request_id": "", "vault_http_status": 0, "vault_code": ""},
    }


@pytest.mark.parametrize(
    ("state", "code", "outcome"),
    [
        ("DENIED", "PLAN_POLICY_DRIFT", "UNKNOWN"),
        ("FAILED", "PLAN_APPROVAL_DENIED", "UNKNOWN"),
        ("CANCELLED", "", "UNKNOWN"),
        ("EXPIRED", "APPROVAL_DECISION_EXPIRED", "UNKNOWN"),
        ("SUCCEEDED", "", "ALLOW"),
    ],
)
def test_other_ends_of_a_run(state: str, code: str, outcome: str) -> None:
    vault = ScriptedVault({RUN: {"run": {"state": state, "last_error_code": code}}})
    answer, end_s = waiting(vault, handle=RUN_HANDLE)
    assert (end_s, answer["data"]["terminal_status"], answer["data"]["decision_outcome"]) == (0, state, outcome)


def test_a_job_that_ends_shows_no_run() -> None:
    answer, _ = waiting(ScriptedVault({JOB: [{"job": {"status": "APPROVED"}}, DONE]}), handle=JOB_HANDLE)
    assert answer["data"] == {
        "done": True,
        "terminal_status": "SUCCEEDED",
        "decision_outcome": "ALLOW",
        "handle": {"kind": "JOB", "job_id": "j1", "challenge_id": "c1"},
        "job": DONE["job"],
        "run": None,
    }


PASSING = [failing(0, "NETWORK_ERROR"), failing(429, "HTTP_ERROR"), failing(500, "HTTP_ERROR", "MCP_NETWORK_ERROR")]


@pytest.mark.parametrize("fault", PASSING)
def test_a_wait_outlives_faults_that_pass(fault: ToolFailure) -> None:
    answer, end_s = waiting(ScriptedVault({JOB: [OPEN, fault, fault, DONE]}), handle=JOB_HANDLE)
    assert (answer["data"]["decision_outcome"], end_s) == ("ALLOW", 4.5)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_a_wait_ends_with_every_other_failure(status: int) -> None:
    fault = failing(status, "X")
    answer, end_s = waiting(ScriptedVault({JOB: [OPEN, fault]}), handle=JOB_HANDLE)
    assert (answer["error"], end_s) == (fault.error(), 1.5)


@pytest.mark.parametrize("body", [None, {}, {"job": None}, {"job": "SUCCEEDED"}, {"run": {"state": "SUCCEEDED"}}])
def test_a_wait_ends_with_an_answer_that_holds_no_job(body: Any) -> None:
    answer, end_s = waiting(ScriptedVault({JOB: [OPEN, body]}), handle=JOB_HANDLE)
    assert (answer["error"]["code"], answer["error"]["retryable"], end_s) == ("MCP_INTERNAL", False, 1.5)
    assert answer["error"]["details"] == {"request_id": REQUEST_ID, "vault_http_status": 200}


def test_a_time_out_tells_the_last_good_answer_and_the_newest_fault() -> None:
    fault = failing(503, "BUSY", "MCP_NETWORK_ERROR")
    answer, _ = waiting(ScriptedVault({JOB: [OPEN, fault]}), handle=JOB_HANDLE, timeout_ms=1, poll_interval_ms=1)
    error = answer["error"]
    assert (error["code"], error["category"], error["retryable"]) == ("MCP_WAIT_TIMEOUT", "approval", True)
    assert error["details"].pop("retry_hint")
    assert error["details"] == {
        "handle": {"kind": "JOB", "job_id": "j1", "challenge_id": "c1"},
        "latest": {"job": OPEN["job"], "run": None},
        "latest_error": {
            "code": "MCP_NETWORK_ERROR",
            "category": "network",
            "vault_code": "BUSY",
            "vault_http_status": 503,
            "message": "no",
        },
        "wait_options": {"timeout_ms": 1000, "poll_interval_ms": 250},
    }


def test_a_fault_before_the_newest_answer_is_not_told() -> None:
    fault = failing(503, "BUSY", "MCP_NETWORK_ERROR")
    answer, _ = waiting(ScriptedVault({JOB: [fault, OPEN]}), handle=JOB_HANDLE, timeout_ms=1)
    assert "latest_error" not in answer["error"]["details"]
    assert answer["error"]["details"]["latest"]["job"] == OPEN["job"]


def test_a_wait_that_never_had_an_answer() -> None:
    answer, _ = waiting(ScriptedVault({JOB: failing(0, "NETWORK_ERROR")}), handle=JOB_HANDLE, timeout_ms=1)
    assert answer["error"]["details"]["latest"] == {"job": None, "run": None}


def test_the_handle_is_asked_for_before_the_session_and_read_after_it() -> None:
    assert run_tool(WAIT, None)["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert run_tool(WAIT, None, handle="x")["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert run_tool(WAIT, None, handle={})["error"]["code"] == "MCP_SESSION_NOT_CONFIGURED"
    assert run_tool(WAIT, ScriptedVault({}), handle={})["error"]["code"] == "MCP_VALIDATION_ERROR"


def test_a_wait_keeps_the_session_it_began_with() -> None:
    async def main(loop: VirtualLoop) -> dict[str, Any]:
        call = call_of(loop, ScriptedVault({JOB: succeeds_at(60)}), {"handle": JOB_HANDLE})
        sessions: Any = call.parts.sessions
        serving = asyncio.create_task(envelope(WAIT, call))
        await loop.until(10)
        sessions.vault_made = None
        answer = await serving
        assert sessions.asked == 1
        return answer

    assert run_virtual(main)["data"]["decision_outcome"] == "ALLOW"


def test_a_wait_can_be_ended_from_outside() -> None:
    async def main(loop: VirtualLoop) -> float:
        serving = asyncio.create_task(envelope(WAIT, call_of(loop, ScriptedVault({JOB: OPEN}), {"handle": JOB_HANDLE})))
        await loop.until(10)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        return loop.time()

    assert run_virtual(main) == 10
    assert WAIT.waits


ITEMS = [
    {"pending_id": "b", "state": "DENIED", "created_seq": 5, "x": 1},
    "no object",
    {"pending_id": "a", "state": "WAITING", "created_seq": 5, "remote_attestation_url": " https://v.test/a "},
    {
        "pending_id": "c",
        "state": "NEW",
        "created_seq": 9,
        "pending_approval": {"remote_attestation_url": "https://v.test/c"},
    },
    {"pending_id": "d", "state": "SUCCEEDED", "created_seq": "9"},
]


def test_the_list_is_ordered_and_every_item_has_its_outcome_and_link() -> None:
    answer = run_tool(LIST, ScriptedVault({PENDING: {"items": ITEMS}}))
    assert answer["data"]["items"] == [
        {
            **ITEMS[3],  # type: ignore[dict-item]
            "decision_outcome": "UNKNOWN",
            "remote_attestation_url": "https://v.test/c",
            "remote_attestation_link_markdown": "[https://v.test/c](https://v.test/c)",
        },
        {
            **ITEMS[2],  # type: ignore[dict-item]
            "decision_outcome": "PENDING",
            "remote_attestation_url": "https://v.test/a",
            "remote_attestation_link_markdown": "[https://v.test/a](https://v.test/a)",
        },
        {**ITEMS[0], "decision_outcome": "DENY"},  # type: ignore[dict-item]
        {**ITEMS[4], "decision_outcome": "ALLOW"},  # type: ignore[dict-item]
    ]
    assert answer["meta"]["request_id"] == REQUEST_ID


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({}, {"states": ALL, "limit": "50"}),
        ({"states": None, "limit": -3}, {"states": ALL, "limit": "50"}),
        ({"states": " denied ,WAITING,,Denied", "limit": 1000.9}, {"states": "DENIED,WAITING", "limit": "1000"}),
        ({"states": ["ready", " "], "limit": "7"}, {"states": "READY", "limit": "50"}),
        (
            {"connector_id": " c ", "verb": "v", "agent_id": "", "challenge_id": 4},
            {"states": ALL, "limit": "50", "connector_id": "c", "verb": "v"},
        ),
    ],
)
def test_what_the_list_asks_for(arguments: dict[str, Any], query: dict[str, str]) -> None:
    vault = ScriptedVault({PENDING: {"items": []}})
    assert run_tool(LIST, vault, **arguments)["data"] == {"items": []}
    assert vault.calls[0].query == query


@pytest.mark.parametrize("states", ["", " , ", [], [1], ["READY", None], 7, {}, True, "READY,NEW", ["PENDING"]])
def test_states_that_cannot_be_read(states: Any) -> None:
    assert run_tool(LIST, None, states=states)["error"]["code"] == "MCP_VALIDATION_ERROR"


@pytest.mark.parametrize("body", [None, {}, {"items": None}, {"items": {}}])
def test_a_list_without_items_is_empty(body: Any) -> None:
    assert run_tool(LIST, ScriptedVault({PENDING: body}))["data"] == {"items": []}


def test_one_pending_approval_is_found_in_any_case_and_the_newest_counts() -> None:
    items = [{"pending_id": "P1", "created_seq": 1}, {"pending_id": "p1", "created_seq": 2, "state": "WAITING"}]
    vault = ScriptedVault({PENDING: {"items": items}})
    answer = run_tool(GET, vault, challenge_id="c", pending_id="P1")
    assert answer["data"] == {"item": {**items[1], "decision_outcome": "PENDING"}}
    assert vault.calls[0].query == {"challenge_id": "c", "states": ALL, "limit": "200"}


def test_a_pending_approval_that_is_not_there() -> None:
    error = run_tool(GET, ScriptedVault({PENDING: {"items": ITEMS}}), challenge_id="c", pending_id="z")["error"]
    assert (error["code"], error["category"]) == ("MCP_APPROVAL_PENDING_NOT_FOUND", "approval")
    assert error["details"] == {"challenge_id": "c", "pending_id": "z"}
    assert run_tool(GET, None, challenge_id="c")["error"]["code"] == "MCP_VALIDATION_ERROR"
    assert run_tool(GET, None, pending_id="p")["error"]["code"] == "MCP_VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("job", "status", "outcome"),
    [
        ({"status": "PENDING", "pending_approval": {"pending_id": "p"}}, "PENDING_APPROVAL", "PENDING"),
        ({"status": "PENDING"}, "UNKNOWN", "UNKNOWN"),
        ({"status": "EXPIRED"}, "TERMINAL", "UNKNOWN"),
        ({"status": "succeeded", "pending_approval": "x"}, "TERMINAL", "ALLOW"),
    ],
)
def test_a_job_is_read_with_its_outcome(job: dict[str, Any], status: str, outcome: str) -> None:
    answer = run_tool(JOB_GET, ScriptedVault({JOB: {"job": job, "more": 1}}), job_id="j1")
    pending = job.get("pending_approval")
    assert answer["data"] == {
        "job": job,
        "decision_outcome": outcome,
        "approval_state": {
            "status": status,
            "decision_outcome": outcome,
            "pending_approval": pending if isinstance(pending, dict) else None,
        },
    }


def test_an_answer_without_a_job_is_an_internal_failure() -> None:
    error = run_tool(JOB_GET, ScriptedVault({JOB: {}}), job_id="j1")["error"]
    assert (error["code"], error["details"]) == (
        "MCP_INTERNAL",
        {"request_id": REQUEST_ID, "vault_http_status": 200},
    )
    assert run_tool(JOB_GET, None)["error"]["code"] == "MCP_VALIDATION_ERROR"


@pytest.mark.parametrize("job_id", [".", ".."])
def test_ids_that_would_leave_the_path_are_refused_before_any_call(job_id: str) -> None:
    vault = ScriptedVault({})
    answer, end_s = waiting(vault, handle={"kind": "JOB", "job_id": job_id})
    assert (answer["error"]["code"], vault.calls, end_s) == ("MCP_VALIDATION_ERROR", [], 0)


def test_every_answer_is_json() -> None:
    for handle in (JOB_HANDLE, RUN_HANDLE):
        answer, _ = waiting(ScriptedVault({JOB: OPEN, RUN: {"run": {}}}), handle=handle, timeout_ms=1)
        assert canonical(answer)
