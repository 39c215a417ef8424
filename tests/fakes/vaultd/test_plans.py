"""Do plan runs go step by step, branch, wait for a person at each step that asks, and end as they should?"""

from __future__ import annotations

from typing import Any

import pytest

from lasttick_fakes.vaultd.connectors import DEFAULT_CONNECTORS
from lasttick_fakes.vaultd.plans import check_plan, next_step, resolve
from lasttick_fakes.vaultd.refusal import VaultError

EXECUTE = "/v0/connectors/plans/execute"
VALIDATE = "/v0/connectors/plans/validate"
CONNECTORS = {one.connector_id: one for one in DEFAULT_CONNECTORS}
SLOTS = ["given_name", "passport_number"]


def step(step_id: str, verb: str, base: dict[str, Any], follow: str = "", **more: Any) -> dict[str, Any]:
    connector = verb.split(".", maxsplit=1)[0] if not verb.startswith("generic") else "generic.http"
    given = {"step_id": step_id, "connector_id": connector, "verb": verb, "policy_version": "1", "request_base": base}
    return {**given, "default_success_next_step_id": follow, **more}


def bind(path: str, source: str, at: str, step_id: str | None = None) -> dict[str, Any]:
    ref = {"source": source, "path": at} | ({} if step_id is None else {"step_id": step_id})
    return {"path": path, "ref": ref}


def send_plan() -> dict[str, Any]:
    draft = {"user_id": "me", "to": [], "subject": "s", "text_plain": "t"}
    steps = [
        step(
            "create", "google.gmail.drafts.create", draft, "send", request_bindings=[bind("/to", "plan_input", "/to")]
        ),
        step(
            "send",
            "google.gmail.drafts.send",
            {"user_id": "me", "draft_id": "placeholder"},
            request_bindings=[bind("/draft_id", "step_output", "/draft_id", "create")],
        ),
    ]
    return {"type": "connector.execution.plan.v1", "start_step_id": "create", "steps": steps}


def passport_plan() -> dict[str, Any]:
    slots = [bind("/slots", "plan_input", "/slots")]
    document = [bind("/document_id", "plan_input", "/document_id")]
    args = [
        {"op": "exists", "ref": {"source": "step_output", "step_id": "read", "path": f"/values/{s}"}} for s in SLOTS
    ]
    text = "Name: {{step_output:%s:/values/given_name}}"
    steps = [
        step(
            "read",
            "identity.profile.read.v1",
            {"subject_ref": "self", "slots": []},
            "extract",
            request_bindings=slots,
            success_branches=[{"when": {"op": "and", "args": args}, "next_step_id": "draft"}],
        ),
        step("extract", "identity.extraction.run.v1", {"document_id": "?"}, "again", request_bindings=document),
        step("again", "identity.profile.read.v1", {"slots": []}, "draft_after", request_bindings=slots),
        step("draft", "google.gmail.drafts.create", {"to": ["a@b"], "text_plain": text % "read"}),
        step("draft_after", "google.gmail.drafts.create", {"to": ["a@b"], "text_plain": text % "again"}),
    ]
    return {"type": "connector.execution.plan.v1", "start_step_id": "read", "steps": steps}


def test_a_plan_waits_at_the_step_that_asks_and_goes_on_after_the_yes(run) -> None:
    async def story(bench):
        given = {"plan": send_plan(), "plan_input": {"to": ["a@example.com"]}}
        assert (await bench.ok("POST", VALIDATE, {"plan": send_plan()})).json() == {"valid": True, "errors": []}
        answer = (await bench.ok("POST", EXECUTE, given)).json()
        run_id, asked = answer["run_id"], answer["pending_approval"]
        assert (answer["run"]["state"], answer["run"]["last_error_code"]) == (
            "PENDING_APPROVAL",
            "PLAN_APPROVAL_REQUIRED",
        )
        assert (answer["job"]["status"], answer["run"]["job_id"]) == ("PENDING", run_id)
        assert answer["run"]["challenge_id"] == asked["challenge"]["challenge_id"]
        assert [effect["verb"] for effect in bench.vault.effects()] == ["google.gmail.drafts.create"]
        assert bench.vault.effects()[0]["arguments"]["to"] == ["a@example.com"]
        (item,) = await bench.items()
        assert (item["job_id"], item["step_id"], item["arguments"]["draft_id"]) == (run_id, "send", "draft_1")
        await bench.decide(answer["job"], "approve")
        after = await bench.get(f"/v0/connectors/plans/runs/{run_id}")
        assert (after["run"]["state"], after["job"]["status"]) == ("SUCCEEDED", "SUCCEEDED")
        assert after["run"]["outputs"] == {"create": {"draft_id": "draft_1"}, "send": {"message_id": "message_1"}}
        assert [effect["decided_by"] for effect in bench.vault.effects()] == ["", "Pat"]

    run(story)


def test_each_step_that_asks_has_a_request_of_its_own(run) -> None:
    async def story(bench):
        asks = {"google.gmail.drafts.create": "ask", "google.gmail.drafts.send": "grant"}
        await bench.put("policies", {"verbs": asks})
        given = {"plan": send_plan(), "plan_input": {"to": []}}
        first = (await bench.ok("POST", EXECUTE, given)).json()
        await bench.decide(first["job"], "approve")
        second = await bench.get(f"/v0/connectors/plans/runs/{first['run_id']}")
        assert second["run"]["last_error_code"] == "CONNECTOR_APPROVAL_GRANT_REQUIRED"
        assert second["pending_approval"] != first["pending_approval"]
        assert (await bench.decide(first["job"], "approve")).status_code == 409, "the first yes is used"
        await bench.decide(second["job"], "deny")
        after = await bench.get(f"/v0/connectors/plans/runs/{first['run_id']}")
        assert (after["run"]["state"], after["run"]["last_error_code"]) == ("DENIED", "PLAN_APPROVAL_DENIED")
        assert [effect["verb"] for effect in bench.vault.effects()] == ["google.gmail.drafts.create"]

    run(story)


def test_known_values_take_the_branch_and_unknown_ones_are_extracted(run) -> None:
    async def story(bench):
        given = {"plan": passport_plan(), "plan_input": {"slots": SLOTS, "document_id": "doc-1"}}
        await bench.put(
            "documents/doc-1",
            {
                "tenant": "acme",
                "type_id": "identity.passport",
                "fields": {"given_name": "Ada", "passport_number": "P1"},
            },
        )
        await bench.ok("POST", EXECUTE, given)
        verbs = [effect["step_id"] for effect in bench.vault.effects()]
        assert verbs == ["read", "extract", "again", "draft_after"]
        assert bench.vault.effects()[-1]["arguments"]["text_plain"] == "Name: Ada"
        await bench.ok("POST", EXECUTE, given)
        assert [effect["step_id"] for effect in bench.vault.effects(4)] == ["read", "draft"]

    run(story)


def test_a_run_that_failed_on_its_way_is_not_run_again_under_its_key(run) -> None:
    async def story(bench):
        plan = send_plan()
        plan["steps"][1]["request_bindings"] = [bind("/draft_id", "step_output", "/nothing", "create")]
        given = {"plan": plan, "plan_input": {"to": []}}
        first = await bench.call("POST", EXECUTE, given, key="k")
        again = await bench.call("POST", EXECUTE, given, key="k")
        assert (first.status_code, first.json()["error"]["code"]) == (422, "PLAN_BINDING_SOURCE_MISSING")
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert len(bench.vault.effects()) == 1
        assert (await bench.call("POST", EXECUTE, given, key="k2")).status_code == 422
        assert len(bench.vault.effects()) == 2

    run(story)


def test_the_step_that_fails_is_named(run) -> None:
    async def story(bench):
        given = {"plan": passport_plan(), "plan_input": {"slots": SLOTS, "document_id": "doc-1"}}
        await bench.put("documents/doc-1", {"tenant": "globex", "type_id": "identity.passport"})
        error = (await bench.call("POST", EXECUTE, given)).json()["error"]
        assert (error["code"], error["details"]["step_id"]) == ("DOCUMENT_NOT_FOUND", "extract")
        await bench.put(
            "documents/doc-1", {"tenant": "acme", "type_id": "identity.passport", "fields": {"given_name": "Ada"}}
        )
        error = (await bench.call("POST", EXECUTE, given)).json()["error"]
        assert (error["code"], error["details"]["step_id"]) == ("IDENTITY_SLOTS_MISSING", "again")
        assert error["details"]["missing_slots"] == ["passport_number"]
        after = await bench.get(f"/v0/connectors/plans/runs/{error['details']['run_id']}")
        assert (after["run"]["state"], after["run"]["last_error_code"]) == ("FAILED", "IDENTITY_SLOTS_MISSING")
        await bench.put("policies", {"verbs": {"google.gmail.drafts.create": "deny"}})
        await bench.put("identities/acme", {"given_name": "Ada", "passport_number": "P1"})
        error = (await bench.call("POST", EXECUTE, given)).json()["error"]
        assert (error["code"], error["details"]["step_id"]) == ("CONNECTOR_APPROVAL_RULE_DENIED", "draft")
        assert not [one for one in bench.vault.effects() if one["verb"] == "google.gmail.drafts.create"]

    run(story)


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"type": "other"}, "/type", "PLAN_INVALID"),
        ({"steps": []}, "/steps", "PLAN_INVALID"),
        ({"steps": [7]}, "/steps", "PLAN_INVALID"),
        ({"start_step_id": "x"}, "/start_step_id", "PLAN_INVALID"),
        ({"step": {"step_id": "send"}}, "/steps/0/step_id", "PLAN_STEP_INVALID"),
        ({"step": {"connector_id": "x"}}, "/steps/0/connector_id", "PLAN_STEP_INVALID"),
        ({"step": {"verb": "google.x"}}, "/steps/0/verb", "PLAN_STEP_INVALID"),
        ({"step": {"request_base": []}}, "/steps/0/request_base", "PLAN_STEP_INVALID"),
        ({"step": {"request_bindings": [7]}}, "/steps/0/request_bindings/0", "PLAN_BINDING_INVALID"),
        (
            {"step": {"request_bindings": [{"path": "x", "ref": {}}]}},
            "/steps/0/request_bindings/0",
            "PLAN_BINDING_INVALID",
        ),
        ({"step": {"default_success_next_step_id": "x"}}, "/steps/0/default_success_next_step_id", "PLAN_STEP_INVALID"),
        ({"step": {"request_bindings": {"path": "/x", "ref": {}}}}, "/steps/0/request_bindings", "PLAN_STEP_INVALID"),
        ({"step": {"success_branches": {"next_step_id": "send"}}}, "/steps/0/success_branches", "PLAN_STEP_INVALID"),
        ({"step": {"success_branches": [7]}}, "/steps/0/success_branches/0", "PLAN_STEP_INVALID"),
    ],
)
def test_what_is_wrong_with_a_plan_is_found_where_it_is(change: dict[str, Any], path: str, code: str) -> None:
    plan = send_plan()
    plan["steps"][0] |= change.pop("step", {})
    plan |= change
    assert (path, code) in [(one.path, one.code) for one in check_plan(plan, CONNECTORS)]


def test_a_plan_that_is_not_valid_is_neither_valid_nor_run(run) -> None:
    async def story(bench):
        for plan in (None, [], "x", {}, {**send_plan(), "type": "x"}):
            told = (await bench.ok("POST", VALIDATE, {"plan": plan})).json()
            assert told["valid"] is False
            assert told["errors"][0]["code"] == "PLAN_INVALID"
            assert (await bench.refused("POST", EXECUTE, {"plan": plan})) == (400, "PLAN_INVALID")
        circle = send_plan()
        circle["steps"][0]["default_success_next_step_id"] = "create"
        answer = await bench.call("POST", EXECUTE, {"plan": circle, "plan_input": {"to": []}})
        assert answer.json()["error"]["code"] == "PLAN_INVALID"
        assert (await bench.refused("POST", EXECUTE, {"plan": send_plan()})) == (422, "PLAN_BINDING_SOURCE_MISSING")
        scalar = {"plan": send_plan(), "plan_input": {"to": "a@example.com"}}
        assert (await bench.refused("POST", EXECUTE, scalar)) == (422, "PLAN_STEP_INVALID")

    run(story)


def test_branches_are_taken_alone() -> None:
    yes = {"op": "eq", "ref": {"source": "literal", "value": 1}, "value": 1}
    no = {"op": "not", "args": [yes]}
    either = {"op": "or", "args": [no, yes]}
    branching = {
        "step_id": "s",
        "success_branches": [{"when": no, "next_step_id": "a"}, {"when": either, "next_step_id": "b"}],
    }
    assert next_step(branching, {}) == "b"
    for whens, code in (([yes, either], "PLAN_TRANSITION_AMBIGUOUS"), ([no, {"op": "?"}], "PLAN_TRANSITION_NO_MATCH")):
        branching["success_branches"] = [{"when": when, "next_step_id": "a"} for when in whens]
        with pytest.raises(VaultError) as failed:
            next_step(branching, {})
        assert failed.value.code == code
    assert next_step({"step_id": "s"}, {}) is None


def test_bindings_make_what_they_need_and_change_no_plan() -> None:
    given = {"a": {"b": 1}}
    one = {"step_id": "s", "request_base": {"h": {}}, "request_bindings": [bind("/h/x~1y", "plan_input", "/a")]}
    assert resolve(one, given, {}) == {"h": {"x/y": {"b": 1}}}
    assert one["request_base"] == {"h": {}}
    one["request_bindings"] = [{"path": "/h/n", "ref": {"source": "const", "value": None}}]
    assert resolve(one, given, {}) == {"h": {"n": None}}
    one["request_base"] = {"h": 1}
    with pytest.raises(VaultError) as failed:
        resolve(one, given, {})
    assert failed.value.code == "PLAN_BINDING_INVALID"


def test_a_run_is_read_by_its_own_tenant_only(run) -> None:
    async def story(bench):
        answer = (await bench.ok("POST", EXECUTE, {"plan": send_plan(), "plan_input": {"to": []}})).json()
        path = f"/v0/connectors/plans/runs/{answer['run_id']}"
        assert await bench.refused("GET", path, token="vc-other-agent") == (404, "PLAN_RUN_NOT_FOUND")
        job = await bench.ask()
        path = f"/v0/connectors/plans/runs/{job['job_id']}"
        assert await bench.refused("GET", path) == (404, "PLAN_RUN_NOT_FOUND")

    run(story)
