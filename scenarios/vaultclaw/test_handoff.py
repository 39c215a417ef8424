"""What waits for a person is never told as done: the agent gets a failure with one next call, which works as it stands.

Source: contract vaultclaw 14; rulings 4, 12, 13.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lasttick import World, scenario

from .steps_approvals import (
    EXECUTE_JOB,
    EXECUTE_PLAN,
    HTTP,
    MAIL,
    PENDING,
    SEND,
    asks_people,
    begin,
    called,
    decide,
    executed,
    handed_off,
    http_request,
    says,
    take_next_action,
)

DECISION, PLAN, GRANT = (
    "CONNECTOR_APPROVAL_DECISION_REQUIRED",
    "PLAN_APPROVAL_REQUIRED",
    "CONNECTOR_APPROVAL_GRANT_REQUIRED",
)
ASKED = {"pending_id": "apj_1", "challenge": {"challenge_id": "ach_1"}}
RUN = {"run_id": "run_1", "job_id": "job_1", "state": "RUNNING"}
DONE, INTERNAL = "success", "internal"


def job(status: str = "PENDING", **more: Any) -> dict[str, Any]:
    return {"job": {"job_id": "job_1", "status": status, **more}}


def ids(kind: str, job_id: str, run_id: str = "", challenge_id: str = "", pending_id: str = "") -> dict[str, str]:
    """The handle that a hand-off must name."""
    handle = {"kind": kind, "job_id": job_id, "run_id": run_id}
    return {**handle, "challenge_id": challenge_id, "pending_id": pending_id}


JOB_1 = ids("JOB", "job_1")
JOBS: dict[str, tuple[Any, Any]] = {
    "a code": (job(error={"code": DECISION}), JOB_1),
    "the plan's code": (job(error={"code": PLAN}), JOB_1),
    "a code within": (job("pending", error={"error": {"code": DECISION.lower()}}), JOB_1),
    "a grant": (job(error={"code": GRANT}), JOB_1),
    "a grant within": (job(error={"error": {"code": GRANT}}), JOB_1),
    "an object": (job(pending_approval=ASKED), ids("JOB", "job_1", "", "ach_1", "apj_1")),
    "an object of another shape": (job(pending_approval={"note": "soon"}), JOB_1),
    "a text": (job(pending_approval="apj_1"), JOB_1),
    "an empty text": (job(pending_approval=""), JOB_1),
    "a list": (job(pending_approval=[]), JOB_1),
    "a yes or no": (job(pending_approval=False), JOB_1),
    "a code without an id": ({"job": {"status": "PENDING", "error": {"code": DECISION}}}, INTERNAL),
    "an object without an id": (job(pending_approval=ASKED, job_id=" "), INTERNAL),
    "a text without an id": (job(pending_approval="apj_1", job_id=None), INTERNAL),
    "queued": (job(), DONE),
    "queued, with nothing pending": (job(pending_approval={}), DONE),
    "queued, with null pending": (job(pending_approval=None, error=None), DONE),
    "runs": (job("RUNNING", error={"code": DECISION}), DONE),
    "denied": (job("DENIED", error={"code": "PLAN_APPROVAL_DENIED"}), DONE),
    "a state nobody knows": (job("APPROVED"), INTERNAL),
    "no state": ({"job": {"job_id": "job_1"}}, INTERNAL),
    "no job": ({"ok": True, "status": "SUCCEEDED"}, INTERNAL),
    "no object": (["SUCCEEDED"], INTERNAL),
}
RUN_1 = ids("PLAN_RUN", "job_1", "run_1")
CHALLENGED = ids("PLAN_RUN", "job_1", "run_1", "ach_1", "apj_1")
PLANS: dict[str, tuple[Any, Any]] = {
    "a state": (
        {"run": {**RUN, "state": "pending_approval", "challenge_id": "ach_7"}},
        ids("PLAN_RUN", "job_1", "run_1", "ach_7"),
    ),
    "an id beside the run": (
        {"run_id": "run_2", "run": {"state": "PENDING_APPROVAL"}},
        ids("PLAN_RUN", "", "run_2"),
    ),
    "the run's code": ({"run": {**RUN, "last_error_code": PLAN}}, RUN_1),
    "the run's grant": ({"run": {**RUN, "last_error_code": GRANT}}, RUN_1),
    "the job's code": ({"run": RUN, **job(error={"error": {"code": DECISION}})}, RUN_1),
    "the job's own code under another": (
        {"run": {**RUN, "job_id": "", "last_error_code": "X"}, **job(error={"code": DECISION})},
        RUN_1,
    ),
    "an object beside the run": ({"run": RUN, "pending_approval": ASKED, **job()}, CHALLENGED),
    "an object in the job": ({"run": RUN, **job(pending_approval=ASKED)}, CHALLENGED),
    "a text beside the run": ({"run": RUN, "pending_approval": "apj_1", **job()}, RUN_1),
    "no run, a code": ({"run_id": "run_1", **job(error={"code": PLAN})}, RUN_1),
    "no run, a grant": ({"run_id": "run_1", **job(error={"code": GRANT})}, RUN_1),
    "no run, an object": ({"run_id": "run_1", "pending_approval": ASKED, **job()}, CHALLENGED),
    "a state without an id": ({"run": {"state": "PENDING_APPROVAL", "job_id": "job_1"}}, INTERNAL),
    "no run and no id": (job(error={"code": PLAN}), INTERNAL),
    "runs": ({"run": RUN, **job("RUNNING")}, DONE),
    "ended": ({"run": {**RUN, "state": "SUCCEEDED"}, **job("SUCCEEDED")}, DONE),
    "no run, a job that runs": ({"run_id": "run_1", **job("RUNNING")}, DONE),
    "a state nobody knows": ({"run": {**RUN, "state": "GRANTED"}}, INTERNAL),
    "no state": ({"run": {"run_id": "run_1"}}, INTERNAL),
    "nothing": ({}, INTERNAL),
}


@scenario("VC-11")
@pytest.mark.parametrize("kind", ["JOB", "PLAN_RUN"])
async def test_every_shape_of_an_answer(world: World, kind: str) -> None:
    """Whatever says that a person is asked becomes a hand-off; without the id its wait needs, and in a state nobody
    knows, it is an error that must not be repeated blindly; all else is a success. It is executed exactly once."""
    vaultd, client = await begin(world)
    for shape, (body, expected) in (JOBS if kind == "JOB" else PLANS).items():
        after = len(await vaultd.log())
        answer = await _answered(vaultd, client, kind, body)
        assert await executed(vaultd, after) == 1, shape
        if expected == DONE:
            assert answer.data["response"] == body, shape
        elif expected == INTERNAL:
            assert (answer.code, answer.error["retryable"]) == ("MCP_INTERNAL", False), (shape, answer.envelope)
        else:
            approval = handed_off(answer)
            assert approval["next_action"]["arguments"]["handle"] == expected, shape
            assert approval["pending_approval"] == _object(body), shape
            assert answer.details["vault"]["response"] == body
            await _wait_works(vaultd, client, approval, shape)


async def _answered(vaultd: Any, client: Any, kind: str, body: Any) -> Any:
    """Execute something of that kind, to which the vault answers `body`."""
    if kind == "JOB":
        await says(vaultd, EXECUTE_JOB, body)
        return await client.call("connector_execute_job", request=http_request())
    await says(vaultd, EXECUTE_PLAN, body)
    return await client.call("plan_execute", plan={"type": "connector.execution.plan.v1", "steps": []})


def _object(body: dict[str, Any]) -> Any:
    """The pending approval that a hand-off shows: the vault's object, or null."""
    found = body.get("pending_approval") or (body.get("job") or {}).get("pending_approval")
    return found if isinstance(found, dict) else None


async def _wait_works(vaultd: Any, client: Any, approval: dict[str, Any], shape: str) -> None:
    """The next action, as it stands, looks at what the hand-off is about."""
    is_job = approval["kind"] == "JOB"
    path = f"/v0/jobs/{approval['job_id']}" if is_job else f"/v0/connectors/plans/runs/{approval['run_id']}"
    await says(vaultd, path, job("SUCCEEDED") if is_job else {"run": {**RUN, "state": "SUCCEEDED"}})
    after = len(await vaultd.log())
    data = (await take_next_action(client, approval)).data
    assert (data["decision_outcome"], await called(vaultd, after)) == ("ALLOW", [f"GET {path}"]), shape


@scenario("VC-11")
async def test_a_job_is_handed_to_a_person(world: World) -> None:
    """A mail that needs a decision: the hand-off shows what the vault said, twice readable, and nothing has gone. Its
    next call waits for the person's word, and after it the mail has gone once."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, SEND)
    answer = await client.call("connector_execute_job", request=MAIL)
    approval = handed_off(answer)
    assert approval["kind"] == "JOB"
    told = answer.details["vault"]["response"]["job"]
    assert approval["pending_approval"] == told["pending_approval"]
    assert approval["pending_expires_at_unix_ms"] == told["pending_expires_at_unix_ms"] > 0
    assert (approval["challenge_id"], approval["pending_id"]) == ("ach_1", "apj_1")
    url = told["pending_approval"]["remote_attestation_url"]
    assert approval["remote_attestation_url"] == url
    assert approval["remote_attestation_link_markdown"] == f"[{url}]({url})"
    assert answer.details["vault"]["vault_code"] == DECISION
    assert answer.details["request_id"] == answer.details["vault"]["request_id"] == answer.meta["request_id"]
    assert answer.details["vault_http_status"] == answer.meta["vault_http_status"] == 200
    assert len(answer.content) == 2
    assert f"{PENDING}" not in " ".join(await called(vaultd))
    assert await vaultd.effects() == []
    wait = world.start(take_next_action(client, approval, poll_interval_ms=250))
    await world.advance(world.tick_s)
    await decide(world, vaultd, approval, "approve")
    assert (await wait).data["decision_outcome"] == "ALLOW"
    assert [one["decided_by"] for one in await vaultd.effects()] == ["Pat"]
    assert await executed(vaultd) == 1


@scenario("VC-11")
@pytest.mark.parametrize("effect", ["ask", "grant"])
async def test_a_run_is_handed_to_a_person(world: World, effect: str) -> None:
    """A plan whose second step needs a person, or a grant: the first step has run once, the second waits, and a no is
    final."""
    vaultd, client = await begin(world)
    await asks_people(vaultd, SEND, effect=effect)
    steps = [
        {"step_id": "first", **HTTP, "request_base": {"method": "GET", "url": "https://api.example.com/v1"}},
        {"step_id": "second", "connector_id": "google", "verb": SEND, "request_base": MAIL["request"]},
    ]
    steps[0]["default_success_next_step_id"] = "second"
    plan = {"type": "connector.execution.plan.v1", "steps": steps}
    approval = handed_off(await client.call("plan_execute", plan=plan))
    assert (approval["kind"], approval["run_id"], approval["job_id"]) == ("PLAN_RUN", "run_1", "run_1")
    assert [one["step_id"] for one in await vaultd.effects()] == ["first"]
    state = (await client.call("plan_run_get", run_id="run_1")).data
    assert state["decision_outcome"] == "PENDING"
    assert state["approval_state"] == {"status": "PENDING_APPROVAL", "decision_outcome": "PENDING"}
    wait = world.start(take_next_action(client, approval, poll_interval_ms=250))
    await world.advance(world.tick_s)
    await decide(world, vaultd, approval, "deny")
    data = (await wait).data
    assert (data["terminal_status"], data["decision_outcome"]) == ("DENIED", "DENY")
    assert [one["step_id"] for one in await vaultd.effects()] == ["first"]
    assert await executed(vaultd) == 1


LOOK_UPS: dict[str, dict[str, Any]] = {
    **{str(status): {"kind": "answer", "status": status, "body": {}} for status in (400, 401, 403, 404, 409, 429)},
    "conflict": {"kind": "answer", "status": 409, "body": {"error": {"code": "CONFLICT", "message": "?"}}},
    "rule": {"kind": "answer", "status": 403, "body": {"error": {"code": "PLAN_APPROVAL_DENIED", "message": "no"}}},
    **{str(status): {"kind": "5xx", "status": status} for status in (500, 502, 503, 599)},
    "redirect": {"kind": "answer", "status": 302, "body": {}},
    "hang": {"kind": "hang"},
    "broken": {"kind": "down"},
    "cut": {"kind": "half"},
    "garbage": {"kind": "garbage"},
    "no items": {"kind": "answer", "body": {}},
    "odd items": {"kind": "answer", "body": {"items": [None, 7, {"job_id": "job_1"}, {"job_id": ["job_1"]}]}},
    "items of no list": {"kind": "answer", "body": {"items": {"job_id": "job_1", "pending_id": "apj_1"}}},
}


@scenario("VC-11", "VC-13")
async def test_no_look_up_replaces_a_hand_off(world: World) -> None:
    """The vault leaves the pending id out, and looking it up meets every fault: the caller still gets the hand-off,
    with a handle that can be waited for, and the job was executed exactly once."""
    vaultd, client = await begin(world, timeout_ms=400)
    for name, fault in LOOK_UPS.items():
        await vaultd.trouble(path=PENDING, count=1, **fault)
        after = len(await vaultd.log())
        body = job(error={"code": DECISION}, pending_approval={"challenge": {"challenge_id": "ach_1"}})
        approval = handed_off(await _answered(vaultd, client, "JOB", body))
        assert (approval["pending_id"], approval["pending_id_resolved"]) == ("", False), name
        assert approval["challenge_id"] == "ach_1"
        assert await called(vaultd, after) == [
            "POST /v0/connectors/validate",
            f"POST {EXECUTE_JOB}",
            f"GET {PENDING}",
        ], name
        await _wait_works(vaultd, client, approval, name)


@scenario("VC-11")
async def test_an_approval_code_as_an_error_is_no_hand_off(world: World) -> None:
    """A code that comes with an error status keeps its mapping: nothing waits there, so nothing is handed off."""
    vaultd, client = await begin(world)
    for code in (DECISION, PLAN, GRANT):
        error = {"error": {"code": code, "message": "ask first"}}
        for kind, path in (("JOB", EXECUTE_JOB), ("PLAN_RUN", EXECUTE_PLAN)):
            await vaultd.trouble("answer", path=path, status=403, body=error, count=1)
            if kind == "JOB":
                answer = await client.call("connector_execute_job", request=http_request())
            else:
                answer = await client.call("plan_execute", plan={"steps": []})
            assert (answer.code, answer.error["vault_code"]) == ("MCP_APPROVAL_REQUIRED", code)
            assert "approval" not in answer.details
            assert len(answer.content) == 1


states = st.sampled_from(["PENDING", "PENDING_APPROVAL", "READY", "SUCCEEDED", "APPROVED", "OK", "", None, True, 1])
codes = st.sampled_from([DECISION, GRANT, "X", "", None])
asked: st.SearchStrategy[Any] = st.sampled_from([None, {}, ASKED, "soon", 1, [], {"pending_id": None}])
told_ids = st.sampled_from(["job_1", "", None, 7])
jobs = st.fixed_dictionaries(
    {}, optional={"job_id": told_ids, "status": states, "error": codes.map(lambda code: {"code": code})}
)
bodies = st.fixed_dictionaries(
    {}, optional={"job": jobs | st.none() | states, "ok": st.booleans(), "pending_approval": asked}
)
OPEN_OR_ENDED = ("PENDING", "PENDING_APPROVAL", "READY", "RUNNING", "SUCCEEDED", "FAILED", "DENIED")


@scenario("VC-11")
@given(said=bodies, pending=asked)
@example(said={"job": {"job_id": "job_1", "status": "PENDING"}}, pending="soon")
@example(said={"job": {"status": "PENDING"}}, pending=ASKED)
@example(said={"job": {"job_id": "job_1", "status": "APPROVED"}, "ok": True}, pending=None)
@settings(max_examples=11)
async def test_pending_is_never_told_as_done(world: World, said: dict[str, Any], pending: Any) -> None:
    """Whatever a vault answers to execute-job: it is a success only with a job in a state that exists, in which nothing
    says that a person is asked."""
    vaultd, client = await begin(world)
    body = dict(said)
    if isinstance(body.get("job"), dict):
        body["job"] = {**body["job"], "pending_approval": pending}
    answer = await _answered(vaultd, client, "JOB", body)
    told: Any = body.get("job")
    if answer.ok:
        assert isinstance(told, dict)
        assert told["status"] in OPEN_OR_ENDED
        if told["status"] == "PENDING":
            assert pending in (None, {})
            assert told.get("error", {}).get("code") not in (DECISION, PLAN, GRANT)
    elif answer.code == "MCP_APPROVAL_REQUIRED":
        assert handed_off(answer)["job_id"] == told["job_id"] == "job_1"
    else:
        assert (answer.code, answer.error["retryable"]) == ("MCP_INTERNAL", False)
    assert await executed(vaultd) == 1
