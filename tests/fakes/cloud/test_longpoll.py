"""Is an assignment handed over once, or not at all? The long poll, and every way in which its connection can go."""

from __future__ import annotations

import asyncio
import json

import pytest

from lasttick.engine.network import Network


def test_a_poll_waits_its_time_and_then_says_204(run):
    async def body(bench):
        host = await bench.host("phone-1")
        poll = asyncio.create_task(bench.http.get(f"/v1/hosts/{host}/assignments"))  # 20 s by default
        await bench.clock.until(19.999)
        assert not poll.done()
        await bench.clock.until(20)
        answer = poll.result()
        assert (answer.status_code, answer.content) == (204, b"")

    run(body)


def test_work_reaches_a_waiting_poll_at_once(run):
    async def body(bench):
        host = await bench.host("phone-1")
        poll = asyncio.create_task(bench.claim(host, 20))
        await bench.clock.until(7)
        task = bench.cloud.submit(goal="a")
        await bench.clock.settle()
        assert poll.result()["task_id"] == task.task_id
        assert task.assignments[0].delivered_ns == 7_000_000_000
        assert [data["assignment_id"] for data in bench.kinds("cloud.assign")] == ["assignment-1"]

    run(body)


def test_a_cancelled_poll_takes_nothing_with_it(run):
    async def body(bench):
        host = await bench.host("phone-1")
        poll = asyncio.create_task(bench.claim(host, 20))
        await bench.clock.settle()
        poll.cancel()
        task = bench.cloud.submit(goal="a")  # the dying poll is still in the queue of polls
        await bench.clock.settle()
        assert task.state == "queued"
        assert (await bench.claim(host))["attempt"] == 1

    run(body)


class Wire:
    """One claim at the level of ASGI messages: what the server's connection sees."""

    def __init__(self, app, host, wait_s=20, fail_at=None):
        self.app, self.path, self.query = app, f"/v1/hosts/{host}/assignments", f"wait_s={wait_s}".encode()
        self.gone = asyncio.Event()
        self.sent = []
        self.fail_at = fail_at
        self.before_send = lambda: None

    async def run(self):
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": self.query,
            "root_path": "",
            "scheme": "http",
            "headers": [],
            "server": ("cloud", 80),
            "client": ("host", 1),
        }
        await self.app(scope, self.receive, self.send)

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        self.before_send()
        if self.gone.is_set():
            return
        if message["type"] == self.fail_at:
            raise ConnectionResetError("broken pipe")
        self.sent.append(message)


def test_a_poll_whose_connection_dropped_takes_nothing_with_it(run):
    async def body(bench):
        host = await bench.host("phone-1")
        wire = Wire(bench.app, host)
        poll = asyncio.create_task(wire.run())
        await bench.clock.settle()
        wire.gone.set()
        await bench.clock.settle()
        assert poll.done()
        task = bench.cloud.submit(goal="a")
        assert task.assignments == []
        assert wire.sent == []

    run(body)


def test_a_connection_that_drops_in_the_same_instant_as_the_offer_gives_it_back(run):
    """As a server does, the wire swallows what is sent after a hang-up: only `receive` tells of it."""

    async def body(bench):
        host = await bench.host("phone-1")
        wire = Wire(bench.app, host)
        poll = asyncio.create_task(wire.run())
        await bench.clock.settle()
        task = bench.cloud.submit(goal="a")
        wire.gone.set()
        await poll
        assert wire.sent == []
        assert task.assignments[0].state == "withdrawn"
        assert task.state == "queued"

    run(body)


def test_a_host_that_hung_up_before_its_poll_was_read_gets_nothing(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="a")
        wire = Wire(bench.app, host)
        wire.gone.set()
        await wire.run()
        assert task.state == "queued"

    run(body)


def test_a_poll_cancelled_in_the_same_instant_as_the_offer_gives_it_back(run):
    async def body(bench):
        host = await bench.host("phone-1")
        wire = Wire(bench.app, host)
        poll = asyncio.create_task(wire.run())
        await bench.clock.settle()
        task = bench.cloud.submit(goal="a")
        assert task.assignments[0].state == "offered"
        poll.cancel()
        await bench.clock.settle()
        assert task.assignments[0].state == "withdrawn"
        assert (task.state, task.attempts_left) == ("queued", 1)
        assert bench.kinds("cloud.assign") == []
        again = await bench.claim(host)
        assert (again["assignment_id"], again["attempt"]) == ("assignment-2", 1)

    run(body)


@pytest.mark.parametrize("fail_at", ["http.response.start", "http.response.body"])
def test_an_answer_that_could_not_be_sent_goes_to_the_next_poll_before_newer_tasks(run, fail_at):
    async def body(bench):
        host = await bench.host("phone-1", "phone-2")
        first = bench.cloud.submit(goal="a")
        bench.cloud.submit(goal="b")
        await Wire(bench.app, host, fail_at=fail_at).run()
        assert first.state == "queued"
        assert (await bench.claim(host))["goal"] == "a"

    run(body)


def test_a_cloud_that_restarts_while_it_answers_hands_nothing_over(run):
    async def body(bench):
        host = await bench.host("phone-1")
        wire = Wire(bench.app, host)
        poll = asyncio.create_task(wire.run())
        await bench.clock.settle()
        task = bench.cloud.submit(goal="a")
        bench.cloud.restart()
        await poll
        assert wire.sent[0]["status"] == 503
        assert task.state == "queued"

    run(body)


def test_a_result_that_overtakes_the_end_of_sending_counts(run):
    async def body(bench):
        host = await bench.host("phone-1")
        task = bench.cloud.submit(goal="a")
        wire = Wire(bench.app, host)
        wire.before_send = lambda: wire.sent and bench.cloud.result("assignment-1", "succeeded", None)
        await wire.run()
        assert json.loads(wire.sent[1]["body"])["assignment_id"] == "assignment-1"
        assert task.state == "succeeded"
        assert [kind for kind, _ in bench.events][-2:] == ["cloud.assign", "cloud.result"]

    run(body)


def test_two_polls_of_a_host_get_one_assignment_each(run):
    async def body(bench):
        host = await bench.host("phone-1", "phone-2")
        polls = [asyncio.create_task(bench.claim(host, 20)) for _ in range(3)]
        await bench.clock.settle()
        for goal in ("a", "b"):
            bench.cloud.submit(goal=goal)
        await bench.clock.settle()
        assert [poll.result()["goal"] for poll in polls[:2]] == ["a", "b"]
        assert not polls[2].done()
        await bench.clock.until(20)
        assert polls[2].result() is None

    run(body)


def test_the_same_on_the_in_memory_network_of_a_world(run):
    async def body(bench):
        host = await bench.host("phone-1")
        network = Network()
        network.serve("cloud:80", bench.app)

        async def claim():
            exchange = await network.request("GET", "cloud:80", f"/v1/hosts/{host}/assignments", [], b"")
            return json.loads(b"".join([chunk async for chunk in exchange.body()]))

        dropped = asyncio.create_task(claim())
        await bench.clock.settle()
        dropped.cancel()
        task = bench.cloud.submit(goal="a")
        assert task.assignments[0].state == "offered"
        await bench.clock.settle()
        assert task.state == "queued"
        assert (await claim())["attempt"] == 1
        assert task.state == "running"

    run(body)
