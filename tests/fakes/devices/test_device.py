"""Does a fake device keep time, break and heal as told, and log each call once at its start and once at its end?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lasttick.ports import DeviceDriver, DriverError
from lasttick_fakes.devices import BadAction, BadTrouble, FakeDevice, LogEntry, Rack, Trouble, parse_devices, trouble
from lasttick_fakes.devices.log import Log
from lasttick_fakes.devices.state import INITIAL

S = 1_000_000_000
MESSAGES = {"x": 50, "y": 60}


def lines(rack: Rack) -> list[tuple[float, str, int, str | None]]:
    return [(entry.t_ns / S, entry.kind, entry.call, entry.outcome) for entry in rack.log.entries()]


def start(device: FakeDevice, tool: str = "tap", **arguments: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(_collect(device, tool, arguments or (MESSAGES if tool == "tap" else {})))


async def _collect(device: FakeDevice, tool: str, arguments: dict[str, Any]) -> Any:
    return await device.perform(tool, arguments)


def test_a_slow_tap_takes_its_time_and_lands_at_its_end(clock, rack) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        phone.trouble(trouble.slow("tap", 10))
        tap = start(phone)
        await clock.advance(9)
        assert (phone.running, phone.state.screen, await phone.health()) == (1, "home", "ok")
        assert not tap.done()
        await clock.advance(1)
        assert (await tap)["screen"] == phone.state.screen == "messages"
        await phone.perform("get_ui_tree", {})
        assert lines(rack) == [
            (0, "start", 1, None),
            (10, "end", 1, "ok"),
            (10, "start", 2, None),
            (10, "end", 2, "ok"),
        ]
        assert phone.last_end_ns == 10 * S
        phone.trouble(trouble.slow("tap", 0))
        await phone.perform("tap", MESSAGES)

    asyncio.run(body())


def test_a_caller_that_goes_away_does_not_stop_the_tap(clock, rack) -> None:
    """Ruling 1: the pin must follow the driver call, because the phone goes on moving."""

    async def body() -> None:
        phone = rack.device("phone-1")
        phone.trouble(trouble.slow("*", 30))
        tap = start(phone)
        await clock.advance(5)
        tap.cancel()
        with pytest.raises(asyncio.CancelledError):
            await tap
        await clock.advance(25)
        assert lines(rack) == [(0, "start", 1, None), (30, "end", 1, "ok")]
        assert phone.state.screen == "messages"

    asyncio.run(body())


def test_overlapping_calls_are_all_performed_so_that_the_judge_sees_them(clock, rack) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        phone.trouble(trouble.slow("*", 10, on_call=1))
        first, second = start(phone), start(phone, "launch_app", app="notes")
        await clock.advance(0)
        assert second.done()
        assert not first.done()
        await clock.advance(10)
        assert first.done()
        assert [line[1:3] for line in lines(rack)] == [("start", 1), ("start", 2), ("end", 2), ("end", 1)]

    asyncio.run(body())


def test_a_hung_device_finishes_nothing_until_healed(clock, rack) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        phone.trouble(trouble.slow("tap", 1))
        running = start(phone)
        await clock.advance(0)
        phone.trouble(trouble.hang())
        later = start(phone, "get_ui_tree")
        await clock.advance(600)
        assert not running.done()
        assert not later.done()
        assert await phone.health() == "ok"
        phone.trouble(trouble.heal())
        await clock.advance(0)
        assert (await running)["screen"] == "messages"
        assert (await later)["root"]
        assert [line[0] for line in lines(rack) if line[1] == "end"] == [600, 600]

    asyncio.run(body())


@pytest.mark.parametrize(
    ("kind", "health", "words", "screen"),
    [("disconnect", "offline", "is disconnected", "notes"), ("crash", "error", "has crashed", "home")],
)
def test_a_broken_device_fails_running_and_new_calls(clock, rack, kind, health, words, screen) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        await phone.perform("launch_app", {"app": "notes"})
        phone.trouble(trouble.slow("tap", 10))
        tap = start(phone)
        await clock.advance(4)
        phone.trouble(Trouble(kind))
        with pytest.raises(DriverError, match=f"phone-1 {words}; a device must have health ok to act; wait"):
            await tap
        assert await phone.health() == health
        with pytest.raises(DriverError, match=words):
            await phone.perform("get_ui_tree", {})
        await clock.advance(20)
        assert [(at, kind, call) for at, kind, call, _ in lines(rack)[2:]] == [
            (0, "start", 2),
            (4, "end", 2),
            (4, "start", 3),
            (4, "end", 3),
        ]
        assert phone.state.screen == screen, "the failed tap had no effect"
        phone.trouble(trouble.heal())
        assert await phone.health() == "ok"
        await phone.perform("tap", MESSAGES)

    asyncio.run(body())


def test_trouble_waits_for_its_call(clock, rack) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        phone.trouble(trouble.slow("tap", 5, on_call=2))
        phone.trouble(trouble.crash(on_call=3))
        await phone.perform("tap", MESSAGES)
        slow = start(phone)
        await clock.advance(5)
        await slow
        with pytest.raises(DriverError, match="has crashed"):
            await phone.perform("tap", MESSAGES)
        assert (phone.state, phone.calls, phone.running) == (INITIAL, 3, 0)
        with pytest.raises(BadTrouble, match="on call 3 of phone-1, which has had 3 calls; expected a later one"):
            phone.trouble(trouble.hang(on_call=3))
        phone.trouble(trouble.hang(on_call=4))
        phone.trouble(trouble.heal())
        healed = start(phone, "get_ui_tree")
        await clock.advance(0)
        assert healed.done()

    asyncio.run(body())


def test_a_swipe_lasts_as_long_as_the_finger_moves(clock, rack) -> None:
    async def body() -> None:
        phone = rack.device("phone-1")
        swipe = start(phone, "swipe", x1=1, y1=1, x2=1, y2=9, duration_ms=250)
        await clock.advance(1)
        assert swipe.done()
        assert lines(rack)[-1][0] == 0.25

    asyncio.run(body())


def test_closing_the_rack_ends_what_runs(clock, rack) -> None:
    async def body() -> None:
        phone, ipad = rack.device("phone-1"), rack.device("ipad-1")
        phone.trouble(trouble.hang())
        calls = [start(phone), start(ipad)]
        await asyncio.sleep(0)  # both have logged their start; the ipad's own task has not run yet
        rack.close()
        for call in calls:
            with pytest.raises(DriverError, match="was switched off"):
                await call
        assert [line[3] for line in lines(rack)] == [None, None, "stopped", "stopped"]

    asyncio.run(body())


def test_a_loop_that_ends_under_a_call_still_logs_its_end(rack) -> None:
    async def body() -> None:
        rack.device("phone-1").trouble(trouble.hang())
        start(rack.device("phone-1"))
        await asyncio.sleep(0)

    asyncio.run(body())
    assert [line[1::2] for line in lines(rack)] == [("start", None), ("end", "stopped")]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("fly", {}, "unknown tool 'fly'; a device has take_screenshot, tap"),
        ("tap", {"x": 1}, "tap was called without 'y'; it takes x, y; add it"),
        ("tap", {"x": 1, "y": 2, "device_id": "phone-1"}, "given an argument 'device_id'; it takes x, y; leave it out"),
        ("tap", {"x": True, "y": 2}, "x = True; expected a finite number"),
        ("tap", {"x": float("nan"), "y": 2}, "x = nan; expected a finite number"),
        ("tap", {"x": 10**5000, "y": 2}, "x = a huge integer; expected a finite number"),
        (
            "swipe",
            {"x1": 1, "y1": 1, "x2": 1, "y2": 1, "duration_ms": -1},
            "duration_ms = -1; expected a number of milliseconds",
        ),
        ("input_text", {"text": "\ud800"}, "without lone surrogates; correct the argument"),
        ("find_text", {"text": ""}, "expected text that is not empty"),
        ("launch_app", {"app": 7}, "app = 7; expected text"),
    ],
)
def test_what_cannot_be_read_never_starts(rack, tool, arguments, message) -> None:
    async def body() -> None:
        with pytest.raises(BadAction) as caught:
            await rack.device("phone-1").perform(tool, arguments)
        assert message in str(caught.value)

    asyncio.run(body())
    assert lines(rack) == []


def test_what_the_device_cannot_do_is_logged_as_its_failure(rack) -> None:
    async def body() -> None:
        with pytest.raises(DriverError, match="off the screen"):
            await rack.device("phone-1").perform("tap", {"x": 500, "y": 0})

    asyncio.run(body())
    assert lines(rack)[1][3].startswith("error: tap (500, 0) is off the screen of phone-1")


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "melt"},
        {"kind": []},
        {"kind": "slow", "tool": "fly", "s": 1},
        {"kind": "slow", "s": float("nan")},
        {"kind": "slow", "s": -1},
        {"kind": "slow", "s": True},
        {"kind": "hang", "s": 3},
        {"kind": "hang", "on_call": 0},
        {"kind": "hang", "on_call": True},
        {"kind": "hang", "until": 3},
        {"tool": "tap"},
        [],
        None,
    ],
)
def test_bad_trouble_has_a_three_part_message(body) -> None:
    with pytest.raises(BadTrouble, match=r".+; .+"):
        trouble.parse(body)


def test_good_trouble_survives_json() -> None:
    for one in (trouble.slow("tap", 9, 3), trouble.hang(), trouble.disconnect(2), trouble.crash(), trouble.heal()):
        assert trouble.parse(one.as_json()) == one


TROUBLES = st.sampled_from(
    [
        trouble.slow("*", 3),
        trouble.slow("tap", 7),
        trouble.hang(),
        trouble.disconnect(),
        trouble.crash(),
        trouble.heal(),
    ]
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.sampled_from(["tap", "get_ui_tree", "describe_screen"])),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.just("trouble"), TROUBLES),
        st.tuples(st.just("advance"), st.integers(0, 8)),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(events=EVENTS)
def test_every_start_in_the_log_has_one_end(new_rack: Callable[[str], Any], events: list[Any]) -> None:
    """HA-05 rests on it. Whatever callers do and whatever breaks, a device that is whole again has closed all pairs."""

    async def body() -> list[LogEntry]:
        clock, rack = new_rack("phone-1")
        phone, calls = rack.device("phone-1"), []
        for kind, value in events:
            match kind:
                case "call":
                    calls.append(start(phone, value))
                    await asyncio.sleep(0)
                case "cancel" if calls:
                    calls[value % len(calls)].cancel()
                case "trouble":
                    phone.trouble(value)
                case "advance":
                    await clock.advance(value)
        phone.trouble(trouble.heal())
        await clock.advance(10)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(answer, (dict, DriverError, asyncio.CancelledError)) for answer in answers)
        assert (phone.running, phone.calls) == (0, len(calls))
        return rack.log.entries()

    entries = asyncio.run(body())
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.t_ns for entry in entries] == sorted(entry.t_ns for entry in entries)
    starts = {entry.call: entry for entry in entries if entry.kind == "start"}
    ends = {entry.call: entry for entry in entries if entry.kind == "end"}
    assert starts.keys() == ends.keys()
    assert len(entries) == 2 * len(starts)
    for call, end in ends.items():
        assert starts[call].seq < end.seq
        assert (starts[call].tool, starts[call].arguments) == (end.tool, end.arguments)
        assert (starts[call].outcome is None, end.outcome is None) == (True, False)


def test_a_listener_gets_every_line_and_a_bounded_log_says_what_it_dropped(clock) -> None:
    heard: list[LogEntry] = []
    rack = Rack(clock, parse_devices("phone-1"), on_log=heard.append, log_entries_max=3)

    async def body() -> None:
        for _ in range(3):
            await rack.device("phone-1").perform("describe_screen", {})

    asyncio.run(body())
    assert [entry.seq for entry in heard] == [1, 2, 3, 4, 5, 6]
    assert ([entry.seq for entry in rack.log.entries()], rack.log.dropped) == ([4, 5, 6], 3)
    assert [entry.seq for entry in rack.log.entries(after_seq=4)] == [5, 6]
    assert Log(clock).entries(after_seq=9) == []


def test_a_rack_hands_out_its_devices_as_drivers(rack) -> None:
    drivers = asyncio.run(rack.drivers())
    assert [driver.info.device_id for driver in drivers] == ["phone-1", "ipad-1", "ipad-2"]
    typed: DeviceDriver = drivers[0]
    assert asyncio.run(typed.health()) == "ok"
    with pytest.raises(LookupError, match="unknown device 'phone-9'; this rack has 3 others; list them first"):
        rack.device("phone-9")


def test_a_thousand_devices_share_what_is_fresh(clock) -> None:
    rack = Rack(clock, parse_devices(",".join(f"phone-{n}" for n in range(1000))))
    assert len(rack.devices) == 1000
    assert all(device.state is INITIAL for device in rack.devices)
