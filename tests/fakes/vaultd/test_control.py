"""Can a test set the vault up, and is what it cannot mean refused without a change?"""

from __future__ import annotations

from typing import Any

import pytest

TICK_S = 1e-6


def test_a_job_goes_through_the_states_it_is_told(run) -> None:
    async def story(bench):
        states = [
            {"status": "PENDING", "error": {"error": {"code": "PLAN_APPROVAL_REQUIRED"}}},
            {"at_s": 2, "status": "Thinking"},
            {"at_s": 5, "status": "SUCCEEDED"},
        ]
        job_id = (await bench.ok("POST", "/control/jobs", {"tenant": "acme", "states": states})).json()["job_id"]
        assert await bench.job(job_id) == {"job_id": job_id, "status": "PENDING", "error": states[0]["error"]}
        for at_s, status in ((2 - TICK_S, "PENDING"), (2, "Thinking"), (5 - TICK_S, "Thinking"), (5, "SUCCEEDED")):
            await bench.until(at_s)
            assert (await bench.job(job_id))["status"] == status
        assert bench.vault.effects() == []

    run(story)


def test_a_run_goes_through_the_states_it_is_told(run) -> None:
    async def story(bench):
        states = [
            {"status": "PENDING_APPROVAL"},
            {"at_s": 1, "status": "DENIED", "error": {"code": "PLAN_POLICY_DRIFT"}},
        ]
        run_id = (await bench.ok("POST", "/control/runs", {"tenant": "acme", "states": states})).json()["run_id"]
        path = f"/v0/connectors/plans/runs/{run_id}"
        assert (await bench.get(path))["run"]["state"] == "PENDING_APPROVAL"
        await bench.until(1)
        told = (await bench.get(path))["run"]
        assert (told["state"], told["last_error_code"]) == ("DENIED", "PLAN_POLICY_DRIFT")
        assert (await bench.refused("GET", path, token="vc-other-agent"))[0] == 404

    run(story)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "tokens/t", {}),
        ("PUT", "tokens/t", {"tenant": "a"}),
        ("PUT", "tokens/t", {"tenant": "a", "agent_id": 7}),
        ("PUT", "tokens/t", {"tenant": "a", "agent_id": "b", "scopes": ["all"]}),
        ("PUT", "tokens/t", {"tenant": "a", "agent_id": "b", "odd": 1}),
        ("PUT", "tokens", {"tenant": "a", "agent_id": "b"}),
        ("PUT", "policies", {"verbs": {"v": "maybe"}}),
        ("PUT", "policies", {"verbs": []}),
        ("PUT", "policies", {"approval_ttl_s": -1}),
        ("PUT", "policies", {"run_s": "3"}),
        ("PUT", "policies", {"on_expiry": "ALLOW"}),
        ("PUT", "policies", {"bindings_required": 1}),
        ("PUT", "policies", {"odd": 1}),
        ("PUT", "persons", {}),
        ("PUT", "persons", {"persons": [7]}),
        ("PUT", "persons", {"persons": [{"decision": "maybe"}]}),
        ("PUT", "persons", {"persons": [{"decision": "deny", "after_s": -1}]}),
        ("PUT", "persons", {"persons": [{"decision": "deny", "times": 0}]}),
        ("PUT", "persons", {"persons": [{"decision": "deny", "name": 7}]}),
        ("PUT", "persons", {"persons": [{"decision": "deny", "odd": 7}]}),
        ("PUT", "connectors/c", {"verbs": []}),
        ("PUT", "connectors/c", {"verbs": [1]}),
        ("PUT", "verbs/v", {"result": []}),
        ("PUT", "verbs/v", {"error": {"status": 200}}),
        ("PUT", "verbs/v", {"error": {"details": []}}),
        ("PUT", "documents/d", {"tenant": "a"}),
        ("PUT", "documents/d", {"tenant": "a", "type_id": "t", "fields": {"a": 1}}),
        ("PUT", "types/t", {}),
        ("PUT", "identities/acme", {"given_name": 7}),
        ("PUT", "nothing", {}),
        ("POST", "jobs", {"tenant": "acme"}),
        ("POST", "jobs", {"tenant": "acme", "states": [7]}),
        ("POST", "jobs", {"tenant": "acme", "states": [{"status": 7}]}),
        ("POST", "runs", {"tenant": "acme", "states": [{"status": "A", "error": 7}]}),
        ("POST", "runs", {"tenant": "acme", "states": [{"at_s": 2, "status": "A"}, {"at_s": 1, "status": "B"}]}),
        ("POST", "runs", {"states": [{"status": "A"}]}),
        ("POST", "cancel", {}),
        ("POST", "answers", {"times": 0}),
        ("POST", "answers", {"odd": 0}),
    ],
)
def test_what_cannot_be_read_changes_nothing(run, method: str, path: str, body: dict[str, Any]) -> None:
    async def story(bench):
        before = await bench.get("/state")
        answer = await bench.call(method, f"/control/{path}", body)
        assert answer.status_code in (400, 404), answer.text
        message = answer.json()["error"]
        assert "; expected" in message or "; known" in message
        assert await bench.get("/state") == before
        assert (await bench.call("GET", "/v0/connectors")).status_code == 200

    run(story)


def test_reset_is_the_start_again(run) -> None:
    async def story(bench):
        start = await bench.get("/state")
        await bench.ask()
        await bench.put("tokens/t", {"tenant": "acme", "agent_id": "a"})
        await bench.put("verbs/v", {"result": {"a": 1}})
        await bench.ok("POST", "/trouble", {"kind": "down"})
        assert await bench.get("/state") != start
        await bench.ok("POST", "/reset")
        assert await bench.get("/state") == start
        assert (await bench.get("/log")) == {"log": []}
        assert (await bench.call("GET", "/v0/connectors", token="t")).status_code == 401

    run(story)


def test_a_scripted_verb_ends_with_an_empty_script(run) -> None:
    async def story(bench):
        async def result() -> Any:
            body = await bench.request("google.gmail.labels.list", user_id="me")
            return (await bench.ok("POST", "/v0/connectors/execute", body)).json()["result"]

        await bench.put("verbs/google.gmail.labels.list", {"result": {"labels": ["inbox"]}})
        assert await result() == {"labels": ["inbox"]}
        await bench.put("verbs/google.gmail.labels.list", {})
        assert await result() == {"ok": True}

    run(story)


def test_the_log_has_each_call_as_it_came(run) -> None:
    async def story(bench):
        headers = {"X-Request-Id": "r-1"}
        await bench.http.get("/v0/docs/types/latest?type_id=a%20b", headers=headers)
        await bench.until(2)
        answer = await bench.call("GET", "/v0/connectors", headers={"x-request-id": "r-2"})
        assert answer.headers["x-request-id"] == "vault-2", "never the caller's"
        first, second = (await bench.get("/log"))["log"]
        assert (first["seq"], first["t_ns"], first["status"]) == (1, 0, 401)
        assert (first["method"], first["path"]) == ("GET", "/v0/docs/types/latest?type_id=a%20b")
        assert ["x-request-id", "r-1"] in first["headers"]
        assert ["authorization", "Bearer vc-agent"] in second["headers"]
        assert (second["t_ns"], second["status"]) == (2_000_000_000, 200)
        assert (await bench.get("/log?after=1"))["log"] == [second]
        assert (await bench.call("GET", "/log?after=x")).status_code == 400
        assert (await bench.call("GET", "/effects?after=-1")).status_code == 400

    run(story)


def test_a_path_that_is_not_there_is_answered_by_those_that_are(run) -> None:
    async def story(bench):
        lost = await bench.call("PUT", "/control/nope", {})
        assert lost.status_code == 404
        assert "nothing is at /control/'nope'; expected /control/ and one of tokens/ID, policies, " in lost.text
        named = await bench.call("PUT", "/control/policies/p", {})
        assert (named.status_code, "nothing is at /control/'policies'/ID; " in named.text) == (404, True)
        away = await bench.call("GET", "/nope")
        assert away.status_code == 404
        assert "GET '/nope': Not Found; expected a path of this server, with its method: /" in away.text
        assert "/effects" in away.text

    run(story)
