"""Is the view of a host always its newest good heartbeat, and what happens when heartbeats, hosts or the cloud fail?"""

from __future__ import annotations

import asyncio
import json

import pytest

from lasttick_fakes.cloud import HeartbeatTrouble


def busy(bench, host):
    return bench.cloud.host(host).mcp_busy_device_ids


def test_an_unknown_host_is_told_to_register(run):
    async def body(bench):
        answer = await bench.beat("host-7", "phone-1")
        assert answer.status_code == 404
        assert answer.json()["next"] == "POST /v1/hosts"
        assert (await bench.http.get("/v1/hosts/host-7/assignments")).status_code == 404
        assert await bench.register("phone-1", host_id="host-7") == "host-7"
        assert (await bench.beat("host-7", "phone-1")).status_code == 200

    run(body)


def test_ids_are_counted_and_never_collide_with_one_that_a_host_brought(run):
    async def body(bench):
        assert await bench.register("a", host_id="host-1") == "host-1"
        assert await bench.register("b") == "host-2"
        bench.cloud.restart()
        assert await bench.register("b") == "host-3"

    run(body)


def test_an_older_or_repeated_heartbeat_never_overwrites_a_newer_view(run):
    async def body(bench):
        host = await bench.register("phone-1")
        for seq, ids, taken in [(5, ["phone-1"], True), (4, [], False), (5, [], False), (6, [], True)]:
            answer = await bench.beat(host, "phone-1", busy=ids, seq=seq)
            expected = {"taken": True} if taken else {"taken": False, "last_seq": 5}
            assert (answer.status_code, answer.json()) == (200, expected)
        assert busy(bench, host) == ()
        assert [event["taken"] for event in bench.kinds("cloud.heartbeat")] == [True, False, False, True]

    run(body)


def test_a_host_that_starts_anew_may_count_from_the_beginning(run):
    async def body(bench):
        host = await bench.register("phone-1")
        await bench.beat(host, "phone-1", busy=["phone-1"], seq=9)
        await bench.register("phone-1", host_id=host)
        await bench.beat(host, "phone-1", busy=[], seq=0)
        assert busy(bench, host) == ()

    run(body)


def test_each_heartbeat_is_kept_as_the_bytes_that_came(run):
    async def body(bench):
        host = await bench.register("phone-1")
        odd = b'{ "devices":["phone-1"],  "seq": 1, "mcp_busy_device_ids": [] , "more":"\\u00e4" }'
        await bench.http.post(f"/v1/hosts/{host}/heartbeat", content=odd)
        await bench.http.post(f"/v1/hosts/{host}/heartbeat", content=b"\xff not json")
        assert bench.cloud.heartbeat_bodies(host) == [odd, b"\xff not json"]
        assert bench.cloud.heartbeat_bodies("host-2") == []

    run(body)


@pytest.mark.parametrize(
    ("kind", "status", "after"),
    [("ignore", 200, None), ("refuse", 503, None), ("late", 200, None), ("duplicate", 200, ("phone-1",))],
)
def test_trouble_meets_the_heartbeats_it_names(run, kind, status, after):
    async def body(bench):
        host = await bench.register("phone-1")
        bench.cloud.trouble(HeartbeatTrouble(kind, skip=1, delay_s=45))
        await bench.beat(host, "phone-1", seq=1)
        answer = await bench.beat(host, "phone-1", busy=["phone-1"], seq=2)
        assert answer.status_code == status
        assert busy(bench, host) == after
        await bench.beat(host, "phone-1", busy=[], seq=3)  # one good heartbeat later the view is right
        assert busy(bench, host) == ()
        await bench.clock.until(46)
        assert busy(bench, host) == ()  # also when the troubled one arrives behind it

    run(body)


def test_a_late_heartbeat_counts_when_it_arrives_if_nothing_newer_did(run):
    async def body(bench):
        host = await bench.register("phone-1")
        bench.cloud.trouble(HeartbeatTrouble("late", delay_s=10))
        await bench.beat(host, "phone-1", busy=["phone-1"])
        await bench.clock.until(9.999)
        assert busy(bench, host) is None
        await bench.clock.until(10)
        assert busy(bench, host) == ("phone-1",)

    run(body)


def test_a_late_heartbeat_of_an_earlier_life_is_dropped(run):
    async def body(bench):
        host = await bench.host("phone-1")
        bench.cloud.trouble(HeartbeatTrouble("late", delay_s=10))
        await bench.beat(host, "phone-1", busy=["phone-1"], seq=50)
        await bench.register("phone-1", host_id=host)
        await bench.beat(host, "phone-1", busy=[], seq=0)
        await bench.clock.until(11)
        assert busy(bench, host) == ()

    run(body)


def test_a_delayed_heartbeat_holds_the_host(run):
    async def body(bench):
        host = await bench.register("phone-1")
        bench.cloud.trouble(HeartbeatTrouble("delay", delay_s=10, host_id=host))
        beat = asyncio.create_task(bench.beat(host, "phone-1"))
        await bench.clock.until(9)
        assert not beat.done()
        await bench.clock.until(10)
        assert beat.result().json() == {"taken": True}
        bench.cloud.trouble(HeartbeatTrouble("refuse", count=99))
        bench.cloud.heal()
        assert (await bench.beat(host, "phone-1")).status_code == 200

    run(body)


def test_a_restart_forgets_views_and_keeps_tasks(run):
    async def body(bench):
        host = await bench.host("phone-1", "phone-2", busy=["phone-2"])
        running = bench.cloud.submit(goal="a", device_id="phone-1")
        assignment = await bench.claim(host)
        queued = bench.cloud.submit(goal="b", device_id="phone-2")
        bench.cloud.restart()
        assert bench.cloud.host_ids() == []
        assert (await bench.beat(host, "phone-1", "phone-2", busy=["phone-2"])).status_code == 404
        await bench.register("phone-1", "phone-2", host_id=host)
        assert await bench.claim(host) is None  # nothing is known yet of what MCP sessions hold
        assert queued.state == "queued"
        await bench.beat(host, "phone-1", "phone-2", busy=["phone-2"])
        assert await bench.claim(host) is None
        assert (await bench.result(assignment)).json()["task_state"] == "succeeded"
        assert running.state == "succeeded"

    run(body)


def test_a_cloud_that_is_down_says_503_and_ends_polls(run):
    async def body(bench):
        host = await bench.host("phone-1")
        poll = asyncio.create_task(bench.http.get(f"/v1/hosts/{host}/assignments"))
        await bench.clock.settle()
        bench.cloud.stop()
        assert (await poll).status_code == 503
        for answer in (await bench.beat(host), await bench.http.post("/v1/hosts", json={"devices": []})):
            assert answer.status_code == 503
            assert answer.json()["next"] == "try again later"
        bench.cloud.start()
        assert (await bench.beat(host)).status_code == 404

    run(body)


def test_a_lost_host_spends_the_attempts_of_what_it_ran(run):
    async def body(bench):
        host, other = await bench.host("phone-1"), await bench.host("phone-2")
        task = bench.cloud.submit(goal="a", attempts=2)
        first = await bench.claim(host)
        await bench.clock.until(30)
        await bench.beat(other, "phone-2")
        await bench.clock.until(60)
        await bench.beat(other, "phone-2")
        waiting = asyncio.create_task(bench.claim(other, 60))
        await bench.clock.until(89.999)
        assert task.state == "running"
        assert not waiting.done()
        await bench.clock.until(90)
        assert bench.cloud.is_lost(host)
        assert waiting.result()["attempt"] == 2
        assert bench.kinds("cloud.result")[0]["failure_reason"] == "host lost"
        late = await bench.result(first)  # it was not dead after all: too late
        assert (late.status_code, late.json()["state"]) == (200, "failed")
        await bench.result(waiting.result())
        assert task.state == "succeeded"
        await bench.clock.settle()
        assert bench.clock.waiting <= 1  # the cancelled watch; an idle cloud starts no new one

    run(body)


def test_good_heartbeats_keep_a_host_and_ignored_ones_do_not(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="a")
        await bench.claim(host)
        for second in (30, 60, 90, 120):
            await bench.clock.until(second)
            await bench.beat(host, "phone-1")
        assert task.state == "running"
        bench.cloud.trouble(HeartbeatTrouble("ignore", count=3))
        for second in (150, 180, 209.999):
            await bench.clock.until(second)
            await bench.beat(host, "phone-1")
        assert task.state == "running"
        await bench.clock.until(210)
        assert task.state == "failed"
        assert task.failure_reason == "host lost"

    run(body)


def test_a_host_that_a_restart_forgot_and_that_never_comes_back_is_lost_too(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="a")
        await bench.claim(host)
        await bench.clock.until(80)
        bench.cloud.stop()
        await bench.clock.until(500)
        assert task.state == "running"  # a cloud that is down judges nobody
        bench.cloud.start()
        await bench.clock.until(589.999)
        assert task.state == "running"
        await bench.clock.until(590)
        assert task.state == "failed"

    run(body)


def test_a_host_that_starts_anew_has_lost_what_it_ran_and_a_repeated_registration_has_not(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="a", attempts=2)
        await bench.claim(host)
        bench.cloud.restart()
        await bench.register("phone-1", host_id=host)
        await bench.register("phone-1", host_id=host)  # its first answer was lost; the host itself is well
        assert task.state == "running"
        await bench.beat(host, "phone-1")
        await bench.register("phone-1", host_id=host)
        assert task.state == "queued"
        assert task.failure_reason is None
        assert task.history[-1].reason == "host started anew"

    run(body)


def test_hosts_are_listed_with_what_is_known_of_them(run):
    async def body(bench):
        host = await bench.host({"device_id": "b", "platform": "ios"}, "a", busy=["a"])
        await bench.clock.until(90)
        assert (await bench.http.get("/v1/hosts")).json() == {
            "hosts": [
                {
                    "host_id": host,
                    "devices": [
                        {"device_id": "a", "status": "idle"},
                        {"device_id": "b", "platform": "ios", "status": "idle"},
                    ],
                    "mcp_busy_device_ids": ["a"],
                    "last_seq": 1,
                    "last_seen_ns": 0,
                    "lost": True,
                }
            ]
        }

    run(body)


def test_what_is_kept_is_bounded(run):
    async def body(bench):
        host = await bench.register("phone-1")
        for _ in range(20):
            await bench.beat(host, "phone-1")
        assert len(bench.cloud.received) == 5
        assert json.loads(bench.cloud.heartbeat_bodies()[-1])["seq"] == 20
        assert len(bench.cloud.log) == 5

    run(body, keep=5)
