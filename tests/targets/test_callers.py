"""Who caused a driver call, from nothing but what the callers themselves sent."""

from __future__ import annotations

from typing import Any

import pytest

from lasttick.engine.trace import Event
from lasttick.targets.callers import Callers

from .worlds import play, told


class Story:
    """Feeds events in order and asks."""

    def __init__(self) -> None:
        self.callers = Callers()
        self._calls = 0

    def see(self, actor: str, kind: str, ref: str | None, /, **data: Any) -> None:
        self.callers.see(Event(0, 0, "", actor, kind, ref, data))

    def begin(self, client: str, tool: str, **arguments: Any) -> str:
        self._calls += 1
        ref = f"c{self._calls}"
        self.see(client, "call.start", ref, tool=tool, device_id=arguments.get("device_id"), arguments=arguments)
        return ref

    def end(self, client: str, ref: str, **data: Any) -> None:
        self.see(client, "call.end", ref, **{"ok": True, "code": None, "reason": None, **data})

    def assign(self, assignment_id: str, **assignment: Any) -> None:
        data = {"assignment_id": assignment_id, "device_id": "phone-1", **assignment}
        self.see("cloud", "cloud.assign", assignment_id, **data)

    def of(self, tool: str, device_id: str = "phone-1", **arguments: Any) -> str | None:
        return self.callers.of(device_id, tool, arguments)


def test_a_mark_that_only_one_ever_made_is_its_makers() -> None:
    story = Story()
    story.end("alice", story.begin("alice", "tap", device_id="phone-1", x=1, y=1))
    story.begin("bob", "tap", device_id="phone-1", x=2, y=2)
    assert story.of("tap", x=1, y=1) == "alice"
    assert story.of("tap", x=2, y=2) == "bob"
    assert story.of("tap", y=2, x=2) == "bob"


def test_a_mark_that_nobody_made() -> None:
    story = Story()
    story.begin("alice", "tap", device_id="phone-1", x=1, y=1)
    assert story.of("tap", x=9, y=9) is None
    assert story.of("tap", device_id="phone-2", x=1, y=1) is None
    assert story.of("swipe", x=1, y=1) is None


def test_a_shared_mark_belongs_to_the_one_in_flight() -> None:
    story = Story()
    first = story.begin("alice", "take_screenshot", device_id="phone-1")
    story.end("alice", first)
    story.begin("bob", "take_screenshot", device_id="phone-1")
    assert story.of("take_screenshot") == "bob"


def test_a_shared_mark_with_two_in_flight_is_nobodys() -> None:
    story = Story()
    story.begin("alice", "take_screenshot", device_id="phone-1")
    story.begin("bob", "take_screenshot", device_id="phone-1")
    assert story.of("take_screenshot") is None


def test_a_shared_mark_with_none_in_flight_is_nobodys() -> None:
    story = Story()
    for client in ("alice", "bob"):
        story.end(client, story.begin(client, "take_screenshot", device_id="phone-1"))
    assert story.of("take_screenshot") is None


def test_in_flight_on_another_device_does_not_count() -> None:
    story = Story()
    for client in ("alice", "bob"):
        story.end(client, story.begin(client, "take_screenshot", device_id="phone-1"))
    story.begin("alice", "take_screenshot", device_id="phone-2")
    assert story.of("take_screenshot") is None


@pytest.mark.parametrize("end", [{"ok": False, "reason": "dropped"}, {"ok": False, "reason": "lost", "message": "x"}])
def test_a_dropped_call_may_still_reach_the_device(end: dict[str, Any]) -> None:
    story = Story()
    story.end("alice", story.begin("alice", "take_screenshot", device_id="phone-1"), **end)
    story.end("bob", story.begin("bob", "take_screenshot", device_id="phone-1"))
    assert story.of("take_screenshot") == "alice"


def test_a_refused_call_is_over() -> None:
    story = Story()
    refused = story.begin("bob", "take_screenshot", device_id="phone-1")
    story.end("bob", refused, ok=False, code=-32000, reason="device_busy")
    story.begin("alice", "take_screenshot", device_id="phone-1")
    assert story.of("take_screenshot") == "alice"


def test_a_cancelled_call_is_not_over() -> None:
    """The server answers -32800 without a reason of ours; the tap may still move."""
    story = Story()
    cancelled = story.begin("alice", "take_screenshot", device_id="phone-1")
    story.end("alice", cancelled, ok=False, code=-32800, reason=None)
    story.end("bob", story.begin("bob", "take_screenshot", device_id="phone-1"))
    assert story.of("take_screenshot") == "alice"


def test_steps_of_a_workflow_are_marks() -> None:
    story = Story()
    story.assign("a1", kind="workflow", workflow=[{"tool": "tap", "arguments": {"x": 7, "y": 7}}])
    story.begin("alice", "tap", device_id="phone-1", x=1, y=1)
    assert story.of("tap", x=7, y=7) == "cloud:a1"
    assert story.of("tap", x=1, y=1) == "alice"


def test_the_same_step_again_is_the_assignment_that_runs() -> None:
    """A second attempt has the marks of the first; results tell which of them is over."""
    story = Story()
    steps = [{"tool": "tap", "arguments": {"x": 7, "y": 7}}]
    story.assign("a1", kind="workflow", workflow=steps)
    story.see("cloud", "cloud.result", "a1", assignment_id="a1", status="failed")
    story.assign("a2", kind="workflow", workflow=steps)
    assert story.of("tap", x=7, y=7) == "cloud:a2"


def test_what_a_goal_does_falls_back_to_its_assignment() -> None:
    story = Story()
    story.assign("a1", kind="goal", goal="tap Settings", workflow=None)
    assert story.of("find_text", text="Settings") == "cloud:a1"
    story.see("cloud", "cloud.result", "a1", assignment_id="a1", status="succeeded")
    assert story.of("find_text", text="Settings") is None


def test_two_goals_on_one_device_cannot_be_told_apart() -> None:
    story = Story()
    story.assign("a1", kind="goal", goal="tap Settings")
    story.assign("a2", kind="goal", goal="tap Notes")
    assert story.of("find_text", text="Settings") is None
    story.assign("a3", kind="goal", goal="tap Notes", device_id="phone-2")
    assert story.of("find_text", device_id="phone-2", text="Notes") == "cloud:a3"


def test_calls_without_a_device_are_nobodys_mark() -> None:
    story = Story()
    story.begin("alice", "list_devices")
    story.begin("alice", "tap", device_id=7, x=1, y=1)
    story.begin("alice", "tap", device_id=None, x=1, y=1)
    assert story.of("tap", x=1, y=1) is None


def test_in_a_world_the_log_names_its_callers() -> None:
    async def story(world: Any) -> None:
        cloud = await world.cloud()
        host = await world.hostagent(devices=["phone-1"])
        alice, bob = await host.client("alice"), await host.client("bob")
        phone = world.device("phone-1")
        await alice.tap("phone-1")
        await alice.call("take_screenshot", device_id="phone-1")
        await alice.end()
        await bob.call("take_screenshot", device_id="phone-1")
        await bob.end()
        await world.advance(host.heartbeat_s * 2)
        tap = {"tool": "tap", "arguments": {"x": 70, "y": 70}}
        for task in ({"workflow": [tap]}, {"workflow": [tap]}, {"goal": "tap Settings"}):
            await cloud.finished(await cloud.submit(device_id="phone-1", **task))
        assert [caller if caller is None else caller.partition(":")[0] for caller in phone.callers][:5] == [
            "alice",
            "alice",
            "bob",
            "cloud",
            "cloud",
        ]
        assert None not in phone.callers
        assert phone.calls == len(phone.callers)

    events = play(story)
    assert len(told(events, "cloud.result")) == 3
