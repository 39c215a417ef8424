"""Does a task go only where it may (D8, HA-08), and does each failure cost exactly one attempt (HA-09)?"""

from __future__ import annotations

import asyncio

import pytest

from lasttick_fakes.cloud.records import view
from lasttick_fakes.cloud.scheduler import matches

TAP = [{"tool": "tap", "arguments": {"x": 1, "y": 2}}]


def seen(*devices, busy=None, seq=1):
    entries = [{"status": "idle", **device} for device in devices]
    return view("host-1", entries, busy, seq=seq, seen_ns=0, registration=1)


def may(known, candidate="phone-1", *, device_id=None, running=False, now_ns=0):
    return matches(device_id, known, candidate, running=running, now_ns=now_ns, lost_after_ns=90)


PHONE = {"device_id": "phone-1"}


def test_matches_is_the_table_of_the_contract():
    assert may(seen(PHONE))
    assert may(seen(PHONE, busy=()))
    assert may(seen(PHONE), device_id="phone-1")
    assert not may(seen(PHONE), device_id="phone-2")
    assert not may(seen(PHONE, busy=("phone-1",)))
    assert not may(seen(PHONE, busy=("phone-1",)), device_id="phone-1")
    assert not may(seen(PHONE), running=True)
    for status in ("busy", "offline", "error"):
        assert not may(seen({**PHONE, "status": status}))


def test_matches_trusts_only_a_live_view():
    assert not may(seen(PHONE, seq=None))  # registered, no heartbeat yet: nobody knows what MCP sessions hold
    assert may(seen(PHONE), now_ns=89)
    assert not may(seen(PHONE), now_ns=90)  # lost


def test_any_idle_device_in_sorted_order(run):
    async def body(bench):
        host = await bench.host("tablet-2", {"device_id": "phone-1", "status": "offline"}, "phone-9", "phone-3")
        bench.cloud.submit(goal="open Notes")
        bench.cloud.submit(workflow=TAP)
        first, second = await bench.claim(host), await bench.claim(host)
        assert first == {
            "assignment_id": "assignment-1",
            "task_id": "task-1",
            "device_id": "phone-3",
            "attempt": 1,
            "kind": "goal",
            "goal": "open Notes",
        }
        assert second["device_id"] == "phone-9"
        assert second["kind"] == "workflow"
        assert second["workflow"] == TAP
        assert await bench.claim(host) is None

    run(body)


def test_a_device_held_by_mcp_is_skipped_until_a_heartbeat_says_otherwise(run):
    async def body(bench):
        host = await bench.host("phone-1", busy=["phone-1"])
        task = bench.cloud.submit(goal="open Notes", device_id="phone-1")
        assert await bench.claim(host) is None
        assert task.state == "queued"
        await bench.beat(host, "phone-1", busy=[])
        assert (await bench.claim(host))["device_id"] == "phone-1"
        assert task.state == "running"

    run(body)


def test_an_old_host_that_never_sends_the_field_behaves_as_before(run):
    async def body(bench):
        host = await bench.host("phone-1")
        bench.cloud.submit(goal="open Notes")
        assert (await bench.claim(host))["device_id"] == "phone-1"
        assert bench.cloud.host(host).mcp_busy_device_ids is None

    run(body)


def test_a_failed_attempt_is_spent_and_the_next_goes_elsewhere(run):
    async def body(bench):
        host = await bench.host("phone-1", "phone-2")
        task = bench.cloud.submit(goal="open Notes", attempts=3)
        reason = "device held by active MCP session"
        tried = []
        for _ in range(3):
            assignment = await bench.claim(host)
            tried.append((assignment["device_id"], assignment["attempt"]))
            assert (await bench.result(assignment, "failed", reason)).status_code == 200
        assert tried == [("phone-1", 1), ("phone-2", 2), ("phone-1", 3)]
        assert task.state == "failed"
        assert task.attempts_left == 0
        assert task.failure_reason == reason
        states = [change.state for change in task.history]
        assert states == ["queued", "running", "queued", "running", "queued", "running", "failed"]
        assert await bench.cloud.task_done(task.task_id) is task
        assert [data["status"] for data in bench.kinds("cloud.result")] == ["failed"] * 3
        assert await bench.claim(host) is None

    run(body)


def test_a_retry_goes_to_another_host_too(run):
    async def body(bench):
        first, second = await bench.host("phone-1"), await bench.host("phone-1")
        assert (first, second) == ("host-1", "host-2")
        claims = [asyncio.create_task(bench.claim(host, 20)) for host in (second, first)]
        await bench.clock.settle()
        bench.cloud.submit(goal="open Notes", device_id="phone-1", attempts=2)
        await bench.clock.settle()
        assert not claims[0].done()  # both fit: by device id, then by host id
        await bench.result(claims[1].result(), "failed", "broken")
        await bench.clock.settle()
        assert claims[0].result()["attempt"] == 2

    run(body)


def test_a_success_ends_the_task_and_a_repeated_result_changes_nothing(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="open Notes", attempts=2)
        waiter = asyncio.create_task(bench.cloud.task_done(task.task_id))
        assignment = await bench.claim(host)
        await bench.clock.settle()
        assert not waiter.done()
        for status, reason in [("succeeded", None), ("succeeded", None), ("failed", "no")]:
            answer = await bench.result(assignment, status, reason)
            assert answer.status_code == 200
            assert answer.json()["state"] == "succeeded"
            assert answer.json()["task_state"] == "succeeded"
        assert (await waiter).state == "succeeded"
        assert len(bench.kinds("cloud.result")) == 1
        assert len(task.history) == 3

    run(body)


def test_a_device_with_an_assignment_is_not_used_twice_and_is_free_with_the_result(run):
    async def body(bench):
        host = await bench.host("phone-1")
        bench.cloud.submit(goal="a")
        bench.cloud.submit(goal="b")
        first = await bench.claim(host)
        assert await bench.claim(host) is None
        await bench.beat(host, {"device_id": "phone-1", "status": "busy"})  # busy with the cloud's own assignment
        await bench.result(first)
        assert (await bench.claim(host))["goal"] == "b"

    run(body)


@pytest.mark.parametrize("options", [{}, {"goal": "a", "workflow": TAP}, {"goal": "a", "attempts": 0}])
def test_submit_refuses_what_can_not_run(run, options):
    async def body(bench):
        with pytest.raises(ValueError, match="expected"):
            bench.cloud.submit(**options)
        assert bench.cloud.tasks() == []

    run(body)
