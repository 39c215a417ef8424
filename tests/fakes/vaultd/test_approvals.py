"""Does a person decide once, in time, and only one who may? What the daemon enforces for VC-14, and its effects."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lasttick_fakes.vaultd import load
from lasttick_fakes.vaultd.approval import Approval, decide, expire
from lasttick_fakes.vaultd.refusal import VaultError

TICK_S = 1e-6
DECIDE = "/v0/connectors/approvals/decide"


def waiting() -> Approval:
    return Approval("ach_1", "apj_1", "job_1", "", "acme", "agent-1", "google", "v", {}, "h", 1, 0, 10, 10)


def test_one_tick_before_its_end_a_decision_counts_and_at_the_end_it_is_late() -> None:
    assert decide(waiting(), "approve", "Pat", 9).state == "RUNNING"
    for late in (waiting(), expire(waiting())):
        with pytest.raises(VaultError) as refused:
            decide(late, "approve", "Pat", 10)
        assert (refused.value.status, refused.value.code) == (409, "APPROVAL_DECISION_EXPIRED")


def test_an_expiry_names_nobody_and_a_person_who_is_later_than_the_end_never_comes() -> None:
    assert (expire(waiting()).decided_by, expire(waiting()).decision) == ("", "")
    assert replace(waiting(), person_ns=11).due_ns == 10
    assert replace(waiting(), person_ns=9).due_ns == 9
    assert replace(waiting(), state="DENIED").due_ns is None


def test_an_approved_job_runs_once_with_what_was_shown(run) -> None:
    async def story(bench):
        job = await bench.ask()
        (item,) = await bench.items("?states=WAITING")
        assert item["arguments"]["subject"] == "lt-mark"
        assert job["error"]["code"] == "CONNECTOR_APPROVAL_DECISION_REQUIRED"
        assert job["pending_expires_at_unix_ms"] == 1_767_225_600_000 + 900_000
        assert bench.vault.effects() == []
        await bench.until(5)
        answer = await bench.decide(job, "approve")
        assert (answer.status_code, answer.json()["item"]["decided_by"]) == (200, "Pat")
        assert (await bench.job(job["job_id"]))["status"] == "SUCCEEDED"
        (effect,) = bench.vault.effects()
        assert effect["arguments"]["subject"] == "lt-mark"
        assert (effect["t_ns"], effect["kind"], effect["decided_by"]) == (5_000_000_000, "job", "Pat")
        assert (effect["tenant"], effect["agent"], effect["work_id"]) == ("acme", "agent-1", job["job_id"])
        assert (await bench.get("/effects?after=0"))["effects"] == [effect]
        assert (await bench.get("/effects?after=1"))["effects"] == []

    run(story)


@pytest.mark.parametrize("first", ["approve", "deny"])
@pytest.mark.parametrize("second", ["approve", "deny"])
def test_it_is_decided_once(run, first: str, second: str) -> None:
    async def story(bench):
        job = await bench.ask()
        assert (await bench.decide(job, first)).status_code == 200
        again = await bench.decide(job, second)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "APPROVAL_ALREADY_DECIDED")
        assert len(bench.vault.effects()) == (first == "approve")
        after = await bench.job(job["job_id"])
        assert after["status"] == ("SUCCEEDED" if first == "approve" else "DENIED")
        assert after.get("error", {}).get("code", "") == ("" if first == "approve" else "PLAN_APPROVAL_DENIED")

    run(story)


@pytest.mark.parametrize(
    ("token", "status", "code"),
    [
        ("vc-agent", 403, "FORBIDDEN"),
        ("vc-other-agent", 403, "FORBIDDEN"),
        ("vc-other-approver", 404, "APPROVAL_NOT_FOUND"),
        ("asker-and-approver", 403, "FORBIDDEN"),
        ("nobody", 401, "UNAUTHENTICATED"),
    ],
)
@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_who_may_not_decide_decides_nothing(run, token: str, status: int, code: str, decision: str) -> None:
    async def story(bench):
        await bench.put("tokens/asker-and-approver", {"tenant": "acme", "agent_id": "agent-1", "approver": "Ann"})
        job = await bench.ask()
        assert await bench.refused("POST", DECIDE, bench.decision(job, decision), token=token) == (status, code)
        assert (await bench.job(job["job_id"]))["status"] == "PENDING"
        (item,) = await bench.items()
        assert (item["state"], item["decided_by"]) == ("WAITING", "")
        assert bench.vault.effects() == []
        assert (await bench.decide(job, decision)).status_code == 200, "who may decide still can"

    run(story)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"challenge_id": "ach_9"}, 404),
        ({"pending_id": "apj_9"}, 404),
        ({"decision": "yes"}, 400),
        ({"decision": None}, 400),
        ({"challenge_id": 7}, 400),
    ],
)
def test_a_decision_that_names_nothing_is_refused(run, change, status: int) -> None:
    async def story(bench):
        job = await bench.ask()
        body = {**bench.decision(job, "approve"), **change}
        assert (await bench.refused("POST", DECIDE, body, token="vc-approver"))[0] == status
        assert bench.vault.effects() == []

    run(story)


def test_an_answer_to_one_request_never_decides_another(run) -> None:
    async def story(bench):
        first, second = await bench.ask(), await bench.ask()
        mixed = {**bench.decision(first, "approve"), "pending_id": second["pending_approval"]["pending_id"]}
        assert (await bench.refused("POST", DECIDE, mixed, token="vc-approver"))[0] == 404
        await bench.decide(second, "approve")
        assert (await bench.job(first["job_id"]))["status"] == "PENDING"
        assert [effect["work_id"] for effect in bench.vault.effects()] == [second["job_id"]]

    run(story)


@pytest.mark.parametrize("on_expiry", ["DENIED", "EXPIRED"])
def test_silence_expires_at_the_last_tick_and_never_runs(run, on_expiry: str) -> None:
    async def story(bench):
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "ask"}, "on_expiry": on_expiry})
        job = await bench.ask()
        await bench.until(900 - TICK_S)
        assert (await bench.job(job["job_id"]))["status"] == "PENDING"
        await bench.until(900)
        after = await bench.job(job["job_id"])
        assert (after["status"], after["error"]["code"]) == (on_expiry, "APPROVAL_DECISION_EXPIRED")
        (item,) = await bench.items()
        assert (item["state"], item["decided_by"], item["decision"]) == ("EXPIRED", "", "")
        late = await bench.decide(job, "approve")
        assert (late.status_code, late.json()["error"]["code"]) == (409, "APPROVAL_DECISION_EXPIRED")
        assert bench.vault.effects() == []

    run(story)


def test_a_decision_at_the_instant_of_the_expiry_is_late_though_nobody_looked_before(run) -> None:
    async def story(bench):
        job = await bench.ask()
        await bench.until(900)
        assert (await bench.decide(job, "approve")).json()["error"]["code"] == "APPROVAL_DECISION_EXPIRED"
        assert bench.vault.effects() == []

    run(story)


@pytest.mark.parametrize(("decision", "status"), [("approve", "SUCCEEDED"), ("deny", "DENIED"), ("never", "DENIED")])
def test_a_scripted_person_decides_after_9_min_59_s(run, decision: str, status: str) -> None:
    async def story(bench):
        await bench.put("persons", {"persons": [{"decision": decision, "after_s": 599, "name": "Kim"}]})
        job = await bench.ask()
        await bench.until(599 - TICK_S)
        assert (await bench.job(job["job_id"]))["status"] == "PENDING"
        await bench.until(599)
        assert (await bench.job(job["job_id"]))["status"] == ("PENDING" if decision == "never" else status)
        await bench.until(1000)
        assert (await bench.job(job["job_id"]))["status"] == status
        assert [(one["t_ns"], one["decided_by"]) for one in bench.vault.effects()] == (
            [(599_000_000_000, "Kim")] if decision == "approve" else []
        )
        (item,) = await bench.items()
        assert item["decided_by"] == ("" if decision == "never" else "Kim")

    run(story)


def test_persons_are_chosen_by_tenant_and_verb_and_used_up(run) -> None:
    async def story(bench):
        await bench.put(
            "persons",
            {
                "persons": [
                    {"decision": "deny", "tenant": "globex"},
                    {"decision": "approve", "times": 1, "name": "Once"},
                ]
            },
        )
        first = (await bench.ask())["job_id"]
        second = (await bench.ask())["job_id"]
        theirs = (await bench.ask(token="vc-other-agent"))["job_id"]
        assert (await bench.job(first))["status"] == "SUCCEEDED"
        assert (await bench.job(second))["status"] == "PENDING"
        assert (await bench.job(theirs, token="vc-other-agent"))["status"] == "DENIED"

    run(story)


@pytest.mark.parametrize("through_json", [False, True])
def test_a_restart_in_between_keeps_what_waits(run, through_json: bool) -> None:
    async def story(bench):
        await bench.put("persons", {"persons": [{"decision": "approve", "after_s": 599, "times": 1}]})
        approved, silent = await bench.ask(), await bench.ask()
        await bench.until(300)
        told = await bench.get("/state")
        bench.site.cut()
        await bench.until(400)
        bench.start(load(told) if through_json else bench.vault.state)
        assert (await bench.job(approved["job_id"]))["status"] == "PENDING"
        await bench.until(599)
        assert (await bench.job(approved["job_id"]))["status"] == "SUCCEEDED"
        assert (await bench.decide(approved, "approve")).status_code == 409
        await bench.until(900)
        assert (await bench.job(silent["job_id"]))["status"] == "DENIED"
        assert [one["work_id"] for one in bench.vault.effects()] == [approved["job_id"]]
        assert (await bench.ask())["job_id"] == "job_3", "ids go on"

    run(story)


def test_a_state_goes_into_a_running_daemon_over_the_wire(run) -> None:
    async def story(bench):
        job = await bench.ask()
        told = await bench.get("/state")
        bench.start()
        assert (await bench.refused("GET", f"/v0/jobs/{job['job_id']}"))[0] == 404
        await bench.ok("PUT", "/state", told)
        assert (await bench.get("/state")) == told
        assert (await bench.decide(job, "deny")).status_code == 200
        for bad in ({}, {"tokens": []}, {**told, "works": {"job_1": {"odd": 1}}}):
            assert (await bench.call("PUT", "/state", bad)).status_code == 400
        assert (await bench.job(job["job_id"]))["status"] == "DENIED"

    run(story)


def test_a_run_that_takes_its_time_is_running_until_then(run) -> None:
    async def story(bench):
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "ask"}, "run_s": 3})
        job = await bench.ask()
        await bench.decide(job, "approve")
        (item,) = await bench.items("?states=RUNNING")
        assert item["decided_by"] == "Pat"
        await bench.until(3 - TICK_S)
        assert (await bench.job(job["job_id"]))["status"] == "RUNNING"
        await bench.until(3)
        assert (await bench.job(job["job_id"]))["status"] == "SUCCEEDED"
        assert len(bench.vault.effects()) == 1

    run(story)


def test_a_verb_that_fails_after_the_yes_is_a_failed_job_without_effect(run) -> None:
    async def story(bench):
        await bench.put("verbs/google.gmail.messages.send", {"error": {"code": "MAILBOX_FULL"}})
        job = await bench.ask()
        await bench.decide(job, "approve")
        after = await bench.job(job["job_id"])
        assert (after["status"], after["error"]["code"]) == ("FAILED", "MAILBOX_FULL")
        assert (await bench.items())[0]["state"] == "FAILED"
        assert bench.vault.effects() == []

    run(story)


def test_a_policy_that_changed_since_the_request_is_drift(run) -> None:
    async def story(bench):
        job = await bench.ask()
        await bench.put("policies", {"verbs": {"google.gmail.messages.send": "grant"}})
        assert (await bench.decide(job, "approve")).status_code == 200
        after = await bench.job(job["job_id"])
        assert (after["status"], after["error"]["code"]) == ("DENIED", "PLAN_POLICY_DRIFT")
        assert bench.vault.effects() == []

    run(story)


def test_cancelled_work_is_over(run) -> None:
    async def story(bench):
        job = await bench.ask()
        await bench.ok("POST", "/control/cancel", {"id": job["job_id"]})
        assert (await bench.job(job["job_id"]))["status"] == "CANCELLED"
        assert (await bench.decide(job, "approve")).status_code == 409
        await bench.until(901)
        assert (await bench.job(job["job_id"]))["status"] == "CANCELLED"
        assert bench.vault.effects() == []
        assert (await bench.call("POST", "/control/cancel", {"id": "job_9"})).status_code == 404
        done = await bench.ask()
        await bench.decide(done, "approve")
        await bench.ok("POST", "/control/cancel", {"id": done["job_id"]})
        after = await bench.job(done["job_id"])
        assert (after["status"], "pending_approval" in after) == ("SUCCEEDED", False), "what has ended stays so"

    run(story)


def test_pending_items_are_filtered_newest_first_and_each_tenants_own(run) -> None:
    async def story(bench):
        first, second = await bench.ask(), await bench.ask()
        await bench.ask(token="vc-other-agent")
        await bench.decide(first, "deny")
        assert [one["job_id"] for one in await bench.items()] == [second["job_id"], first["job_id"]]
        assert [one["job_id"] for one in await bench.items("?limit=1")] == [second["job_id"]]
        assert [one["state"] for one in await bench.items("?states=DENIED,EXPIRED")] == ["DENIED"]
        challenge = second["pending_approval"]["challenge"]["challenge_id"]
        assert [one["job_id"] for one in await bench.items(f"?challenge_id={challenge}")] == [second["job_id"]]
        assert await bench.items(f"?challenge_id={challenge}", token="vc-other-approver") == []
        assert await bench.items("?agent_id=agent-9") == []
        assert len(await bench.items("?verb=google.gmail.messages.send&connector_id=google")) == 2
        assert len(await bench.items(token="vc-approver")) == 2
        for bad in ("?states=NOPE", "?limit=0", "?limit=x"):
            assert (await bench.refused("GET", f"/v0/connectors/approvals/pending{bad}"))[0] == 400
        everybodys = (await bench.get("/approvals"))["items"]
        assert [one["tenant"] for one in everybodys] == ["acme", "acme", "globex"]

    run(story)


def test_two_who_approve_at_once_run_it_once(run) -> None:
    async def story(bench):
        job = await bench.ask()
        answers = await asyncio.gather(*(bench.decide(job, "approve") for _ in range(5)))
        assert sorted(one.status_code for one in answers) == [200, 409, 409, 409, 409]
        assert len(bench.vault.effects()) == 1

    run(story)


def test_the_same_calls_at_the_same_times_make_the_same_history(run) -> None:
    histories = []

    async def story(bench):
        await bench.put(
            "persons", {"persons": [{"decision": "approve", "after_s": 7, "times": 1}, {"decision": "never"}]}
        )
        await asyncio.gather(*(bench.ask(token=token) for token in ("vc-agent", "vc-other-agent", "vc-agent")))
        await bench.until(2000)
        histories.append((await bench.get("/state"), bench.events))

    run(story)
    run(story)
    assert histories[0] == histories[1]
    ends = [data["t_ns"] for kind, data in histories[0][1] if kind == "vault.work" and data["status"] != "PENDING"]
    assert ends == [7_000_000_000, 7_000_000_000, 900_000_000_000, 900_000_000_000]


def test_events_tell_the_life_and_no_token(run) -> None:
    async def story(bench):
        job = await bench.ask()
        await bench.decide(job, "approve")
        lives = [data["state"] for kind, data in bench.events if kind == "vault.approval"]
        assert lives == ["WAITING", "RUNNING", "SUCCEEDED"]
        works = [data["status"] for kind, data in bench.events if kind == "vault.work"]
        assert works == ["PENDING", "RUNNING", "SUCCEEDED"]
        assert "vc-a" not in repr(bench.events)
        requests = [data for kind, data in bench.events if kind == "vault.request"]
        assert [(one["tenant"], one["agent"], one["approver"]) for one in requests[-1:]] == [("acme", "", "Pat")]

    run(story)
