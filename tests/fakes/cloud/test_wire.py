"""Does every wrong request get one clear answer of three parts, the right status, and change nothing?"""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

GOOD_STEP = {"tool": "tap", "arguments": {}}
BAD_BODIES = {
    "/v1/hosts": [
        [],
        {},
        {"devices": "phone-1"},
        {"devices": [7]},
        {"devices": [{"status": "idle"}]},
        {"devices": ["a/b"]},
        {"devices": ["a", "a"]},
        {"devices": [{"device_id": "a", "status": "asleep"}]},
        {"devices": [], "host_id": ""},
        {"devices": [], "host_id": 7},
    ],
    "/v1/hosts/host-1/heartbeat": [
        {"devices": []},
        {"seq": "1", "devices": []},
        {"seq": True, "devices": []},
        {"seq": -1, "devices": []},
        {"seq": 1.5, "devices": []},
        {"seq": 1},
        {"seq": 1, "devices": [], "mcp_busy_device_ids": None},
        {"seq": 1, "devices": [], "mcp_busy_device_ids": [1]},
        {"seq": 1, "devices": [], "mcp_busy_device_ids": "phone-1"},
    ],
    "/v1/assignments/assignment-1/result": [
        {},
        {"status": "running", "failure_reason": None},
        {"status": "failed", "failure_reason": None},
        {"status": "failed", "failure_reason": ["x"]},
    ],
    "/v1/tasks": [
        {},
        {"goal": "a", "workflow": [GOOD_STEP]},
        {"goal": " "},
        {"goal": 7},
        {"workflow": []},
        {"workflow": [{"tool": "tap"}]},
        {"workflow": [{**GOOD_STEP, "argument": 1}]},
        {"goal": "a", "attempts": 0},
        {"goal": "a", "attempts": True},
        {"goal": "a", "attempt": 2},
        {"goal": "a", "device_id": "a b"},
    ],
    "/v1/trouble": [
        {},
        {"kind": "explode"},
        {"kind": ["stop"]},
        {"kind": "late", "delay_s": -1},
        {"kind": "late", "count": 1.5},
        {"kind": "late", "often": 1},
        {"kind": "stop", "count": 1},
    ],
}
CASES = [(path, body) for path, bodies in BAD_BODIES.items() for body in bodies]


def three_parts(answer, status):
    assert answer.status_code == status, answer.text
    parts = answer.json()
    assert sorted(parts) == ["error", "expected", "next"]
    assert all(isinstance(part, str) and part for part in parts.values())
    assert "Traceback" not in answer.text
    assert len(answer.text) < 1000


@pytest.mark.parametrize(("path", "body"), CASES, ids=[f"{path}-{i}" for i, (path, _) in enumerate(CASES)])
def test_a_wrong_body_is_refused_and_changes_nothing(run, path, body):
    async def check(bench):
        host = await bench.host("phone-1", busy=[])
        view = bench.cloud.host(host)
        three_parts(await bench.http.post(path, json=body), 400)
        assert bench.cloud.host(host) is view
        assert bench.cloud.host_ids() == [host]
        assert bench.cloud.tasks() == []
        assert bench.cloud.up

    run(check)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 10_000, b"NaN"])
def test_bytes_that_are_no_json_object_are_400(run, raw):
    async def check(bench):
        await bench.host("phone-1")
        for path in BAD_BODIES:
            three_parts(await bench.http.post(path, content=raw), 400)

    run(check)


def test_a_body_over_the_limit_is_413(run):
    async def check(bench):
        three_parts(await bench.http.post("/v1/tasks", content=b"x" * ((1 << 20) + 1)), 413)

    run(check)


@pytest.mark.parametrize("wait_s", ["", "x", "-1", "nan", "inf", "301"])
def test_a_wrong_wait_is_400(run, wait_s):
    async def check(bench):
        host = await bench.host("phone-1")
        three_parts(await bench.http.get(f"/v1/hosts/{host}/assignments?wait_s={wait_s}"), 400)

    run(check)


def test_what_is_not_there_is_404_and_a_wrong_method_405(run):
    async def check(bench):
        done = {"status": "succeeded", "failure_reason": None}
        three_parts(await bench.http.post("/v1/assignments/assignment-9/result", json=done), 404)
        three_parts(await bench.http.get("/v1/tasks/task-9"), 404)
        three_parts(await bench.http.get("/v2"), 404)
        answer = await bench.http.delete("/v1/tasks")
        three_parts(answer, 405)
        assert "POST" in answer.headers["allow"]
        three_parts(await bench.http.get("/v1/log?after=-1"), 400)

    run(check)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["seq", "devices", "device_id", "status", "goal", "workflow", "tool", "kind", "count"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    )
)
def test_no_json_brings_the_cloud_down(run, value):
    async def check(bench):
        await bench.host("phone-1")
        for path in BAD_BODIES:
            answer = await bench.http.post(path, content=json.dumps(value).encode())
            assert answer.status_code < 500 or not bench.cloud.up

    run(check)


def test_tasks_over_the_wire(run):
    async def check(bench):
        created = await bench.http.post("/v1/tasks", json={"workflow": [GOOD_STEP], "device_id": "phone-1"})
        assert created.status_code == 201
        host = await bench.host("phone-1")
        await bench.result(await bench.claim(host), "failed", "broken \ud800")
        task = (await bench.http.get("/v1/tasks/task-1")).json()
        assert (task["state"], task["attempts"], task["attempts_left"]) == ("failed", 1, 0)
        assert task["failure_reason"] == "broken \ud800"
        assert task["kind"] == "workflow"
        assert [change["state"] for change in task["history"]] == ["queued", "running", "failed"]
        assert [assignment["state"] for assignment in task["assignments"]] == ["failed"]

    run(check)


def test_log_and_trouble_over_the_wire_for_another_process(run):
    async def check(bench):
        host = await bench.host("phone-1", busy=["phone-1"])
        log = (await bench.http.get("/v1/log")).json()
        assert [(event["kind"], event["seq"]) for event in log["log"]] == [("cloud.heartbeat", 1)]
        sent = [base64.b64decode(request["body_base64"]) for request in log["requests"]]
        assert sent == [received.body for received in bench.cloud.received]
        assert (await bench.http.post("/v1/trouble", json={"kind": "refuse"})).status_code == 200
        assert (await bench.beat(host)).status_code == 503
        for kind in ("stop", "start", "restart", "heal"):
            assert (await bench.http.post("/v1/trouble", json={"kind": kind})).status_code == 200
        later = (await bench.http.get("/v1/log?after=1")).json()["log"]
        assert [event["seq"] for event in later] == list(range(2, 2 + len(later)))
        assert bench.cloud.host_ids() == []

    run(check)
