"""A rack in the same process and the same rack over HTTP are one rack to a host: equal answers, errors and logs.

Each story is told twice, with `Rack.drivers()` and with the reference's `RackClient` on the rack's wire; what the host
sees and what the devices wrote must be the same, instants included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from lasttick.engine.clock import VirtualClock
from lasttick.engine.loop import VirtualLoop, run_virtual
from lasttick.engine.network import Network
from lasttick.ports import DeviceDriver, DriverError
from lasttick.reference.hostagent.rack_client import RackClient
from lasttick.targets.transports import memory_transport
from lasttick_fakes.devices import Rack, parse_devices, rack_app, trouble

DEVICES = "phone-1,ipad-1=ios@2,ipad-2=ios@3"


@dataclass
class Told:
    """One telling: what the host got, in order, and what the devices wrote."""

    answers: list[Any]
    log: list[dict[str, Any]]


class Stage:
    """The drivers of one telling; `say` notes what came back, errors as their class and text."""

    def __init__(self, rack: Rack, drivers: Sequence[DeviceDriver], loop: VirtualLoop) -> None:
        self.rack = rack
        self.loop = loop
        self.by_id = {driver.info.device_id: driver for driver in drivers}
        self.answers: list[Any] = [[driver.info for driver in drivers]]

    async def perform(self, device_id: str, tool: str, **arguments: Any) -> Any:
        try:
            answer: Any = dict(await self.by_id[device_id].perform(tool, arguments))
        except DriverError as error:
            answer = f"DriverError: {error}"
        self.answers.append((self.loop.time(), device_id, tool, answer))
        return answer

    async def health(self, device_id: str) -> None:
        self.answers.append((self.loop.time(), device_id, await self.by_id[device_id].health()))


Story = Callable[[Stage], Awaitable[None]]


def told(story: Story, *, over_http: bool) -> Told:
    async def main(loop: VirtualLoop) -> Told:
        rack = Rack(VirtualClock(loop), parse_devices(DEVICES))
        network = Network()
        network.serve("rack:80", rack_app(rack))
        client = RackClient("http://rack", transport=memory_transport(network))
        stage = Stage(rack, await (client if over_http else rack).drivers(), loop)
        await story(stage)
        rack.close()
        await client.aclose()
        return Told(stage.answers, [entry.as_json() for entry in rack.log.entries()])

    return run_virtual(main)


def same(story: Story) -> Told:
    """Tell it both ways and compare. Returns what both told."""
    near, far = told(story, over_http=False), told(story, over_http=True)
    assert far.answers == near.answers
    assert far.log == near.log
    return near


@pytest.mark.parametrize("device_id", ["phone-1", "ipad-1", "ipad-2"])
def test_every_tool(device_id: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.perform(device_id, "take_screenshot")
        await stage.perform(device_id, "get_ui_tree")
        await stage.perform(device_id, "describe_screen")
        await stage.perform(device_id, "find_icon", icon="settings")
        await stage.perform(device_id, "find_text", text="Settings")
        await stage.perform(device_id, "launch_app", app="notes")
        await stage.perform(device_id, "tap", x=100, y=200.5)
        await stage.perform(device_id, "input_text", text="Grüße \U0001f600 \"'\\\n\x00")
        await stage.perform(device_id, "swipe", x1=1, y1=2, x2=3, y2=4.0, duration_ms=1500)
        await stage.perform(device_id, "take_screenshot")

    history = same(story)
    assert len(history.log) == 20
    assert [line["outcome"] for line in history.log if line["tool"] == "take_screenshot" and line["outcome"]] == [
        "ok"
    ] * 2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("fly", {}),
        ("tap", {}),
        ("tap", {"x": 1}),
        ("tap", {"x": 1, "y": 2, "z": 3}),
        ("tap", {"x": True, "y": 2}),
        ("tap", {"x": "1", "y": 2}),
        ("tap", {"x": None, "y": 2}),
        ("tap", {"x": 10**40, "y": 2}),
        ("tap", {"x": -5, "y": 2}),
        ("tap", {"x": 999_999, "y": 2}),
        ("swipe", {"x1": 1, "y1": 1, "x2": 2, "y2": 2, "duration_ms": -1}),
        ("launch_app", {"app": "no such app"}),
        ("launch_app", {"app": ""}),
        ("find_text", {"text": ""}),
        ("find_text", {"text": "nowhere on this screen"}),
        ("find_icon", {"icon": "nowhere"}),
        ("input_text", {"text": "nothing has the focus"}),
        ("input_text", {"text": 7}),
        ("input_text", {"text": "x" * 20_000}),
    ],
)
def test_what_is_refused_or_fails(tool: str, arguments: dict[str, Any]) -> None:
    async def story(stage: Stage) -> None:
        await stage.perform("phone-1", tool, **arguments)
        await stage.perform("phone-1", "describe_screen")

    same(story)


def test_health_and_trouble() -> None:
    async def story(stage: Stage) -> None:
        phone = stage.rack.device("phone-1")
        for what in (trouble.disconnect(), trouble.heal(), trouble.crash(), trouble.heal(), trouble.hang()):
            phone.trouble(what)
            await stage.health("phone-1")
            if what.kind != "hang":
                await stage.perform("phone-1", "tap", x=1, y=1)
        await stage.health("ipad-1")

    healths = [answer[2] for answer in same(story).answers[1:] if len(answer) == 3]
    assert healths == ["offline", "ok", "error", "ok", "ok", "ok"]


def test_time_passes_alike_and_health_is_read_during_an_action() -> None:
    async def story(stage: Stage) -> None:
        stage.rack.device("phone-1").trouble(trouble.slow("tap", 90))
        call = asyncio.create_task(stage.perform("phone-1", "tap", x=1, y=1))
        await stage.loop.advance(45)
        await stage.health("phone-1")
        await stage.perform("ipad-1", "tap", x=1, y=1)
        await call

    ends = [line["t_ns"] for line in same(story).log if line["kind"] == "end"]
    assert ends == [45 * 10**9, 90 * 10**9]


def test_a_trouble_in_the_middle_of_an_action() -> None:
    async def story(stage: Stage) -> None:
        phone = stage.rack.device("phone-1")
        phone.trouble(trouble.slow("*", 10))
        calls = [asyncio.create_task(stage.perform("phone-1", "tap", x=n, y=n)) for n in (1, 2)]
        await stage.loop.advance(5)
        phone.trouble(trouble.crash())
        await asyncio.gather(*calls)

    assert [answer[3][:12] for answer in same(story).answers[1:]] == ["DriverError:"] * 2


def test_an_action_whose_caller_went_away_goes_on() -> None:
    async def story(stage: Stage) -> None:
        stage.rack.device("phone-1").trouble(trouble.slow("tap", 10))
        call = asyncio.create_task(stage.perform("phone-1", "tap", x=1, y=1))
        await stage.loop.advance(1)
        call.cancel()
        await stage.loop.advance(20)
        await stage.perform("phone-1", "describe_screen")

    history = same(story)
    assert [(line["kind"], line["outcome"], line["t_ns"] // 10**9) for line in history.log[:2]] == [
        ("start", None, 0),
        ("end", "ok", 10),
    ]


def test_a_hung_action_ends_when_the_device_is_healed_or_the_rack_closes() -> None:
    async def story(stage: Stage) -> None:
        for device_id in ("phone-1", "ipad-1"):
            stage.rack.device(device_id).trouble(trouble.hang())
        calls = [asyncio.create_task(stage.perform(name, "tap", x=1, y=1)) for name in ("phone-1", "ipad-1")]
        await stage.loop.advance(1000)
        stage.rack.device("phone-1").trouble(trouble.heal())
        await calls[0]
        stage.rack.close()
        await calls[1]

    assert [line["outcome"] for line in same(story).log if line["kind"] == "end"] == ["ok", "stopped"]


def test_nothing_is_left_over_on_a_fresh_rack() -> None:
    async def story(stage: Stage) -> None:
        stage.answers.append([await driver.left_over() for driver in stage.by_id.values()])

    assert same(story).answers[-1] == [False, False, False]
