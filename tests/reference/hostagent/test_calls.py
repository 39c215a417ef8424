"""The wrapper of the leased tools: order of checks, turns, pins, and every way in which a call can end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from lasttick.model.errors import ToolError
from lasttick.model.lease import Holder
from lasttick.reference.hostagent.calls import LeasedCalls

from .server_rig import ALICE, BOB, Rig, with_rig

CLOUD = Holder("cloud", "asg-1")


def tap(rig: Rig, holder: Holder | None, device_id: str = "phone-1", tool: str = "tap") -> asyncio.Task[Any]:
    arguments = {"device_id": device_id, "x": 1, "y": 1} if tool == "tap" else {"device_id": device_id}
    return asyncio.get_running_loop().create_task(rig.calls.run(holder, tool, arguments))


async def refused(call: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await call
    return caught.value


def test_the_first_that_is_wrong_decides() -> None:
    async def body(rig: Rig) -> None:
        run = rig.calls.run
        assert (await refused(run(None, "nope", {"device_id": 1}))).reason == "unknown_tool"
        assert (await refused(run(None, "tap", {"device_id": "phone-9"}))).reason == "bad_arguments"
        assert (await refused(tap(rig, None, "phone-9"))).reason == "unknown_device"
        rig.manager.quarantine("phone-1", "driver_stuck")
        assert (await refused(tap(rig, None))).reason == "no_session"
        await rig.store.acquire("phone-1", BOB)
        assert (await refused(tap(rig, ALICE))).reason == "driver_stuck"
        rig.manager.lift_quarantine("phone-1")
        assert (await refused(tap(rig, ALICE))).reason == "device_busy"
        assert rig.phone.log == []

    with_rig(body)


def test_a_busy_device_is_refused_at_once_and_says_who_has_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "lasttick")

    async def body(rig: Rig) -> None:
        await tap(rig, ALICE)
        error = await refused(tap(rig, BOB))
        assert (error.code, error.data["busy_owner"]) == (-32000, "mcp_session:aaaaaaaa")
        await rig.store.begin_use("ipad-1", CLOUD)
        error = await refused(tap(rig, BOB, "ipad-1"))
        assert error.data["busy_owner"] == "cloud_assignment"
        assert rig.loop.time() == 0

    with_rig(body)
    mine = [r for r in caplog.records if r.name.startswith("lasttick")]
    assert [r.levelno for r in mine] == [logging.DEBUG] * 2
    assert "a" * 9 not in caplog.text


def test_row_13_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        error = await refused(tap(rig, None))
        assert (error.code, error.message) == (-32001, "cannot determine MCP session")

    with_rig(body)
    assert [r.levelno for r in caplog.records] == [logging.ERROR]


def test_a_call_longer_than_the_ttl_keeps_its_lease_and_the_ttl_runs_from_its_end() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 90
        call = tap(rig, ALICE)
        for now in (59.999, 60, 89.999, 149.999):
            await rig.loop.until(now)
            assert (await refused(tap(rig, BOB))).reason == "device_busy"
        assert (await call) == {"ok": True}
        await rig.loop.until(150)
        rig.phone.takes_s.clear()
        assert await tap(rig, BOB) == {"ok": True}

    with_rig(body)


@pytest.mark.parametrize("answer", [RuntimeError("boom"), ["no object"], {"matches": [{"bounds": [1]}]}])
def test_a_failed_call_unpins_and_renews(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        await tap(rig, ALICE)
        rig.phone.takes_s["find_text"] = 30
        rig.phone.answers["find_text"] = answer
        error = await refused(rig.calls.run(ALICE, "find_text", {"device_id": "phone-1", "text": "x"}))
        assert (error.code, error.reason) == (-32000, "driver_error")
        if isinstance(answer, RuntimeError):
            assert error.message == "boom"
        await rig.loop.until(89.999)
        assert (await refused(tap(rig, BOB))).reason == "device_busy"
        await rig.loop.until(90)
        assert await rig.held() == {}

    with_rig(body)
    [row] = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert row.levelno == logging.WARNING
    assert row.exc_info


def test_a_cancelled_request_leaves_the_driver_running_and_the_device_pinned() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 90
        call = tap(rig, ALICE)
        await rig.loop.advance(1)
        call.cancel()
        await rig.loop.until(89.999)
        [view] = await rig.store.snapshot()
        assert view.uses == 1
        await rig.loop.until(90)
        [view] = await rig.store.snapshot()
        assert (view.uses, view.last_used_ns) == (0, 90_000_000_000)
        assert rig.phone.log == [(0, "start", "tap"), (90, "end", "tap")]

    with_rig(body)


def test_two_calls_of_one_session_on_one_device_take_turns() -> None:
    """HA-13: 10 s and 90 s started together: pinned until second 100, free exactly at 160."""

    async def body(rig: Rig) -> None:
        rig.phone.takes_s.update(tap=10, take_screenshot=90)
        first, second = tap(rig, ALICE), tap(rig, ALICE, tool="take_screenshot")
        await asyncio.gather(first, second)
        assert rig.phone.overlaps == 0
        assert rig.phone.log == [
            (0, "start", "tap"),
            (10, "end", "tap"),
            (10, "start", "take_screenshot"),
            (100, "end", "take_screenshot"),
        ]
        await rig.loop.until(159.999)
        assert (await refused(tap(rig, BOB))).reason == "device_busy"
        await rig.loop.until(160)
        assert await rig.held() == {}

    with_rig(body)


def test_turns_are_first_in_first_out_and_a_cancelled_waiter_leaves_the_line() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s.update(tap=10, take_screenshot=10, get_ui_tree=10, describe_screen=10)
        calls = [tap(rig, ALICE, tool=t) for t in ("tap", "take_screenshot", "get_ui_tree", "describe_screen")]
        rig.phone.answers["get_ui_tree"] = {"root": {}}
        await rig.loop.advance(1)
        calls[1].cancel()
        await calls[3]
        assert [tool for _, kind, tool in rig.phone.log if kind == "start"] == ["tap", "get_ui_tree", "describe_screen"]
        assert rig.calls._turns._lines == {}

    with_rig(body)


def test_a_waiter_cancelled_in_the_instant_of_its_turn_passes_it_on() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        first, second, third = tap(rig, ALICE), tap(rig, ALICE), tap(rig, ALICE)
        await rig.loop.advance(1)
        line = next(iter(rig.calls._turns._lines.values()))
        line[0].add_done_callback(lambda _: second.cancel())
        await asyncio.gather(first, third)
        assert second.cancelled()
        assert rig.loop.time() == 20
        assert rig.calls._turns._lines == {}

    with_rig(body)


def test_waiting_for_ones_own_turn_has_a_bound() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 1_000
        first = tap(rig, ALICE)
        await rig.loop.advance(1)
        second = tap(rig, ALICE)
        assert (await refused(first)).reason == "driver_stuck"
        assert rig.loop.time() == 300
        error = await refused(second)
        assert rig.loop.time() == 301
        assert error.reason == "device_busy"
        assert error.data["busy_owner"] == "mcp_session:aaaaaaaa"

    with_rig(body)


def test_other_devices_and_other_sessions_have_their_own_turns() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = rig.ipad.takes_s["tap"] = 10
        await asyncio.gather(tap(rig, ALICE), tap(rig, ALICE, "ipad-1"))
        assert rig.loop.time() == 10

    with_rig(body)


def test_a_stuck_driver_is_quarantined_until_it_returns(caplog: pytest.LogCaptureFixture) -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 400
        call = tap(rig, ALICE)
        await rig.loop.until(299.999)
        assert not call.done()
        error = await refused(call)
        assert (error.code, error.reason) == (-32000, "driver_stuck")
        assert rig.loop.time() == 300
        assert rig.manager.quarantined("phone-1") == "driver_stuck"
        assert (await refused(tap(rig, ALICE))).reason == "driver_stuck"
        assert (await refused(tap(rig, BOB))).reason == "driver_stuck"
        assert (await rig.calls.run(None, "device_status", {"device_id": "phone-1"}))["status"] == "error"
        await rig.loop.until(400)
        assert rig.manager.quarantined("phone-1") is None
        assert (await refused(tap(rig, BOB))).reason == "device_busy"
        await rig.loop.until(460)
        rig.phone.takes_s.clear()
        await tap(rig, BOB)
        assert rig.phone.overlaps == 0

    with_rig(body)
    assert [r.levelno for r in caplog.records] == [logging.WARNING] * 2


def test_a_stuck_driver_is_quarantined_although_its_request_is_gone() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 400
        call = tap(rig, ALICE)
        await rig.loop.advance(1)
        call.cancel()
        await rig.loop.until(300)
        assert rig.manager.quarantined("phone-1") == "driver_stuck"

    with_rig(body)


def test_an_ended_session_is_refused_and_gets_nothing_back() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        first, second = tap(rig, ALICE), tap(rig, ALICE)
        await rig.loop.advance(1)
        await rig.store.end_holder(ALICE)
        await first
        assert (await refused(second)).reason == "no_session"
        assert await rig.held() == {}
        assert len(rig.phone.log) == 2

    with_rig(body)


class SlowStore:
    """Suspends before and after each transition, as a store over a network does."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.ttl_s = store.ttl_s

    def __getattr__(self, name: str) -> Any:
        async def slow(*arguments: Any) -> Any:
            await asyncio.sleep(1)
            answer = await getattr(self.store, name)(*arguments)
            await asyncio.sleep(1)
            return answer

        return slow


@pytest.mark.parametrize("session_ends", [False, True])
@pytest.mark.parametrize("at", [0, 0.5, 1.5, 2.5, 11.5, 12.5, 13.5])
def test_cancelled_at_any_await_nothing_leaks(at: float, session_ends: bool) -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 10
        rig.calls = LeasedCalls(rig.manager, SlowStore(rig.store), rig.clock)  # type: ignore[arg-type]
        call = tap(rig, ALICE)
        await rig.loop.until(at)
        call.cancel()
        if session_ends:
            await rig.store.end_holder(ALICE)
        await rig.loop.until(30)
        assert all(view.uses == 0 for view in await rig.store.snapshot())
        assert rig.calls._running == {}
        assert rig.calls._turns._lines == {}
        assert len(rig.phone.log) in (0, 2)
        assert (len(rig.phone.log) == 0) == (at < 2)
        if session_ends:
            assert await rig.held() == {}
        await rig.loop.until(90)
        assert await rig.held() == {}

    with_rig(body)


def test_a_store_that_fails_leaves_no_turn_taken() -> None:
    async def body(rig: Rig) -> None:
        async def down(*_: Any) -> Any:
            raise ConnectionError("store is down")

        right, rig.store.begin_use = rig.store.begin_use, down  # type: ignore[method-assign]
        with pytest.raises(ConnectionError):
            await tap(rig, ALICE)
        rig.store.begin_use = right  # type: ignore[method-assign]
        await tap(rig, ALICE)

    with_rig(body)


def test_cancelled_by_its_own_driver_the_call_is_an_error_not_a_cancelled_session() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.answers["tap"] = asyncio.CancelledError()
        assert (await refused(tap(rig, ALICE))).reason == "driver_error"
        [view] = await rig.store.snapshot()
        assert view.uses == 0

    with_rig(body)


def test_closing_ends_what_runs() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 1_000
        call = tap(rig, ALICE)
        await rig.loop.advance(1)
        await rig.calls.aclose()
        assert (await refused(call)).reason == "driver_error"
        assert rig.phone.running == 0
        [view] = await rig.store.snapshot()
        assert view.uses == 0
        assert rig.loop.time() == 1

    with_rig(body)


def test_an_assignment_that_holds_its_device_calls_like_a_session_and_its_pin_outlives_it() -> None:
    async def body(rig: Rig) -> None:
        rig.phone.takes_s["tap"] = 90
        await rig.store.begin_use("phone-1", CLOUD)
        call = tap(rig, CLOUD)
        await rig.loop.advance(1)
        call.cancel()
        await rig.store.end_use("phone-1", CLOUD)
        await rig.store.end_holder(CLOUD)
        await rig.loop.until(89)
        assert (await refused(tap(rig, ALICE))).data["busy_owner"] == "cloud_assignment"
        await rig.loop.until(90)
        rig.phone.takes_s.clear()
        await tap(rig, ALICE)

    with_rig(body)


def test_status_shows_owners_and_takes_nothing() -> None:
    async def body(rig: Rig) -> None:
        await rig.store.begin_use("phone-1", CLOUD)
        await tap(rig, ALICE, "ipad-1")
        rows = (await rig.calls.run(None, "list_devices", {}))["devices"]
        assert [(row["device_id"], row["status"], row["owner"]) for row in rows] == [
            ("ipad-1", "busy", "mcp"),
            ("phone-1", "busy", "cloud"),
        ]
        rig.phone.state = "offline"
        assert (await rig.calls.run(BOB, "device_status", {"device_id": "phone-1"}))["status"] == "offline"
        assert sorted(holder.kind for holder in (await rig.held()).values()) == ["cloud", "mcp"]
        assert (await refused(rig.calls.run(BOB, "device_status", {"device_id": "x"}))).reason == "unknown_device"

    with_rig(body)
