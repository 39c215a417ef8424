"""Cloud assignments: they take a device in one step or fail at once, and give it back whatever happens (HA-09)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.model.lease import Holder
from lasttick.reference.hostagent.assignments import (
    AssignmentExecutor,
    Call,
    Failure,
    Outcome,
    best_match,
    parse,
)
from lasttick.reference.hostagent.calls import LeasedCalls
from lasttick.reference.hostagent.claim_loop import ClaimLoop
from lasttick.reference.hostagent.cloud_client import CloudError, CloudRefused, HostUnknown
from lasttick.reference.hostagent.devices import DeviceManager
from lasttick.reference.hostagent.memory_store import MemoryLeaseStore
from lasttick_fakes.devices import Rack, Trouble, parse_devices

SESSION = Holder("mcp", "0123456789abcdef0123456789abcdef")
TAP = {"tool": "tap", "arguments": {"x": 1, "y": 2}}


def workflow(*steps: Mapping[str, Any], id: str = "a-1", device: str = "phone-1") -> dict[str, Any]:
    return {"assignment_id": id, "task_id": "t", "device_id": device, "kind": "workflow", "workflow": list(steps)}


def goal(text: str, device: str = "phone-1") -> dict[str, Any]:
    return {"assignment_id": "a-1", "task_id": "t", "device_id": device, "kind": "goal", "goal": text}


class Bench:
    """An executor over fake devices in virtual time."""

    def __init__(self, loop: VirtualLoop, max_call_s: float = 300.0) -> None:
        self.loop = loop
        self.clock = VirtualClock(loop)
        self.rack = Rack(self.clock, parse_devices("phone-1,phone-2,ipad-1=ios@2"))
        self.manager = DeviceManager()
        for device in self.rack.devices:
            self.manager.register(device)
        self.store = MemoryLeaseStore(self.clock, 60.0)
        self.calls = LeasedCalls(self.manager, self.store, self.clock, max_call_s)
        self.executor = AssignmentExecutor(store=self.store, manager=self.manager, calls=self.calls)

    async def execute(self, data: Mapping[str, Any]) -> Outcome:
        return await self.executor.execute(parse(data))

    def actions(self) -> list[tuple[float, str, str]]:
        return [(e.t_ns / 1e9, e.device_id, e.tool) for e in self.rack.log.entries() if e.kind == "start"]

    async def held(self) -> list[tuple[str, str]]:
        return [(view.device_id, view.holder.kind) for view in await self.store.snapshot()]


def run(body: Callable[[Bench], Awaitable[None]], **options: Any) -> None:
    async def main(loop: VirtualLoop) -> None:
        bench = Bench(loop, **options)
        try:
            await body(bench)
        finally:
            await bench.calls.aclose()
            bench.rack.close()

    run_virtual(main)


# -- reading


def test_parse() -> None:
    assert parse(workflow(TAP)).steps == (Call("tap", {"x": 1, "y": 2}),)
    assert len(parse(goal("open Notes then tap New")).steps) == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "expected two texts"),
        ({**workflow(TAP), "device_id": 7}, "expected two texts"),
        ({**goal("tap A"), "kind": "dance"}, "kind is 'dance'"),
        ({**goal("tap A"), "goal": None}, "expected goal with a text"),
        (goal("dance"), "cannot plan 'dance'"),
        ({**workflow(), "workflow": {}}, "workflow with a list"),
        (workflow({"tool": "fly", "arguments": {}}), "unknown tool: fly"),
        (workflow({"tool": "tap", "arguments": {"x": 1}}), "bad arguments for tap"),
        (workflow({"tool": "tap", "arguments": {"x": 1, "y": "2"}}), "bad arguments for tap"),
        (workflow({"tool": "tap", "arguments": {"x": 1, "y": 2, "device_id": "phone-2"}}), "without device_id"),
        (workflow({"tool": "list_devices", "arguments": {}}), "bad arguments|drives no device"),
        (workflow({"tool": "device_status", "arguments": {}}), "drives no device"),
        (workflow("tap"), "a step is not"),  # type: ignore[arg-type]
        (workflow({"tool": "tap"}), "a step is not"),
    ],
)
def test_a_bad_assignment_fails_before_it_touches_anything(data: Any, message: str) -> None:
    with pytest.raises(Failure, match=message):
        parse(data)


def test_the_whole_label_is_the_best_match() -> None:
    matches = [{"text": "OK then"}, {"text": "OK"}]
    assert best_match("OK", matches) is matches[1]
    assert best_match("O", matches) is matches[0]
    with pytest.raises(Failure, match="no 'OK' on the screen"):
        best_match("OK", [])


# -- running


def test_a_workflow_runs_in_order_and_gives_the_device_back() -> None:
    async def body(bench: Bench) -> None:
        text = {"tool": "launch_app", "arguments": {"app": "Notes"}}
        assert await bench.execute(workflow(TAP, text)) == Outcome("succeeded")
        assert [tool for _, _, tool in bench.actions()] == ["tap", "launch_app"]
        assert await bench.held() == []

    run(body)


@pytest.mark.parametrize("device", ["phone-1", "ipad-1"])
def test_a_goal_finds_its_label_and_taps_it_in_tap_units(device: str) -> None:
    async def body(bench: Bench) -> None:
        outcome = await bench.execute(goal("open Messages then tap Message then type hello then tap Send", device))
        assert outcome == Outcome("succeeded")
        shown = await bench.calls.run(SESSION, "find_text", {"device_id": device, "text": "Sent: hello"})
        assert len(shown["matches"]) == 1

    run(body)


def test_a_label_that_is_not_there_fails_with_its_name() -> None:
    async def body(bench: Bench) -> None:
        assert await bench.execute(goal("tap Nowhere")) == Outcome("failed", "no 'Nowhere' on the screen")
        assert await bench.held() == []

    run(body)


def test_unknown_device() -> None:
    async def body(bench: Bench) -> None:
        assert await bench.execute(workflow(TAP, device="tv-1")) == Outcome("failed", "unknown device: tv-1")

    run(body)


def test_a_device_held_by_mcp_fails_at_once_and_stays_untouched(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def body(bench: Bench) -> None:
        await bench.store.acquire("phone-1", SESSION)
        outcome = await bench.execute(workflow(TAP))
        assert outcome == Outcome("failed", "device held by active MCP session")
        assert bench.loop.time() == 0.0
        assert bench.actions() == []
        assert await bench.held() == [("phone-1", "mcp")]
        await bench.loop.until(59.999)
        assert (await bench.execute(workflow(TAP, id="a-2"))).status == "failed"
        await bench.loop.until(60.0)
        assert (await bench.execute(workflow(TAP, id="a-3"))).status == "succeeded"

    run(body)
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "assignment a-1 failed: device held by active MCP session (phone-1)"),
        ("INFO", "assignment a-2 failed: device held by active MCP session (phone-1)"),
    ]


def test_while_it_runs_nobody_else_gets_the_device_however_long() -> None:
    """Two assignments at once, both held: the seed's single `current_assignment` saw only one of them (ruling 2)."""

    async def body(bench: Bench) -> None:
        for name in ("phone-1", "phone-2"):
            bench.rack.device(name).trouble(Trouble("slow", "tap", 90))
        runs = [
            asyncio.create_task(bench.execute(workflow(TAP, id=name, device=name))) for name in ("phone-1", "phone-2")
        ]
        await bench.loop.until(75)
        assert await bench.held() == [("phone-1", "cloud"), ("phone-2", "cloud")]
        other = await bench.execute(workflow(TAP, id="a-9"))
        assert other == Outcome("failed", "device held by another assignment")
        assert [run.done() for run in runs] == [False, False]
        await bench.loop.until(91)
        assert [run.result().status for run in runs] == ["succeeded", "succeeded"]
        assert await bench.held() == []

    run(body)


def test_a_driver_failure_is_the_reason_and_frees_the_device() -> None:
    async def body(bench: Bench) -> None:
        bench.rack.device("phone-1").trouble(Trouble("disconnect"))
        outcome = await bench.execute(workflow(TAP, TAP))
        assert outcome.status == "failed"
        assert outcome.failure_reason
        assert await bench.held() == []

    run(body)


def test_a_bug_is_a_failure_too_and_frees_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(bench: Bench) -> None:
        async def broken(*_: Any) -> Any:
            raise KeyError("x")

        monkeypatch.setattr(bench.calls, "run", broken)
        assert await bench.execute(workflow(TAP)) == Outcome("failed", "internal error: KeyError")
        assert await bench.held() == []

    run(body)


def test_cancelled_in_mid_tap_it_holds_until_the_finger_stops() -> None:
    async def body(bench: Bench) -> None:
        bench.rack.device("phone-1").trouble(Trouble("slow", "tap", 90))
        task = asyncio.create_task(bench.execute(workflow(TAP, TAP)))
        await bench.loop.until(10)
        task.cancel()
        await bench.loop.settle()
        assert task.cancelled()
        assert await bench.held() == [("phone-1", "cloud")]
        assert (await bench.execute(workflow(TAP, id="a-2"))).failure_reason == "device held by another assignment"
        await bench.loop.until(91)
        assert await bench.held() == []
        assert len(bench.actions()) == 1

    run(body)


def test_cancelled_while_it_takes_the_device_it_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store far away may have granted when the answer is no longer awaited."""

    async def body(bench: Bench) -> None:
        begin_use = bench.store.begin_use

        async def slow(device_id: str, holder: Holder) -> Any:
            granted = await begin_use(device_id, holder)
            await asyncio.sleep(5)
            return granted

        monkeypatch.setattr(bench.store, "begin_use", slow)
        task = asyncio.create_task(bench.execute(workflow(TAP)))
        await bench.loop.until(1)
        task.cancel()
        await bench.loop.settle()
        assert await bench.held() == []

    run(body)


def test_a_hung_driver_fails_the_assignment_and_keeps_the_device_until_it_returns() -> None:
    async def body(bench: Bench) -> None:
        bench.rack.device("phone-1").trouble(Trouble("hang"))
        outcome = await bench.execute(workflow(TAP))
        assert bench.loop.time() == 5.0
        assert outcome.status == "failed"
        assert "stuck" in str(outcome.failure_reason)
        assert await bench.held() == [("phone-1", "cloud")]
        bench.rack.device("phone-1").trouble(Trouble("heal"))
        await bench.loop.advance(1)
        assert await bench.held() == []

    run(body, max_call_s=5.0)


def test_a_second_delivery_after_the_end_does_not_run_again() -> None:
    async def body(bench: Bench) -> None:
        await bench.execute(workflow(TAP))
        assert await bench.execute(workflow(TAP)) == Outcome("failed", "assignment has already ended")
        assert len(bench.actions()) == 1

    run(body)


# -- claiming


class StubCloud:
    """Gives out what is in `offers`, one per claim: an assignment, None (nothing), or an exception to raise."""

    def __init__(self, loop: VirtualLoop, offers: list[Any], report: Callable[[int], Exception | None]) -> None:
        self.loop = loop
        self.offers = offers
        self.trouble = report
        self.claims: list[float] = []
        self.tries = 0
        self.reports: list[tuple[float, str, str, str | None]] = []

    async def claim(self, host_id: str, wait_s: int) -> Any:
        self.claims.append(self.loop.time())
        if not self.offers:
            await asyncio.sleep(wait_s)
            return None
        offer = self.offers.pop(0)
        if isinstance(offer, Exception):
            raise offer
        return offer

    async def report(self, assignment_id: str, status: str, reason: str | None) -> None:
        self.tries += 1
        wrong = self.trouble(self.tries)
        if wrong is not None:
            raise wrong
        self.reports.append((self.loop.time(), assignment_id, status, reason))


Claiming = Callable[[Bench, StubCloud, asyncio.Event, "asyncio.Task[None]"], Awaitable[None]]


def claim(
    offers: list[Any],
    body: Claiming,
    *,
    report: Callable[[int], Exception | None] = lambda n: None,
    assignments_max: int = 16,
    prepare: Callable[[Bench], None] = lambda bench: None,
) -> None:
    async def inside(bench: Bench) -> None:
        prepare(bench)
        cloud = StubCloud(bench.loop, offers, report)
        registered = asyncio.Event()
        registered.set()
        loop = ClaimLoop(
            cloud=cloud,  # type: ignore[arg-type]
            executor=bench.executor,
            host_id="host-1",
            clock=bench.clock,
            registered=registered,
            wait_s=20,
            assignments_max=assignments_max,
        )
        task = asyncio.create_task(loop.run())
        await bench.loop.settle()
        try:
            await body(bench, cloud, registered, task)
        finally:
            task.cancel()

    run(inside)


def test_assignments_run_side_by_side_and_each_is_reported() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        await bench.loop.until(1)
        assert sorted(r[1:3] for r in cloud.reports) == [("b", "succeeded"), ("c", "failed")]
        await bench.loop.until(31)
        assert cloud.reports[2][1:3] == ("a", "succeeded")
        assert cloud.claims[:4] == [0.0, 0.0, 0.0, 0.0]

    offers = [workflow(TAP, id="a"), workflow(TAP, id="b", device="phone-2"), workflow(TAP, id="c")]
    claim(offers, body, prepare=lambda bench: bench.rack.device("phone-1").trouble(Trouble("slow", "tap", 30)))


def test_a_bad_assignment_is_reported_and_one_without_an_id_is_dropped() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        assert [(r[1], r[2]) for r in cloud.reports] == [("a-1", "failed")]
        assert "cannot plan" in str(cloud.reports[0][3])
        assert bench.actions() == []

    claim([{"kind": "goal"}, goal("dance")], body)


def test_delivered_twice_at_once_it_runs_and_reports_once() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        assert len(bench.actions()) == 1
        assert [r[1:3] for r in cloud.reports] == [("a-1", "succeeded")]

    claim([workflow(TAP), workflow(TAP)], body)


def test_no_more_at_once_than_the_bound() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        assert len(cloud.claims) >= 2
        assert [r[1] for r in cloud.reports] == ["a-1", "a-2"]

    claim([workflow(TAP), workflow(TAP, id="a-2")], body, assignments_max=1)


def test_a_report_is_tried_again_a_bounded_number_of_times() -> None:
    async def reported(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        await bench.loop.until(10)
        assert [r[:3] for r in cloud.reports] == [(7.0, "a-1", "succeeded")]

    claim([workflow(TAP)], reported, report=lambda n: CloudError("503") if n < 4 else None)

    async def given_up(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        await bench.loop.until(600)
        assert cloud.tries == 5
        assert await bench.held() == []

    claim([workflow(TAP)], given_up, report=lambda n: CloudError("503"))


def test_a_refused_report_is_not_repeated() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        await bench.loop.until(100)
        assert cloud.tries == 1

    claim([workflow(TAP)], body, report=lambda n: CloudRefused("404"))


def test_a_failing_cloud_slows_claiming_down_and_never_ends_it() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, task: asyncio.Task[None]) -> None:
        await bench.loop.until(300)
        assert cloud.claims[:8] == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0]
        assert not task.done()
        assert [r[1] for r in cloud.reports] == ["a-1"]

    claim([CloudError("503")] * 6 + [RuntimeError("bug")] + [workflow(TAP)], body)


def test_a_cloud_that_says_nothing_at_once_is_not_hammered() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, __: Any) -> None:
        await bench.loop.until(3)
        assert cloud.claims == [0.0, 1.0, 2.0, 3.0]

    claim([None, None, None], body)


def test_a_cloud_that_forgot_us_is_asked_again_after_registration() -> None:
    async def body(bench: Bench, cloud: StubCloud, registered: asyncio.Event, _: Any) -> None:
        await bench.loop.until(12)
        assert cloud.claims == [0.0]
        assert not registered.is_set()
        registered.set()
        await bench.loop.settle()
        assert cloud.claims == [0.0, 12.0]

    claim([HostUnknown("404")], body)


def test_stopping_cancels_what_runs_and_reports_nothing() -> None:
    async def body(bench: Bench, cloud: StubCloud, _: Any, task: asyncio.Task[None]) -> None:
        task.cancel()
        await bench.loop.settle()
        assert task.done()
        assert cloud.reports == []

    async def hung(bench: Bench, cloud: StubCloud, r: Any, task: asyncio.Task[None]) -> None:
        bench.rack.device("phone-1").trouble(Trouble("hang"))
        cloud.offers.append(workflow(TAP))
        await bench.loop.until(30)
        assert await bench.held() == [("phone-1", "cloud")]
        await body(bench, cloud, r, task)

    claim([], hung)
